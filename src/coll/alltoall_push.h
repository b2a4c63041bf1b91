/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoall, all push, in packets or lines.
 *
 *   needs    map
 *   steps    c
 *   wire     (n - 1) * m
 *   scratch  two places of a chunk for each peer
 *   inplace  not possible: the api refuses buffers that overlap
 *   result   a copy
 *   source   all push of NVSHMEM, which has it in the simple protocol alone
 */
#ifndef CH_ALLTOALL_PUSH_H
#define CH_ALLTOALL_PUSH_H

#include "coll/exchange.h"

CH_FN chorus_status ch_alltoall_push(const struct ch_coll *c, enum ch_ring ring,
                                     struct ch_lanes g)
{
    const char *own = c->src + c->me * c->stride;
    const size_t bytes = ch_bytes(c);
    uint64_t exchange = ch_exchanged(c, ring);

    for (size_t at = 0, part; at < bytes; at += part) {
        chorus_status st;

        part = ch_part(c, ring, at);
        ch_give(c, ring, exchange, c->src + at, c->stride, part, g);
        st = ch_gather(c, ring, ++exchange, c->dst + at, c->stride, own + at, part, g);
        if (st != CHORUS_OK) return st;
    }
    return CHORUS_OK;
}

CH_FN chorus_status ch_alltoall_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_alltoall_push(c, CH_RING_ll, g);
}

CH_FN chorus_status ch_alltoall_push_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_alltoall_push(c, CH_RING_ll128, g);
}

#endif /* CH_ALLTOALL_PUSH_H */
