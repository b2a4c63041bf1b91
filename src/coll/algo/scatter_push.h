/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter in messages: the root sends each PE its block through sync memory, in packets, or as
 * plain data by the name exchange.
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

CH_FN chorus_status ch_scatter_push(const struct ch_coll *c, enum ch_cell kind,
                                    struct ch_lanes g)
{
    const int is_root = c->me == c->root;
    chorus_status st = CHORUS_OK;

    for (size_t at = 0; at < ch_bytes(c) && st == CHORUS_OK;) {
        const size_t bytes = ch_part(c, kind, at);

        st = is_root ? ch_send(c, kind, ch_others(c), c->src + at, c->stride, bytes, g)
                     : ch_recv(c, kind, c->root, c->dst + at, bytes, g);
        at += bytes;
    }
    if (is_root) ch_copy(c->dst, c->src + c->me * c->stride, ch_bytes(c), g);
    return st;
}

CH_FN chorus_status ch_scatter_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_scatter_push(c, CH_CELL_ll, g);
}

CH_FN chorus_status ch_scatter_push_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_scatter_push(c, CH_CELL_simple, g);
}

#endif /* CH_SCATTER_PUSH_H */
