/* SPDX-License-Identifier: Apache-2.0 */
/*
 * errors_pe.c: makes wrong calls whose code it ignores, in order, as its argument says; then
 * prints "end". With "init", its status is 1 if it cannot join. tests/test_api_errors.py and
 * tests/test_messages.py run it.
 */
#define CHORUS_NO_WARN_UNUSED
#include "chorus/chorusx.h"

#include <stdio.h>
#include <string.h>

static void collectives(void)
{
    int a[4] = {0}, b[4];

    for (int i = 0; i < 3; i++)
        chorus_int_broadcast(CHORUS_TEAM_WORLD, b, a, 4, 9);
    chorus_int_sum_reduce(CHORUS_TEAM_INVALID, b, a, 4);
    chorus_int_broadcast(CHORUS_TEAM_INVALID, b, a, 4, 0);
    chorusx_int_gather(CHORUS_TEAM_WORLD, b, a, 4, -1);
}

static void memory(void)
{
    (void)chorus_malloc(SIZE_MAX / 4);
    (void)chorus_calloc(SIZE_MAX / 2, 16);
    (void)chorus_align(3, 16);
    (void)chorusx_team_malloc(CHORUS_TEAM_INVALID, 8);
}

static void teams(void)
{
    chorus_team_t team;

    chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, 99, NULL, 0, &team);
    chorus_team_get_config(CHORUS_TEAM_INVALID, 0, NULL);
    (void)chorus_team_n_pes(CHORUS_TEAM_INVALID);
}

static void streams(void)
{
    static int local;
    chorus_stream_t stream;

    chorusx_stream_create(&stream);
    chorusx_int_put_on_stream(&local, &local, 1, 0, stream);
    chorusx_int_wait_until_on_stream(&local, CHORUS_CMP_EQ, 1, stream);
    chorusx_stream_destroy(NULL);
}

static void rma(void)
{
    static int local;

    chorus_int_p(&local, 1, 0);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (chorus_init() != CHORUS_OK && strcmp(what, "init") == 0) return 1;
    if (strcmp(what, "collectives") == 0) collectives();
    if (strcmp(what, "memory") == 0) memory();
    if (strcmp(what, "teams") == 0) teams();
    if (strcmp(what, "streams") == 0) streams();
    if (strcmp(what, "rma") == 0) rma();
    (void)printf("end\n");
    if (chorusx_init_status() == 1) chorus_finalize();
    return 0;
}
