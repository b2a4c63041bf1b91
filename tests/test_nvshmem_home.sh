#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs of NVSHMEM, unchanged, built by its command lines with NVSHMEM_HOME where Chorus installed
# its folder: by a compiler of C and one of C++, by nvcc with kernels, as one object and separately
# compiled, and by CMake's package. What needs no GPU also runs.
# usage: test_nvshmem_home.sh MESON BUILD
set -u
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "test_nvshmem_home: $1" >&2
    exit 1
}

"$1" install -C "$2" --no-rebuild --destdir "$folder/installed" >"$folder/log" 2>&1 ||
    fail "cannot be installed: $(cat "$folder/log")"
NVSHMEM_HOME=$(find "$folder/installed" -type d -name nvshmem -path '*/nvshmem' -not -path '*/cmake/*' | head -n 1)
[ -n "$NVSHMEM_HOME" ] || fail "no folder nvshmem among what is installed"
export NVSHMEM_HOME LD_LIBRARY_PATH="$NVSHMEM_HOME/lib"
dangling=$(find "$NVSHMEM_HOME" -xtype l)
[ -z "$dangling" ] || fail "these links lead nowhere: $dangling"
# PyTorch loads NVIDIA's library by this name.
[ -z "$(find "$folder/installed" -name '*nvshmem*.so.3*')" ] || fail "a file has the name of NVIDIA's library"
cd "$folder" || exit 1

# Headers that programs of others include, each alone.
for header in nvshmem.h nvshmemx.h nvshmem_host.h bootstrap_device_host/nvshmem_uniqueid.h \
    device/nvshmem_defines.h device/nvshmemx_defines.h \
    device/nvshmem_coll_defines.cuh device/nvshmemx_coll_defines.cuh device/nvshmem_device_macros.h \
    device/nvshmemx_collective_launch_apis.h device_host/nvshmem_common.cuh device_host/nvshmem_types.h \
    device_host_transport/nvshmem_common_transport.h device_host_transport/nvshmem_constants.h \
    host/nvshmem_api.h host/nvshmemx_api.h host/nvshmem_coll_api.h host/nvshmemx_coll_api.h host/nvshmem_macros.h \
    non_abi/nvshmem_version.h non_abi/nvshmemx_error.h non_abi/device/coll/reduce.cuh \
    non_abi/device/pt-to-pt/transfer_device.cuh non_abi/device/wait/nvshmemi_wait_until_apis.cuh; do
    echo "#include <$header>
int main(void) { return nvshmemx_init_status() + NVSHMEM_CMP_EQ; }" >alone.c
    cc -fsyntax-only -I"$NVSHMEM_HOME/include" alone.c || fail "$header cannot be compiled alone"
done

