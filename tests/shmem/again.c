/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of before: the old header, start_pes, shmalloc, and exit in place of an end. Before
 * that, jobs that end and begin again, which 1.6 allows. */
#include <mpp/shmem.h>

#include "expect.h"

#include <stdlib.h>

static long pSync[_SHMEM_BCAST_SYNC_SIZE];
static long counter;

/* A variable keeps its value from job to job, and is symmetric in each. */
static void join_and_leave(int round)
{
    static long passed;
    long *object;

    shmem_init();
    find_neighbours();
    object = (long *)shmem_calloc(1, sizeof(long));
    EXPECT(object != NULL && *object == 0 && passed == round * 10L);
    shmem_barrier_all();
    shmem_long_p(&passed, (round + 1) * 10L, next);
    shmem_long_p(object, me, next);
    shmem_barrier_all();
    EXPECT(*object == previous);
    shmem_finalize();
    shmem_finalize(); /* has no effect */
}

int main(void)
{
    int *block, *larger, major = 0, minor = 0, initialized = 0;
    char name[SHMEM_MAX_NAME_LEN];

    for (int i = 0; i < _SHMEM_BCAST_SYNC_SIZE; i++)
        pSync[i] = _SHMEM_SYNC_VALUE;
    for (int round = 0; round < 3; round++)
        join_and_leave(round);
    start_pes(0);
    find_neighbours();
    EXPECT(_my_pe() == me && _num_pes() == n);
    shmem_query_initialized(&initialized);
    EXPECT(initialized == 1);
    shmem_info_get_version(&major, &minor);
    EXPECT(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);
    shmem_info_get_name(name);
    EXPECT(name[0] == SHMEM_VENDOR_STRING[0]);

    block = (int *)shmalloc(4 * sizeof(int));
    EXPECT(block != NULL);
    for (int i = 0; i < 4; i++)
        block[i] = 10 * me + i;
    larger = (int *)shrealloc(block, 1000 * sizeof(int));
    EXPECT(larger != NULL && larger[3] == 10 * me + 3);
    shmem_broadcast32(larger + 4, larger, 4, 0, 0, 0, n, pSync);
    if (me != 0) EXPECT(larger[4] == 0 && larger[7] == 3);
    shfree(larger);
    block = (int *)shmemalign(4096, sizeof(int));
    EXPECT((size_t)block % 4096 == 0);
    shfree(block);

    block = (int *)shmalloc(1 << 20);
    EXPECT(block != NULL);
    shfree(block);

    shmem_long_inc(&counter, 0);
    shmem_barrier(0, 0, n, pSync);
    EXPECT(shmem_long_fetch(&counter, 0) == n);
    shmem_set_cache_inv();
    shmem_udcflush_line(&counter);
    exit(0);
}
