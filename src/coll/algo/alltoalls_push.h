/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoalls in messages to all: every PE packs the elements of each block into messages, and
 * unpacks the messages that it receives.
 *
 *   needs    put
 *   steps    c
 *   wire     (n - 1) * m
 *   scratch  a FIFO for each peer
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   packing of strided data, as MPI libraries do it for a network
 */
#ifndef CH_ALLTOALLS_PUSH_H
#define CH_ALLTOALLS_PUSH_H

#include "coll/primitives/strided.h"

CH_FN chorus_status ch_alltoalls_push(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t most = c->layout->chunk_bytes[CH_CELL_simple] / c->elem_bytes;

    ch_copy_strided(c, ch_in_dest(c, c->me, 0), ch_in_source(c, c->me, 0), c->count, g);
    for (size_t at = 0; at < c->count; at += most) {
        const size_t count = ch_min(most, c->count - at);
        chorus_status st = ch_send_strided(c, at, count, g);

        if (st == CHORUS_OK) st = ch_recv_strided(c, at, count, g);
        if (st != CHORUS_OK) return st;
    }
    return CHORUS_OK;
}

#endif /* CH_ALLTOALLS_PUSH_H */
