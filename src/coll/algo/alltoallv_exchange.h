/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoallv in messages to all: the PEs exchange the lengths of the blocks, then each PE sends
 * its blocks, chunk by chunk.
 *
 *   needs    put
 *   steps    c + 1
 *   wire     (n - 1) * 16 + m
 *   scratch  two slots of two words and a FIFO for each peer
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy; if sender and receiver give different lengths for a block, the shorter
 *   source   alltoall in messages to all, after an exchange of counts
 */
#ifndef CH_ALLTOALLV_EXCHANGE_H
#define CH_ALLTOALLV_EXCHANGE_H

#include "coll/primitives/fifo.h"
#include "coll/primitives/given.h"

/* The words for each PE, which are stored in the flag and the end of the adjacent slots. */
CH_FN const char *ch_counts_between(const struct ch_coll *c, struct ch_lanes g)
{
    for (uint32_t pe = g.lane; pe < c->n; pe += g.width) {
        c->slots[pe].flag = c->pattern->dst_counts[pe];
        c->slots[pe].end = c->pattern->src_counts[pe];
    }
    ch_lanes_sync(g); /* all slots are set */
    return (const char *)&c->slots[0].flag;
}

/* The bytes that this PE sends `peer`, itself included. */
CH_FN size_t ch_bytes_to(const struct ch_coll *c, uint32_t peer, uint64_t exchange)
{
    const struct ch_pattern *p = c->pattern;
    const size_t most = peer == c->me ? p->dst_counts[peer] : ch_given(c, peer, exchange, 0);

    return ch_min(most, p->src_counts[peer]) * c->elem_bytes;
}

/* The bytes that `peer`, another PE, sends this one. */
CH_FN size_t ch_bytes_from(const struct ch_coll *c, uint32_t peer, uint64_t exchange)
{
    return ch_min(c->pattern->dst_counts[peer], ch_given(c, peer, exchange, 1)) * c->elem_bytes;
}

/* Exchange the chunk at byte `at` of each block that is longer than `at`. Sets *more if a block
 * has further bytes. */
CH_FN chorus_status ch_alltoallv_chunk(const struct ch_coll *c, uint64_t exchange, size_t at,
                                       int *more, struct ch_lanes g)
{
    const size_t chunk = c->layout->chunk_bytes[CH_CELL_simple];
    const struct ch_pattern *p = c->pattern;
    chorus_status st = CHORUS_OK;

    *more = 0;
    for (uint32_t k = 1; k < c->n && st == CHORUS_OK; k++) {
        const uint32_t peer = ch_after(c, k);
        const size_t bytes = ch_bytes_to(c, peer, exchange);

        if (at < bytes)
            st = ch_send(c, CH_CELL_simple, ch_only(peer),
                         c->src + p->src_offsets[peer] * c->elem_bytes + at, 0,
                         ch_min(chunk, bytes - at), g);
        if (at + chunk < bytes) *more = 1;
    }
    for (uint32_t k = 1; k < c->n && st == CHORUS_OK; k++) {
        const uint32_t peer = ch_after(c, k);
        const size_t bytes = ch_bytes_from(c, peer, exchange);

        if (at < bytes)
            st = ch_recv(c, CH_CELL_simple, peer,
                         c->dst + p->dst_offsets[peer] * c->elem_bytes + at,
                         ch_min(chunk, bytes - at), g);
        if (at + chunk < bytes) *more = 1;
    }
    return st;
}

CH_FN chorus_status ch_alltoallv_exchange(const struct ch_coll *c, struct ch_lanes g)
{
    const struct ch_pattern *p = c->pattern;
    const char *counts = ch_counts_between(c, g);
    int more = 1;
    uint64_t exchange;
    chorus_status st =
        ch_give_words(c, counts, sizeof(c->slots[0]), 2 * sizeof(uint64_t), &exchange, g);

    if (st != CHORUS_OK) return st;
    ch_copy(c->dst + p->dst_offsets[c->me] * c->elem_bytes,
            c->src + p->src_offsets[c->me] * c->elem_bytes, ch_bytes_to(c, c->me, exchange), g);
    for (size_t at = 0; more && st == CHORUS_OK; at += c->layout->chunk_bytes[CH_CELL_simple])
        st = ch_alltoallv_chunk(c, exchange, at, &more, g);
    return st;
}

#endif /* CH_ALLTOALLV_EXCHANGE_H */
