/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect, all push, in packets or lines.
 *
 *   needs    map
 *   steps    c
 *   wire     (n - 1) * m
 *   scratch  two places of a chunk for each peer
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   NVSHMEM, all push in LL and LL128; here for any message, chunk by chunk
 */
#ifndef CH_FCOLLECT_PUSH_H
#define CH_FCOLLECT_PUSH_H

#include "coll/exchange.h"

CH_FN chorus_status ch_fcollect_push(const struct ch_coll *c, enum ch_ring ring,
                                     struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c);
    uint64_t exchange = ch_exchanged(c, ring);

    for (size_t at = 0, part; at < bytes; at += part) {
        chorus_status st;

        part = ch_part(c, ring, at);
        ch_give(c, ring, exchange, c->src + at, 0, part, g);
        st = ch_gather(c, ring, ++exchange, c->dst + at, c->stride, c->src + at, part, g);
        if (st != CHORUS_OK) return st;
    }
    return CHORUS_OK;
}

CH_FN chorus_status ch_fcollect_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_fcollect_push(c, CH_RING_ll, g);
}

CH_FN chorus_status ch_fcollect_push_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_fcollect_push(c, CH_RING_ll128, g);
}

#endif /* CH_FCOLLECT_PUSH_H */
