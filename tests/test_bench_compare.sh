#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compare-mpi, quickly and from another folder. usage: test_bench_compare.sh COMPARE-MPI BUILD
set -u
compare=$1 build=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
export OMPI_MCA_orte_tmpdir_base="$folder" # see test_boot_ways.sh
cd "$folder" || exit 1

fail() {
    echo "test_bench_compare: $1" >&2
    cat out err >&2
    exit 1
}

CHORUS_BUILD=$build "$compare" --rounds 2 --coll sync,reduce -b 8 -e 512 -f 64 -n 3 -w 1 \
    --csv rows.csv >out 2>err || fail "exits $?"
grep -q '^# ompi4: Open MPI v.*pml .*btl self vader$' out || fail "not the shared memory of Open MPI"
tail -n 1 out | grep -qE '^worst ratio [0-9]+\.[0-9][0-9] \((sync|reduce), [0-9]+, ompi4\)$' ||
    fail "wrong last line"
number='[0-9]+\.[0-9][0-9]'
tail -n 2 out | head -n 1 | grep -qE "^mean ratio $number \\(sync $number, reduce $number\\)$" ||
    fail "wrong means"
[ "$(grep -v '^#' rows.csv | head -n 1)" = coll,dtype,op,bytes,ours_us,ompi4_us,best,ratio ] ||
    fail "wrong columns"
[ "$(grep -vc '^#' rows.csv)" -eq 4 ] || fail "not three rows"

"$compare" --build "$folder" >out 2>err
[ $? -eq 2 ] || fail "a folder with no build is not refused"
grep -q "no $folder/bench/chorus-sweep; build first" err || fail "does not say what is missing"
"$compare" --build "$build" --coll sync --bogus >out 2>err
[ $? -eq 2 ] || fail "an unknown option is not refused"
grep -q 'unknown option "--bogus"' err || fail "does not say which option is unknown"
"$compare" --build "$build" --peer ompi4,lam >out 2>err
[ $? -eq 2 ] || fail "an unknown peer is not refused"
grep -q "unknown 'lam'; expected of ompi4, mpich, ompi5, xhc, impi" err || fail "does not list the peers"
PIP_NO_INDEX=1 "$compare" --build "$build" --peer mpich --peers-dir "$folder/peers" >out 2>err
[ $? -eq 1 ] || fail "a peer that cannot be downloaded is not refused"
grep -q 'pip could not download mpich==.*: .* --peers-dir$' err || fail "does not say what to do"

"${compare%-mpi}-matrix" matrix 1x2 1x999 -- --build "$build" --coll sync -b 8 -e 8 -n 3 -w 1 --rounds 1 \
    >out 2>err || fail "compare-matrix exits $?"
[ "$(grep -c '^1x2: mean ratio .* worst ratio ' out)" -eq 2 ] || fail "not two runs of a layout"
grep -q '^1x999: left out' out || fail "PEs without cores are not left out"
[ "$(grep -vc '^#' matrix/1x2-2.csv)" -eq 2 ] || fail "no rows of the second run"
"${compare%-mpi}-matrix" matrix 2y1 >out 2>err
[ $? -eq 2 ] || fail "a wrong layout is not refused"
