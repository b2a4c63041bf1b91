/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce, one shot: every PE sends its vector to all and combines what it gets.
 *
 *   needs    map
 *   steps    c
 *   wire     (n - 1) * m
 *   scratch  two places of a chunk for each peer
 *   inplace  safe: a chunk is sent before it is overwritten
 *   result   combined in PE order 0 .. n-1: bitwise equal on every PE
 *   source   NVSHMEM, fcollect and local reduce, one level; here for any team
 */
#ifndef CH_REDUCE_ONE_SHOT_H
#define CH_REDUCE_ONE_SHOT_H

#include "coll/exchange.h"

CH_FN chorus_status ch_reduce_one_shot(const struct ch_coll *c, enum ch_ring ring,
                                       struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c);
    uint64_t exchange = ch_exchanged(c, ring);

    for (size_t at = 0, part; at < bytes; at += part) {
        chorus_status st;

        part = ch_part(c, ring, at);
        ch_give(c, ring, exchange, c->src + at, 0, part, g);
        st = ch_gather_combined(c, ring, ++exchange, c->dst + at, c->src + at, part, g);
        if (st != CHORUS_OK) return st;
    }
    return CHORUS_OK;
}

CH_FN chorus_status ch_reduce_one_shot_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_one_shot(c, CH_RING_simple, g);
}

CH_FN chorus_status ch_reduce_one_shot_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_one_shot(c, CH_RING_ll, g);
}

CH_FN chorus_status ch_reduce_one_shot_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_one_shot(c, CH_RING_ll128, g);
}

#endif /* CH_REDUCE_ONE_SHOT_H */
