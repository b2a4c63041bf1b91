/* SPDX-License-Identifier: Apache-2.0 */
/* scopes.cu: the same exchange by single threads, by warps and by blocks: put, get, barriers.
 */
#include "program.cuh"

static const size_t part = 96; /* elements of a warp */
static const int n_warps = 4;
static const size_t count = part * n_warps;

__global__ void by_threads(short *dest, const short *source, int next)
{
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        nvshmem_short_put(dest + i, source + i, 1, next);
    __syncthreads();
    if (threadIdx.x == 0) nvshmem_barrier_all();
}

__global__ void by_warps(short *dest, const short *source, int before)
{
    const size_t first = threadIdx.x / 32 * part;

    nvshmemx_short_get_warp(dest + first, source + first, part, before);
    __syncthreads();
    if (threadIdx.x < 32) nvshmemx_barrier_all_warp();
}

__global__ void __launch_bounds__(1024) by_block(short *dest, const short *source, int next)
{
    nvshmemx_short_put_nbi_block(dest, source, count, next);
    nvshmemx_barrier_all_block();
}

__global__ void by_bytes(short *dest, const short *source, int before)
{
    nvshmemx_getmem_nbi_block(dest, source, count * sizeof(short), before);
    nvshmem_quiet();
    nvshmemx_sync_all_block();
}

__global__ void by_words(short *dest, const short *source, int next)
{
    nvshmemx_put64_warp(dest, source, count * sizeof(short) / 8, next);
    nvshmemx_barrier_warp(NVSHMEM_TEAM_WORLD);
}

int main(void)
{
    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    const int next = (me + 1) % n_pes, before = (me + n_pes - 1) % n_pes;
    use_gpu_of_node();
    short *const dest = (short *)nvshmem_malloc(count * sizeof(short));
    short *const source = (short *)nvshmem_malloc(count * sizeof(short));
    for (int round = 0; round < 10; round++) {
        fill<<<1, 128>>>(source, count, me, round);
        poison(dest, count);
        nvshmem_barrier_all();
        if (round % 5 == 0) by_threads<<<1, 32 * n_warps>>>(dest, source, next);
        if (round % 5 == 1) by_warps<<<1, 32 * n_warps>>>(dest, source, before);
        if (round % 5 == 2) by_block<<<1, 1024>>>(dest, source, next);
        if (round % 5 == 3) by_bytes<<<1, dim3(8, 4, 2)>>>(dest, source, before);
        if (round % 5 == 4) by_words<<<1, 32>>>(dest, source, next);
        CUDA(cudaGetLastError());
        compare<<<1, 128>>>(dest, count, before, round);
        CUDA(cudaDeviceSynchronize());
        nvshmem_barrier_all();
    }
    nvshmem_free(source);
    nvshmem_free(dest);
    return end_job("scopes");
}
