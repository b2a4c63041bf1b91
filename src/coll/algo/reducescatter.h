/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducescatter.h: reducescatter in rounds, on two levels of one host, along a ring and by
 * multicast. Those by messages and loads from all are in inside_kernels.h, those of several
 * hosts in reducescatter_levels.h.
 */
#ifndef CH_ALGO_REDUCESCATTER_H
#define CH_ALGO_REDUCESCATTER_H

#include "coll/algo/alltoall.h"
#include "coll/primitives/fifo.h"
#include "coll/primitives/multicast.h"
#include "coll/primitives/rounds.h"

/*
 * reducescatter in rounds, with forwarding: an alltoall as in alltoall:bruck, after which
 * each PE combines the blocks that it has received.
 *
 *   needs    put
 *   steps    ch_combine_steps(n, k, s, p, o)
 *   wire     ch_digits(n, k) * s
 *   scratch  the slots of all peers; this PE's own slot holds blocks
 *   inplace  safe for dest = source and for dest = this PE's block of source: a part of dest
 *            is written when that part of source was read
 *   result   combined in PE order 0 .. n-1
 *   source   of this library: the index algorithm of Bruck and others (1997), then a local
 *            reduction
 */
CH_FN chorus_status ch_reducescatter_bruck(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c),
                 most = ch_combine_bytes(c->n, c->radix, ch_slot_units(c, CH_CELL_ll),
                                         ch_own_units(c, CH_CELL_ll));
    chorus_status st = CHORUS_OK;

    for (size_t at = 0; at < bytes && st == CHORUS_OK; at += most) {
        struct ch_forward f;

        f.src = c->src + at;
        f.src_step = c->stride;
        f.dst_step = ch_min(most, bytes - at);
        f.cursor = ch_round_cursor_first(0, f.dst_step);
        st = ch_rounds_begin(c, CH_CELL_ll, &f.cursor.exchange,
                             g); /* the last part is combined */
        if (st != CHORUS_OK) return st;
        f.dst = ch_slot_at(ch_own_slots(c, CH_CELL_ll, c->me), f.cursor.exchange).memory;
        st = ch_forward_all(c, &f, g);
        if (st != CHORUS_OK) return st;
        for (uint32_t pe = g.lane; pe < c->n; pe += g.width)
            c->slots[pe].memory = pe == c->me ? (char *)(uintptr_t)f.src + pe * c->stride
                                              : f.dst + pe * f.dst_step;
        ch_combine_slots(c, c->dst + at, c->n, f.dst_step, g);
    }
    return st;
}

/*
 * reducescatter on two levels by direct loads: PEs with neighbouring numbers, in groups of k,
 * combine partial results for all PEs; then each PE combines the partial results of the groups
 * for its block.
 *
 *   needs    map, whole, apart, symmetric_source
 *   steps    ch_level_steps(n, k, s, o)
 *   wire     ch_level_wire(n, k, s)
 *   scratch  this PE's own slot, and three words per PE
 *   inplace  not possible
 *   result   combined group by group, in PE order in each
 *   source   of this library; the loads of the first level stay within a cache or a socket,
 *            and a PE loads from k + n / k peers in place of n
 *
 * In its group, a PE combines the blocks of those PEs whose number modulo k is its own
 * position in the group. In a last group of fewer PEs, it also does this for the positions
 * that no PE has. It posts the results in its own slot of the exchange, and those PEs read
 * them there. It uses that slot again two exchanges later; in the exchange between, it
 * receives a message from each of those PEs, which have then read it.
 */

/* A PE's group, and its position in it. */
struct ch_level {
    uint32_t k, groups; /* PEs of a complete group, and number of groups of the team */
    uint32_t first, count, position;
    uint32_t posts; /* number of blocks that the PE may have to post; some indices have no PE */
};

/* The group of PE `pe`, and its position in it. */
CH_FN struct ch_level ch_level_of(const struct ch_coll *c, uint32_t pe)
{
    struct ch_level l;

    l.k = (uint32_t)ch_min(c->radix, c->n);
    l.groups = (uint32_t)ch_divide_up(c->n, l.k);
    l.position = pe % l.k;
    l.first = pe - l.position;
    l.count = (uint32_t)ch_min(l.k, c->n - l.first);
    l.posts = (uint32_t)ch_divide_up(l.k - l.position, l.count) * l.groups;
    return l;
}

/* The PE whose block is the i-th that a PE posts; n or more: there is none. */
CH_FN uint32_t ch_level_reader(const struct ch_level *l, uint32_t i)
{
    return l->position + i / l->groups * l->count + i % l->groups * l->k;
}

