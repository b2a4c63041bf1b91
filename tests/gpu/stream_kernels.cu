/* SPDX-License-Identifier: Apache-2.0 */
#define ORACLE_FN static __host__ __device__ inline

extern "C" {
#include "stream_kernels.h"
}

#include <cuda_runtime.h>

#define PATTERN 0xa5a5a5a5a5a5a5a5ull /* of margins */

enum { LANES = 256, BLOCKS_MAX = 8 };

static __device__ uint64_t seed_of(const struct stream_check *check)
{
    return *check->round * 4096 + check->tag;
}

static __device__ uint64_t load_element(const void *at, uint32_t width, uint64_t i)
{
    if (width == 1) return ((const uint8_t *)at)[i];
    if (width == 2) return ((const uint16_t *)at)[i];
    if (width == 4) return ((const uint32_t *)at)[i];
    return ((const uint64_t *)at)[i];
}

static __device__ void store_element(void *at, uint32_t width, uint64_t i, uint64_t bits)
{
    if (width == 1)
        ((uint8_t *)at)[i] = (uint8_t)bits;
    else if (width == 2)
        ((uint16_t *)at)[i] = (uint16_t)bits;
    else if (width == 4)
        ((uint32_t *)at)[i] = (uint32_t)bits;
    else
        ((uint64_t *)at)[i] = bits;
}

/* What is looked at of dest: with margins also what a PE that is not the root has of it. */
static __host__ __device__ uint64_t looked_at(const struct stream_check *check)
{
    const uint64_t blocks = ref_is_of_each(check->call.coll) ? check->call.n : 1;

    if (check->margin == 0) return oracle_dest_count(&check->call);
    return blocks * check->call.count + 2 * check->margin;
}

/* Of what is looked at, element i: does the call leave it as it is? */
static __device__ bool stays(const struct stream_check *check, uint64_t i)
{
    return i < check->margin || i - check->margin >= oracle_dest_count(&check->call);
}

static __device__ uint64_t wanted(const struct stream_check *check, uint64_t seed, uint64_t i)
{
    if (stays(check, i)) return PATTERN & oracle_mask(check->call.width);
    return oracle_dest(&check->call, seed, i - check->margin);
}

static __device__ char *start_of(const struct stream_check *check, const void *dest)
{
    return (char *)dest - check->margin * check->call.width;
}

static __global__ void poison(const struct stream_check check, void *dest)
{
    const uint64_t seed = seed_of(&check), n = looked_at(&check);

    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x) {
        const uint64_t want = wanted(&check, seed, i);

        store_element(start_of(&check, dest), check.call.width, i,
                      stays(&check, i) ? want : ~want);
    }
}

static __global__ void fill(const struct stream_check check, void *source)
{
    const uint64_t seed = seed_of(&check), n = oracle_source_count(&check.call);

    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        store_element(source, check.call.width, i,
                      oracle_source(&check.call, seed, check.call.me, i));
}

static __device__ void note_wrong(const struct stream_check *check, uint64_t i, uint64_t got,
                                  uint64_t want)
{
    struct stream_found *found = check->found;

    if (atomicAdd(&found->wrong, 1ull) != 0) return;
    found->tag = check->tag;
    found->round = *check->round;
    found->i = i;
    found->got = got;
    found->want = want;
}

static __global__ void compare(const struct stream_check check, const void *dest)
{
    const uint64_t seed = seed_of(&check), n = looked_at(&check);

    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x) {
        const uint64_t got = load_element(start_of(&check, dest), check.call.width, i);
        const uint64_t want = wanted(&check, seed, i);

        if (got != want) note_wrong(&check, i, got, want);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) atomicAdd(&check.found->checked, n);
}

static __global__ void next(unsigned long long *round)
{
    ++*round;
}

static unsigned blocks_for(uint64_t n)
{
    const uint64_t blocks = (n + LANES - 1) / LANES;

    return (unsigned)(blocks < 1 ? 1 : blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX);
}

int stream_put_poison(const struct stream_check *check, void *dest, void *stream)
{
    poison<<<blocks_for(looked_at(check)), LANES, 0, (cudaStream_t)stream>>>(*check, dest);
    return cudaGetLastError();
}

int stream_put_fill(const struct stream_check *check, void *source, void *stream)
{
    fill<<<blocks_for(oracle_source_count(&check->call)), LANES, 0, (cudaStream_t)stream>>>(
        *check, source);
    return cudaGetLastError();
}

int stream_put_check(const struct stream_check *check, const void *dest, void *stream)
{
    compare<<<blocks_for(looked_at(check)), LANES, 0, (cudaStream_t)stream>>>(*check, dest);
    return cudaGetLastError();
}

int stream_put_next(unsigned long long *round, void *stream)
{
    next<<<1, 1, 0, (cudaStream_t)stream>>>(round);
    return cudaGetLastError();
}

int stream_load_kernels(void)
{
    struct cudaFuncAttributes is;
    cudaError_t error = cudaFuncGetAttributes(&is, (const void *)fill);

    if (error == cudaSuccess) error = cudaFuncGetAttributes(&is, (const void *)poison);
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&is, (const void *)compare);
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&is, (const void *)next);
    return error;
}
