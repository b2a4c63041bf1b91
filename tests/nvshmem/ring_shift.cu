/* SPDX-License-Identifier: Apache-2.0 */
/* ring_shift.cu: the first program of most users: each PE stores a number at the next PE. */
#include "program.cuh"

__global__ void shift(int *target, int word)
{
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();

    nvshmem_int_p(target, word + me, (me + 1) % n_pes);
}

__global__ void expect(const int *target, int word)
{
    if (*target != word) n_wrong++;
}

int main(void)
{
    cudaStream_t stream;
    int me, n_pes, *target;

    nvshmem_init();
    me = nvshmem_my_pe();
    n_pes = nvshmem_n_pes();
    use_gpu_of_node();
    CUDA(cudaStreamCreate(&stream));
    target = (int *)nvshmem_malloc(sizeof(int));
    for (int round = 0; round < 20; round++) {
        poison(target, 1);
        nvshmem_barrier_all();
        shift<<<1, 1, 0, stream>>>(target, 1000 * round);
        nvshmemx_barrier_all_on_stream(stream);
        expect<<<1, 1, 0, stream>>>(target, 1000 * round + (me + n_pes - 1) % n_pes);
        CUDA(cudaStreamSynchronize(stream));
    }
    nvshmem_free(target);
    CUDA(cudaStreamDestroy(stream));
    return end_job("ring_shift");
}
