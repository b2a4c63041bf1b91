#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_heap_cgroup.sh CHORUSRUN MEMORY_PE: a job in a control group that has 192 MiB. Its heap stops
# before that, with null; what the kernel kills is named. Exit 77 where no such group can be made.
set -u
chorusrun=$1 program=$2 limit=201326592 failed=0

cannot() {
    echo "$1"
    exit 77
}

path=$(sed -n 's/^[0-9]*:\([^:]*,\)*memory\(,[^:]*\)*://p' /proc/self/cgroup)
if [ -n "$path" ]; then
    group=/sys/fs/cgroup/memory$path/chorus-test-$$ file=memory.limit_in_bytes
else
    group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/chorus-test-$$ file=memory.max
fi
mkdir "$group" 2>/dev/null || cannot "no control group can be made here"
trap 'rmdir "$group"' EXIT
echo "$limit" >"$group/$file" 2>/dev/null || cannot "no memory limit can be set for a control group here"
# Its page cache and swap are not what is tried.
echo 0 2>/dev/null >"$group/memory.swap.max" || true

# expect WHAT STATUS TEXT
expect() {
    said=$(
        sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$group" \
            timeout 100 "$chorusrun" -n 2 --timeout 60 "$program" "$1" 2>&1
    )
    status=$?
    case $status:$said in
    "$2":*"$3"*) ;;
    *)
        printf '%s: expected status %s and "%s", but %s:\n%s\n' "$1" "$2" "$3" "$status" "$said"
        failed=1
        ;;
    esac
}

expect heap 0 "and the control group $group has "
expect private 137 "the kernel's out-of-memory killer has ended processes of its control group"
exit "$failed"
