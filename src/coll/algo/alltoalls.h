/* SPDX-License-Identifier: Apache-2.0 */
/* alltoalls.h: alltoall of elements with a stride. */
#ifndef CH_ALGO_ALLTOALLS_H
#define CH_ALGO_ALLTOALLS_H

#include "coll/primitives/fifo.h"

/* --- elements with a stride, and messages of them ----------------------------------------- */
/* A vector whose elements are `step` bytes apart. */
struct ch_strided {
    char *at;
    size_t step;
};

CH_FN struct ch_strided ch_strided_at(const char *at, size_t step)
{
    const struct ch_strided s = {(char *)(uintptr_t)at, step};

    return s;
}

/* `bytes` of an element is a constant at every call, so that a copy is a load and a store. */
CH_FN void ch_copy_elements(struct ch_strided to, struct ch_strided from, size_t count,
                            size_t bytes, struct ch_lanes g)
{
    for (size_t i = g.lane; i < count; i += g.width)
        ch_copy_element(to.at + i * to.step, from.at + i * from.step, bytes);
}

/* `count` elements of the call's type. */
CH_FN void ch_copy_strided(const struct ch_coll *c, struct ch_strided to,
                           struct ch_strided from, size_t count, struct ch_lanes g)
{
    const size_t bytes = c->elem_bytes;

    if (to.step == bytes && from.step == bytes)
        ch_copy(to.at, from.at, count * bytes, g);
    else if (bytes == 1)
        ch_copy_elements(to, from, count, 1, g);
    else if (bytes == 2)
        ch_copy_elements(to, from, count, 2, g);
    else if (bytes == 4)
        ch_copy_elements(to, from, count, 4, g);
    else if (bytes == 8)
        ch_copy_elements(to, from, count, 8, g);
    else
        ch_copy_elements(to, from, count, 16, g);
}

/* The address of element `i` of the CTA's part of the block for PE `pe`, or from it. */
CH_FN struct ch_strided ch_in_source(const struct ch_coll *c, uint32_t pe, size_t i)
{
    const size_t step = c->pattern->src_step;

    return ch_strided_at(c->src + (pe * c->pattern->block_count + i) * step, step);
}

CH_FN struct ch_strided ch_in_dest(const struct ch_coll *c, uint32_t pe, size_t i)
{
    const size_t step = c->pattern->dst_step;

    return ch_strided_at(c->dst + (pe * c->pattern->block_count + i) * step, step);
}

/* Send each other PE `count` elements (1 to a chunk) of its block, from element `first` on. */
CH_FN chorus_status ch_send_strided(const struct ch_coll *c, size_t first, size_t count,
                                    struct ch_lanes g)
{
    const struct ch_pes others = ch_others(c);
    const size_t bytes = count * c->elem_bytes;
    chorus_status st = ch_standing(c);

    for (uint32_t i = g.lane; i < others.count && st == CHORUS_OK; i += g.width)
        st = ch_slot_to(c, CH_CELL_simple, ch_pe(c, others, i), bytes, &c->slots[i]);
    st = ch_agree(st, g); /* all slots are set */
    if (st != CHORUS_OK) return st;
    for (uint32_t i = 0; i < others.count; i++)
        ch_copy_strided(c, ch_strided_at(c->slots[i].memory, c->elem_bytes),
                        ch_in_source(c, ch_pe(c, others, i), first), count, g);
    ch_lanes_sync(g); /* all lanes have stored their share */
    for (uint32_t i = g.lane; i < others.count; i += g.width)
        ch_announce(c, CH_CELL_simple, ch_pe(c, others, i), &c->slots[i], c->slots[i].memory,
                    bytes);
    return CHORUS_OK;
}

/* Receive the blocks that each other PE sent in this way. */
CH_FN chorus_status ch_recv_strided(const struct ch_coll *c, size_t first, size_t count,
                                    struct ch_lanes g)
{
    const struct ch_pes others = ch_others(c);
    const chorus_status st = ch_expect(c, CH_CELL_simple, others, count * c->elem_bytes, g);

    if (st != CHORUS_OK) return st;
    for (uint32_t i = 0; i < others.count; i++)
        ch_copy_strided(c, ch_in_dest(c, ch_pe(c, others, i), first),
                        ch_strided_at(c->slots[i].memory, c->elem_bytes), count, g);
    return ch_release(c, CH_CELL_simple, others, CHORUS_OK, g);
}

/* --- the algorithms ----------------------------------------------------------------------- */

/*
 * alltoalls by direct loads: after all PEs have entered the call, every PE reads the elements
 * of its blocks from the sources of the others.
 *
 *   needs    map, symmetric_source
 *   steps    ch_rounds(n, k)
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   alltoall, all pull, element by element
 */
CH_FN chorus_status ch_alltoalls_pull(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    const struct ch_strided mine = ch_in_source(c, c->me, 0);
    const chorus_status st =
        ch_disseminate(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */

    if (st != CHORUS_OK) return st;
    for (uint32_t k = 0; k < c->n; k++) {
        const uint32_t peer = ch_after(c, k);

        ch_copy_strided(c, ch_in_dest(c, peer, 0),
                        ch_strided_at(ch_on_peer(c, peer, mine.at), mine.step), c->count, g);
    }
    return ch_disseminate(c, CH_WORD_DONE, epoch, CH_CREDIT, g); /* source may be reused */
}

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

#endif /* CH_ALGO_ALLTOALLS_H */
