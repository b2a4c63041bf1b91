/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducescatter, all push: every PE sends each peer its block and combines what it gets.
 *
 *   needs    map
 *   steps    c
 *   wire     (n - 1) * s
 *   scratch  a ring to each peer
 *   inplace  safe for dest = source and for dest = this PE's block of
 *            source
 *   result   combined in PE order 0 .. n-1
 *   source   NVSHMEM, all push; here for any message, chunk by chunk
 */
#ifndef CH_REDUCESCATTER_PUSH_H
#define CH_REDUCESCATTER_PUSH_H

#include "coll/ring.h"

CH_FN chorus_status ch_reducescatter_push(const struct ch_coll *c, enum ch_ring ring,
                                          struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c), chunk = ch_chunk(c, ring);

    for (size_t at = 0; at < bytes; at += chunk) {
        const size_t part = ch_min(chunk, bytes - at);
        chorus_status st = ch_send(c, ring, ch_others(c), c->src + at, c->stride, part, g);

        if (st == CHORUS_OK)
            st = ch_fold(c, ring, ch_all(c), c->dst + at, c->src + c->me * c->stride + at, part,
                         g);
        if (st != CHORUS_OK) return st;
    }
    return CHORUS_OK;
}

CH_FN chorus_status ch_reducescatter_push_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reducescatter_push(c, CH_RING_simple, g);
}

CH_FN chorus_status ch_reducescatter_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reducescatter_push(c, CH_RING_ll, g);
}

CH_FN chorus_status ch_reducescatter_push_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reducescatter_push(c, CH_RING_ll128, g);
}

#endif /* CH_REDUCESCATTER_PUSH_H */
