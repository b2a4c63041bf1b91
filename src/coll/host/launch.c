/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/host/launch.h"

#include "base/clock.h"
#include "coll/host/host.h"
#include "coll/shape.h"

struct run {
    const struct ch_call *call;
    int status; /* the first failure of any CTA; guarded by compare and swap */
    uint32_t late_peer;
};

static void run_cta(void *arg, uint32_t cta)
{
    struct run *run = arg;
    const struct ch_call *call = run->call;
    struct ch_team *team = call->team;
    const size_t elem_bytes = ch_type_bytes[call->type];
    const struct ch_share share = ch_share_of(call->count, elem_bytes, call->ctas);
    const struct ch_slice part = ch_part_of(&share, call->count, cta);
    uint32_t late_peer = team->me;
    const struct ch_seat seat = {
        .me = team->me,
        .n = team->n,
        .peers = team->peers,
        .layout = &team->layout,
        .dst = call->dst,
        .src = call->src,
        .count = call->count,
        .elem_bytes = elem_bytes,
        .type = call->type,
        .op = call->op,
    };
    struct ch_coll coll = ch_coll_make(&seat, part, cta, &team->dups[cta]);
    int none = CHORUS_OK;
    chorus_status status;

    coll.root = call->root;
    coll.radix = call->radix;
    coll.reduce = &ch_reduce_table[call->type][call->op];
    coll.patience = team->patience;
    coll.links = team->dups[cta].links;
    coll.slots = team->dups[cta].slots;
    coll.late_peer = &late_peer;
    status = ch_host_entries[call->algo->id](&coll);
    if (status != CHORUS_OK && __atomic_compare_exchange_n(&run->status, &none, status, 0,
                                                           __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        run->late_peer = late_peer;
}

static chorus_status describe(const struct run *run)
{
    const struct ch_call *call = run->call;
    const struct ch_team *team = call->team;
    const char *coll = ch_coll_names[call->algo->coll], *algo = call->algo->name;
    const unsigned me = team->members[team->me].world,
                   late = team->members[run->late_peer].world;

    if (run->status == CHORUS_ERR_ABORTED)
        return CH_FAIL(CHORUS_ERR_ABORTED,
                       "%s %s: PE %u stopped waiting for PE %u: the job is ending", coll, algo,
                       me, late);
    return CH_FAIL(
        CHORUS_ERR_TIMEOUT,
        "%s %s: PE %u waited %.3g s for PE %u, which did not come; all PEs of the team must "
        "make the same calls in the same order, or CHORUS_TIMEOUT must be longer",
        coll, algo, me, (double)team->patience->timeout_ns / (double)CH_NS_PER_S, late);
}

/* In its turn. A call that was queued before another failed is not begun. */
static chorus_status run_ctas(const struct ch_call *call, struct ch_crew *crew)
{
    struct run run = {.call = call, .status = CHORUS_OK};

    CH_TRY(ch_team_usable(call->team));
    ch_crew_run(crew, call->ctas, run_cta, &run);
    if (run.status == CHORUS_OK) return CHORUS_OK;
    __atomic_store_n(&call->team->status, run.status, __ATOMIC_RELEASE);
    return describe(&run);
}

chorus_status ch_call_run(const struct ch_call *call, uint64_t ticket, struct ch_crew *crew)
{
    chorus_status status = ch_team_enter(call->team, ticket);

    if (status == CHORUS_OK)
        status = run_ctas(call, crew);
    else
        __atomic_store_n(&call->team->status, (int)status, __ATOMIC_RELEASE);
    ch_team_leave(call->team);
    return status;
}
