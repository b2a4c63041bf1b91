/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_away.cuh: collectives inside kernels on teams that are large, whose PEs are not all
 * near, or whose calls are compared (CHORUS_CHECK); of chorus_device.cuh. device_apart.cuh has
 * the ways to them.
 *
 * The bodies are algorithms of streams for such teams, by one CTA, on duplicate 0 of the team:
 * on two levels if the team has child teams, else in messages to all. They are functions of
 * their own, so that a call on near PEs has a branch, and no registers, for them.
 */
#ifndef CHORUS_DEVICE_AWAY_CUH
#define CHORUS_DEVICE_AWAY_CUH

#include "base/route.h"
#include "coll/algo/alltoall_levels.h"
#include "coll/algo/broadcast_levels.h"
#include "coll/algo/fcollect_levels.h"
#include "coll/algo/reduce_levels.h"
#include "coll/algo/reducescatter_levels.h"
#include "coll/barrier_away.h"

/* clang-format off */
/* The algorithms for teams with child teams. */
#define CH_LEVELS_LIST(X)                       \
    X(broadcast, ch_broadcast_hierarchical)     \
    X(fcollect, ch_fcollect_hierarchical)       \
    X(alltoall, ch_alltoall_hierarchical)       \
    X(reduce, ch_reduce_leaders)                \
    X(reducescatter, ch_reducescatter_hierarchical)
/* clang-format on */

/* The call of a team, with what its algorithms need besides. PEs beside each other access each
 * other's sync memory. */
CH_FN struct ch_coll ch_coll_away(const struct ch_device_team *team, char *dest,
                                  const char *source, size_t count, size_t elem_bytes)
{
    struct ch_coll c = ch_coll_on_device_team(team, dest, source, count, elem_bytes);

    c.peers = team->peers; /* in constant memory are those of few PEs */
    c.radix = 2;
    c.policy = ch_wait_policy_here();
    c.positions = (struct ch_positions *)((char *)team->dup + CH_DEVICE_POSITIONS_AT);
    c.slots = (struct ch_slot *)((char *)team->dup + CH_DEVICE_SLOTS_AT(team->n));
    c.remotes = team->is_beside ? 0 : team->remotes;
    c.levels = team->is_beside ? 0 : team->levels;
    return c;
}

CH_FN int ch_combines(chorus_coll coll)
{
    return coll == CHORUS_COLL_reduce || coll == CHORUS_COLL_reducescatter;
}

/* A flat exchange. */
CH_PART chorus_status ch_exchange_away(const struct ch_coll *c, size_t src_step,
                                       const char *own, int is_combined, size_t dst_step,
                                       struct ch_lanes g)
{
    const struct ch_exchange x = {.src = c->src,
                                  .src_step = src_step,
                                  .own = own,
                                  .is_combined = is_combined,
                                  .dst_step = dst_step};

    return ch_exchange_all(c, CH_CELL_simple, x, g);
}

CH_FN chorus_status ch_run_flat(chorus_coll coll, const struct ch_coll *c, struct ch_lanes g)
{
    const int is_combined = ch_combines(coll),
              has_blocks = coll == CHORUS_COLL_alltoall || coll == CHORUS_COLL_reducescatter;

    if (coll == CHORUS_COLL_broadcast) return ch_broadcast_tree_simple(c, g);
    return ch_exchange_away(c, has_blocks ? c->stride : 0,
                            has_blocks ? c->src + c->me * c->stride : c->src, is_combined,
                            is_combined ? 0 : c->stride, g);
}

/* A reducescatter on two levels is not possible in place. */
CH_FN chorus_status ch_run_levels(chorus_coll coll, const struct ch_coll *c, struct ch_lanes g)
{
    const char *const end = c->src + c->n * c->stride;

    if (coll == CHORUS_COLL_reducescatter && c->dst >= c->src && c->dst < end)
        return ch_run_flat(coll, c, g);
    CH_LEVELS_LIST(CH_RUN)
    return CHORUS_ERR_ARG;
}

/* The status of a call that ends with st: posts return none, but mark the ring. */
CH_FN chorus_status ch_status_away(chorus_status st)
{
    if (st != CHORUS_OK || ch_state.has_far == 0) return st;
    return ch_ring_failure(&ch_state.ring);
}

/* The end of a call, of which all lanes have the same status: the team is given back, or has
 * failed. */
