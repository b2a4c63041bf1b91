/* SPDX-License-Identifier: Apache-2.0 */
/* cooperative.cu: CUDA's own cooperative launch: the grid meets, then one thread meets PEs. */
#include "program.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

/* Each round adds what the previous PE had before the round. */
__global__ void accumulate(int *values, int *incoming, size_t count, int n_rounds)
{
    const cg::grid_group grid = cg::this_grid();
    const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();

    for (int round = 0; round < n_rounds; round++) {
        for (size_t i = grid.thread_rank(); i < count; i += grid.size())
            nvshmem_int_p(incoming + i, values[i], next);
        grid.sync();
        if (grid.thread_rank() == 0) nvshmem_barrier_all();
        grid.sync();
        for (size_t i = grid.thread_rank(); i < count; i += grid.size())
            values[i] += incoming[i];
        grid.sync();
        if (grid.thread_rank() == 0) nvshmem_sync_all();
        grid.sync();
    }
}

/* What accumulate computes: binomial sums over the PEs before this one. */
__global__ void expect(const int *values, size_t count, int me, int n_pes, int n_rounds)
{
    for (size_t i = thread_of_grid(); i < count; i += threads_of_grid()) {
        int sum = 0, ways = 1;
        for (int k = 0; k <= n_rounds; k++) {
            sum += ways * element(((me - k) % n_pes + n_pes) % n_pes, 3, i);
            ways = ways * (n_rounds - k) / (k + 1);
        }
        if (values[i] != sum) atomicAdd(&n_wrong, 1);
    }
}

int main(void)
{
    size_t count = 5000;
    int n_rounds = 6;

    nvshmem_init();
    use_gpu_of_node();
    int *values = (int *)nvshmem_malloc(count * sizeof(int));
    int *incoming = (int *)nvshmem_malloc(count * sizeof(int));
    void *args[] = {&values, &incoming, &count, &n_rounds};
    fill<<<8, 128>>>(values, count, nvshmem_my_pe(), 3);
    poison(incoming, count);
    nvshmem_barrier_all();
    CUDA(cudaLaunchCooperativeKernel((const void *)accumulate, dim3(8), dim3(128), args, 0, 0));
    expect<<<8, 128>>>(values, count, nvshmem_my_pe(), nvshmem_n_pes(), n_rounds);
    CUDA(cudaDeviceSynchronize());
    nvshmem_barrier_all();
    nvshmem_free(incoming);
    nvshmem_free(values);
    return end_job("cooperative");
}
