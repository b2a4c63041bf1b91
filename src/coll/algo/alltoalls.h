/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoalls.h: alltoall of elements with a stride, and alltoallv, of blocks of any lengths and
 * positions; the PEs exchange these first (rounds.h).
 */
#ifndef CH_ALGO_ALLTOALLS_H
#define CH_ALGO_ALLTOALLS_H

#include "coll/primitives/fifo.h"
#include "coll/primitives/rounds.h"

/* --- elements with a stride, and messages of them ----------------------------------------- */
/* A vector whose elements are `step` bytes apart. */
struct ch_strided {
    char *at;
    size_t step;
};

/* The vector at `at` whose elements are `step` bytes apart. */
CH_FN struct ch_strided ch_strided_at(const char *at, size_t step)
{
    const struct ch_strided s = {(char *)(uintptr_t)at, step};

    return s;
}

/* Copy `count` elements. `bytes` of an element is a constant at every call, so that a copy is a
 * load and a store. */
CH_FN void ch_copy_elements(struct ch_strided to, struct ch_strided from, size_t count,
                            size_t bytes, struct ch_lanes g)
{
    for (size_t i = g.lane; i < count; i += g.width)
        ch_copy_element(to.at + i * to.step, from.at + i * from.step, bytes);
}

/* Copy `count` elements of the call's type. */
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

/* The elements from `i` on of the CTA's part of the block for PE `pe`. */
CH_FN struct ch_strided ch_strided_source(const struct ch_coll *c, uint32_t pe, size_t i)
{
    const size_t step = c->pattern->src_step;

    return ch_strided_at(c->src + (pe * c->pattern->block_count + i) * step, step);
}

/* The elements from `i` on of the CTA's part of the block from PE `pe`. */
CH_FN struct ch_strided ch_strided_dest(const struct ch_coll *c, uint32_t pe, size_t i)
{
    const size_t step = c->pattern->dst_step;

    return ch_strided_at(c->dst + (pe * c->pattern->block_count + i) * step, step);
}

/* Send each other PE `count` elements (1 to a chunk) of its block, from element `first` on. */
CH_FN chorus_status ch_send_strided(const struct ch_coll *c, size_t first, size_t count,
                                    struct ch_lanes g)
{
    const struct ch_pes others = ch_pes_others(c);
    const size_t bytes = count * c->elem_bytes;
    chorus_status st = ch_check_not_failed(c);

    for (uint32_t i = g.lane; i < others.count && st == CHORUS_OK; i += g.width)
        st = ch_await_slot_to(c, CH_CELL_simple, ch_pes_at(c, others, i), bytes, &c->slots[i]);
    st = ch_lanes_agree(st, g); /* all slots are set */
    if (st != CHORUS_OK) return st;
    for (uint32_t i = 0; i < others.count; i++)
        ch_copy_strided(c, ch_strided_at(c->slots[i].memory, c->elem_bytes),
                        ch_strided_source(c, ch_pes_at(c, others, i), first), count, g);
    ch_lanes_sync(g); /* all lanes have stored their share */
    for (uint32_t i = g.lane; i < others.count; i += g.width)
        ch_announce_message(c, CH_CELL_simple, ch_pes_at(c, others, i), &c->slots[i],
                            c->slots[i].memory, bytes);
    return CHORUS_OK;
}

/* Receive from each other PE `count` elements of its block, from element `first` on. */
CH_FN chorus_status ch_recv_strided(const struct ch_coll *c, size_t first, size_t count,
                                    struct ch_lanes g)
{
    const struct ch_pes others = ch_pes_others(c);
    const chorus_status st =
        ch_await_messages(c, CH_CELL_simple, others, count * c->elem_bytes, g);