/* The PE of the group that posts the block of PE `pe`. */
CH_FN uint32_t ch_level_poster(const struct ch_level *l, uint32_t pe)
{
    return l->first + pe % l->k % l->count;
}

/* The index of the block of PE `pe` among those that its poster posts. */
CH_FN uint32_t ch_level_post_index(const struct ch_level *l, uint32_t pe)
{
    return pe % l->k / l->count * l->groups + pe / l->k;
}

/* PE i, 0 to `posts`, with which this PE exchanges: those whose blocks it posts and, last, the
 * one that posts this PE's block in the last group; the posters in other groups are among the
 * former. This PE itself, which callers skip, stands for a PE that does not exist or is among
 * them already. */
CH_FN uint32_t ch_level_peer(const struct ch_coll *c, const struct ch_level *l, uint32_t i)
{
    uint32_t pe = ch_level_reader(l, i);

    if (i == l->posts) {
        const struct ch_level last = ch_level_of(c, c->n - 1);

        pe = ch_level_poster(&last, c->me);
        if (last.first == l->first || pe % l->k == l->position) return c->me;
    }
    return pe < c->n ? pe : c->me;
}

/* Signal this PE's peers (ch_level_peer) that its posts are complete, and wait until theirs
 * are. */
CH_FN chorus_status ch_level_exchange(const struct ch_coll *c, const struct ch_level *l,
                                      uint64_t exchange, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    ch_lanes_sync(g); /* other lanes' posts precede the stores */
    for (uint32_t i = g.lane; i <= l->posts; i += g.width) {
        const uint32_t pe = ch_level_peer(c, l, i);

        if (pe != c->me) ch_lane_signal(c, pe, CH_WORD_GIVEN, exchange, CH_DATA);
    }
    for (uint32_t i = g.lane; i <= l->posts && st == CHORUS_OK; i += g.width) {
        const uint32_t pe = ch_level_peer(c, l, i);

        if (pe != c->me) st = ch_lane_await(c, pe, CH_WORD_GIVEN, exchange);
    }
    return ch_lanes_agree(st, g);
}

/* The address of the i-th post of a PE in this exchange. */
CH_FN char *ch_level_post_address(const struct ch_coll *c, uint32_t pe, uint32_t i,
                                  uint64_t exchange, size_t bytes)
{
    return ch_slot_at(ch_own_slots(c, CH_CELL_simple, pe), exchange).memory + i * bytes;
}

/* First level: combine and post a part, `bytes` at src, of each block that this PE posts. */
CH_FN void ch_level_combine(const struct ch_coll *c, const struct ch_level *l, const char *src,
                            uint64_t exchange, size_t bytes, struct ch_lanes g)
{
    for (uint32_t i = 0; i < l->posts; i++) {
        const uint32_t pe = ch_level_reader(l, i);

        if (pe >= c->n) continue;
        ch_lanes_sync(g); /* other lanes have read the slots */
        for (uint32_t j = g.lane; j < l->count; j += g.width)
            c->slots[j].memory = ch_peer_address(c, l->first + j, src + pe * c->stride);
        ch_combine_slots(c, ch_level_post_address(c, c->me, i, exchange, bytes), l->count,
                         bytes, g);
    }
}

/* Second level: dst = what the groups have posted for this PE's block, combined. */
CH_FN void ch_level_collect(const struct ch_coll *c, char *dst, uint64_t exchange, size_t bytes,
                            struct ch_lanes g)
{
    const uint32_t groups = ch_level_of(c, c->me).groups;

    for (uint32_t j = g.lane; j < groups; j += g.width) {
        const struct ch_level l = ch_level_of(c, j * ch_level_of(c, 0).k);

        c->slots[j].memory = ch_level_post_address(
            c, ch_level_poster(&l, c->me), ch_level_post_index(&l, c->me), exchange, bytes);
    }
    ch_combine_slots(c, dst, groups, bytes, g);
}

/* Signal all PEs of the group, and wait for their signals. */
CH_FN chorus_status ch_level_sync_group(const struct ch_coll *c, const struct ch_level *l,
                                        uint32_t word, uint64_t epoch, enum ch_sense sense,
                                        struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    ch_lanes_sync(g); /* other lanes' accesses precede the stores */
    for (uint32_t j = g.lane; j < l->count; j += g.width)
        if (j != l->position) ch_lane_signal(c, l->first + j, word, epoch, sense);
    for (uint32_t j = g.lane; j < l->count && st == CHORUS_OK; j += g.width)
        if (j != l->position) st = ch_lane_await(c, l->first + j, word, epoch);
    return ch_lanes_agree(st, g);
}

