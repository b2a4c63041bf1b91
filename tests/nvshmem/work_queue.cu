/* SPDX-License-Identifier: Apache-2.0 */
/* work_queue.cu: blocks of all PEs take items from a counter of PE 0, until none are left. */
#include "program.cuh"

static const int n_items = 5000;

/* An item is done by adding to its word at its owner. */
__global__ void work(int *next, int *done, int n_pes)
{
    __shared__ int item;

    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) item = nvshmem_int_atomic_fetch_inc(next, 0);
        __syncthreads();
        if (item >= n_items * n_pes) return;
        if (threadIdx.x == 0)
            nvshmem_int_atomic_fetch_add(done + item / n_pes, item + 1, item % n_pes);
    }
}

/* Each item exactly once; and all blocks of all PEs were told that none is left. */
__global__ void check(const int *next, const int *done, int me, int n_pes, int n_blocks)
{
    for (int i = (int)threadIdx.x; i < n_items; i += (int)blockDim.x)
        if (done[i] != i * n_pes + me + 1) atomicAdd(&n_wrong, 1);
    if (threadIdx.x == 0 && me == 0 && *next != n_items * n_pes + n_blocks * n_pes) n_wrong++;
}

int main(void)
{
    const int n_blocks = 12;

    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    use_gpu_of_node();
    int *const next = (int *)nvshmem_malloc(sizeof(int));
    int *const done = (int *)nvshmem_malloc(n_items * sizeof(int));
    for (int round = 0; round < 3; round++) {
        CUDA(cudaMemset(next, 0, sizeof(int)));
        CUDA(cudaMemset(done, 0, n_items * sizeof(int)));
        CUDA(cudaDeviceSynchronize());
        nvshmem_barrier_all();
        work<<<n_blocks, 64>>>(next, done, n_pes);
        nvshmemx_barrier_all_on_stream(0);
        check<<<1, 256>>>(next, done, me, n_pes, n_blocks);
        CUDA(cudaDeviceSynchronize());
        nvshmem_barrier_all();
    }
    nvshmem_free(done);
    nvshmem_free(next);
    return end_job("work_queue");
}
