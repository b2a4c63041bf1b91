/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without CHORUS_CHECK: PEs whose calls differ so much that they choose different algorithms
 * would wait for each other. All of them fail instead, long before the deadline, and name both
 * calls and both algorithms. So do PEs of an alltoallv, if one of them sends another number of
 * elements than the receiver expects. Each case is on a team of its own, which is unusable
 * afterwards.
 */
#include "api_pes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 100000, LATE_MS = 20, VERY_LATE_MS = 100 };

/* Of PE 1, the only one that differs. */
enum buffers { SYMMETRIC, OTHER_DEST, OTHER_SOURCE };

/* Counts on both sides of the limits of rules, and buffers that some algorithms need to be in
 * the symmetric heap. `odd` is of PE 1. */
static const struct {
    size_t even, odd;
    enum buffers buffers;
} mixes[] = {
    {4, 500, SYMMETRIC},          {2000, 16, SYMMETRIC},    {2000, MOST, SYMMETRIC},
    {8, 8, OTHER_DEST},           {8, 8, OTHER_SOURCE},     {20000, 20000, OTHER_DEST},
    {20000, 20000, OTHER_SOURCE}, {MOST, MOST, OTHER_DEST}, {0, 20000, SYMMETRIC},
};
enum { MIXES = sizeof(mixes) / sizeof(mixes[0]) };

/* Memory for the largest blocks of every PE, in the heap and outside. */
struct memory {
    char *dest, *source, *other;
    uint64_t *plans; /* [n + 1] a digest of each PE's plan, and of this one's */
    size_t counts[API_PES_MAX], offsets[API_PES_MAX];
};

static bool is_odd(void)
{
    return api_me() == 1;
}

static bool is_on_hosts(void)
{
    return getenv("CHORUS_NODES") != NULL;
}

static void sleep_ms(long ms)
{
    const struct timespec time = {.tv_nsec = ms * 1000000};

    (void)nanosleep(&time, NULL);
}

static chorusx_call call_of(chorus_coll coll, int mix, struct memory *m)
{
    const size_t count = is_odd() ? mixes[mix].odd : mixes[mix].even;
    chorusx_call call = {.coll = coll,
                         .type = CHORUS_TYPE_i32,
                         .op = CHORUS_OP_sum,
                         .dest = m->dest,
                         .source = m->source,
                         .count = count,
                         .dst = 1,
                         .sst = 1};

    if (is_odd() && mixes[mix].buffers == OTHER_DEST) call.dest = m->other;
    if (is_odd() && mixes[mix].buffers == OTHER_SOURCE) call.source = m->other;
    if (coll != CHORUS_COLL_alltoallv) return call;
    call.count = 0;
    for (int pe = 0; pe < api_n(); pe++) {
        m->counts[pe] = mixes[mix].even;
        m->offsets[pe] = (size_t)pe * mixes[mix].even;
    }
    call.dest_counts = call.source_counts = m->counts;
    call.dest_offsets = call.source_offsets = m->offsets;
    return call;
}

/* A call without data has no plan, unless other PEs may have some. */
static bool is_nothing(const chorusx_call *call)
{
    return call->count == 0 && call->coll != CHORUS_COLL_collect &&
           call->coll != CHORUS_COLL_alltoallv;
}

/* Need no PE wait? PE 1 sends to a root that has nothing to receive. */
static bool may_pass(chorus_coll coll, int mix)
{
    return mixes[mix].even == 0 &&
           (coll == CHORUS_COLL_gather || coll == CHORUS_COLL_reduce_to);
}

/* A digest of what must be equal for PEs to serve each other. */
static uint64_t plan_of(const chorusx_call *call)
{
    uint64_t digest = 1;
    chorusx_plan plan;

    if (is_nothing(call)) return digest;
    EXPECT(chorusx_explain_call(call, &plan) == CHORUS_OK);
    for (const char *at = plan.algo; *at != '\0'; at++)
        digest = digest * 31 + (unsigned char)*at;
    for (const char *at = plan.proto; *at != '\0'; at++)
        digest = digest * 31 + (unsigned char)*at;
    return digest * 31 + (uint64_t)plan.ctas;
}

static bool plans_differ(const chorusx_call *call, struct memory *m)
{
    m->plans[api_n()] = plan_of(call);
    EXPECT(chorus_uint64_fcollect(CHORUS_TEAM_WORLD, m->plans, &m->plans[api_n()], 1) ==
           CHORUS_OK);
    return m->plans[0] != m->plans[1];
}

