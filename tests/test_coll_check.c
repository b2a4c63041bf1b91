/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CHORUS_CHECK=1: calls that differ between PEs are refused on all of them, and the message
 * names the calls of two PEs. Each case is on a team of its own, which is unusable afterwards.
 */
#include "api_pes.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 64 };

static chorus_team_t fresh_team(void)
{
    chorus_team_t team = CHORUS_TEAM_INVALID;

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, api_n(), NULL, 0, &team) ==
           CHORUS_OK);
    return team;
}

/* The PE that differs is the middle one of three, or the last of two. */
static bool is_odd(void)
{
    return api_me() == 1;
}

/* Then a call that needs nothing of a peer may end before what the peer calls is known. */
static bool is_on_hosts(void)
{
    return getenv("CHORUS_NODES") != NULL;
}

static bool is_alone(void)
{
    return api_n() == 1;
}

static int reduce_other_count(chorus_team_t team, float *dest, const float *source)
{
    return chorus_float_sum_reduce(team, dest, source, is_odd() ? COUNT - 12 : COUNT);
}

static int broadcast_other_root(chorus_team_t team, float *dest, const float *source)
{
    return chorus_float_broadcast(team, dest, source, COUNT, is_odd() ? 1 : 0);
}

static int reduce_other_type(chorus_team_t team, float *dest, const float *source)
{
    if (!is_odd()) return chorus_float_sum_reduce(team, dest, source, COUNT);
    return chorus_int_max_reduce(team, (int *)(void *)dest, (const int *)(const void *)source,
                                 COUNT);
}

static int other_collective(chorus_team_t team, float *dest, const float *source)
{
    return is_odd() ? chorus_team_sync(team) : chorus_float_sum_reduce(team, dest, source, 8);
}

static int one_is_in_place(chorus_team_t team, float *dest, const float *source)
{
    return chorus_float_sum_reduce(team, dest, is_odd() ? dest : source, 8);
}

static int one_has_nothing(chorus_team_t team, float *dest, const float *source)
{
    return chorus_float_sum_reduce(team, dest, source, is_odd() ? 8 : 0);
}

static int forced_by_one(chorus_team_t team, float *dest, const float *source)
{
    const chorusx_call call = {.coll = CHORUS_COLL_reduce,
                               .team = team,
                               .dest = dest,
                               .source = source,
                               .count = 8,
                               .type = CHORUS_TYPE_f32,
                               .op = CHORUS_OP_sum,
                               .algo = is_odd() ? "ring:simple" : "one_shot:simple"};

    return chorusx_collective(&call, NULL);
}

/* What the odd PE makes, and what the others do. */
static const struct {
    int (*call)(chorus_team_t team, float *dest, const float *source);
    const char *odd, *even;
    bool may_pass; /* PEs that need not wait, as a root or with count 0, may end before it comes
                    */
} mistakes[] = {
    {reduce_other_count, "reduce (52 f32, sum), call 2 of", "reduce (64 f32, sum), call 2 of",
     false},
    {broadcast_other_root, "broadcast (64 f32, root 1)", "broadcast (64 f32, root 0)", true},
    {reduce_other_type, "reduce (64 i32, max)", "reduce (64 f32, sum)", false},
    {other_collective, "barrier, call 2 of", "reduce (8 f32, sum)", false},
    {one_is_in_place, "reduce (8 f32, sum, in place)", "reduce (8 f32, sum), call", false},
    {one_has_nothing, "reduce (8 f32, sum)", "reduce (0 f32, sum)", true},
    {forced_by_one, "differ in their algorithms", "differ in their algorithms", false},
};
enum { MISTAKES = sizeof(mistakes) / sizeof(mistakes[0]) };

/* Of both calls; on several hosts a PE that is still in call 1 is told of call 2 alone. */
static bool is_told(const char *odd, const char *even)
{
    const char *const said = chorusx_last_error();

    return (strstr(said, odd) != NULL && strstr(said, even) != NULL &&
            strstr(said, "PE 1 makes") != NULL) ||
           (is_on_hosts() && strstr(said, "found that their calls 2 differ") != NULL);
}

