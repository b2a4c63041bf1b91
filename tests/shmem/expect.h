/* SPDX-License-Identifier: Apache-2.0 */
/* expect.h: checks of programs that are written as any program of OpenSHMEM, in C or C++. */
#ifndef EXPECT_H
#define EXPECT_H

#include <shmem.h>
#include <stdio.h>

/* The job ends with status 1 where a condition does not hold. */
#define EXPECT(condition) expect((condition), #condition, __FILE__, __LINE__)
static inline void expect(int holds, const char *condition, const char *file, int line)
{
    if (holds) return;
    (void)fprintf(stderr, "PE %d: %s:%d: %s\n", shmem_my_pe(), file, line, condition);
    shmem_global_exit(1);
}

/* This PE, the number of PEs, and the neighbours in a ring; set by the program. */
static int me, n, next, previous;
static inline void find_neighbours(void)
{
    me = shmem_my_pe();
    n = shmem_n_pes();
    next = (me + 1) % n;
    previous = (me + n - 1) % n;
}

#endif /* EXPECT_H */
