/* SPDX-License-Identifier: Apache-2.0 */
#include "moment.h"

#include "coll/algorithm.h"
#include "growth.h"
#include "ref/ref_coll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a call; every fourth call has fresh data and is checked, so that PEs are in the library
 * most of the time. */
enum {
    COUNT_MAX = 16 * 1024,
    CHECKED_EVERY = 4,
    BLOCK_BYTES = 64 * 1024,
    WRONG = -100,
    PES_MAX = 64
};

enum moment moment_of(const char *name)
{
#define X(moment) \
    if (strcmp(name, #moment) == 0) return MOMENT_##moment;
    MOMENT_LIST(X)
    CHORUS_COLL_LIST(X)
#undef X
    return MOMENT_COUNT;
}

/* A number below `limit` that all PEs agree on. */
static uint64_t dice(const struct site *s, uint64_t what, uint64_t limit)
{
    return ref_hash(s->seed, s->round, what) % limit;
}

int site_open(struct site *s, uint64_t seed)
{
    *s = (struct site){.me = (uint32_t)chorus_my_pe(), .n = (uint32_t)chorus_n_pes()};
    s->seed = seed;
    s->count = (size_t)1 << dice(s, 0, 15);
    s->dest = chorus_calloc(s->n * s->count, sizeof(*s->dest));
    s->source = chorus_calloc(s->n * s->count, sizeof(*s->source));
    s->signal = chorus_calloc(1, sizeof(*s->signal));
    s->want = calloc(s->n * s->count, sizeof(*s->want));
    s->sources = calloc(s->n, sizeof(*s->sources));
    if (s->dest == NULL || s->source == NULL || s->signal == NULL || s->want == NULL ||
        s->sources == NULL)
        return CHORUS_ERR_NOMEM;
    for (uint32_t pe = 0; pe < s->n; pe++)
        if ((s->sources[pe] = calloc(s->n * s->count, sizeof(*s->source))) == NULL)
            return CHORUS_ERR_NOMEM;
    return 0;
}

void site_close(struct site *s)
{
    for (uint32_t pe = 0; s->sources != NULL && pe < s->n; pe++)
        free(s->sources[pe]);
    free(s->sources);
    free(s->want);
}

/* An algorithm of the collective, the same in all of the run, or null for the rule table's. */
static const char *any_algorithm(const struct site *s, chorus_coll coll, char name[64])
{
    uint64_t n_algos = 0, chosen;

    for (int a = 0; a < CH_ALGO_COUNT; a++)
        n_algos += ch_algos[a].coll == coll;
    chosen = ref_hash(s->seed, coll, 1) % (n_algos + 1);
    for (int a = 0; a < CH_ALGO_COUNT; a++) {
        if (ch_algos[a].coll != coll || chosen-- > 0) continue;
        (void)snprintf(name, 64, "%s:%s", ch_algos[a].name, ch_proto_names[ch_algos[a].proto]);
        return name;
    }
    return NULL;
}

/* What only some collectives have: other elements of this PE's, strides, blocks. */
static void give_more(const struct site *s, chorusx_call *call, size_t lists[4][PES_MAX])
{
    call->count = ref_own_count(call->coll, call->count, s->me);
    call->dst = call->sst = 1;
    call->dest_counts = lists[0];
    call->dest_offsets = lists[1];
    call->source_counts = lists[2];
    call->source_offsets = lists[3];
    for (uint32_t pe = 0; pe < s->n; pe++) {
        lists[0][pe] = ref_block(s->count, pe, s->me);
        lists[1][pe] = (s->n - 1 - pe) * s->count;
        lists[2][pe] = ref_block(s->count, s->me, pe);
        lists[3][pe] = pe * s->count;
    }
}

static int check(const struct site *s, const chorusx_call *call, uint64_t seed)
{
    const size_t count = ref_dest_count(call->coll, s->n, s->count);

    if (call->coll == CHORUS_COLL_barrier ||
        !ref_has_dest(call->coll, (uint32_t)call->root, s->me))
        return 0;
    for (uint32_t pe = 0; pe < s->n; pe++)
        ref_fill(call->coll, call->type, call->op, seed, pe,
                 ref_source_count(call->coll, s->n, s->count), s->sources[pe]);
    ref_expect(call->coll, call->type, call->op, s->n, (uint32_t)call->root, s->count,
               (const void *const *)s->sources, s->me, s->want);
    if (ref_compare(call->coll, call->type, s->dest, s->want, count) < 0) return 0;
    (void)fprintf(stderr, "PE %u: wrong data in %s\n", s->me, ch_coll_names[call->coll]);
    return WRONG;
}

static int collective(struct site *s, chorus_coll coll, chorus_stream_t stream)
{
    const bool is_checked = s->round % CHECKED_EVERY == 0;
    const uint64_t seed = ref_hash(s->seed, s->round, 2);
    size_t lists[4][PES_MAX]; /* counts and offsets of the blocks of an alltoallv */
    char name[64];
    chorusx_call call = {
        .coll = coll,
        .team = CHORUS_TEAM_WORLD,
        .dest = s->dest,
        .source = s->source,
        .count = s->count,
        .type = CHORUS_TYPE_u64,
        .op = CHORUS_OP_sum,
        .root = (int)dice(s, 3, s->n),
        .algo = any_algorithm(s, coll, name),
    };
    int status;

    if (is_checked) {
        ref_poison(s->dest, s->n * s->count * sizeof(*s->dest));
        ref_fill(coll, call.type, call.op, seed, s->me,
                 ref_source_count(coll, s->n, call.count), s->source);
    }
    give_more(s, &call, lists);
    status = chorusx_collective(&call, stream);
    if (status == CHORUS_ERR_UNSUPPORTED) {
        call.algo = NULL;
        status = chorusx_collective(&call, stream);
    }
    if (status == 0 && stream != NULL) status = chorusx_stream_synchronize(stream);
    return status == 0 && is_checked ? check(s, &call, seed) : status;
}

#define X(coll)                                         \
    static int step_##coll(struct site *s)              \
    {                                                   \
        return collective(s, CHORUS_COLL_##coll, NULL); \
    }
CHORUS_COLL_LIST(X)
#undef X

static int step_start(struct site *s)
{
    return step_barrier(s);
}

static int step_finalize(struct site *s)
{
    return step_barrier(s);
}

static int step_quiet_barrier(struct site *s)
{
    (void)s;
    return chorus_barrier(CHORUS_TEAM_WORLD);
}

static int step_stream(struct site *s)
{
    if (s->stream == NULL) {
        const int status = chorusx_stream_create(&s->stream);
        if (status != 0) return status;
    }
    return collective(s, (chorus_coll)dice(s, 4, CHORUS_COLL_COUNT), s->stream);
}

/* The heap grows, until all blocks are given back. */
static int step_growth(struct site *s)
{
    return growth_step(s->blocks, sizeof(s->blocks) / sizeof(s->blocks[0]), s->n_growths++,
                       BLOCK_BYTES);
}

/* A team of some PEs, in another order; its members use it. */
static int step_team(struct site *s)
{
    const int n = 1 + (int)dice(s, 5, s->n), first = (int)dice(s, 6, s->n);
    chorus_team_t team = CHORUS_TEAM_INVALID;
    int pes[PES_MAX], status;

    for (int i = 0; i < n; i++)
        pes[i] = (int)(s->n - 1) - (first + i) % (int)s->n;
    if (dice(s, 7, 2) == 0)
        status = chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
    else
        status = chorusx_team_create(CHORUS_TEAM_WORLD, pes, n, &team);
    if (status != 0 || team == CHORUS_TEAM_INVALID) return status;
    status = chorus_team_sync(team);
    if (status == 0) chorus_team_destroy(team);
    return status;
}

/* A ring of signals: each PE waits for the one before it. The call has no code; its failure
 * ends the job. */
static int step_wait(struct site *s)
{
    chorusx_signal_op(s->signal, 1, CHORUS_SIGNAL_ADD, (int)((s->me + 1) % s->n));
    (void)chorus_signal_wait_until(s->signal, CHORUS_CMP_GE, ++s->n_waits);
    return 0;
}

int moment_step(struct site *s, enum moment moment)
{
    static int (*const steps[])(struct site *) = {
#define X(name) step_##name,
        MOMENT_LIST(X) CHORUS_COLL_LIST(X)
#undef X
    };
    const int status = steps[moment](s);

    s->round++;
    return status;
}
