/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvshmem.c: a pipeline by NVSHMEM's calls on a stream: each PE passes a block on to the next,
 * with a signal, waits for its own, and all add up what they have. Nothing of CUDA is called,
 * so it runs with GPUs and without.
 */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <stdio.h>

enum { COUNT = 1 << 16, ROUNDS = 4 };

/* Each PE's values are its number and the index: what all of them add up to. */
static int is_sum(const int *found, int n)
{
    for (int i = 0; i < COUNT; i++)
        if (found[i] != n * (n - 1) / 2 + n * i) return 0;
    return 1;
}

int main(void)
{
    static int values[COUNT], found[COUNT];
    int *block, *sum, me, n, is_right = 1;
    uint64_t *arrived;

    nvshmem_init();
    me = nvshmem_my_pe();
    n = nvshmem_n_pes();
    block = (int *)nvshmem_calloc(COUNT, sizeof(int));
    sum = (int *)nvshmem_calloc(COUNT, sizeof(int));
    arrived = (uint64_t *)nvshmem_calloc(1, sizeof(*arrived));
    if (block == NULL || sum == NULL || arrived == NULL) nvshmem_global_exit(1);
    for (int i = 0; i < COUNT; i++)
        values[i] = me + i;
    for (int round = 1; round <= ROUNDS; round++) {
        nvshmemx_int_put_signal_on_stream(block, values, COUNT, arrived, 1, NVSHMEM_SIGNAL_ADD,
                                          (me + round) % n, 0);
        nvshmemx_signal_wait_until_on_stream(arrived, NVSHMEM_CMP_GE, (uint64_t)round, 0);
        if (nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, sum, block, COUNT, 0) != 0)
            nvshmem_global_exit(1);
        nvshmemx_int_get_on_stream(found, sum, COUNT, me, 0);
        nvshmemx_barrier_all_on_stream(0); /* no PE writes to block before all have read it */
        nvshmem_barrier_all();
        is_right = is_right && is_sum(found, n);
    }
    nvshmem_free(arrived);
    nvshmem_free(sum);
    nvshmem_free(block);
    nvshmem_finalize();
    (void)printf("PE %d of %d: the sums are %s\n", me, n, is_right ? "right" : "wrong");
    return !is_right;
}
