/* SPDX-License-Identifier: Apache-2.0 */
/* globals.c: a program of OpenSHMEM, whose variables are symmetric: oshcc globals.c -o globals
 */
#include <shmem.h>
#include <stdio.h>

static int from_left = -1; /* the PE before stores here */
static long total, mine;

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes();

    shmem_p(&from_left, me, (me + 1) % n);
    mine = me + 1;
    shmem_barrier_all();
    shmem_sum_reduce(SHMEM_TEAM_WORLD, &total, &mine, 1);

    const int is_right = from_left == (me + n - 1) % n && total == (long)n * (n + 1) / 2;
    if (me == 0)
        printf("globals on %d PEs: the total is %ld, %s\n", n, total,
               is_right ? "right" : "wrong");
    shmem_finalize();
    return is_right ? 0 : 1;
}