static void calls__that_differ__are_refused_and_named(void)
{
    float *dest = chorus_calloc(COUNT, sizeof(float)),
          *source = chorus_calloc(COUNT, sizeof(float));

    for (int i = 0; i < MISTAKES && !is_alone(); i++) {
        const chorus_team_t team = fresh_team();
        int status;

        /* Call 1, in which a PE may still be when 2 is refused. */
        EXPECT(chorus_team_sync(team) == CHORUS_OK);
        status = mistakes[i].call(team, dest, source);
        if (status == CHORUS_OK) {
            EXPECT(mistakes[i].may_pass || is_on_hosts());
            status = chorus_team_sync(team);
        }
        EXPECT(status == CHORUS_ERR_ARG && is_told(mistakes[i].odd, mistakes[i].even));
        EXPECT(chorusx_team_status(team) == CHORUS_ERR_ARG);
        chorus_barrier_all(); /* on another team, which works on */
        chorus_team_destroy(team);
    }
    chorus_free(source);
    chorus_free(dest);
}

static void calls__on_streams__are_compared_too(void)
{
    float *dest = chorus_calloc(COUNT, sizeof(float)),
          *source = chorus_calloc(COUNT, sizeof(float));
    const chorus_team_t team = fresh_team();
    chorus_stream_t stream;
    int status;

    EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);
    status = chorusx_float_sum_reduce_on_stream(team, dest, source,
                                                is_odd() ? COUNT - 1 : COUNT, stream);
    if (status == CHORUS_OK) status = chorusx_stream_synchronize(stream);
    EXPECT(is_alone() ? status == CHORUS_OK
                      : status == CHORUS_ERR_ARG &&
                            strstr(chorusx_last_error(), "reduce (63 f32") != NULL);
    EXPECT(chorusx_stream_destroy(stream) == CHORUS_OK);
    chorus_barrier_all();
    chorus_team_destroy(team);
    chorus_free(source);
    chorus_free(dest);
}

static void calls__that_agree__pass(void)
{
    float *dest = chorus_calloc(COUNT, sizeof(float)),
          *source = chorus_calloc(COUNT, sizeof(float));

    for (int i = 0; i < 500; i++) {
        source[0] = (float)(api_me() + i);
        EXPECT(chorus_float_max_reduce(CHORUS_TEAM_WORLD, dest, source, COUNT) == CHORUS_OK);
        EXPECT(dest[0] == (float)(api_n() - 1 + i));
    }
    chorus_free(source);
    chorus_free(dest);
}

/* Some PEs have begun the refused call's exchange and others have not; the team can be
 * destroyed all the same. On several hosts the first PE of each hands on words of the others.
 */
static void teams__of_other_pes__are_refused(void)
{
    for (int odd = 0; odd < api_n() && !is_alone(); odd++) {
        const chorus_team_t from = fresh_team();
        chorus_team_t team = CHORUS_TEAM_INVALID;
        const int n = api_me() == odd ? api_n() - 1 : api_n();

        for (int again = 0; again < 2; again++) {
            EXPECT(chorus_team_split_strided(from, 0, 1, n, NULL, 0, &team) != CHORUS_OK);
            EXPECT(strstr(chorusx_last_error(), "the calls of two PEs differ") != NULL);
        }
        chorus_team_destroy(from);
    }
}

/* Last: WORLD is unusable for calls on memory from here on. */
static void allocations__of_other_bytes__are_refused(void)
{
    chorus_free(chorus_malloc(1000)); /* so that the heap need not grow below */
    if (is_alone()) return;
    for (int again = 0; again < 2; again++) {
        EXPECT(chorus_malloc(is_odd() ? 100 : 200) == NULL);
        EXPECT_REPORT(CHORUS_ERR_ARG, "100 bytes");
        EXPECT(strstr(chorusx_last_error(), "200 bytes") != NULL);
    }
}

#define TESTS(X)                                 \
    X(calls__that_agree__pass)                   \
    X(calls__that_differ__are_refused_and_named) \
    X(calls__on_streams__are_compared_too)       \
    X(teams__of_other_pes__are_refused)          \
    X(allocations__of_other_bytes__are_refused)
API_MAIN(TESTS)
