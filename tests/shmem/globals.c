/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of every kind are symmetric, keep their values, and stay the program's; the program
 * ends without shmem_finalize. C99 and later, and C++.
 */
#include "expect.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int set_in_file = 42;
static int table[100000]; /* many pages of bss */
int external;
struct pair {
    double a;
    long b;
};
static struct pair pairs[3] = {{1.5, 2}, {2.5, 3}, {3.5, 4}};
static const char *text = "text"; /* a pointer that the dynamic linker has set */
static const char *const constant = "constant";
extern char **environ;

static void values_are_kept(void)
{
    EXPECT(set_in_file == 42 && pairs[2].a == 3.5 && pairs[2].b == 4);
    EXPECT(strcmp(text, "text") == 0 && strcmp(constant, "constant") == 0);
    EXPECT(table[99999] == 77);     /* stored before shmem_init */
    EXPECT(getenv("PATH") != NULL); /* environ may lie among the variables */
}

static void puts_arrive(void)
{
    static int in_function = -1;
    static long sum, mine;
    long got = 0;

    for (int i = 0; i < 100000; i++)
        table[i] = me;
    pairs[1].b = 1000 + me;
    external = 10 + me;
    mine = me + 1;
    shmem_barrier_all();
    shmem_int_p(&in_function, me, next);
    shmem_int_put(&table[50000], &table[0], 50000, next);
    shmem_long_get(&got, &pairs[1].b, 1, next);
    EXPECT(got == 1000 + next);
    EXPECT(shmem_int_g(&external, next) == 10 + next);
    shmem_int_atomic_add(&set_in_file, 1, 0);
    shmem_barrier_all();
    EXPECT(in_function == previous);
    EXPECT(table[49999] == me && table[50000] == previous && table[99999] == previous);
    if (me == 0) EXPECT(set_in_file == 42 + n);
    EXPECT(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1) == 0);
    EXPECT(sum == (long)n * (n + 1) / 2);
}

static void addresses_work(void)
{
    int *const other = (int *)shmem_ptr(&external, next);
    const int local = 0;

    EXPECT(shmem_addr_accessible(&external, next) == 1);
    EXPECT(shmem_addr_accessible(&local, next) == 0);
    EXPECT(shmem_ptr(&external, me) == &external);
    EXPECT(other != NULL || getenv("CHORUS_NODES") != NULL); /* hosts do not share memory */
    EXPECT(other == NULL || *other == 10 + next);
    shmem_barrier_all();
    if (other != NULL)
        *other = 500 + me;
    else
        shmem_int_p(&external, 500 + me, next);
    shmem_barrier_all();
    EXPECT(external == 500 + previous);
}

/* What the child of a PE stores is its own. */
static void children_are_apart(void)
{
    const pid_t child = fork();
    int status = -1;

    if (child == 0) {
        external = -1;
        _exit(external == -1 ? 0 : 1);
    }
    EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    EXPECT(external == 500 + previous);
}

int main(void)
{
    table[99999] = 77;
    shmem_init();
    find_neighbours();
    values_are_kept();
    puts_arrive();
    addresses_work();
    children_are_apart();
    shmem_barrier_all();
    return 0;
}