# What nvshmem.h brings by itself: names of extensions, assert, printf.
cat >host.c <<'END'
#include <nvshmem.h>
int main(void)
{
    int *word, me, n;
    nvshmem_init();
    me = nvshmem_my_pe(), n = nvshmem_n_pes();
    word = (int *)nvshmem_malloc(sizeof(int));
    *word = -1;
    nvshmem_barrier_all();
    nvshmem_int_p(word, me, (me + 1) % n);
    nvshmemx_barrier_all_on_stream(0);
    nvshmem_barrier_all();
    assert(*word == (me + n - 1) % n);
    printf("PE %d of %d\n", me, n);
    nvshmem_free(word);
    nvshmem_finalize();
    return 0;
}
END
cp host.c host.cpp
link="-I$NVSHMEM_HOME/include -L$NVSHMEM_HOME/lib -lnvshmem_host -lnvshmem_device"
# shellcheck disable=SC2086 # a list of flags
cc host.c $link -ldl -o host || fail "a program of C cannot be compiled"
# shellcheck disable=SC2086
c++ host.cpp $link -ldl -o host++ || fail "a program of C++ cannot be compiled"
for program in host host++; do
    said=$(CHORUS_HEAP=host "$NVSHMEM_HOME/bin/nvshmrun" -n 2 "./$program" | sort) || fail "$program fails"
    [ "$said" = "PE 0 of 2
PE 1 of 2" ] || fail "$program says \"$said\""
done
# The library's name of before NVSHMEM 3, as a name and as a file.
old="-L$NVSHMEM_HOME/lib -lnvshmem"
# shellcheck disable=SC2086
cc host.c -I"$NVSHMEM_HOME/include" $old -ldl -o old || fail "$old cannot be linked"
CHORUS_HEAP=host "$NVSHMEM_HOME/bin/nvshmrun" -n 2 ./old >log || fail "a program of $old fails"
readelf -d old | grep -q 'libchorus.so.0' || fail "a program of $old does not load libchorus"
"$NVSHMEM_HOME/bin/nvshmem-info" --version >log || fail "nvshmem-info fails"

if command -v cmake >/dev/null; then
    mkdir project
    cp host.cpp project
    cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(outside CXX)
find_package(NVSHMEM 3.0 REQUIRED)
find_library(old_name nvshmem PATHS ${NVSHMEM_PREFIX}/lib REQUIRED NO_DEFAULT_PATH)
foreach(name host old)
    add_executable(${name} host.cpp)
endforeach()
target_link_libraries(host nvshmem::nvshmem_host nvshmem::nvshmem_device)
target_link_libraries(old nvshmem::nvshmem)
END
    (cmake -S project -B project/build -DNVSHMEM_DIR="$NVSHMEM_HOME/lib/cmake/nvshmem" &&
        cmake --build project/build) >log 2>&1 || fail "cmake: $(cat log)"
    for program in host old; do
        CHORUS_HEAP=host "$NVSHMEM_HOME/bin/nvshmrun" -n 2 "project/build/$program" >log || fail "cmake's $program fails"
    done
fi

PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || exit 0
# Kernels in one file, launched from another; no line of them is Chorus's.
cat >kernels.cu <<'END'
#include <nvshmem.h>
#include <nvshmemx.h>
__global__ void pass_on(int *word, half *value)
{
    const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
    nvshmem_int_p(word, nvshmem_my_pe(), next);
    nvshmem_half_p(value, __float2half(0.5f), next);
    nvshmem_quiet();
}
void launch(int *word, half *value) { pass_on<<<1, 1>>>(word, value); }
END
cat >main.cu <<'END'
#include <nvshmem.h>
void launch(int *word, half *value);
int main()
{
    nvshmem_init();
    cudaStream_t stream;
    CUdevice device = 0;
    cudaStreamCreate(&stream);
    launch((int *)nvshmem_malloc(4), (half *)nvshmem_malloc(2));
    nvshmemx_barrier_all_on_stream(stream);
    nvshmem_finalize();
    return (int)device;
}
END
for how in '-std=c++11' '-std=c++20 -rdc=true'; do
    # shellcheck disable=SC2086
    nvcc -O0 -Xptxas -O0 -arch=sm_90 $how kernels.cu main.cu $link -o program >log 2>&1 ||
        fail "nvcc $how: $(cat log)"
    ! grep -q 'warning' log || fail "nvcc $how warns: $(cat log)"
done
readelf -d program | grep -q 'libchorus.so.0' || fail "the program does not load libchorus"
# The old name, as nvcc links with and without relocatable device code, also where that is a step of its own.
cat >small.cu <<'END'
#include <nvshmem.h>
__global__ void kernel(int *word)
{
    nvshmem_int_p(word, 1, nvshmem_my_pe());
    nvshmem_barrier_all();
}
int main() { kernel<<<1, 1>>>(0); return nvshmemx_init_status(); }
END
for how in '' '-rdc=true'; do
    # Beside a library of host code, nvlink does not look for an archive of the same name.
    old="-L$NVSHMEM_HOME/lib -lnvshmem ${how:+-lnvshmem_device}"
    # shellcheck disable=SC2086
    nvcc -O0 -Xptxas -O0 -arch=sm_90 $how -I"$NVSHMEM_HOME/include" -c small.cu >log 2>&1 || fail "nvcc $how: $(cat log)"
    # shellcheck disable=SC2086
    (nvcc -arch=sm_90 $how small.o -o old $old && nvcc -arch=sm_90 -dlink small.o -o link.o $old) >log 2>&1 ||
        fail "nvcc $how $old: $(cat log)"
    [ ! -s log ] || fail "nvcc $how $old says: $(cat log)"
    readelf -d old | grep -q 'libchorus.so.0' || fail "nvcc $how $old: the program does not load libchorus"
done

# Separately compiled kernels with collectives have room for 1,024 threads: of what they call, the
# library has what takes many registers.
[ -f "$NVSHMEM_HOME/include/nvshmem_device_library.h" ] || exit 0
cat >threads.cu <<'END'
#include <nvshmem.h>
#include <nvshmemx.h>
__global__ void meet(float *dest, float *source, size_t count)
{
    nvshmemx_float_sum_reduce_block(NVSHMEM_TEAM_WORLD, dest, source, count);
    nvshmemx_float_put_block(dest, source, count, 0);
    nvshmemx_barrier_all_block();
}
END
device=$(sed -n 's/.*== \([0-9]*\)0.*/\1/p' "$NVSHMEM_HOME/include/nvshmem_device_library.h" | head -n 1)
nvcc -arch="sm_$device" -rdc=true -I"$NVSHMEM_HOME/include" -c threads.cu -o threads.o >log 2>&1 ||
    fail "nvcc -c: $(cat log)"
nvcc -arch="sm_$device" -dlink threads.o -L"$NVSHMEM_HOME/lib" -lnvshmem_device -o linked.o -Xnvlink -v >log 2>&1 ||
    fail "nvcc -dlink: $(cat log)"
registers=$(sed -n 's/.*used \([0-9]*\) registers.*/\1/p' log | sort -n | tail -n 1)
[ "${registers:-255}" -le 64 ] || fail "kernels have ${registers:-?} registers: $(cat log)"