/* The message has both calls, both algorithms, and the buffer that differs. */
static bool is_told(int mix)
{
    const char *const said = chorusx_last_error();
    const char *const buffer = mixes[mix].buffers == OTHER_DEST
                                   ? "dest of PE 1 is outside the symmetric heap, that"
                               : mixes[mix].buffers == OTHER_SOURCE
                                   ? "source of PE 1 is outside the symmetric heap, that"
                                   : "";

    return strstr(said, "the calls of two PEs differ") != NULL &&
           strstr(said, "PE 1 makes ") != NULL && strstr(said, buffer) != NULL &&
           (mixes[mix].even == 0 || strstr(said, "PE 1 uses ") != NULL) &&
           strstr(said, "CHORUS_CHECK=1 compares calls") != NULL;
}

/* Some PE is late in most cases, so that each may be the one that waits. A PE that need not
 * wait in the call, as a root, fails in the next. */
static void try_mix(chorus_coll coll, int mix, struct memory *m)
{
    chorusx_call call = call_of(coll, mix, m);
    int status;

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, api_n(), NULL, 0, &call.team) ==
           CHORUS_OK);
    if (plans_differ(&call, m) && !may_pass(coll, mix)) {
        if ((mix + (int)coll) % 3 == (is_odd() ? 0 : 1))
            sleep_ms(mix == 0 ? VERY_LATE_MS : LATE_MS);
        status = chorusx_collective(&call, NULL);
        if (status == CHORUS_OK) status = chorus_team_sync(call.team);
        EXPECT_FAILS(status, CHORUS_ERR_ARG, "the calls of two PEs differ");
        EXPECT(is_told(mix));
        EXPECT(chorusx_team_status(call.team) == CHORUS_ERR_ARG);
    }
    chorus_barrier_all(); /* on another team, which works on */
    chorus_team_destroy(call.team);
}

/* On several hosts a difference is found a little later. */
static void calls__with_other_plans__fail_on_all_pes(void)
{
    const size_t bytes = (size_t)MOST * API_PES_MAX * sizeof(int32_t);
    struct memory m = {.dest = chorus_calloc(bytes, 1),
                       .source = chorus_calloc(bytes, 1),
                       .other = calloc(bytes, 1),
                       .plans = chorus_calloc(API_PES_MAX + 1, sizeof(uint64_t))};
    const int step = is_on_hosts() ? 3 : 1;

    for (int i = 0; i < CHORUS_COLL_COUNT * MIXES && api_n() > 1; i += step)
        if (i / MIXES != CHORUS_COLL_barrier) try_mix((chorus_coll)(i / MIXES), i % MIXES, &m);
    chorus_free(m.plans);
    free(m.other);
    chorus_free(m.source);
    chorus_free(m.dest);
}

/* Also if the PEs that know of it have left the call: a root, or a PE with nothing to do. */
static void pes__that_make_another_collective__fail_too(void)
{
    int32_t *dest = chorus_calloc(64, sizeof(*dest)),
            *source = chorus_calloc(64, sizeof(*dest));
    chorus_team_t team = CHORUS_TEAM_INVALID;
    int status;

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, api_n(), NULL, 0, &team) ==
           CHORUS_OK);
    status =
        is_odd() ? chorus_team_sync(team) : chorus_int32_sum_reduce(team, dest, source, 64);
    if (api_n() > 1) {
        if (status == CHORUS_OK) status = chorus_team_sync(team);
        EXPECT_FAILS(status, CHORUS_ERR_ARG, "barrier, call 1 of team");
        EXPECT(strstr(chorusx_last_error(), "reduce (64 i32, sum), call 1 of team") != NULL);
    }
    chorus_barrier_all();
    chorus_team_destroy(team);
    chorus_free(source);
    chorus_free(dest);
}

/* The algorithm that the program chose needs a symmetric dest, which one PE has not. */
static void algorithm__that_does_not_serve_one_pe__fails_elsewhere(void)
{
    int32_t *dest = chorus_calloc(MOST, sizeof(*dest)),
            *source = chorus_calloc(MOST, sizeof(*dest)), *other = calloc(MOST, sizeof(*dest));
    chorusx_call call = {.coll = CHORUS_COLL_reduce,
                         .type = CHORUS_TYPE_i32,
                         .op = CHORUS_OP_sum,
                         .algo = "recursive_halving:simple",
                         .dest = is_odd() ? other : dest,
                         .source = source,
                         .count = MOST};
    int status;

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, api_n(), NULL, 0, &call.team) ==
           CHORUS_OK);
    status = api_n() == 1 || is_on_hosts() ? CHORUS_OK : chorusx_collective(&call, NULL);
    if (api_n() > 1 && !is_on_hosts() && is_odd())
        EXPECT_FAILS(status, CHORUS_ERR_UNSUPPORTED, "dest is in the symmetric heap");
    else if (api_n() > 1 && !is_on_hosts())
        EXPECT_FAILS(status, CHORUS_ERR_ARG, "PE 1 has none that serves its call");
    chorus_barrier_all();
    chorus_team_destroy(call.team);
    free(other);
    chorus_free(source);
    chorus_free(dest);
}

