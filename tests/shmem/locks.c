/* SPDX-License-Identifier: Apache-2.0 */
/* Locks, which are variables or objects of the heap: what they guard is changed by one at a
 * time. */
#include "expect.h"

static long lock;
static long counter, held;

enum { ROUNDS = 200 };

static void add(long *guard)
{
    shmem_set_lock(guard);
    EXPECT(shmem_long_atomic_fetch_add(&held, 1, 0) == 0);
    shmem_long_p(&counter, shmem_long_g(&counter, 0) + 1, 0);
    shmem_quiet();
    EXPECT(shmem_long_atomic_fetch_add(&held, -1, 0) == 1);
    shmem_clear_lock(guard);
}

int main(void)
{
    long *in_heap;

    shmem_init();
    find_neighbours();
    in_heap = (long *)shmem_calloc(1, sizeof(long));
    EXPECT(in_heap != NULL);
    for (int round = 0; round < ROUNDS; round++)
        add(&lock);
    shmem_barrier_all();
    EXPECT(shmem_long_g(&counter, 0) == (long)n * ROUNDS);
    shmem_barrier_all();
    for (int round = 0; round < ROUNDS; round++)
        add(in_heap);
    shmem_barrier_all();
    EXPECT(shmem_long_g(&counter, 0) == 2L * n * ROUNDS);
    if (me == 0) EXPECT(shmem_test_lock(&lock) == 0);
    shmem_barrier_all();
    if (me != 0) EXPECT(shmem_test_lock(&lock) != 0);
    shmem_barrier_all();
    if (me == 0) shmem_clear_lock(&lock);
    shmem_barrier_all();
    if (me == n - 1) {
        EXPECT(shmem_test_lock(&lock) == 0);
        shmem_clear_lock(&lock);
    }
    shmem_free(in_heap);
    shmem_finalize();
    return 0;
}
