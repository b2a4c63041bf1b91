#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_all.sh CHORUSRUN CHORUS_INFO TEAMS STREAM TABLE: each example says what it should.
set -eu
expect() {
    [ "$2" = "$1" ] || {
        echo "expected:"
        echo "$1"
        echo "found:"
        echo "$2"
        exit 1
    }
}
expect 'PE 0 is 0 of its row, where the sum is 3; of its column it is 4
PE 1 is 1 of its row, where the sum is 3; of its column it is 6
PE 2 is 0 of its row, where the sum is 7; of its column it is 4
PE 3 is 1 of its row, where the sum is 7; of its column it is 6' "$("$1" -n 4 "$3" | sort)"
expect 'PE 0: right, 2999997 besides
PE 1: right, 2999997 besides' "$("$1" -n 2 "$4" | sort)"
"$2" check "$5" >/dev/null
expect 'algorithm two_shot' "$(CHORUS_TUNING=$5 "$2" explain reduce --pes 2 --bytes 64K |
    grep -o -m 1 'two_shot' | sed 's/^/algorithm /')"
