#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Install to an empty folder, then build and run a program with what is there alone.
# usage: test_install.sh MESON BUILD HELLO.C
set -u
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "test_install: $1" >&2
    exit 1
}

command -v pkg-config >/dev/null || {
    echo "no pkg-config here"
    exit 77
}
"$1" install -C "$2" --no-rebuild --destdir "$folder" >"$folder/log" 2>&1 ||
    fail "cannot be installed: $(cat "$folder/log")"
# Headers that programs compile into their kernels include nothing that is not installed, but for
# the machines that base/exec.h does not choose there.
device=$(find "$folder" -type d -path '*/chorus/device')
grep -rh --include='*.h' --include='*.cuh' --exclude-dir=compat '^#include "' "$(dirname "$device")" |
    cut -d '"' -f 2 | grep -v -e '^chorus/' -e '^base/exec_host' -e '^base/exec_sim' | sort -u >"$folder/included"
while read -r header; do
    [ -f "$device/$header" ] || fail "$header is included by what is installed, and is not"
done <"$folder/included"
found() {
    find "$folder" -name "$1" | grep . || fail "no $1 among what is installed"
}
pc=$(found chorus.pc) && library=$(found libchorus.so) && sweep=$(found chorus-sweep) &&
    table=$(found host.yaml) || exit 1
bin=$(dirname "$sweep")

# The prefix is where it will be, not where it is now.
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$folder \
    PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 \
    pkg-config --cflags --libs chorus) || fail "pkg-config does not know chorus"
# shellcheck disable=SC2086 # a list of flags
cc "$3" $flags -o "$folder/hello" || fail "cannot be compiled with $flags"
said=$(LD_LIBRARY_PATH=$(dirname "$library") "$bin/chorusrun" -n 2 "$folder/hello" | sort)
[ "$said" = "PE 0 of 2: the sum is 3
PE 1 of 2: the sum is 3" ] || fail "hello says \"$said\""

# The programs find the library by themselves.
unset LD_LIBRARY_PATH

# So do those of OpenSHMEM, which oshcc compiles with what is installed, and pkg-config describes.
cat >"$folder/shmem.c" <<'END'
#include <shmem.h>
static int word = -1;
int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_p(&word, me, (me + 1) % n);
    shmem_barrier_all();
    return word != (me + n - 1) % n;
}
END
(cd "$folder" && "$bin/oshcc" -Wall -Werror shmem.c -o shmem) || fail "oshcc does not compile"
readelf -d "$folder/shmem" | grep -q "$2" && fail "oshcc uses the build folder"
"$bin/oshrun" -np 2 "$folder/shmem" || fail "a program of oshcc does not run"
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$folder \
    PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 \
    pkg-config --cflags --libs chorus-shmem) || fail "pkg-config does not know chorus-shmem"
# shellcheck disable=SC2086 # a list of flags
cc "$folder/shmem.c" $flags "-Wl,-rpath,$(dirname "$library")" -o "$folder/shmem2" ||
    fail "cannot be compiled with $flags"
"$bin/oshrun" -np 2 "$folder/shmem2" || fail "a program of chorus-shmem.pc does not run"
"$bin/chorusrun" -n 2 "$bin/chorus-sweep" --coll sync -n 1 >"$folder/log" 2>&1 ||
    fail "chorus-sweep: $(cat "$folder/log")"
"$bin/chorus-info" check "$table" >"$folder/log" 2>&1 ||
    fail "chorus-info: $(cat "$folder/log")"
"$bin/chorus-tune" --help >"$folder/log" 2>&1 || fail "chorus-tune: $(cat "$folder/log")"