/* reducescatter on two levels, as described above: part by part of each block. */
CH_FN chorus_status ch_reducescatter_two_level(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    const size_t bytes = ch_bytes(c),
                 most = ch_level_bytes(c->n, c->radix, ch_own_units(c, CH_CELL_simple));
    const struct ch_level l = ch_level_of(c, c->me);
    chorus_status st =
        ch_level_sync_group(c, &l, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */

    for (size_t at = 0; at < bytes && st == CHORUS_OK; at += most) {
        const size_t part = ch_min(most, bytes - at);
        uint64_t exchange;

        st = ch_rounds_begin(c, CH_CELL_simple, &exchange, g);
        if (st != CHORUS_OK) return st;
        ch_level_combine(c, &l, c->src + at, exchange, part, g);
        st = ch_level_exchange(c, &l, exchange, g);
        if (st == CHORUS_OK) ch_level_collect(c, c->dst + at, exchange, part, g);
    }
    if (st != CHORUS_OK) return st;
    return ch_level_sync_group(c, &l, CH_WORD_DONE, epoch, CH_CREDIT,
                               g); /* source may be reused */
}

/*
 * reducescatter along a ring: each block is sent from PE to PE until it reaches its owner, and
 * each PE on the way combines its own contribution with it.
 *
 *   needs    put, whole
 *   steps    (n - 1) * ch_divide_up(c, 2)
 *   wire     (n - 1) * s
 *   scratch  a FIFO to the next PE
 *   inplace  safe for dest = source and for dest = this PE's block of source: dest is written
 *            when that part of source was read
 *   result   block p combined in the order p + 1, p + 2 .. p
 *   source   the first half of a reduce along a ring, as by Patarasu and Yuan (2009)
 */

/* Turn `t` of 0 .. n - 1, for the bytes `l` of a block: block p starts at PE p + 1 and reaches
 * its owner after n - 1 turns, each of which adds the block of one PE. */
CH_FN chorus_status ch_reducescatter_ring_turn(const struct ch_coll *c, struct ch_leg l,
                                               uint32_t t, struct ch_lanes g)
{
    const uint32_t p = (c->me + 2 * c->n - 1 - t) % c->n;
    const char *own = c->src + p * c->stride + l.first;

    if (l.bytes == 0) return CHORUS_OK;
    if (t == 0)
        return ch_send(c, CH_CELL_simple, ch_pes_one(ch_next_pe(c)), own, 0, l.bytes, g);
    if (t < c->n - 1) return ch_recv_combine_send(c, own, l.bytes, g);
    return ch_recv_combine_prev(c, c->dst + l.first, own, l.bytes, g);
}

/* reducescatter along a ring, as described above: two legs of each block at a time. */
CH_FN chorus_status ch_reducescatter_ring(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c), most = ch_relay_bytes(c);

    if (c->n == 1) {
        ch_copy(c->dst, c->src, bytes, g);
        return CHORUS_OK;
    }
    for (size_t at = 0; at < bytes; at += most)
        for (uint32_t i = 0; i < CH_LEGS * c->n; i++) {
            struct ch_leg l = ch_leg_of(c, ch_min(most, bytes - at), i % CH_LEGS);
            chorus_status st;

            l.first += at;
            st = ch_reducescatter_ring_turn(c, l, i / CH_LEGS, g);
            if (st != CHORUS_OK) return st;
        }
    return CHORUS_OK;
}

/*
 * reducescatter in one shot by multicast: one load of a PE returns the combination of all PEs'
 * sources; every PE loads its block.
 *
 *   needs    map, apart, multicast, symmetric_source
 *   steps    1
 *   wire     (n - 1) * s
 *   scratch  two words per PE
 *   inplace  not possible
 *   result   combined in PE order 0 .. n-1
 *   source   NVSHMEM, NVLS one shot
 */
CH_FN chorus_status ch_reducescatter_multicast(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    chorus_status st;

    ch_multicast_signal(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */
    st = ch_await_all(c, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_multicast_reduce(c, c->dst, c->src + c->me * c->stride, ch_bytes(c), g);
    ch_multicast_signal(c, CH_WORD_DONE, epoch, CH_CREDIT, g);
    return ch_await_all(c, CH_WORD_DONE, epoch, g); /* source may be reused */
}

#endif /* CH_ALGO_REDUCESCATTER_H */
