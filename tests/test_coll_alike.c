/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PEs that wait compare their calls (team/look.c): calls that fit each other are never taken
 * for others. Random collectives run on many teams, some with equal numbers, while PEs are late
 * at random, differ in their counts where they may, and in the kinds of their buffers where
 * that does not change the algorithm. TEST_CALLS is the number of calls, TEST_SEED their
 * choice.
 */
#include "api_pes.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK = 3000, CALLS = 250, DEPTH = 4, TEAMS = 2 + 2 * DEPTH, KINDS = 4 };

struct random {
    uint64_t state;
};

static uint32_t draw(struct random *r, uint32_t below)
{
    r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(r->state >> 33) % below;
}

struct memory {
    char *dest, *source, *other_dest, *other_source;
    size_t dest_counts[API_PES_MAX], source_counts[API_PES_MAX], offsets[API_PES_MAX];
};

static size_t bytes_of_memory(void)
{
    return (size_t)BLOCK * API_PES_MAX * sizeof(int32_t);
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* Usually at once; otherwise so late that others look one or several times. */
static void be_late(struct random *own)
{
    static const long late_us[] = {300, 1200, 2500, 5000, 12000, 40000};
    const uint32_t at = draw(own, 40);
    struct timespec time = {0};

    if (at >= sizeof(late_us) / sizeof(late_us[0])) return;
    time.tv_nsec = late_us[at] * 1000;
    (void)nanosleep(&time, NULL);
}

/* WORLD, a team in another order, and two lines of teams, each of which is the child of the one
 * before: the last ones of both lines have the same number. */
static void make_teams(chorus_team_t teams[TEAMS])
{
    teams[0] = CHORUS_TEAM_WORLD;
    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, api_n() - 1, -1, api_n(), NULL, 0,
                                     &teams[1]) == CHORUS_OK);
    for (int i = 2; i < TEAMS; i++) {
        const chorus_team_t parent = i < 4 ? CHORUS_TEAM_WORLD : teams[i - 2];

        EXPECT(chorus_team_split_strided(parent, 0, 1, api_n(), NULL, 0, &teams[i]) ==
               CHORUS_OK);
    }
}

static void destroy_teams(const chorus_team_t teams[TEAMS])
{
    for (int i = TEAMS - 1; i > 0; i--)
        chorus_team_destroy(teams[i]);
}

/* Blocks of alltoallv: from PE a to PE b, some without elements. */
static size_t block_of(uint32_t salt, int a, int b)
{
    struct random r = {.state = salt * 64u + (uint32_t)a * 8u + (uint32_t)b};

    (void)draw(&r, 2);
    return draw(&r, 3) == 0 ? 0 : draw(&r, BLOCK);
}

static void set_blocks(chorusx_call *call, uint32_t salt, struct memory *m)
{
    const int me = chorus_team_my_pe(call->team);

    for (int pe = 0; pe < api_n(); pe++) {
        m->source_counts[pe] = block_of(salt, me, pe);
        m->dest_counts[pe] = block_of(salt, pe, me);
        m->offsets[pe] = (size_t)pe * BLOCK;
    }
    call->count = 0;
    call->dest_counts = m->dest_counts;
    call->source_counts = m->source_counts;
    call->dest_offsets = call->source_offsets = m->offsets;
}

static bool is_plan(const chorusx_call *call, const chorusx_plan *plan)
{
    chorusx_plan other;

    return chorusx_explain_call(call, &other) == CHORUS_OK &&
           strcmp(other.algo, plan->algo) == 0 && strcmp(other.proto, plan->proto) == 0 &&
           other.ctas == plan->ctas && other.radix == plan->radix;
}

/* This PE's choice of buffers, if the algorithm is then the same. */
static void choose_buffers(chorusx_call *call, struct random *own, const struct memory *m)
{
    const chorusx_call before = *call;
    const uint32_t kind = draw(own, KINDS);
    chorusx_plan plan;

    if (call->count == 0 && call->coll != CHORUS_COLL_alltoallv) return;
    EXPECT(chorusx_explain_call(call, &plan) == CHORUS_OK);
    if (kind == 1) call->dest = m->other_dest;
    if (kind == 2) call->source = m->other_source;
    if (kind == 3) call->source = call->dest;
    if (kind != 0 && !is_plan(call, &plan)) *call = before;
}

static void make_call(chorus_team_t team, struct random *all, struct random *own,
                      struct memory *m)
{
    static const uint32_t mosts[] = {4, 100, BLOCK};
    chorusx_call call = {.coll = (chorus_coll)draw(all, CHORUS_COLL_COUNT),
                         .team = team,
                         .type = draw(all, 2) == 0 ? CHORUS_TYPE_i32 : CHORUS_TYPE_f32,
                         .op = draw(all, 2) == 0 ? CHORUS_OP_sum : CHORUS_OP_max,
                         .dest = m->dest,
                         .source = m->source,
                         .root = (int)draw(all, (uint32_t)api_n()),
                         .dst = 1,
                         .sst = 1};
    const uint32_t most = mosts[draw(all, 3)], salt = draw(all, 1000);

    call.count = draw(call.coll == CHORUS_COLL_collect ? own : all, most);
    if (call.coll == CHORUS_COLL_barrier) {
        EXPECT(chorus_team_sync(team) == CHORUS_OK);
        return;
    }
    if (call.coll == CHORUS_COLL_alltoallv) set_blocks(&call, salt, m);
    choose_buffers(&call, own, m);
    EXPECT_FAILS(chorusx_collective(&call, NULL), CHORUS_OK, "");
}

static void calls__that_fit__never_fail(void)
{
    const uint64_t calls = number_from("TEST_CALLS", CALLS), seed = number_from("TEST_SEED", 1);
    struct random all = {.state = seed}, own = {.state = seed * 8 + (uint64_t)api_me()};
    struct memory m = {.dest = chorus_calloc(bytes_of_memory(), 1),
                       .source = chorus_calloc(bytes_of_memory(), 1),
                       .other_dest = calloc(bytes_of_memory(), 1),
                       .other_source = calloc(bytes_of_memory(), 1)};
    chorus_team_t teams[TEAMS];

    make_teams(teams);
    for (uint64_t i = 0; i < calls; i++) {
        be_late(&own);
        make_call(teams[draw(&all, TEAMS)], &all, &own, &m);
    }
    destroy_teams(teams);
    free(m.other_source);
    free(m.other_dest);
    chorus_free(m.source);
    chorus_free(m.dest);
}

/* More calls than a record has, all on one stream, while a PE is late. */
static void calls__on_streams__never_fail(void)
{
    enum { QUEUED = 1200 };
    struct random own = {.state = (uint64_t)api_me()};
    int32_t *dest = chorus_calloc(64, sizeof(*dest)),
            *source = chorus_calloc(64, sizeof(*dest));
    chorus_stream_t stream;

    EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);
    for (int i = 0; i < QUEUED; i++) {
        const int count = i % 64 + 1;

        if (i % 16 == 0) be_late(&own);
        EXPECT(chorusx_int32_sum_reduce_on_stream(CHORUS_TEAM_WORLD, dest, source,
                                                  (size_t)count, stream) == CHORUS_OK);
    }
    EXPECT_FAILS(chorusx_stream_synchronize(stream), CHORUS_OK, "");
    EXPECT(chorusx_stream_destroy(stream) == CHORUS_OK);
    chorus_free(source);
    chorus_free(dest);
}

#define TESTS(X)                   \
    X(calls__that_fit__never_fail) \
    X(calls__on_streams__never_fail)
API_MAIN(TESTS)
