/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducescatter, all push: every PE sends each peer its block and combines what it gets.
 *
 *   needs    map
 *   steps    c
 *   wire     (n - 1) * s
 *   scratch  two places of a chunk for each peer
 *   inplace  safe for dest = source and for dest = this PE's block of
 *            source
 *   result   combined in PE order 0 .. n-1
 *   source   NVSHMEM, all push; here for any message, chunk by chunk
 */
#ifndef CH_REDUCESCATTER_PUSH_H
#define CH_REDUCESCATTER_PUSH_H

#include "coll/exchange.h"

CH_FN chorus_status ch_reducescatter_push(const struct ch_coll *c, enum ch_ring ring,
                                          struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c);
    const char *own = c->src + c->me * c->stride;
    uint64_t exchange = ch_exchanged(c, ring);

    for (size_t at = 0, part; at < bytes; at += part) {
        chorus_status st;

        part = ch_part(c, ring, at);
        ch_give(c, ring, exchange, c->src + at, c->stride, part, g);
        st = ch_gather_combined(c, ring, ++exchange, c->dst + at, own + at, part, g);
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
