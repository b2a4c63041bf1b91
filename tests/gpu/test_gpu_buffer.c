/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the program on GPUs, registered for collectives or refused. */
#include "gpu_pes.h"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#define M ((size_t)1 << 20)

static void *driver_call(const char *name, unsigned version)
{
    enum cudaDriverEntryPointQueryResult found;
    void *call = NULL;

    EXPECT(cudaGetDriverEntryPointByVersion(name, &call, version, cudaEnableDefault, &found) ==
           cudaSuccess);
    EXPECT(call != NULL);
    return call;
}

/* The driver's call of that name, as of that version of CUDA, with these arguments. */
#define DRIVER(name, version, ...)                       \
    do {                                                 \
        void *const found = driver_call(#name, version); \
        PFN_##name##_v##version call;                    \
                                                         \
        memcpy(&call, &found, sizeof(call));             \
        EXPECT(call(__VA_ARGS__) == CUDA_SUCCESS);       \
    } while (0)

static int current_device(void)
{
    int device = -1;

    EXPECT(cudaGetDevice(&device) == cudaSuccess);
    return device;
}

/* By cuMemCreate, with such handles: bytes are a multiple of 2 MiB. */
static int *map_memory(size_t bytes, CUmemAllocationHandleType kinds)
{
    const CUmemAllocationProp is = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = kinds,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = current_device()}};
    const CUmemAccessDesc access = {.location = is.location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr at = 0;

    DRIVER(cuMemCreate, 10020, &handle, bytes, &is, 0);
    DRIVER(cuMemAddressReserve, 10020, &at, bytes, 0, 0, 0);
    DRIVER(cuMemMap, 10020, at, bytes, 0, handle, 0);
    DRIVER(cuMemSetAccess, 10020, at, bytes, &access, 1);
    DRIVER(cuMemRelease, 10020, handle);
    return (int *)(uintptr_t)at;
}

static void unmap_memory(int *memory, size_t bytes)
{
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)memory;

    DRIVER(cuMemUnmap, 10020, at, bytes);
    DRIVER(cuMemAddressFree, 10020, at, bytes);
}

static int reduce(int *dest, const int *source, size_t count, const char *algo)
{
    const chorusx_call call = {.coll = CHORUS_COLL_reduce,
                               .team = CHORUS_TEAM_WORLD,
                               .dest = dest,
                               .source = source,
                               .count = count,
                               .type = CHORUS_TYPE_i32,
                               .op = CHORUS_OP_sum,
                               .algo = algo};

    return chorusx_collective(&call, NULL);
}

static int value(int round, int pe, size_t i)
{
    return round * 1009 + pe * 31 + (int)i;
}

/* By an algorithm that loads from peers or stores to them: the program's own addresses. */
static void reduce_and_look(int round, int *dest, int *source, size_t count, const char *algo)
{
    int *here = malloc(count * sizeof(*here));

    if (!EXPECT(here != NULL)) return;
    for (size_t i = 0; i < count; i++)
        here[i] = value(round, gpu_me(), i);
    gpu_copy(source, here, count * sizeof(*here));
    gpu_fill(dest, 0xff, count * sizeof(*here));
    EXPECT(reduce(dest, source, count, algo) == CHORUS_OK);
    gpu_copy(here, dest, count * sizeof(*here));
    for (size_t i = 0; i < count; i++) {
        int sum = 0;

        for (int pe = 0; pe < gpu_n(); pe++)
            sum += value(round, pe, i);
        if (!EXPECT(here[i] == sum)) break;
    }
    free(here);
}

static void expect_refused(int code, const char *why)
{
    EXPECT(code == CHORUS_ERR_UNSUPPORTED && strstr(chorusx_last_error(), why) != NULL);
}

static void register__memory_of_the_driver__serves_as_symmetric(void)
{
    const size_t bytes = 4 * M, count = bytes / sizeof(int) / 2;
    int *memory = map_memory(bytes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    int *dest = memory, *source = memory + count;

    expect_refused(reduce(dest, source, count, "two_shot"), "symmetric");
    for (int round = 0; round < 3; round++) {
        EXPECT(chorusx_buffer_register(memory, bytes) == CHORUS_OK);
        reduce_and_look(3 * round, dest, source, count, "two_shot");
        reduce_and_look(3 * round + 1, dest, source + 1, 1001, "one_shot_pull");
        reduce_and_look(3 * round + 2, dest + 1, source, 77, NULL);
        EXPECT(chorusx_buffer_unregister(memory) == CHORUS_OK);
        expect_refused(reduce(dest, source, count, "two_shot"), "symmetric");
    }
    reduce_and_look(9, dest, source, count, NULL);
    unmap_memory(memory, bytes);
}

/* What stays registered is let go with the job. */
static void register__other_memory__is_refused_with_the_reason(void)
{
    int *plain = gpu_alloc(4 * M), *unshared = map_memory(2 * M, CU_MEM_HANDLE_TYPE_NONE);
    int *memory = map_memory(4 * M, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    int *round = (int *)(((uintptr_t)plain + 2 * M - 1) / (2 * M) * (2 * M));

    expect_refused(chorusx_buffer_register(round, 2 * M), "cudaMalloc's cannot");
    expect_refused(chorusx_buffer_register(unshared, 2 * M), "no file descriptor");
    EXPECT(chorusx_buffer_register(memory, 2 * M) == CHORUS_ERR_ARG);
    EXPECT(strstr(chorusx_last_error(), "not all that was mapped") != NULL);
    EXPECT(chorusx_buffer_register(memory + 1, 2 * M) == CHORUS_ERR_ARG);
    EXPECT(strstr(chorusx_last_error(), "expected whole pages") != NULL);
    EXPECT(chorusx_buffer_register(memory, 4 * M) == CHORUS_OK);
    gpu_free(plain);
    unmap_memory(unshared, 2 * M);
}

#define CASES(X)                                           \
    X(register__memory_of_the_driver__serves_as_symmetric) \
    X(register__other_memory__is_refused_with_the_reason)
GPU_MAIN(CASES)