    if (st != CHORUS_OK) return st;
    for (uint32_t i = 0; i < others.count; i++)
        ch_copy_strided(c, ch_strided_dest(c, ch_pes_at(c, others, i), first),
                        ch_strided_at(c->slots[i].memory, c->elem_bytes), count, g);
    return ch_release_slots(c, CH_CELL_simple, others, CHORUS_OK, g);
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
    const uint64_t epoch = ch_next_epoch(c, g);
    const struct ch_strided mine = ch_strided_source(c, c->me, 0);
    const chorus_status st =
        ch_disseminate(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */

    if (st != CHORUS_OK) return st;
    for (uint32_t k = 0; k < c->n; k++) {
        const uint32_t peer = ch_pe_after(c, k);

        ch_copy_strided(c, ch_strided_dest(c, peer, 0),
                        ch_strided_at(ch_peer_address(c, peer, mine.at), mine.step), c->count,
                        g);
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

    ch_copy_strided(c, ch_strided_dest(c, c->me, 0), ch_strided_source(c, c->me, 0), c->count,
                    g);
    for (size_t at = 0; at < c->count; at += most) {
        const size_t count = ch_min(most, c->count - at);
        chorus_status st = ch_send_strided(c, at, count, g);

        if (st == CHORUS_OK) st = ch_recv_strided(c, at, count, g);
        if (st != CHORUS_OK) return st;
    }
    return CHORUS_OK;
}

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

/* Put this CTA's part of this PE's block for `peer` where the peer expects it. */
CH_FN void ch_put_block(const struct ch_coll *c, uint32_t peer, uint64_t exchange,
                        struct ch_lanes g)
{
    const struct ch_pattern *p = c->pattern;
    const int is_mine = peer == c->me;
    const size_t first =
        is_mine ? p->dst_offsets[peer] : ch_received_word(c, peer, exchange, 0);
    const size_t most = is_mine ? p->dst_counts[peer] : ch_received_word(c, peer, exchange, 1);
    const struct ch_slice cut =
        ch_cta_part(c, ch_min(most, p->src_counts[peer]) * c->elem_bytes);

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
        st = ch_compare_sent(c, ch_pe_after(c, k), exchange, 1);
    return c->pattern->copies_less ? CHORUS_OK : ch_lanes_agree(st, g);
}

/* alltoallv by direct stores, as described above: positions first, then the blocks. */
CH_FN chorus_status ch_alltoallv_direct(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    const struct ch_words in_dest = {c->pattern->dst_offsets, c->pattern->dst_counts, 1};
    uint64_t exchange;
    chorus_status st = ch_exchange_words(c, in_dest, &exchange, g);

    if (st == CHORUS_OK) st = ch_compare_all_sent(c, exchange, g);
    if (st != CHORUS_OK) return st;
    for (uint32_t k = 0; k < c->n; k++)
        ch_put_block(c, ch_pe_after(c, k), exchange, g);
    return ch_finish_puts(c, epoch, g);
}

/*
 * alltoallv in messages to all: the PEs exchange the lengths of the blocks, then each PE sends
 * its blocks, chunk by chunk.
 *
 *   needs    put
 *   steps    c + 1
 *   wire     (n - 1) * 16 + m
 *   scratch  two slots of two words and a FIFO for each peer
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy; if sender and receiver give different lengths for a block, both fail, on
 *            GPUs after the shorter block is copied
 *   source   alltoall in messages to all, after an exchange of counts
 */

/* This CTA's part of the block that this PE sends `peer`, itself included. */
CH_FN struct ch_slice ch_cta_part_to(const struct ch_coll *c, uint32_t peer, uint64_t exchange)
{
    const struct ch_pattern *p = c->pattern;
    const size_t most =
        peer == c->me ? p->dst_counts[peer] : ch_received_word(c, peer, exchange, 0);

    return ch_cta_part(c, ch_min(most, p->src_counts[peer]) * c->elem_bytes);
}

/* This CTA's part of the block that `peer`, another PE, sends this one. */
CH_FN struct ch_slice ch_cta_part_from(const struct ch_coll *c, uint32_t peer,
                                       uint64_t exchange)
{
    const size_t most = ch_received_word(c, peer, exchange, 1);

    return ch_cta_part(c, ch_min(c->pattern->dst_counts[peer], most) * c->elem_bytes);
}

/* Where the block for `peer` begins in source. */
CH_FN const char *ch_block_to(const struct ch_coll *c, uint32_t peer)
{
    return c->src + c->pattern->src_offsets[peer] * c->elem_bytes;
}

/* Where the block from `peer` begins in dest. */
CH_FN char *ch_block_from(const struct ch_coll *c, uint32_t peer)
{
    return c->dst + c->pattern->dst_offsets[peer] * c->elem_bytes;
}

/* A lane: ch_compare_counts of the block from `peer`, another PE, to this one. */
CH_FN chorus_status ch_compare_expected(const struct ch_coll *c, uint32_t peer,
                                        uint64_t exchange)
{
    struct ch_unequal block;

    block.from = peer;
    block.to = c->me;
    block.sent = ch_received_word(c, peer, exchange, 1);
    block.expected = c->pattern->dst_counts[peer];
    return ch_compare_counts(c, block);
}

/* All lanes: are the lengths of the blocks from and to this PE equal on both sides? */
CH_FN chorus_status ch_compare_both(const struct ch_coll *c, uint64_t exchange,
                                    struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    for (uint32_t k = g.lane; k < c->n && st == CHORUS_OK; k += g.width) {
        st = ch_compare_sent(c, ch_pe_after(c, k), exchange, 0);
        if (k != 0 && st == CHORUS_OK) st = ch_compare_expected(c, ch_pe_after(c, k), exchange);
    }
    return c->pattern->copies_less ? CHORUS_OK : ch_lanes_agree(st, g);
}

/* Exchange the chunk at byte `at` of each part that is longer than `at`. Sets *more if a part
 * has further bytes. */
CH_FN chorus_status ch_alltoallv_chunk(const struct ch_coll *c, uint64_t exchange, size_t at,
                                       int *more, struct ch_lanes g)
{
    const size_t chunk = c->layout->chunk_bytes[CH_CELL_simple];
    chorus_status st = CHORUS_OK;

    *more = 0;
    for (uint32_t k = 1; k < c->n && st == CHORUS_OK; k++) {
        const uint32_t peer = ch_pe_after(c, k);
        const struct ch_slice cut = ch_cta_part_to(c, peer, exchange);

        if (at < cut.count)
            st = ch_send(c, CH_CELL_simple, ch_pes_one(peer),
                         ch_block_to(c, peer) + cut.first + at, 0,
                         ch_min(chunk, cut.count - at), g);
        if (at + chunk < cut.count) *more = 1;
    }
    for (uint32_t k = 1; k < c->n && st == CHORUS_OK; k++) {
        const uint32_t peer = ch_pe_after(c, k);
        const struct ch_slice cut = ch_cta_part_from(c, peer, exchange);

        if (at < cut.count)
            st = ch_recv(c, CH_CELL_simple, peer, ch_block_from(c, peer) + cut.first + at,
                         ch_min(chunk, cut.count - at), g);
        if (at + chunk < cut.count) *more = 1;
    }
    return st;
}

/* alltoallv in messages, as described above: lengths first, then the blocks, chunk by chunk. */
CH_FN chorus_status ch_alltoallv_exchange(const struct ch_coll *c, struct ch_lanes g)
{
    const struct ch_words counts = {c->pattern->dst_counts, c->pattern->src_counts, 1};
    struct ch_slice own;
    int more = 1;
    uint64_t exchange;
    chorus_status st = ch_exchange_words(c, counts, &exchange, g);

    if (st == CHORUS_OK) st = ch_compare_both(c, exchange, g);
    if (st != CHORUS_OK) return st;
    own = ch_cta_part_to(c, c->me, exchange);
    ch_copy(ch_block_from(c, c->me) + own.first, ch_block_to(c, c->me) + own.first, own.count,
            g);
    for (size_t at = 0; more && st == CHORUS_OK; at += c->layout->chunk_bytes[CH_CELL_simple])
        st = ch_alltoallv_chunk(c, exchange, at, &more, g);
    return st;
}

#endif /* CH_ALGO_ALLTOALLS_H */
