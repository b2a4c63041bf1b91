/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allreduce_by_hand.cu: an all-reduce as inference engines write it, with several blocks: each
 * PE reduces its slice from all peers by loads, and stores it at all.
 */
#include "program.cuh"

static const size_t slice = 2048; /* elements of a PE */

/* Block i of all PEs meets, by counters that only grow. */
__device__ void meet(uint64_t *counters, uint64_t target)
{
    const int pe = (int)threadIdx.x;

    __threadfence_system();
    __syncthreads();
    if (pe < nvshmem_n_pes())
        nvshmemx_signal_op(counters + blockIdx.x, 1, NVSHMEM_SIGNAL_ADD, pe);
    if (pe == 0) nvshmem_signal_wait_until(counters + blockIdx.x, NVSHMEM_CMP_GE, target);
    __syncthreads();
}

__global__ void all_reduce(float *data, float *result, uint64_t *counters, uint64_t round)
{
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    const size_t first = (size_t)me * slice;

    meet(counters, (2 * round - 1) * (uint64_t)n_pes);
    for (size_t i = first + thread_of_grid(); i < first + slice; i += threads_of_grid()) {
        float sum = 0;
        for (int pe = 0; pe < n_pes; pe++)
            sum += nvshmem_float_g(data + i, pe);
        for (int pe = 0; pe < n_pes; pe++)
            nvshmem_float_p(result + i, sum, pe);
    }
    meet(counters, 2 * round * (uint64_t)n_pes);
}

__global__ void check(const float *result, size_t count, int n_pes, int round)
{
    for (size_t i = thread_of_grid(); i < count; i += threads_of_grid()) {
        float sum = 0;
        for (int pe = 0; pe < n_pes; pe++)
            sum += (float)element(pe, round, i);
        if (result[i] != sum) atomicAdd(&n_wrong, 1);
    }
}

int main(void)
{
    const unsigned n_blocks = 4;

    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    const size_t count = slice * (size_t)n_pes;
    use_gpu_of_node();
    float *const data = (float *)nvshmem_malloc(count * sizeof(float));
    float *const result = (float *)nvshmem_malloc(count * sizeof(float));
    uint64_t *const counters = (uint64_t *)nvshmem_calloc(n_blocks, sizeof(uint64_t));
    for (uint64_t round = 1; round <= 5; round++) {
        fill<<<8, 128>>>(data, count, me, (int)round);
        poison(result, count);
        nvshmem_barrier_all();
        all_reduce<<<n_blocks, 128>>>(data, result, counters, round);
        nvshmemx_barrier_all_on_stream(0);
        check<<<8, 128>>>(result, count, n_pes, (int)round);
        CUDA(cudaDeviceSynchronize());
    }
    nvshmem_barrier_all();
    nvshmem_free(counters);
    nvshmem_free(result);
    nvshmem_free(data);
    return end_job("allreduce_by_hand");
}
