/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks.h: a reduce through FIFOs of plain data in which each PE combines one block of the
 * vector, which all others send it, and sends the result to all.
 *
 * A message is a chunk of a block or of a result. A PE has read the results of a chunk before
 * it sends the next one, so a peer has at most the two messages of one chunk to read. If dst is
 * src, a result is received where this PE has lent a part of its vector, so that must have been
 * sent.
 */
#ifndef CH_BLOCKS_H
#define CH_BLOCKS_H

#include "coll/primitives/fifo.h"

/* The chunk at byte `at` of the block that PE p combines; `first` counts bytes of src. */
CH_FN struct ch_slice ch_block_part(const struct ch_coll *c, uint32_t p, size_t at)
{
    const struct ch_slice block = ch_slice_of(c->count, c->n, p);
    const size_t bytes = block.count * c->elem_bytes;
    struct ch_slice part;

    part.first = block.first * c->elem_bytes + at;
    part.count = at < bytes ? ch_min(c->layout->chunk_bytes[CH_CELL_simple], bytes - at) : 0;
    return part;
}

/* Each other PE its part of the vector, and this PE's part combined. */
CH_FN chorus_status ch_blocks_combine(const struct ch_coll *c, size_t at, struct ch_lanes g)
{
    const struct ch_slice own = ch_block_part(c, c->me, at);
    chorus_status st = CHORUS_OK;

    for (uint32_t k = 1; k < c->n && st == CHORUS_OK; k++) {
        const struct ch_slice part = ch_block_part(c, ch_after(c, k), at);

        if (part.count > 0)
            st = ch_lend(c, CH_CELL_simple, ch_only(ch_after(c, k)), c->src + part.first,
                         part.count, g);
    }
    if (own.count == 0 || st != CHORUS_OK) return st;
    return ch_fold(c, CH_CELL_simple, ch_all(c), c->dst + own.first, c->src + own.first,
                   own.count, g);
}

/* This PE's combined part to all others, and theirs. */
CH_FN chorus_status ch_blocks_collect(const struct ch_coll *c, size_t at, struct ch_lanes g)
{
    const struct ch_slice own = ch_block_part(c, c->me, at);
    chorus_status st = CHORUS_OK;

    if (own.count > 0)
        st = ch_lend(c, CH_CELL_simple, ch_others(c), c->dst + own.first, own.count, g);
    for (uint32_t k = 1; k < c->n && st == CHORUS_OK; k++) {
        const uint32_t from = ch_after(c, c->n - k);
        const struct ch_slice part = ch_block_part(c, from, at);

        if (part.count > 0)
            st = ch_recv(c, CH_CELL_simple, from, c->dst + part.first, part.count, g);
    }
    return st;
}

/* The whole call; dst may be src. */
CH_FN chorus_status ch_reduce_blocks(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t chunk = c->layout->chunk_bytes[CH_CELL_simple],
                 most = ch_slice_of(c->count, c->n, 0).count * c->elem_bytes;
    chorus_status st = CHORUS_OK;

    for (size_t at = 0; at < most && st == CHORUS_OK; at += chunk) {
        st = ch_blocks_combine(c, at, g);
        if (st == CHORUS_OK) st = ch_flush_lent(c, chunk, g);
        if (st == CHORUS_OK) st = ch_blocks_collect(c, at, g);
    }
    return st == CHORUS_OK ? ch_flush_lent(c, chunk, g) : st;
}

#endif /* CH_BLOCKS_H */
