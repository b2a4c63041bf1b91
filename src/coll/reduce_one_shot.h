/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce, one shot: every PE sends its vector to all and combines what it gets.
 *
 *   needs    map
 *   steps    c
 *   wire     (n - 1) * m
 *   scratch  a ring to each peer
 *   inplace  safe: a chunk is sent before it is overwritten
 *   result   combined in PE order 0 .. n-1: bitwise equal on every PE
 *   source   NVSHMEM, fcollect and local reduce, one level; here for any team
 */
#ifndef CH_REDUCE_ONE_SHOT_H
#define CH_REDUCE_ONE_SHOT_H

#include "coll/ring.h"

CH_FN chorus_status ch_reduce_one_shot(const struct ch_coll *c, enum ch_ring ring,
                                       struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c), chunk = ch_chunk(c, ring);

    for (size_t at = 0; at < bytes; at += chunk) {
        const size_t part = ch_min(chunk, bytes - at);
        chorus_status st = ch_send(c, ring, ch_others(c), c->src + at, 0, part, g);

        if (st == CHORUS_OK)
            st = ch_fold(c, ring, ch_all(c), c->dst + at, c->src + at, part, g);
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