CH_FN chorus_status ch_end_away(const struct ch_device_team *team, uint64_t number,
                                chorus_status st, uint32_t late_pe, struct ch_lanes g)
{
    if (st != CHORUS_OK) {
        ch_fail_call(team, st, late_pe, g);
        return st;
    }
    /* The state is there for the block that takes the team next. */
    if (g.lane == 0) asm volatile("fence.acq_rel.gpu;" ::: "memory");
    ch_put_back(team, number, g);
    ch_check_release(team, g);
    ch_lanes_sync(g); /* the next call may be any lane's */
    return CHORUS_OK;
}

/* A call of this type and operator, with the PEs and slots of another. */
template <uint32_t TYPE, uint32_t OP, size_t BYTES>
CH_FN struct ch_coll ch_typed(const struct ch_coll *c)
{
    struct ch_coll typed;

    ch_coll_init(&typed, c->me, c->n, c->peers, 0);
    typed.type = TYPE;
    typed.op = OP;
    typed.elem_bytes = BYTES;
    typed.slots = c->slots;
    return typed;
}

template <uint32_t TYPE, uint32_t OP, size_t BYTES>
CH_PART void ch_combine_slots_as(const struct ch_coll *c, char *dst, uint32_t count,
                                 size_t bytes, struct ch_lanes g)
{
    const struct ch_coll typed = ch_typed<TYPE, OP, BYTES>(c);

    ch_combine_set_slots(&typed, dst, count, bytes, g);
}

typedef void (*ch_combine_slots_t)(const struct ch_coll *c, char *dst, uint32_t count,
                                   size_t bytes, struct ch_lanes g);

/* All lanes: a collective that is a constant. combine: of the type and the operator; null if
 * the collective moves. */
template <chorus_coll COLL>
CH_PART chorus_status ch_run_away(const struct ch_device_team *team, char *dest,
                                  const char *source, size_t count, uint64_t packed,
                                  ch_combine_slots_t combine)
{
    struct ch_away_terms terms;
    struct ch_ticket ticket;
    struct ch_lanes g;
    struct ch_coll c;
    uint32_t late_pe = team->me;
    uint64_t number;
    chorus_status st;

    memcpy(&terms, &packed, sizeof(terms));
    g.lane = terms.lane;
    g.width = terms.width;
    g.form = CH_LANES_PART;
    c = ch_coll_away(team, dest, source, count, combine != 0 ? 1u << terms.size_log2 : 1);
    c.root = terms.root;
    c.combine_slots = combine;
    st = ch_check_call(COLL, team, &c, terms.type, combine != 0 ? terms.op : 0,
                       ch_bytes(&c) >> terms.size_log2, g);
    if (st == CHORUS_OK && count == 0) ch_check_release(team, g);
    if (st != CHORUS_OK || count == 0) return st;
    ticket = ch_take(team->dup, g);
    c.late_peer = &late_pe;
    ch_lanes_sync(g); /* what any lane wrote is before the fences */
    ch_publish();
    number = ch_lanes_broadcast(g, ch_ticket_number(ticket));
    if ((number & CH_TAKEN) != 0) return CHORUS_ERR_STATE;
    st = c.levels != 0 ? ch_run_levels(COLL, &c, g) : ch_run_flat(COLL, &c, g);
    return ch_end_away(team, number, ch_lanes_agree(ch_status_away(st), g), late_pe, g);
}

/* --- barriers --------------------------------------------------------------------------- */

/* The barrier of one lane, for all that have taken the team with this number, after their
 * fence. What the PE has posted is complete before it signals. */
CH_PART chorus_status ch_barrier_away(const struct ch_device_team *team, uint64_t number)
{
    const struct ch_far far = {ch_state.has_far != 0 ? &ch_state.ring : 0,
                               ch_wait_policy_here()};
    const struct ch_lanes g = {0, 1, CH_LANES_PART};
    struct ch_coll c = ch_coll_away(team, 0, 0, 0, 1);
    uint64_t numbers[CH_CELL_COUNT] = {0};
    uint32_t late_pe = team->me;
    int is_known = 1;
    chorus_status st;

    numbers[CH_CELL_ll] = number;
    c.exchanges = numbers;
    c.is_known = &is_known;
    c.late_peer = &late_pe;
    st = ch_barrier_run_away(&c, far, g);
    return ch_end_away(team, numbers[CH_CELL_ll], ch_lanes_agree(ch_status_away(st), g),
                       late_pe, g);
}

#endif /* CHORUS_DEVICE_AWAY_CUH */
