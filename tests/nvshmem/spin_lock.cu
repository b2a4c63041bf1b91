/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spin_lock.cu: a lock by compare_swap guards a record on the last PE, whose two words must
 * always agree; at the end a flag is polled by test, with other work in between.
 */
#include "program.cuh"

static const int n_turns = 100;

/* One thread of a block; a record has a sum and its negative. */
__global__ void take_turns(int *lock, long *record, int holder)
{
    const int me = nvshmem_my_pe();

    for (int i = 1; i <= n_turns; i++) {
        while (nvshmem_int_atomic_compare_swap(lock, 0, me + 1, holder) != 0)
            ;
        nvshmem_fence();
        const long sum = nvshmem_long_g(record, holder),
                   minus = nvshmem_long_g(record + 1, holder);
        if (sum != -minus) n_wrong++;
        nvshmem_long_p(record, sum + i, holder);
        nvshmem_long_p(record + 1, minus - i, holder);
        nvshmem_quiet();
        if (nvshmem_int_atomic_swap(lock, 0, holder) != me + 1) n_wrong++;
    }
}

__global__ void announce_end(int *flag)
{
    for (int pe = 0; pe < nvshmem_n_pes(); pe++)
        nvshmem_int_atomic_add(flag, 1, pe);
}

__global__ void await_end(int *flag, unsigned long long *n_polls)
{
    while (!nvshmem_int_test(flag, NVSHMEM_CMP_EQ, nvshmem_n_pes()))
        (*n_polls)++;
}

__global__ void check(const long *record, int me, int n_pes)
{
    const long all = (long)n_pes * n_turns * (n_turns + 1) / 2;

    if (me == n_pes - 1 && (record[0] != all || record[1] != -all)) n_wrong++;
}

int main(void)
{
    unsigned long long *n_polls;

    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    use_gpu_of_node();
    int *const lock = (int *)nvshmem_calloc(1, sizeof(int));
    int *const flag = (int *)nvshmem_calloc(1, sizeof(int));
    long *const record = (long *)nvshmem_calloc(2, sizeof(long));
    CUDA(cudaMalloc(&n_polls, sizeof(*n_polls)));
    CUDA(cudaMemset(n_polls, 0, sizeof(*n_polls)));
    CUDA(cudaDeviceSynchronize());
    nvshmem_barrier_all();
    take_turns<<<1, 1>>>(lock, record, n_pes - 1);
    announce_end<<<1, 1>>>(flag);
    await_end<<<1, 1>>>(flag, n_polls);
    nvshmemx_barrier_all_on_stream(0);
    check<<<1, 1>>>(record, me, n_pes);
    CUDA(cudaDeviceSynchronize());
    nvshmem_barrier_all();
    nvshmem_free(record);
    nvshmem_free(flag);
    nvshmem_free(lock);
    return end_job("spin_lock");
}
