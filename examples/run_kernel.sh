#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_kernel.sh CHORUSRUN KERNEL: calls inside kernels are refused where the heap is on the host,
# and made where there is a GPU.
set -eu

# expect WHAT FOUND
expect() {
    [ "$2" = "$1" ] && return
    printf 'expected:\n%s\nfound:\n%s\n' "$1" "$2"
    exit 1
}

found=$(CHORUS_HEAP=host "$1" -n 1 "$2" 2>&1) && expect 'a failure' "$found"
case $found in
*"heap is in host memory"*) ;;
*) expect 'a word on the heap, which is in host memory' "$found" ;;
esac
[ -e /dev/nvidiactl ] || exit 77
found=$(CHORUS_HEAP=cuda "$1" -n 3 "$2" | sort)
expect 'PE 0 of 3: from PE 2, the sum is 6
PE 1 of 3: from PE 0, the sum is 6
PE 2 of 3: from PE 1, the sum is 6' "$found"
