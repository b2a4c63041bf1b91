#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_heap_limits.sh CHORUSRUN PROGRAM: a process that may have too little is told of what, and
# how much. PROGRAM initialises, and says why that failed.
set -u
chorusrun=$1 program=$2 failed=0

# expect TEXT LIMITS: with these limits, PEs do not start, and one or all of them say so.
expect() {
    said=$(timeout 100 "$chorusrun" -n 24 --timeout 60 sh -c "$2; exec $program" 2>&1) && {
        echo "with $2: started"
        failed=1
    }
    case $said in
    *"$1"*) ;;
    *)
        printf 'with %s: expected "%s", but:\n%s\n' "$2" "$1" "$said"
        failed=1
        ;;
    esac
}

expect "of 24 descriptors could be received; raise the limit with ulimit -n" 'ulimit -n 20'
expect "for the heaps of 24 PEs, " 'ulimit -v 4000000'
expect "lower CHORUS_HEAP_MAX or CHORUS_SYNC_MAX, or raise the limit of this process, 4096000000 (ulimit -v)" \
    'ulimit -v 4000000'
exit "$failed"
