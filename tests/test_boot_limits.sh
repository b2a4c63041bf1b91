#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs whose PEs may have only few descriptors end well, or at once with the reason.
# Usage: test_boot_limits.sh CHORUSRUN LAUNCH_HERE TREE_PE
set -u
chorusrun=$1 launch_here=$2 tree_pe=$3
port=$((15000 + $$ % 5000)) # not one of test_boot_lost.sh
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failures=0
export CHORUS_TIMEOUT=60
unset CHORUS_NODE CHORUS_NODES

# check NAME STATUS: of a job that may have taken 20 s
check() {
    lines=$(cat "$out"/* | wc -l)
    why=''
    [ "$2" -ne 124 ] || why='it did not end'
    [ "$2" -eq 0 ] || grep -q 'ulimit -n' "$out"/* || why='the limit is not named'
    ! grep -q 'never joined\|did not arrive\|in time' "$out"/* || why='another reason is given'
    [ "$lines" -lt 40 ] || why="$lines lines were written"
    [ -n "$why" ] || return
    echo "$1: status $2, $why" >&2
    head -c 4000 "$out"/* >&2
    failures=$((failures + 1))
}

# limited LIMIT PES COMMAND...: with the limit in these PEs
limited() {
    limit=$1 pes=$2
    shift 2
    # shellcheck disable=SC2016
    "$@" sh -c 'case " $1 " in *" $CHORUS_PE "*) ulimit -n "$2" ;; esac; exec "$3" none 9' sh "$pes" "$limit" "$tree_pe" \
        >"$out/job" 2>&1
    check "limit $limit in PEs $pes: $*" $?
}

for limit in 8 9 12; do
    for pes in 2 '0 1 2 3'; do
        limited "$limit" "$pes" timeout 20 "$chorusrun" -n 4 --hosts a:2,b:2 --launcher "$launch_here"
        limited "$limit" "$pes" timeout 20 "$chorusrun" -n 4
        CHORUS_NODES=2 CHORUS_TRANSPORT=mapped,tcp
        export CHORUS_NODES CHORUS_TRANSPORT
        limited "$limit" "$pes" timeout 20 "$chorusrun" -n 4
        unset CHORUS_NODES CHORUS_TRANSPORT
    done
done
# With more descriptors than for the start alone, only some PEs can join.
for limit in 4 5 6 7 8 9 12 13 14 15 16 17; do
    rm -f "$out"/*
    port=$((port + 2)) pids=''
    for rank in 0 1 2 3; do
        # shellcheck disable=SC2016
        RANK=$rank WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
            sh -c 'ulimit -n "$1"; exec "$2" none 9' sh "$limit" "$tree_pe" >"$out/$rank" 2>&1 &
        pids="$pids $!"
    done
    # torchrun ends all processes when one has failed.
    tenths=0 status=0
    while [ "$(cat "$out"/* | grep -c 'came after')" -lt 4 ] && [ $tenths -lt 200 ] && [ $status -eq 0 ]; do
        sleep 0.1
        tenths=$((tenths + 1))
        ! grep -q '^start: \|code -' "$out"/* || status=1
    done
    [ $tenths -lt 200 ] || status=124
    [ $status -eq 0 ] || sleep 0.2
    for pid in $pids; do
        [ $status -eq 0 ] || kill -9 "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    check "limit $limit in PEs of torchrun" "$status"
    rm -f "$out"/*
done
exit $((failures > 0))
