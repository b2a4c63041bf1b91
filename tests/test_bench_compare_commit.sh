#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compare-commit: a build with itself, and what is refused. usage: test_bench_compare_commit.sh COMPARE-COMMIT BUILD
set -u
compare=$1 build=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

fail() {
    echo "test_bench_compare_commit: $1" >&2
    cat out err >&2
    exit 1
}

# refused PATTERN ARGS...
refused() {
    pattern=$1
    shift
    "$compare" "$@" >out 2>err
    [ $? -eq 2 ] || fail "$*: not refused"
    grep -q -e "$pattern" err || fail "$*: does not say '$pattern'"
}

refused "unknown 'allredcue'" "$build" --coll allredcue
refused "begin at 1" "$build" --jobs 0
refused "'2X': expected 4 or more" "$build" -b 2X
refused "'no-such' is not a commit, nor a build folder" no-such --build "$build"
refused "no build.ninja in $folder" "$build" --build "$folder"
refused "--pes 4096: each needs a core" "$build" --pes 4096
refused "a divisor of --pes" "$build" --pes 2 --hosts 3
refused "do not go together" "$build" --pes 2 --hosts 2 --gpu stream

[ "$(nproc)" -ge 2 ] || exit 77 # no two PEs with a core each
"$compare" "$build" --build "$build" --jobs 1 -e 2K -f 256 >out 2>err || fail "exits $?"
[ "$(grep -c '^[a-z_]* *[0-9]\+ .* to [0-9.]* *-$' out)" -eq 27 ] ||
    fail "not a barrier and 13 collectives of two sizes, without a second build"
grep -q '^reduce_to *2048 ' out || fail "no reduce_to of 2 KiB"
tail -n 1 out | grep -q '^all *27 [ 0-9.]* -$' || fail "no mean of all rows"
