/* SPDX-License-Identifier: Apache-2.0 */
/* scatter.h: scatter, by stores into each dest or in messages. */
#ifndef CH_ALGO_SCATTER_H
#define CH_ALGO_SCATTER_H

#include "coll/algo/inside_kernels.h"
#include "coll/primitives/fifo.h"
#include "coll/primitives/primitives.h"

/*
 * scatter by direct stores: the root writes each PE's block into that PE's dest, after that PE
 * has entered the call.
 *
 *   needs    put, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   alltoall, all push, with one PE that sends
 */
CH_FN chorus_status ch_scatter_direct(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    chorus_status st;

    if (c->me != c->root) {
        ch_signal(c, c->root, CH_WORD_READY, epoch, CH_CREDIT, g);
        return ch_await(c, c->root, CH_WORD_DONE, epoch, g);
    }
    st = ch_await_all(c, CH_WORD_READY, epoch, g); /* dest may be written */
    if (st != CHORUS_OK) return st;
    ch_store_each(c, c->dst, g);
    ch_signal_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    return ch_flush(c, g);
}

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

#endif /* CH_ALGO_SCATTER_H */
