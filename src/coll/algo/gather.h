/* SPDX-License-Identifier: Apache-2.0 */
/* gather.h: gather and scatter: between the root and each PE, by stores or in messages. */
#ifndef CH_ALGO_GATHER_H
#define CH_ALGO_GATHER_H

#include "coll/algo/inside_kernels.h"
#include "coll/primitives/fifo.h"
#include "coll/primitives/primitives.h"

/*
 * gather by direct stores: every PE writes its block into the dest of the root, after the root
 * has entered the call.
 *
 *   needs    put, symmetric_dest
 *   steps    1
 *   wire     m
 *   scratch  two words per PE
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   fcollect, all push, with one PE that receives
 */
CH_FN chorus_status ch_gather_direct(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    char *mine = c->dst + c->me * c->stride;
    chorus_status st;

    if (c->me == c->root) {
        ch_signal_all(c, CH_WORD_READY, epoch, CH_CREDIT, g);
        ch_copy(mine, c->src, ch_bytes(c), g);
        return ch_await_all(c, CH_WORD_DONE, epoch, g); /* dest is complete */
    }
    st = ch_await(c, c->root, CH_WORD_READY, epoch, g); /* dest may be written */
    if (st != CHORUS_OK) return st;
    ch_put(c, c->root, mine, c->src, ch_bytes(c), g);
    ch_signal(c, c->root, CH_WORD_DONE, epoch, CH_DATA, g);
    return ch_flush(c, g);
}

/*
 * gather in messages: every PE sends its block to the root through sync memory, in packets, or
 * as plain data by the name exchange.
 *
 *   needs    put
 *   steps    1
 *   wire     m
 *   scratch  a FIFO for each peer
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   fcollect, all push, with one PE that receives
 */

/* On the root: receive the chunk of `bytes` at byte `at` of every other PE's block. */
CH_FN chorus_status ch_gather_chunk(const struct ch_coll *c, enum ch_cell kind, size_t at,
                                    size_t bytes, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    for (uint32_t k = 1; k < c->n && st == CHORUS_OK; k++) {
        const uint32_t peer = ch_pe_after(c, k);

        st = ch_recv(c, kind, peer, c->dst + peer * c->stride + at, bytes, g);
    }
    return st;
}

/* gather in messages, as described above. */
CH_FN chorus_status ch_gather_push(const struct ch_coll *c, enum ch_cell kind,
                                   struct ch_lanes g)
{
    const int is_root = c->me == c->root;
    chorus_status st = CHORUS_OK;

    if (is_root) ch_copy(c->dst + c->me * c->stride, c->src, ch_bytes(c), g);
    for (size_t at = 0; at < ch_bytes(c) && st == CHORUS_OK;) {
        const size_t bytes = ch_chunk_bytes_at(c, kind, at);

        st = is_root ? ch_gather_chunk(c, kind, at, bytes, g)
                     : ch_send(c, kind, ch_pes_one(c->root), c->src + at, 0, bytes, g);
        at += bytes;
    }
    return st;
}

CH_FN chorus_status ch_gather_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_gather_push(c, CH_CELL_ll, g);
}

CH_FN chorus_status ch_gather_push_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_gather_push(c, CH_CELL_simple, g);
}

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
    const uint64_t epoch = ch_next_epoch(c, g);
    chorus_status st;

    if (c->me != c->root) {
        ch_signal(c, c->root, CH_WORD_READY, epoch, CH_CREDIT, g);
        return ch_await(c, c->root, CH_WORD_DONE, epoch, g);
    }
    st = ch_await_all(c, CH_WORD_READY, epoch, g); /* dest may be written */
    if (st != CHORUS_OK) return st;
    ch_store_block_to_each(c, c->dst, g);
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
        const size_t bytes = ch_chunk_bytes_at(c, kind, at);

        st = is_root ? ch_send(c, kind, ch_pes_others(c), c->src + at, c->stride, bytes, g)
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

#endif /* CH_ALGO_GATHER_H */
