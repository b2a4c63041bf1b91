/* SPDX-License-Identifier: Apache-2.0 */
/* allgather.cu: rows of all PEs at each, by puts of warps and by fcollect; built by CMake. */
#include "program.cuh"

static const size_t count = 640;

/* A warp for each peer. */
__global__ void by_puts(float *rows, const float *source, int me, int n_pes)
{
    for (int pe = (int)threadIdx.x / 32; pe < n_pes; pe += (int)blockDim.x / 32)
        nvshmemx_float_put_warp(rows + (size_t)me * count, source, count, pe);
    __syncthreads();
    nvshmemx_barrier_all_block();
}

__global__ void by_fcollect(float *rows, const float *source)
{
    nvshmemx_float_fcollect_block(NVSHMEM_TEAM_WORLD, rows, source, count);
}

int main(void)
{
    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    use_gpu_of_node();
    float *const rows = (float *)nvshmem_malloc((size_t)n_pes * count * sizeof(float));
    float *const source = (float *)nvshmem_malloc(count * sizeof(float));
    for (int round = 0; round < 6; round++) {
        fill<<<2, 128>>>(source, count, me, round);
        poison(rows, (size_t)n_pes * count);
        nvshmem_barrier_all();
        if (round % 2 == 0) by_puts<<<1, 128>>>(rows, source, me, n_pes);
        if (round % 2 == 1) by_fcollect<<<1, 128>>>(rows, source);
        for (int pe = 0; pe < n_pes; pe++)
            compare<<<2, 128>>>(rows + (size_t)pe * count, count, pe, round);
        CUDA(cudaDeviceSynchronize());
        nvshmem_barrier_all();
    }
    nvshmem_free(source);
    nvshmem_free(rows);
    return end_job("cmake_allgather");
}
