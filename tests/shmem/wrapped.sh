#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compile programs by oshcc and oshcxx in several languages and run them by oshrun.
# usage: wrapped.sh FOLDER-OF-PROGRAMS FOLDER-OF-WRAPPERS
set -u
sources=$1 tools=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
export OSHCC_CC="cc -Wall -Wextra -Werror" OSHCXX_CXX="c++ -Wall -Wextra -Werror"

fail() {
    echo "wrapped: $1" >&2
    exit 1
}

# build COMPILER FLAGS SOURCE
build() {
    # shellcheck disable=SC2086 # a list of flags
    "$tools/$1" $2 "-I$sources" "$sources/$3" -o "$folder/program" ||
        fail "$1 $2 does not compile $3"
}

# run N WHAT
run() {
    "$tools/oshrun" -np "$1" --timeout 60 "$folder/program" || fail "$2 fails with $1 PEs"
}

for flags in "-std=gnu99 -fPIE -pie" "-std=c11 -D_GNU_SOURCE -no-pie -fno-pie" \
    "-std=gnu11 -O2 -pie -fPIE -Wl,-z,relro,-z,now" "-std=gnu17 -Wl,-z,norelro"; do
    build oshcc "$flags" globals.c
    run 3 "globals.c with $flags"
    [ -z "${CHORUS_TEST_FULL:-}" ] || run 1 "globals.c with $flags"
done
build oshcc -std=c11 generic.c
run 2 "generic.c in C11"

if command -v c++ >/dev/null; then
    for program in generic globals again nvshmem; do
        build oshcxx "-x c++ -std=c++17" $program.c
        run 2 "$program.c in C++"
    done
fi

# CUDA's headers, where they are: its types are those of the calls.
cuda=${CUDA_HOME:-/usr/local/cuda}/include
if [ -f "$cuda/cuda_bf16.h" ]; then
    build oshcxx "-std=c++17 -isystem $cuda" nvshmem_half.cpp
    run 2 "nvshmem_half.cpp"
fi

# Variables of a shared library that calls OpenSHMEM; those of it that the program has copies of.
"$tools/oshcc" -fPIC -shared "$sources/library.c" -o "$folder/liblibrary.so" || fail "no library"
for flags in "-fPIE -pie" "-fno-pie -no-pie"; do
    # shellcheck disable=SC2086
    "$tools/oshcc" $flags "-I$sources" "$sources/linked.c" -o "$folder/program" \
        "$folder/liblibrary.so" || fail "linked.c does not compile"
    run 3 "linked.c with $flags"
done

# A sanitizer's own variables must not be shared; the message says what to do.
if "$tools/oshcc" -fsanitize=address "-I$sources" "$sources/globals.c" -o "$folder/program" 2>"$folder/log"; then
    "$tools/oshrun" -n 2 --timeout 60 "$folder/program" 2>"$folder/log" &&
        fail "variables are symmetric under AddressSanitizer"
    grep -q "variables of the program are not symmetric: the program runs under AddressSanitizer" \
        "$folder/log" || fail "under AddressSanitizer: $(cat "$folder/log")"
fi

# Options of launchers.
# shellcheck disable=SC2016 # for the PEs' shell
said=$("$tools/oshrun" --np=2 --oversubscribe --bind-to core -x WORD=a --mca pml ob1 -wdir / \
    --allow-run-as-root sh -c 'echo $WORD $PWD') || fail "oshrun refuses its options"
[ "$said" = "a /
a /" ] || fail "oshrun says \"$said\""
"$tools/oshrun" --magic -n 2 true 2>"$folder/log" && fail "oshrun takes --magic"
grep -q 'unknown option "--magic"' "$folder/log" || fail "--magic: $(cat "$folder/log")"
"$tools/oshrun" -n 2 2>"$folder/log" && fail "oshrun starts nothing"
grep -q "the program is missing" "$folder/log" || fail "no program: $(cat "$folder/log")"
# How PEs go to hosts: what chorusrun is asked for, in whose place a script says it.
mkdir "$folder/bin"
cp "$tools/oshrun" "$folder/bin"
printf '#!/bin/sh\necho "$*"\n' >"$folder/bin/chorusrun"
chmod +x "$folder/bin/chorusrun"
cat >"$folder/hosts" <<'END'
# two machines
left slots=2
right:4 # the larger one
END
for case in "-np 3 -H a,b|-n 3 --hosts=a:2,b:1" "-H a:2,b|-n 3 --hosts=a:2,b:1" \
    "-np 4 --hostfile $folder/hosts|-n 4 --hosts=left:2,right:2" "-np 2 -quiet -H localhost|-n 2" \
    "-H $(uname -n):3|-n 3" "-np 2 -H localhost,b|-n 2 --hosts=localhost:1,b:1"; do
    # shellcheck disable=SC2086 # a list of options
    said=$("$folder/bin/oshrun" ${case%%|*} program)
    [ "$said" = "${case#*|} program" ] || fail "oshrun ${case%%|*} asks for \"$said\""
done
"$folder/bin/oshrun" -np 9 -H a:2,b:4 true 2>"$folder/log" && fail "oshrun finds 9 slots"
grep -q "fewer slots than 9" "$folder/log" || fail "9 slots: $(cat "$folder/log")"
# Old programs are C90, which has no inline.
echo '#include <shmemx.h>' | "$tools/oshcc" -ansi -fsyntax-only -x c - || fail "shmemx.h is not C90"
"$tools/oshcc" -showme | grep -q -- "-lchorus-shmem" || fail "oshcc -showme shows nothing"

# Variables of the environment that the standard names.
build oshcc -std=c11 again.c
SHMEM_VERSION=1 SHMEM_INFO=1 "$tools/oshrun" -n 2 "$folder/program" >"$folder/log" || fail "SHMEM_INFO"
[ "$(grep -c "OpenSHMEM 1" "$folder/log")" = 1 ] || fail "SHMEM_VERSION: $(cat "$folder/log")"
grep -q "^SHMEM_SYMMETRIC_SIZE " "$folder/log" || fail "SHMEM_INFO: $(cat "$folder/log")"
SHMEM_DEBUG=1 "$tools/oshrun" -n 2 "$folder/program" 2>"$folder/log" || fail "SHMEM_DEBUG"
grep -q debug "$folder/log" || fail "SHMEM_DEBUG says nothing"
SHMEM_SYMMETRIC_SIZE=0.5G "$tools/oshrun" -n 2 "$folder/program" || fail "SHMEM_SYMMETRIC_SIZE=0.5G"
SHMEM_SYMMETRIC_SIZE=8k "$tools/oshrun" -n 2 "$folder/program" >"$folder/log" 2>&1 &&
    fail "a heap of 8k holds 1 MiB"
SHMEM_SYMMETRIC_SIZE=much "$tools/oshrun" -n 1 "$folder/program" 2>"$folder/log"
grep -q 'SHMEM_SYMMETRIC_SIZE is "much"' "$folder/log" || fail "much: $(cat "$folder/log")"
exit 0
