/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many_teams.c: teams of all PEs beside each other, in a small heap. All of them are made, each
 * is used, and the memory that they took is held against a bound.
 *
 *     CHORUS_HEAP_MAX=64M chorusrun -n 16 many_teams TEAMS KIBIBYTES
 */
#include "chorus/chorusx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEAMS_MAX = 1024, COUNT = 128 };

static chorus_team_t teams[TEAMS_MAX];
static long *from, *to;

/* Of the heaps, what is behind this PE's mappings: its own part, and where it wrote to peers.
 */
static long shared_kib(void)
{
    char line[128];
    FILE *file = fopen("/proc/self/status", "r");
    long kib = -1;

    while (file != NULL && kib < 0 && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, "RssShmem:", 9) == 0) kib = strtol(line + 9, NULL, 10);
    if (file != NULL) (void)fclose(file);
    return kib;
}

static int use(int i)
{
    const long me = chorus_my_pe(), n = chorus_n_pes();

    for (int k = 0; k < COUNT; k++)
        from[k] = me + k + i;
    if (chorus_barrier(teams[i]) != 0 ||
        chorus_long_sum_reduce(teams[i], to, from, COUNT) != 0 ||
        to[COUNT - 1] != n * (n - 1) / 2 + n * (COUNT - 1 + i))
        return 1;
    return chorus_long_broadcast(teams[i], to, from, COUNT, 1) != 0 || to[0] != 1 + i;
}

int main(int argc, char **argv)
{
    const int n = argc == 3 ? (int)strtol(argv[1], NULL, 10) : 0;
    const long most = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    long before, taken;
    int wrong = 0;

    if (n < 1 || n > TEAMS_MAX || chorus_init() != 0) return 2;
    from = chorus_malloc(COUNT * sizeof(*from));
    to = chorus_malloc(COUNT * sizeof(*to));
    before = shared_kib();
    for (int i = 0; i < n && wrong == 0; i++)
        wrong = chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, chorus_n_pes(), NULL, 0,
                                          &teams[i]) != 0;
    if (wrong) (void)fprintf(stderr, "PE %d: %s\n", chorus_my_pe(), chorusx_last_error());
    for (int i = 0; i < n && wrong == 0; i++)
        wrong = use(i);
    taken = shared_kib() - before;
    if (chorus_my_pe() == 0 || taken > n * most)
        (void)printf("PE %d: %d teams of %d PEs, %ld KiB of shared memory each\n",
                     chorus_my_pe(), n, chorus_n_pes(), taken / n);
    chorus_finalize();
    return wrong || taken > n * most;
}
