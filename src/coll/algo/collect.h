/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.h: fcollect of blocks of any lengths; the PEs exchange these first (given.h).
 */
#ifndef CH_ALGO_COLLECT_H
#define CH_ALGO_COLLECT_H

#include "coll/primitives/fifo.h"
#include "coll/primitives/given.h"

/*
 * collect by direct stores: the PEs exchange the counts of their blocks, then each PE writes
 * its block into the dest of all others.
 *
 *   needs    put, symmetric_dest
 *   steps    2
 *   wire     (n - 1) * (m + 8)
 *   scratch  two slots of a word for each peer
 *   inplace  not possible: before the call no PE knows the position of its block
 *   result   a copy
 *   source   fcollect, all push, after an exchange of counts, which also shows that the PEs
 *            have entered
 */
CH_FN chorus_status ch_collect_direct(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    const struct ch_slice cut = ch_cut(c, ch_bytes(c));
    const struct ch_words count = {&c->count, NULL, 0};
    size_t first = 0;
    uint64_t exchange;
    const chorus_status st = ch_give_words(c, count, &exchange, g);
    struct ch_coll own = *c; /* on this CTA's part of the block */

    if (st != CHORUS_OK) return st;
    for (uint32_t pe = 0; pe < c->me; pe++)
        first += ch_given(c, pe, exchange, 0);
    own.src = c->src + cut.first;
    own.count = cut.count / c->elem_bytes;
    ch_store_all_in_turn(&own, c->dst + first * c->elem_bytes + cut.first, epoch, g);
    return ch_finish_puts(c, epoch, g);
}

/*
 * collect in messages to all: the PEs exchange the counts of their blocks, then each PE sends
 * its block to all others, chunk by chunk.
 *
 *   needs    put
 *   steps    c + 1
 *   wire     (n - 1) * (m + 8)
 *   scratch  two slots of a word and a FIFO for each peer
 *   inplace  not possible: before the call no PE knows the position of its block
 *   result   a copy
 *   source   fcollect in messages to all, after an exchange of counts
 */

/* The bytes of PE `pe`'s block. */
CH_FN size_t ch_collected_bytes(const struct ch_coll *c, uint32_t pe, uint64_t exchange)
{
    return pe == c->me ? ch_bytes(c) : ch_given(c, pe, exchange, 0) * c->elem_bytes;
}

/* Exchange the chunk at byte `at` of this CTA's part of each block, where that is longer than
 * `at`. */
CH_FN chorus_status ch_collect_chunk(const struct ch_coll *c, uint64_t exchange, size_t at,
                                     size_t chunk, struct ch_lanes g)
{
    const struct ch_slice own = ch_cut(c, ch_bytes(c));
    chorus_status st = CHORUS_OK;
    char *block = c->dst;

    if (at < own.count)
        st = ch_send(c, CH_CELL_simple, ch_others(c), c->src + own.first + at, 0,
                     ch_min(chunk, own.count - at), g);
    for (uint32_t pe = 0; pe < c->n && st == CHORUS_OK; pe++) {
        const size_t bytes = ch_collected_bytes(c, pe, exchange);
        const struct ch_slice part = ch_cut(c, bytes);

        if (pe != c->me && at < part.count)
            st = ch_recv(c, CH_CELL_simple, pe, block + part.first + at,
                         ch_min(chunk, part.count - at), g);
        block += bytes;
    }
    return st;
}

CH_FN chorus_status ch_collect_exchange(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t chunk = c->layout->chunk_bytes[CH_CELL_simple];
    const struct ch_slice own = ch_cut(c, ch_bytes(c));
    const struct ch_words count = {&c->count, NULL, 0};
    size_t first = 0, most = 0;
    uint64_t exchange;
    chorus_status st = ch_give_words(c, count, &exchange, g);

    if (st != CHORUS_OK) return st;
    for (uint32_t pe = 0; pe < c->n; pe++) {
        const size_t bytes = ch_collected_bytes(c, pe, exchange);

        if (pe < c->me) first += bytes;
        most = ch_max(most, ch_cut(c, bytes).count);
    }
    ch_copy(c->dst + first + own.first, c->src + own.first, own.count, g);
    for (size_t at = 0; at < most && st == CHORUS_OK; at += chunk)
        st = ch_collect_chunk(c, exchange, at, chunk, g);
    return st;
}

#endif /* CH_ALGO_COLLECT_H */
