/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoallv by direct stores: each PE sends every other PE the position in its dest for the
 * other's block, and the block's length; then each PE writes its blocks into the dest of the
 * others.
 *
 *   needs    put, symmetric_dest
 *   steps    2
 *   wire     (n - 1) * 16 + m
 *   scratch  two slots of two words for each peer
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy; if sender and receiver give different lengths for a block, the sender
 *            fails, on GPUs after the shorter block is copied
 *   source   alltoall, all push, after an exchange of positions, which also shows that the
 *            PEs have entered
 */
#ifndef CH_ALLTOALLV_DIRECT_H
#define CH_ALLTOALLV_DIRECT_H

#include "coll/primitives/given.h"

/* This CTA's part of this PE's block for `peer`. */
CH_FN void ch_put_block(const struct ch_coll *c, uint32_t peer, uint64_t exchange,
                        struct ch_lanes g)
{
    const struct ch_pattern *p = c->pattern;
    const int is_mine = peer == c->me;
    const size_t first = is_mine ? p->dst_offsets[peer] : ch_given(c, peer, exchange, 0);
    const size_t most = is_mine ? p->dst_counts[peer] : ch_given(c, peer, exchange, 1);
    const struct ch_slice cut = ch_cut(c, ch_min(most, p->src_counts[peer]) * c->elem_bytes);

    if (cut.count == 0) return;
    ch_put(c, peer, c->dst + first * c->elem_bytes + cut.first,
           c->src + p->src_offsets[peer] * c->elem_bytes + cut.first, cut.count, g);
}

/* All lanes: do the others expect what this PE sends? On hosts a PE that sends another length
 * puts no block, and the team is marked, which ends the waits of the others in ch_finish_puts;
 * on GPUs it goes on (copies_less). */
CH_FN chorus_status ch_compare_all_sent(const struct ch_coll *c, uint64_t exchange,
                                        struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    for (uint32_t k = g.lane; k < c->n && st == CHORUS_OK; k += g.width)
        st = ch_compare_sent(c, ch_after(c, k), exchange, 1);
    return c->pattern->copies_less ? CHORUS_OK : ch_agree(st, g);
}

CH_FN chorus_status ch_alltoallv_direct(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    const struct ch_words in_dest = {c->pattern->dst_offsets, c->pattern->dst_counts, 1};
    uint64_t exchange;
    chorus_status st = ch_give_words(c, in_dest, &exchange, g);

    if (st == CHORUS_OK) st = ch_compare_all_sent(c, exchange, g);
    if (st != CHORUS_OK) return st;
    for (uint32_t k = 0; k < c->n; k++)
        ch_put_block(c, ch_after(c, k), exchange, g);
    return ch_finish_puts(c, epoch, g);
}

#endif /* CH_ALLTOALLV_DIRECT_H */
