/* SPDX-License-Identifier: Apache-2.0 */
/* collective_launch.cu: blocks that wait for those of other PEs, in as many as run at once. */
#include "program.cuh"

/* Block b sends part b to the next PE and waits for part b of the one before. */
__global__ void exchange_parts(float *dest, const float *source, size_t part, uint64_t *arrived,
                               uint64_t round)
{
    const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
    const size_t first = blockIdx.x * part;

    nvshmemx_float_put_signal_nbi_block(dest + first, source + first, part,
                                        arrived + blockIdx.x, round, NVSHMEM_SIGNAL_SET, next);
    if (threadIdx.x == 0)
        nvshmem_signal_wait_until(arrived + blockIdx.x, NVSHMEM_CMP_GE, round);
    __syncthreads();
    for (size_t i = threadIdx.x; i < part; i += blockDim.x)
        if (dest[first + i] == 0) atomicAdd(&n_wrong, 1);
}

int main(void)
{
    size_t part = 1000;
    int n_blocks = 0, n_everywhere;

    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    use_gpu_of_node();
    if (nvshmemx_collective_launch_query_gridsize((const void *)exchange_parts, dim3(128), NULL,
                                                  0, &n_blocks) != NVSHMEMX_SUCCESS ||
        n_blocks < 1)
        return EXIT_FAILURE;
    if (n_blocks > 16) n_blocks = 16;
    int *const at_least = (int *)nvshmem_malloc(sizeof(int));
    CUDA(cudaMemcpy(at_least, &n_blocks, sizeof(int), cudaMemcpyHostToDevice));
    nvshmemx_int_min_reduce_on_stream(NVSHMEM_TEAM_WORLD, at_least, at_least, 1, 0);
    CUDA(cudaMemcpy(&n_everywhere, at_least, sizeof(int), cudaMemcpyDeviceToHost));

    const size_t count = (size_t)n_everywhere * part;
    float *dest = (float *)nvshmem_malloc(count * sizeof(float));
    float *source = (float *)nvshmem_malloc(count * sizeof(float));
    uint64_t *arrived = (uint64_t *)nvshmem_calloc((size_t)n_everywhere, sizeof(uint64_t));
    for (uint64_t round = 1; round <= 5; round++) {
        void *args[] = {&dest, &source, &part, &arrived, &round};
        fill<<<8, 128>>>(source, count, me, (int)round);
        CUDA(cudaMemset(dest, 0, count * sizeof(float)));
        nvshmemx_barrier_all_on_stream(0);
        if (nvshmemx_collective_launch((const void *)exchange_parts,
                                       dim3((unsigned)n_everywhere), dim3(128), args, 0,
                                       0) != NVSHMEMX_SUCCESS)
            return EXIT_FAILURE;
        compare<<<8, 128>>>(dest, count, (me + n_pes - 1) % n_pes, (int)round);
        nvshmemx_barrier_all_on_stream(0);
        CUDA(cudaDeviceSynchronize());
    }
    nvshmem_free(arrived);
    nvshmem_free(source);
    nvshmem_free(dest);
    nvshmem_free(at_least);
    return end_job("collective_launch");
}
