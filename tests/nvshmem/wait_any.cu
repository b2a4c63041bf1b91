/* SPDX-License-Identifier: Apache-2.0 */
/* wait_any.cu: messages of all PEs are taken in the order in which they arrive. */
#include "program.cuh"

static const int n_max = 64; /* PEs */
static const size_t count = 100;

/* Message of this PE to each, with its flag. */
__global__ void send(int *inbox, const int *source, uint64_t *flags, uint64_t round)
{
    const int me = nvshmem_my_pe();

    for (int pe = 0; pe < nvshmem_n_pes(); pe++)
        nvshmemx_int_put_signal_warp(inbox + (size_t)me * count, source, count, flags + me,
                                     round, NVSHMEM_SIGNAL_SET, pe);
}

__device__ void take(const int *inbox, size_t from, uint64_t round)
{
    for (size_t i = 0; i < count; i++)
        if (inbox[from * count + i] != element((int)from, (int)round, i)) n_wrong++;
}

/* One at a time, those that were taken being left out. */
__global__ void receive_any(const int *inbox, uint64_t *flags, uint64_t round)
{
    const size_t n = (size_t)nvshmem_n_pes();
    int is_taken[n_max];

    for (size_t i = 0; i < n; i++)
        is_taken[i] = 0;
    for (size_t k = 0; k < n; k++) {
        const size_t from =
            nvshmem_uint64_wait_until_any(flags, n, is_taken, NVSHMEM_CMP_EQ, round);
        if (from >= n || is_taken[from]) {
            n_wrong++;
            return;
        }
        is_taken[from] = 1;
        take(inbox, from, round);
    }
}

/* All that are there. */
__global__ void receive_some(const int *inbox, uint64_t *flags, uint64_t round)
{
    const size_t n = (size_t)nvshmem_n_pes();
    size_t which[n_max], n_taken = 0;
    int is_taken[n_max];

    for (size_t i = 0; i < n; i++)
        is_taken[i] = 0;
    while (n_taken < n) {
        const size_t n_here =
            nvshmem_uint64_wait_until_some(flags, n, which, is_taken, NVSHMEM_CMP_GE, round);
        for (size_t k = 0; k < n_here; k++) {
            is_taken[which[k]] = 1;
            take(inbox, which[k], round);
        }
        n_taken += n_here;
    }
    nvshmem_uint64_wait_until_all(flags, n, NULL, NVSHMEM_CMP_GE, round);
}

int main(void)
{
    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    if (n_pes > n_max) return EXIT_FAILURE;
    use_gpu_of_node();
    int *const inbox = (int *)nvshmem_malloc((size_t)n_pes * count * sizeof(int));
    int *const source = (int *)nvshmem_malloc(count * sizeof(int));
    uint64_t *const flags = (uint64_t *)nvshmem_calloc((size_t)n_pes, sizeof(uint64_t));
    for (uint64_t round = 1; round <= 6; round++) {
        fill<<<1, 128>>>(source, count, me, (int)round);
        poison(inbox, (size_t)n_pes * count);
        nvshmem_barrier_all();
        send<<<1, 32>>>(inbox, source, flags, round);
        if (round % 2 == 0) receive_any<<<1, 1>>>(inbox, flags, round);
        if (round % 2 == 1) receive_some<<<1, 1>>>(inbox, flags, round);
        CUDA(cudaDeviceSynchronize());
        nvshmem_barrier_all();
    }
    nvshmem_free(flags);
    nvshmem_free(source);
    nvshmem_free(inbox);
    return end_job("wait_any");
}