/* The root of a broadcast need not wait, and makes no further call on the team. */
static void broadcast__by_a_root_that_computes_on__fails_elsewhere(void)
{
    int32_t *dest = chorus_calloc(MOST, sizeof(*dest)),
            *source = chorus_calloc(MOST, sizeof(*dest));
    chorus_team_t team = CHORUS_TEAM_INVALID;
    int status;

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, api_n(), NULL, 0, &team) ==
           CHORUS_OK);
    status = chorus_int32_broadcast(team, dest, source, api_me() == 0 ? 4 : MOST, 0);
    if (api_me() == 0)
        sleep_ms(VERY_LATE_MS);
    else
        EXPECT_FAILS(status, CHORUS_ERR_ARG,
                     "the calls of two PEs differ: PE 0 makes broadcast (4 i32");
    chorus_barrier_all();
    chorus_team_destroy(team);
    chorus_free(source);
    chorus_free(dest);
}

/* Of the block from PE 0 to PE 1, or of that from PE 0 to itself: elements sent, and expected.
 */
static const struct {
    size_t sent, expected;
} blocks[] = {{10, 5}, {5, 10}, {50000, 40000}, {5, 0}, {0, 5}};
enum { BLOCKS = sizeof(blocks) / sizeof(blocks[0]), GUARD = 0x5b5b5b5b };

/* Block p of each buffer begins at element p * MOST. All other blocks have `others` elements.
 */
static int exchange_blocks(chorus_team_t team, int i, size_t others, int32_t *dest,
                           const int32_t *source)
{
    const int to = api_n() > 1 ? 1 : 0;
    size_t in[API_PES_MAX], out[API_PES_MAX], offsets[API_PES_MAX];

    for (int pe = 0; pe < api_n(); pe++) {
        in[pe] = out[pe] = others;
        offsets[pe] = (size_t)pe * MOST;
    }
    if (api_me() == 0) out[to] = blocks[i].sent;
    if (api_me() == to) in[0] = blocks[i].expected;
    return chorusx_int32_alltoallv(team, dest, in, offsets, source, out, offsets);
}

/* Of PE 0's block, only what both counts contain may have been written. */
static bool is_kept(const int32_t *dest, int i)
{
    const size_t smaller =
        blocks[i].sent < blocks[i].expected ? blocks[i].sent : blocks[i].expected;

    for (size_t at = smaller; at < MOST; at++)
        if (dest[at] != GUARD) return false;
    return true;
}

static void try_block(int i, size_t others, int32_t *dest, const int32_t *source)
{
    const int to = api_n() > 1 ? 1 : 0;
    chorus_team_t team = CHORUS_TEAM_INVALID;
    char text[100];
    int status;

    (void)snprintf(text, sizeof(text), "PE 0 sends %zu elements to PE %d, which expects %zu",
                   blocks[i].sent, to, blocks[i].expected);
    for (size_t at = 0; at < MOST; at++)
        dest[at] = GUARD;
    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, api_n(), NULL, 0, &team) ==
           CHORUS_OK);
    if (api_me() == i % 3) sleep_ms(LATE_MS);
    status = exchange_blocks(team, i, others, dest, source);
    EXPECT(status != CHORUS_OK || api_me() > to);
    if (status == CHORUS_OK) status = chorus_team_sync(team);
    EXPECT_FAILS(status, CHORUS_ERR_ARG, text);
    EXPECT(strstr(chorusx_last_error(), "CHORUS_CHECK") == NULL);
    EXPECT(chorusx_team_status(team) == CHORUS_ERR_ARG);
    chorus_barrier_all();
    EXPECT(api_me() != to || is_kept(dest, i));
    chorus_team_destroy(team);
}

/* Both kinds of dest, as they have different algorithms, and blocks of one and of several
 * chunks or none between the other PEs. */
static void blocks__with_two_lengths__fail_on_all_pes(void)
{
    static const size_t others[] = {0, 3, 60000};
    const size_t bytes = (size_t)MOST * API_PES_MAX * sizeof(int32_t);
    int32_t *dest = chorus_calloc(bytes, 1), *source = chorus_calloc(bytes, 1);
    int32_t *other = calloc(bytes, 1);

    for (int i = 0; i < 3 * BLOCKS; i++) {
        try_block(i % BLOCKS, others[i / BLOCKS], dest, source);
        try_block(i % BLOCKS, others[i / BLOCKS], other, source);
    }
    free(other);
    chorus_free(source);
    chorus_free(dest);
}

#define TESTS(X)                                              \
    X(calls__with_other_plans__fail_on_all_pes)               \
    X(pes__that_make_another_collective__fail_too)            \
    X(algorithm__that_does_not_serve_one_pe__fails_elsewhere) \
    X(broadcast__by_a_root_that_computes_on__fails_elsewhere) \
    X(blocks__with_two_lengths__fail_on_all_pes)
API_MAIN(TESTS)
