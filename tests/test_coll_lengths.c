/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without CHORUS_CHECK: PEs that receive a word, packet, line or message of a call with another
 * length fail, and name both calls. Each case is on a team of its own, which is unusable
 * afterwards. A PE that still waits when PE 1 has found it fails, too.
 */
#include "api_pes.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 512, FEWER = 500, SMALL = 8, SMALLER = 6, HERE = 1, ALL_FAIL = 2 };

/* HERE: between PEs that are mapped. ALL_FAIL: every PE receives a message of another length;
 * otherwise PE 1 alone, and PE 0 need not wait. */
static const struct {
    chorus_coll coll;
    const char *algo; /* null: as the rules choose */
    int count, fewer, properties;
} mistakes[] = {
    {CHORUS_COLL_reduce, "one_shot:simple", COUNT, FEWER, ALL_FAIL},
    {CHORUS_COLL_reduce, "one_shot:ll", SMALL, SMALLER, ALL_FAIL | HERE},
    {CHORUS_COLL_reduce, "one_shot:ll128", SMALL, SMALLER, ALL_FAIL | HERE},
    {CHORUS_COLL_reduce, "two_shot_push:ll", COUNT, FEWER, ALL_FAIL | HERE},
    {CHORUS_COLL_fcollect, "all_push:simple", COUNT, FEWER, ALL_FAIL},
    {CHORUS_COLL_alltoall, "exchange:simple", COUNT, FEWER, ALL_FAIL},
    {CHORUS_COLL_broadcast, "tree:simple", COUNT, FEWER, 0},
    {CHORUS_COLL_broadcast, "tree:simple", SMALL, SMALLER, 0},
    {CHORUS_COLL_broadcast, "tree:ll", COUNT, FEWER, HERE},
    {CHORUS_COLL_broadcast, "board:simple", COUNT, FEWER, HERE},
    {CHORUS_COLL_broadcast, "board:ll128", SMALL, SMALLER, HERE},
};
enum { MISTAKES = sizeof(mistakes) / sizeof(mistakes[0]) };

static bool is_on_hosts(void)
{
    return getenv("CHORUS_NODES") != NULL;
}

/* PEs of one host see each other's records. */
static bool is_told(void)
{
    const char *const said = chorusx_last_error();

    return strstr(said, "CHORUS_CHECK=1 compares calls") != NULL &&
           ((strstr(said, "the calls of two PEs differ: PE ") != NULL &&
             strstr(said, "PE 1 makes ") != NULL) ||
            (is_on_hosts() && strstr(said, "a call with another length") != NULL));
}

static void try_mistake(int i, float *dest, const float *source)
{
    const bool is_odd = api_me() == 1;
    chorusx_call call = {.coll = mistakes[i].coll,
                         .type = CHORUS_TYPE_f32,
                         .op = CHORUS_OP_sum,
                         .dest = dest,
                         .source = source,
                         .algo = mistakes[i].algo};
    int status;

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, api_n(), NULL, 0, &call.team) ==
           CHORUS_OK);
    call.count = SMALL; /* a call of another length before does no harm */
    EXPECT(chorusx_collective(&call, NULL) == CHORUS_OK);
    call.count = (size_t)(is_odd ? mistakes[i].fewer : mistakes[i].count);
    status = chorusx_collective(&call, NULL);
    if (is_odd || (mistakes[i].properties & ALL_FAIL) != 0) {
        EXPECT(status == CHORUS_ERR_ARG && is_told());
        EXPECT(chorusx_team_status(call.team) == CHORUS_ERR_ARG);
    } else {
        EXPECT(status == CHORUS_OK || (api_me() != 0 && status == CHORUS_ERR_ARG && is_told()));
    }
    chorus_barrier_all(); /* on another team, which works on */
    chorus_team_destroy(call.team);
}

static void calls__of_other_lengths__fail_where_a_message_shows_it(void)
{
    float *dest = chorus_calloc((size_t)COUNT * API_PES_MAX, sizeof(float));
    float *source = chorus_calloc((size_t)COUNT * API_PES_MAX, sizeof(float));

    for (int i = 0; i < MISTAKES; i++)
        if ((mistakes[i].properties & HERE) == 0 || !is_on_hosts())
            try_mistake(i, dest, source);
    chorus_free(source);
    chorus_free(dest);
}

#define TESTS(X) X(calls__of_other_lengths__fail_where_a_message_shows_it)
API_MAIN(TESTS)
