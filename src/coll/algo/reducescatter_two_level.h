/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef CH_REDUCESCATTER_TWO_LEVEL_H
#define CH_REDUCESCATTER_TWO_LEVEL_H

#include "coll/primitives/rounds.h"

/* A PE's group, and its position in it. */
struct ch_level {
    uint32_t k, groups; /* PEs of a complete group, and number of groups of the team */
    uint32_t first, count, position;
    uint32_t posts; /* number of blocks that the PE may have to post; some indices have no PE */
};

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

/* The PE that posts PE `pe`'s block in its group, and the index of that block. */
CH_FN uint32_t ch_level_poster(const struct ch_level *l, uint32_t pe)
{
    return l->first + pe % l->k % l->count;
}

CH_FN uint32_t ch_level_post(const struct ch_level *l, uint32_t pe)
{
    return pe % l->k / l->count * l->groups + pe / l->k;
}

/* The PEs whose blocks this PE posts, and the PEs that post this PE's block: number 0 to
 * `posts`. This PE itself in place of a PE that does not exist or was listed already: of the
 * PEs that post, only that of the last group may not be among those that read. */
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

/* Signal that this PE's posts are complete, or wait for those of its peers. */
CH_FN chorus_status ch_level_exchange(const struct ch_coll *c, const struct ch_level *l,
                                      uint64_t exchange, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    ch_lanes_sync(g); /* other lanes' posts precede the stores */
    for (uint32_t i = g.lane; i <= l->posts; i += g.width) {
        const uint32_t pe = ch_level_peer(c, l, i);

        if (pe != c->me) ch_say(c, pe, CH_WORD_GIVEN, exchange, CH_DATA);
    }
    for (uint32_t i = g.lane; i <= l->posts && st == CHORUS_OK; i += g.width) {
        const uint32_t pe = ch_level_peer(c, l, i);

        if (pe != c->me) st = ch_listen(c, pe, CH_WORD_GIVEN, exchange);
    }
    return ch_agree(st, g);
}

/* The address of the i-th post of a PE in this exchange. */
CH_FN char *ch_level_memory(const struct ch_coll *c, uint32_t pe, uint32_t i, uint64_t exchange,
                            size_t bytes)
{
    return ch_slot_at(ch_own_slots(c, CH_CELL_simple, pe), exchange).memory + i * bytes;
}

/* First level, for a part of each block at src. */
CH_FN void ch_level_combine(const struct ch_coll *c, const struct ch_level *l, const char *src,
                            uint64_t exchange, size_t bytes, struct ch_lanes g)
{
    for (uint32_t i = 0; i < l->posts; i++) {
        const uint32_t pe = ch_level_reader(l, i);

        if (pe >= c->n) continue;
        ch_lanes_sync(g); /* other lanes have read the slots */
        for (uint32_t j = g.lane; j < l->count; j += g.width)
            c->slots[j].memory = ch_on_peer(c, l->first + j, src + pe * c->stride);
        ch_combine_slots(c, ch_level_memory(c, c->me, i, exchange, bytes), l->count, bytes, g);
    }
}

/* Second level. */
CH_FN void ch_level_collect(const struct ch_coll *c, char *dst, uint64_t exchange, size_t bytes,
                            struct ch_lanes g)
{
    const uint32_t groups = ch_level_of(c, c->me).groups;

    for (uint32_t j = g.lane; j < groups; j += g.width) {
        const struct ch_level l = ch_level_of(c, j * ch_level_of(c, 0).k);

        c->slots[j].memory = ch_level_memory(c, ch_level_poster(&l, c->me),
                                             ch_level_post(&l, c->me), exchange, bytes);
    }
    ch_combine_slots(c, dst, groups, bytes, g);
}

/* Signal all PEs of the group, and wait for their signals. */
CH_FN chorus_status ch_level_meet(const struct ch_coll *c, const struct ch_level *l,
                                  uint32_t word, uint64_t epoch, enum ch_sense sense,
                                  struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    ch_lanes_sync(g); /* other lanes' accesses precede the stores */
    for (uint32_t j = g.lane; j < l->count; j += g.width)
        if (j != l->position) ch_say(c, l->first + j, word, epoch, sense);
    for (uint32_t j = g.lane; j < l->count && st == CHORUS_OK; j += g.width)
        if (j != l->position) st = ch_listen(c, l->first + j, word, epoch);
    return ch_agree(st, g);
}

CH_FN chorus_status ch_reducescatter_two_level(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    const size_t bytes = ch_bytes(c),
                 most = ch_level_bytes(c->n, c->radix, ch_own_units(c, CH_CELL_simple));
    const struct ch_level l = ch_level_of(c, c->me);
    chorus_status st =
        ch_level_meet(c, &l, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */

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
    return ch_level_meet(c, &l, CH_WORD_DONE, epoch, CH_CREDIT, g); /* source may be reused */
}

#endif /* CH_REDUCESCATTER_TWO_LEVEL_H */
