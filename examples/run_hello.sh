#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_hello.sh CHORUSRUN HELLO: what the README promises of its program.
set -eu
expected='PE 0 of 3: the sum is 6
PE 1 of 3: the sum is 6
PE 2 of 3: the sum is 6'
found=$("$1" -n 3 "$2" | sort)
[ "$found" = "$expected" ] || {
    echo "expected:"
    echo "$expected"
    echo "found:"
    echo "$found"
    exit 1
}
