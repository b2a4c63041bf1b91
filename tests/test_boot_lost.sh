#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What becomes of PEs when one is killed, exits, ends the job or is stopped, where no chorusrun watches over them.
# Usage: test_boot_lost.sh HOSTS_PE TREE_PE
set -u
hosts_pe=$1 tree_pe=$2
nodes=yes # PEs are on pretended hosts, two on each
port=$((10000 + $$ % 5000)) # test_boot_limits.sh runs beside this one and has the ports above
export CHORUS_TIMEOUT=60
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failures=0

fail() {
    echo "$1" >&2
    cat "$out"/* >&2
    failures=$((failures + 1))
}

# run N PROGRAM HOW ODD: all others must end by themselves; a stopped one is killed then.
run() {
    n=$1 program=$2 how=$3 odd=$4 pids=''
    port=$((port + 2))
    rm -f "$out"/*
    rank=0
    while [ "$rank" -lt "$n" ]; do
        [ $nodes = yes ] && export CHORUS_NODE="host$((rank / 2))"
        RANK=$rank WORLD_SIZE=$n MASTER_ADDR=127.0.0.1 \
            MASTER_PORT=$port "$program" "$how" "$odd" >"$out/$rank" 2>&1 &
        [ "$rank" -eq "$odd" ] && odd_pid=$! || pids="$pids $!"
        rank=$((rank + 1))
    done
    for pid in $pids; do wait "$pid"; done
    kill -9 "$odd_pid" 2>/dev/null
    wait "$odd_pid" 2>/dev/null
}

# expect PATTERN SECONDS: in what every PE but the odd one said, and not later.
expect() {
    rank=0
    while [ "$rank" -lt "$n" ]; do
        if [ "$rank" -ne "$odd" ]; then
            grep -q "$1" "$out/$rank" || fail "$how of PE $odd of $n: PE $rank did not say: $1"
            seconds=$(sed -n 's/.*after \([0-9]*\)\.[0-9]* s:.*/\1/p' "$out/$rank")
            [ "${seconds:-0}" -lt "$2" ] || fail "$how of PE $odd of $n: PE $rank took $seconds s"
        fi
        rank=$((rank + 1))
    done
}

# The root, a leaf, and a PE that has children where there are more than 17.
# Of 40 PEs each is lost in one way, unless all are asked for.
for case in '4 0 kill exit end' '4 3 kill exit end' '40 0 kill' '40 1 exit' '40 39 end'; do
    # shellcheck disable=SC2086 # a list of words
    set -- $case
    pes=$1 victim=$2
    shift 2
    [ -z "${CHORUS_TEST_FULL:-}" ] || set -- kill exit end
    for how in "$@"; do
        run "$pes" "$hosts_pe" "$how" "$victim"
        if [ "$how" = end ]; then
            expect "PE $victim ended the job with status 7" 1
        else
            expect "PE $victim on host host$((victim / 2)) was lost: its process has ended" 1
        fi
    done
done
# A handler of a signal ends the job, whatever it interrupts: often an exchange, which holds a lock.
case=${CHORUS_TEST_FULL:+30}
case=${case:-10}
while [ "$case" -gt 0 ]; do
    run 2 "$hosts_pe" signal $((case % 2))
    expect "PE $odd ended the job with status 7" 1
    case=$((case - 1))
done
# Stopping is no loss: the kernel answers for a stopped process.
export CHORUS_TIMEOUT=6
run 4 "$hosts_pe" stop 2
expect "3 of 4 PEs came within 6 s; PE 2 on host1 did not arrive" 8
# The root tells others who is missing; of it nothing is heard.
export CHORUS_TIMEOUT=2
run 4 "$hosts_pe" stop 0
expect "not all of 4 PEs came within 2 s; nothing was heard of PE 0, which counts them" 8
# PEs that share memory, and wait in a barrier: no thread of a network tells them.
export CHORUS_TIMEOUT=60
unset CHORUS_NODE
nodes=no
for victim in 0 2; do
    run 4 "$tree_pe" kill "$victim"
    expect "stopped waiting for PE .*PE $victim on host .* was lost: its process has ended" 1
    run 4 "$tree_pe" leave_child "$victim" # which has copies of the PE's sockets
    expect "PE $victim on host .* was lost: its process has ended" 1
    run 4 "$tree_pe" end "$victim"
    expect "the job is ending: PE $victim ended the job with status 7" 1
done
exit $((failures > 0))
