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
    find "$folder" -name "$1" -not -path '*/nvshmem/*' | grep . || fail "no $1 among what is installed"
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
# Calls inside kernels.
nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc)
if [ -n "$nvcc" ]; then
    flags=$(PKG_CONFIG_PATH=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$folder \
        PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 \
        pkg-config --cflags --libs chorus-device) || fail "pkg-config does not know chorus-device"
    # shellcheck disable=SC2086 # a list of flags
    "$nvcc" -std=c++17 -arch=sm_90 "$(dirname "$3")/kernel.cu" $flags -o "$folder/kernel" ||
        fail "kernel.cu cannot be compiled with $flags"
fi
# A project of CMake, in C and C++ (which the wrapper of C++ compiles, too).
if command -v cmake >/dev/null && command -v c++ >/dev/null; then
    mkdir "$folder/outside"
    cp "$3" "$folder/outside/hello.c"
    cp "$folder/shmem.c" "$folder/outside/shmem.cpp"
    cat >"$folder/outside/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.13)
project(outside C CXX)
find_package(chorus 0.1 REQUIRED)
add_executable(hello hello.c)
target_link_libraries(hello chorus::chorus)
add_executable(shmem shmem.cpp)
target_link_libraries(shmem chorus::shmem)
END
    cmake -S "$folder/outside" -B "$folder/outside/build" \
        -Dchorus_DIR="$(dirname "$(found chorusConfig.cmake)")" >"$folder/log" 2>&1 ||
        fail "cmake: $(cat "$folder/log")"
    cmake --build "$folder/outside/build" >"$folder/log" 2>&1 || fail "cmake: $(cat "$folder/log")"
    "$bin/chorusrun" -n 2 "$folder/outside/build/hello" >"$folder/log" || fail "cmake's hello fails"
    "$bin/oshrun" -np 3 "$folder/outside/build/shmem" || fail "cmake's shmem fails"
fi

# The library has the name and the version that programs ask for; pages of functions are there.
readelf -d "$library" | grep -q 'soname: \[libchorus.so.0\]' || fail "libchorus.so has no soname"
readelf --dyn-syms -W "$folder/hello" | grep -q 'chorus_init@CHORUS_0' || fail "no version of symbols"
pages=$(dirname "$(found chorus_put.3)")
grep -q 'chorus_T_put_nbi(T \*dest' "$pages/chorus_put.3" || fail "chorus_put(3) has no chorus_T_put_nbi"
grep -q 'so man3/chorus_put.3' "$pages/chorus_get.3" || fail "chorus_get(3) is not chorus_put(3)"
if command -v mandoc >/dev/null; then
    (cd "$pages/.." && grep -L '^\.so' man3/*.3 | xargs mandoc -T lint -W warning) || fail "pages of functions"
fi

"$bin/chorusrun" -n 2 "$bin/chorus-sweep" --coll sync -n 1 >"$folder/log" 2>&1 ||
    fail "chorus-sweep: $(cat "$folder/log")"
"$bin/chorus-info" check "$table" >"$folder/log" 2>&1 ||
    fail "chorus-info: $(cat "$folder/log")"
"$bin/chorus-tune" --help >"$folder/log" 2>&1 || fail "chorus-tune: $(cat "$folder/log")"
