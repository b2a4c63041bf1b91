/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect, all push, through rings in packets or lines.
 *
 *   needs    map
 *   steps    c
 *   wire     (n - 1) * m
 *   scratch  a ring to each peer
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   NVSHMEM, all push in LL and LL128; here for any message, chunk by chunk
 */
#ifndef CH_FCOLLECT_PUSH_H
#define CH_FCOLLECT_PUSH_H

#include "coll/ring.h"

CH_FN chorus_status ch_fcollect_push(const struct ch_coll *c, enum ch_ring ring,
                                     struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c), chunk = ch_chunk(c, ring);

    for (size_t at = 0; at < bytes; at += chunk) {
        const size_t part = ch_min(chunk, bytes - at);

        chorus_status st = ch_send(c, ring, ch_others(c), c->src + at, 0, part, g);

        if (st == CHORUS_OK)
            st = ch_recv(c, ring, ch_all(c), c->dst + at, c->stride, c->src + at, part, g);
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
