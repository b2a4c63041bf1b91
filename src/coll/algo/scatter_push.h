/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter in messages: the root sends each PE its block in packets, through sync memory.
 *
 *   needs    put
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  a FIFO for each peer
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   alltoall, all push, with one PE that sends
 */
#ifndef CH_SCATTER_PUSH_H
#define CH_SCATTER_PUSH_H

#include "coll/primitives/fifo.h"

CH_FN chorus_status ch_scatter_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    const int is_root = c->me == c->root;
    chorus_status st = CHORUS_OK;

    for (size_t at = 0; at < ch_bytes(c) && st == CHORUS_OK;) {
        const size_t bytes = ch_part(c, CH_CELL_ll, at);

        st = is_root ? ch_send(c, CH_CELL_ll, ch_others(c), c->src + at, c->stride, bytes, g)
                     : ch_recv(c, CH_CELL_ll, c->root, c->dst + at, bytes, g);
        at += bytes;
    }
    if (is_root) ch_copy(c->dst, c->src + c->me * c->stride, ch_bytes(c), g);
    return st;
}

#endif /* CH_SCATTER_PUSH_H */
