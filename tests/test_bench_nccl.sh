#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nccl_sweep of one rank, with a library and a GPU that stand in. usage: test_bench_nccl.sh PROGRAM LIBRARY
set -u
program=$1 library=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "test_bench_nccl: $1" >&2
    cat "$folder/out" "$folder/err" >&2
    exit 1
}

# ends STATUS ARGS...
ends() {
    expected=$1
    shift
    "$program" "$@" >"$folder/out" 2>"$folder/err"
    status=$?
    [ "$status" -eq "$expected" ] || fail "'$*' exits $status; expected $expected"
}

says() {
    grep -qF -e "$1" "$folder/err" || fail "no \"$1\""
}

ends 0 "$library" "$folder/id" 0 1 --mode stream --coll reduce,fcollect,broadcast -b 8 -e 4K -f 8 -n 3 \
    --csv "$folder/rows.csv"
[ "$(grep -c '^[a-z]*,nccl,nccl,1,f32,.*,1,.*,0,none$' "$folder/rows.csv")" -eq 12 ] || fail "not 12 rows"
[ "$(wc -c <"$folder/id")" -eq 132 ] || fail "a result and an identifier are not what is shared"
ends 1 /nonexistent/libnccl.so.2 "$folder/id" 0 1 --mode stream
says "rank 0: /nonexistent/libnccl.so.2"
ends 1 "$library" /nonexistent/id 0 1 --mode stream
says "cannot write ID_FILE"
ends 2 "$library" "$folder/id" 1 1 --mode stream
says 'RANK or RANKS "1": expected 0 to 0'
ends 2 "$library" "$folder/id" 0 x --mode stream
says 'RANK or RANKS "x": expected 1 to'
ends 2 "$library" "$folder/id"
says "usage: nccl_sweep LIBRARY ID_FILE RANK RANKS"
ends 2 "$library" "$folder/id" 0 1 --mode stream --coll barrier
ends 2 "$library" "$folder/id" 0 1 --mode fast
says '--mode "fast"'
