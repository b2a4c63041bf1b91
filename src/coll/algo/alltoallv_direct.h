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
 *   result   a copy; if sender and receiver give different lengths for a block, the shorter
 *   source   alltoall, all push, after an exchange of positions, which also shows that the
 *            PEs have entered
 */
#ifndef CH_ALLTOALLV_DIRECT_H
#define CH_ALLTOALLV_DIRECT_H

#include "coll/primitives/given.h"

/* The words for each PE, which are stored in the flag and the end of the adjacent slots. */
CH_FN const char *ch_positions_in_dest(const struct ch_coll *c, struct ch_lanes g)
{
    for (uint32_t pe = g.lane; pe < c->n; pe += g.width) {
        c->slots[pe].flag = c->pattern->dst_offsets[pe];
        c->slots[pe].end = c->pattern->dst_counts[pe];
    }
    ch_lanes_sync(g); /* all slots are set */
    return (const char *)&c->slots[0].flag;
}

/* This PE's block for `peer`. */
CH_FN void ch_put_block(const struct ch_coll *c, uint32_t peer, uint64_t exchange,
                        struct ch_lanes g)
{
    const struct ch_pattern *p = c->pattern;
    const int is_mine = peer == c->me;
    const size_t first = is_mine ? p->dst_offsets[peer] : ch_given(c, peer, exchange, 0);
    const size_t most = is_mine ? p->dst_counts[peer] : ch_given(c, peer, exchange, 1);
    const size_t bytes = ch_min(most, p->src_counts[peer]) * c->elem_bytes;

    if (bytes == 0) return;
    ch_put(c, peer, c->dst + first * c->elem_bytes,
           c->src + p->src_offsets[peer] * c->elem_bytes, bytes, g);
}

CH_FN chorus_status ch_alltoallv_direct(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    const char *positions = ch_positions_in_dest(c, g);
    uint64_t exchange;
    const chorus_status st =
        ch_give_words(c, positions, sizeof(c->slots[0]), 2 * sizeof(uint64_t), &exchange, g);

    if (st != CHORUS_OK) return st;
    for (uint32_t k = 0; k < c->n; k++)
        ch_put_block(c, ch_after(c, k), exchange, g);
    return ch_finish_puts(c, epoch, g);
}

#endif /* CH_ALLTOALLV_DIRECT_H */
