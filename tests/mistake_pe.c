/* SPDX-License-Identifier: Apache-2.0 */
/* mistake_pe.c: a PE of a job in which PE 1 makes the mistake that the argument names. */
#include "chorus/chorusx.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 512, FEWER = 500, LONG_S = 100 };

/* PE 1 takes a lock, and then does not clear it, or dies with it, while others wait for it. */
static void keep_lock(long *lock, bool dies)
{
    if (chorus_my_pe() == 1) chorus_set_lock(lock);
    chorus_barrier_all();
    if (chorus_my_pe() != 1) chorus_set_lock(lock);
    (void)usleep(300 * 1000); /* until they are in the call */
    if (dies) (void)raise(SIGKILL);
    (void)sleep(LONG_S);
}

/* PE 0 waits on a stream for a signal that nobody sends. */
static void wait_on_stream(uint64_t *word)
{
    chorus_stream_t stream;

    if (chorus_my_pe() != 0 || chorusx_stream_create(&stream) != CHORUS_OK) return;
    if (chorusx_signal_wait_until_on_stream(word, CHORUS_CMP_EQ, 1, stream) == CHORUS_OK &&
        chorusx_stream_synchronize(stream) != CHORUS_OK)
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
}

/* Each PE signals the next one; then all of them wait before they signal again. */
static void wait_in_ring(uint64_t *word)
{
    const int next = (chorus_my_pe() + 1) % chorus_n_pes();

    chorus_signal_set(word, 1, next);
    (void)chorus_signal_wait_until(word, CHORUS_CMP_GE, 1);
    (void)chorus_signal_wait_until(word, CHORUS_CMP_GE, 2);
    chorus_signal_set(word, 2, next);
}

/* PE 1 allocates while the others create a team. */
static void allocate_instead(bool is_odd)
{
    chorus_team_t team;

    if (is_odd)
        (void)chorus_malloc(COUNT);
    else if (chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, 2, NULL, 0, &team) != CHORUS_OK)
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
}

int main(int argc, char **argv)
{
    const char *mistake = argc > 1 ? argv[1] : "";
    float *dest, *source;
    int status, is_odd;

    if (strcmp(mistake, "late_start") == 0 && strcmp(getenv("CHORUS_PE"), "1") == 0)
        (void)sleep(LONG_S);
    if (chorus_init() != CHORUS_OK) {
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
        return 2;
    }
    is_odd = chorus_my_pe() == 1;
    dest = chorus_calloc(COUNT, sizeof(float));
    source = chorus_calloc(COUNT, sizeof(float));
    if (chorus_team_sync(CHORUS_TEAM_WORLD) != CHORUS_OK) return 3;
    if (strncmp(mistake, "lock", 4) == 0)
        keep_lock((long *)(void *)dest, strcmp(mistake, "lock_dies") == 0);
    if (is_odd && strcmp(mistake, "late") == 0) (void)sleep(LONG_S);
    if (strcmp(mistake, "allocation") == 0) allocate_instead(is_odd);
    if (strcmp(mistake, "stream") == 0) wait_on_stream((uint64_t *)(void *)dest);
    status = CHORUS_OK;
    if (strcmp(mistake, "ring") == 0) wait_in_ring((uint64_t *)(void *)dest);
    if (is_odd && strcmp(mistake, "another") == 0) status = chorus_team_sync(CHORUS_TEAM_WORLD);
    if (status == CHORUS_OK)
        status =
            chorus_float_sum_reduce(CHORUS_TEAM_WORLD, dest, source,
                                    is_odd && strcmp(mistake, "count") == 0 ? FEWER : COUNT);
    if (status == CHORUS_OK) status = chorus_team_sync(CHORUS_TEAM_WORLD);
    if (status != CHORUS_OK) (void)fprintf(stderr, "%s\n", chorusx_last_error());
    if (status != CHORUS_OK) return 4;
    if (strcmp(mistake, "count") == 0) return 5; /* not found out */
    if (is_odd && strcmp(mistake, "beyond") == 0) dest[COUNT] = 1;
    if (strcmp(mistake, "foreign") == 0) chorus_free(is_odd ? malloc(1) : dest);
    if (is_odd && strcmp(mistake, "late_end") == 0) (void)sleep(LONG_S);
    chorus_finalize();
    return 0;
}
