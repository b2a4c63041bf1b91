/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes of a program of OpenSHMEM, on 2 PEs. What the library says about each is printed, by
 * one PE if both make it; mistakes.py reads it. With an argument, PE 1 makes one and the job
 * ends. */
#include <chorus/chorusx.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long pSync[SHMEM_REDUCE_SYNC_SIZE], lock;
static int pWrk[SHMEM_REDUCE_MIN_WRKDATA_SIZE], source[8], dest[8];
static int me, is_heard = 1;

static void print(int code, const char *message)
{
    (void)code;
    if (is_heard) (void)fprintf(stderr, "said: %s\n", message);
}

static void make_bad_arguments(void)
{
    shmem_team_t none = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx;
    int here = 0;

    shmem_int_put(&here, source, 1, 1);
    shmem_putmem(dest, source, 4, 99);
    (void)shmem_int_atomic_fetch_add(dest, 1, -1);
    (void)shmem_int_sum_reduce(none, dest, source, 1);
    (void)shmem_team_sync(none);
    shmem_int_wait_until(dest, 77, 1);
    (void)shmem_ctx_create(1L << 20, &ctx);
    print(0, chorusx_last_error()); /* the call has a code */
    shmem_int_sum_to_all(dest, source, 1, 0, 0, 9, pWrk, pSync);
    shmem_broadcast32(dest, source, 1, 7, 0, 0, 2, pSync);
    shmem_barrier(0, 1, 2, pSync);
    shmem_fcollect64(dest, &here, 1, 5, 0, 1, pSync);
}

static void misuse_memory(void)
{
    void *const object = shmem_malloc(64);

    if (shmem_malloc((size_t)64 << 20) == NULL) print(0, chorusx_last_error());
    shmem_free(object);
    shmem_free(object);
}

/* The waits end at the deadline; the library compares the sums. */
static void never_meet(shmem_team_t all)
{
    is_heard = 1;
    if (me == 0) shmem_clear_lock(&lock);
    is_heard = me != 0;
    shmem_int_wait_until(dest, SHMEM_CMP_EQ, 5);
    is_heard = me == 0;
    (void)shmem_int_sum_reduce(all, dest, source, me == 0 ? 4 : 5);
    if (me != 0) (void)pause();
    shmem_barrier_all();
    shmem_global_exit(0);
}

int main(int argc, char **argv)
{
    shmem_team_t all;

    (void)argv;
    (void)setenv("SHMEM_SYMMETRIC_SIZE", "16M", 1);
    if (argc == 1) (void)chorusx_set_error_handler(print);
    if (argc == 1) shmem_int_p(dest, 1, 0);
    shmem_init();
    me = shmem_my_pe();
    is_heard = me == 0;
    if (argc > 1 && me == 0) (void)shmem_malloc(8);
    if (argc > 1) (void)usleep(200000);
    if (argc > 1) shmem_int_p(dest, 1, 99);
    (void)shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &all);
    make_bad_arguments();
    misuse_memory();
    never_meet(all);
    return 0;
}
