/* SPDX-License-Identifier: Apache-2.0 */
/* host_c.c: a program of C without kernels, whose objects may be in host memory. */
#include "program.h"

#include <nvshmem.h>

static long value(int pe, int round, int i)
{
    return pe * 1000L + round * 100L + i;
}

int main(void)
{
    enum { COUNT = 50 };
    long mine[COUNT], got[COUNT];
    int me, n, wrong = 0;

    nvshmem_init();
    me = nvshmem_my_pe();
    n = nvshmem_n_pes();
    long *const dest = nvshmem_malloc(COUNT * sizeof(long));
    long *const counter = nvshmem_calloc(1, sizeof(long));
    uint64_t *const sig = nvshmem_calloc(1, sizeof(uint64_t));
    for (int round = 1; round <= 4; round++) {
        const int next = (me + 1) % n, before = (me + n - 1) % n;

        for (int i = 0; i < COUNT; i++) {
            mine[i] = value(me, round, i);
            got[i] = -1;
        }
        nvshmem_long_put(dest, got, COUNT, me);
        nvshmem_barrier_all();
        nvshmem_long_put_signal(dest, mine, COUNT, sig, (uint64_t)round, NVSHMEM_SIGNAL_SET,
                                next);
        nvshmem_signal_wait_until(sig, NVSHMEM_CMP_EQ, (uint64_t)round);
        nvshmem_long_get(got, dest, COUNT, me);
        for (int i = 0; i < COUNT; i++)
            wrong += got[i] != value(before, round, i);
        (void)nvshmem_long_atomic_fetch_add(counter, me + 1, 0);
        nvshmem_barrier_all();
        if (nvshmem_long_g(counter, 0) != (long)round * n * (n + 1) / 2) wrong++;
        nvshmem_barrier_all();
    }
    nvshmem_free(sig);
    nvshmem_free(counter);
    nvshmem_free(dest);
    nvshmem_finalize();
    return program_end("host_c", me, n, wrong);
}
