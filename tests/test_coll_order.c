/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on one team from several streams, a PE that does not come, and many teams. */
#include "api_pes.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CALLS = 50, TEAMS = 300, TEAMS_IN_FULL = 2000 };

/* Each call needs the result of the one before it, which another stream (or none) runs. */
static void calls__on_several_streams__run_as_they_were_made(void)
{
    int *value = chorus_calloc(CALLS + 1, sizeof(int));
    chorus_stream_t streams[3] = {NULL};

    EXPECT(chorusx_stream_create(&streams[1]) == CHORUS_OK);
    EXPECT(chorusx_stream_create(&streams[2]) == CHORUS_OK);
    value[0] = 1;
    for (int i = 0; i < CALLS; i++) {
        const chorusx_call call = {.coll = CHORUS_COLL_reduce,
                                   .team = CHORUS_TEAM_WORLD,
                                   .dest = &value[i + 1],
                                   .source = &value[i],
                                   .count = 1,
                                   .type = CHORUS_TYPE_i32,
                                   .op = CHORUS_OP_max};

        EXPECT(chorusx_collective(&call, streams[i % 3]) == CHORUS_OK);
    }
    for (int s = 1; s < 3; s++)
        EXPECT(chorusx_stream_synchronize(streams[s]) == CHORUS_OK);
    EXPECT(value[CALLS] == 1);
    for (int s = 1; s < 3; s++)
        EXPECT(chorusx_stream_destroy(streams[s]) == CHORUS_OK);
    chorus_free(value);
}

static size_t local_used(void)
{
    chorusx_heap_info_t info;

    EXPECT(chorusx_heap_info(&info) == CHORUS_OK);
    return info.local_used_bytes;
}

static void teams__made_and_destroyed_many_times__leak_nothing(void)
{
    const int teams = getenv("CHORUS_TEST_FULL") != NULL ? TEAMS_IN_FULL : TEAMS;
    const size_t before = local_used();

    for (int i = 0; i < teams; i++) {
        chorus_team_t team = CHORUS_TEAM_INVALID;

        EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, i % api_n(), 1,
                                         api_n() - i % api_n(), NULL, 0, &team) == CHORUS_OK);
        if (team != CHORUS_TEAM_INVALID && i % 100 == 0)
            EXPECT(chorus_team_sync(team) == CHORUS_OK);
        if (team != CHORUS_TEAM_INVALID) chorus_team_destroy(team);
    }
    EXPECT(local_used() == before);
}

/* The first of the stream's calls fails, and the host learns of it when it asks. */
static void fail_on_stream(chorus_team_t team)
{
    chorus_stream_t stream;

    EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);
    EXPECT(chorusx_team_sync_on_stream(team, stream) == CHORUS_OK);
    EXPECT_FAILS(chorusx_stream_synchronize(stream), CHORUS_ERR_TIMEOUT, "waited 2 s for PE");
    EXPECT(chorusx_stream_synchronize(stream) == CHORUS_OK); /* it is told once */
    EXPECT(chorusx_stream_destroy(stream) == CHORUS_OK);
}

static void fail_to_make_a_team(void)
{
    chorus_team_t team = CHORUS_TEAM_WORLD;

    EXPECT_FAILS(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, api_n(), NULL, 0, &team),
                 CHORUS_ERR_TIMEOUT, "all PEs must make calls on memory and teams");
    EXPECT(team == CHORUS_TEAM_INVALID);
}

/* PE 0 waits for the last PE itself, whatever the algorithm; others perhaps for one that
 * waits. */
static void give_up(chorus_team_t team)
{
    char late[48] = "waited 2 s for PE";

    if (api_me() == 0)
        (void)snprintf(late, sizeof(late), "waited 2 s for PE %d, which", api_n() - 1);
    if (api_n() == 3 && api_me() == 0)
        fail_on_stream(team);
    else
        EXPECT_FAILS(chorus_barrier(team), CHORUS_ERR_TIMEOUT, late);
    EXPECT(chorusx_team_status(team) == CHORUS_ERR_TIMEOUT);
    EXPECT_FAILS(chorus_barrier(team), CHORUS_ERR_STATE,
                 "unusable since an earlier call on it failed");
    fail_to_make_a_team();
}

/* A PE that never clears its lock is named to those that wait for it, also behind others. */
static void lock__never_cleared__holder_is_named(void)
{
    long *lock = chorus_calloc(1, sizeof(*lock));
    char holder[48];

    if (api_me() == api_n() - 1) chorus_set_lock(lock);
    chorus_sync_all();
    if (api_me() != api_n() - 1) {
        chorus_set_lock(lock);
        (void)snprintf(holder, sizeof(holder), "for a lock that PE %d holds", api_n() - 1);
        EXPECT_REPORT(CHORUS_ERR_TIMEOUT, holder);
    } else {
        (void)usleep(1500000); /* most of the others' wait, which a sync does not outlast */
    }
    chorus_sync_all();
    chorus_free(lock);
}

/* Last: it leaves the team unusable, and then the job. The end of that is a meeting too, to
 * which all PEs come when all but the last have given up. */
static void peer__does_not_come__wait_ends_and_says_who(void)
{
    chorus_team_t team;
    const int last = api_n() - 1;
    int *has_given_up = chorus_calloc(API_PES_MAX, sizeof(int));

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, api_n(), NULL, 0, &team) ==
           CHORUS_OK);
    if (api_me() != last) give_up(team);
    for (int pe = 0; pe < api_n(); pe++)
        chorus_int_p(&has_given_up[api_me()], 1, pe);
    for (int pe = 0; pe < last; pe++)
        while (chorus_int_g(&has_given_up[pe], api_me()) == 0)
            (void)usleep(10000);
}

#define TESTS(X)                                          \
    X(calls__on_several_streams__run_as_they_were_made)   \
    X(teams__made_and_destroyed_many_times__leak_nothing) \
    X(lock__never_cleared__holder_is_named)               \
    X(peer__does_not_come__wait_ends_and_says_who)
API_MAIN(TESTS)
