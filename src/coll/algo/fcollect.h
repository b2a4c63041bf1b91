/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect.h: fcollect along a ring, by loads, in rounds, by multicast and by copy engines; and
 * collect, of blocks of any lengths, which the PEs exchange first (rounds.h). Fcollects by
 * messages and stores to all are in inside_kernels.h, those of several hosts in
 * fcollect_levels.h.
 */
#ifndef CH_ALGO_FCOLLECT_H
#define CH_ALGO_FCOLLECT_H

#include "coll/primitives/engine.h"
#include "coll/primitives/fifo.h"
#include "coll/primitives/multicast.h"
#include "coll/primitives/primitives.h"
#include "coll/primitives/rounds.h"
#include "coll/shape_rounds.h"

/*
 * fcollect along a ring: each PE forwards every block that it receives to the next PE, until
 * all PEs have all blocks.
 *
 *   needs    put
 *   steps    (n - 1) * ch_divide_up(c, 2)
 *   wire     (n - 1) * m
 *   scratch  a FIFO to the next PE
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   Thakur, Rabenseifner and Gropp (2005); two messages of each block are in flight
 */

/* Turn `t` of 0 .. n - 1, for the bytes `l` of a block: this PE receives block me - t from the
 * previous PE, except its own in turn 0, and sends it to the next, except in the last turn. */
CH_FN chorus_status ch_fcollect_ring_turn(const struct ch_coll *c, struct ch_leg l, uint32_t t,
                                          struct ch_lanes g)
{
    char *to = c->dst + ch_pe_after(c, c->n - t) * c->stride + l.first;
    chorus_status st;

    if (l.bytes == 0) return CHORUS_OK;
    if (t == 0)
        return ch_send(c, CH_CELL_simple, ch_pes_one(ch_next_pe(c)), c->src + l.first, 0,
                       l.bytes, g);
    st = ch_recv(c, CH_CELL_simple, ch_prev_pe(c), to, l.bytes, g);
    if (st != CHORUS_OK || t == c->n - 1) return st;
    return ch_send(c, CH_CELL_simple, ch_pes_one(ch_next_pe(c)), to, 0, l.bytes, g);
}

/* fcollect along a ring, as described above: two legs of each block at a time. */
CH_FN chorus_status ch_fcollect_ring(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c), most = ch_relay_bytes(c);

    ch_copy(c->dst + c->me * c->stride, c->src, bytes, g);
    for (size_t at = 0; at < bytes && c->n > 1; at += most)
        for (uint32_t i = 0; i < CH_LEGS * c->n; i++) {
            struct ch_leg l = ch_leg_of(c, ch_min(most, bytes - at), i % CH_LEGS);
            chorus_status st;

            l.first += at;
            st = ch_fcollect_ring_turn(c, l, i / CH_LEGS, g);
            if (st != CHORUS_OK) return st;
        }
    return CHORUS_OK;
}

/*
 * fcollect by direct loads: each PE copies its block into its own dest; after all PEs have
 * done so, every PE reads the blocks of the others from their dest.
 *
 *   needs    map, symmetric_dest
 *   steps    ch_rounds(n, k)
 *   wire     (n - 1) * m
 *   scratch  a word per PE
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   all push; here the receivers copy, and PEs signal by dissemination
 */
CH_FN chorus_status ch_fcollect_pull(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t given = ch_next_epochs(c, 2, g), taken = given + 1;
    chorus_status st;

    ch_copy(c->dst + c->me * c->stride, c->src, ch_bytes(c), g);
    st = ch_disseminate(c, CH_WORD_DONE, given, CH_DATA, g); /* all blocks may be read */
    if (st != CHORUS_OK) return st;
    for (uint32_t k = 1; k < c->n; k++) {
        const uint32_t peer = ch_pe_after(c, k);
        char *block = c->dst + peer * c->stride;

        ch_copy(block, ch_peer_address(c, peer, block), ch_bytes(c), g);
    }
    return ch_disseminate(c, CH_WORD_DONE, taken, CH_CREDIT, g); /* dest may be changed */
}

/*
 * fcollect in rounds, in messages: in each round a PE sends all blocks that it has to k - 1
 * other PEs, and afterwards has k times as many.
 *
 *   needs    put
 *   steps    ch_gather_steps(n, k, m, p)
 *   wire     (n - 1) * m
 *   scratch  the slots of all peers
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   Bruck, Ho, Kipnis, Upfal and Weathersby (1997), radix k. Blocks are stored where
 *            they belong, so no rotation is needed at the end
 */

/* One round: this PE has its own block and those of the `span` - 1 PEs after it, sends them to
 * PEs before it, and receives the blocks of PEs after those. */
CH_FN chorus_status ch_fcollect_round(const struct ch_coll *c, char *dst,
                                      struct ch_round_cursor *cursor, uint32_t span,
                                      struct ch_lanes g)
{
    struct ch_round_cursor sent = *cursor;
    chorus_status st = CHORUS_OK;

    for (uint32_t j = 1; ch_is_target(c, span, j); j++) {
        const uint64_t count = ch_gather_sent(c->n, span, j);
        struct ch_blocks to = ch_blocks_to(c, &sent, ch_pe_after(c, c->n - j * span), count);

        for (uint32_t i = 0; i < count; i++)
            ch_blocks_send(&to, dst + ch_pe_after(c, i) * c->stride, g);
    }
    ch_lanes_sync(g); /* all lanes have stored their share */
    for (uint32_t j = 1 + g.lane; ch_is_target(c, span, j); j += g.width)
        ch_notify(c->policy, c->peers[ch_pe_after(c, c->n - j * span)].door);
    for (uint32_t j = 1; ch_is_target(c, span, j); j++) {
        const uint64_t count = ch_gather_sent(c->n, span, j);
        struct ch_blocks from = ch_blocks_from(c, cursor, ch_pe_after(c, j * span), count);

        for (uint32_t i = 0; i < count; i++)
            ch_blocks_recv(c, &from, dst + ch_pe_after(c, j * span + i) * c->stride, g, &st);
    }
    return ch_lanes_agree(st, g); /* the next round sends blocks that other lanes have stored */
}

/* fcollect in rounds, as described above: all rounds for one part of each block after
 * another. */
CH_FN chorus_status ch_fcollect_bruck_ll(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c),
                 most = ch_gather_bytes(c->n, c->radix, ch_slot_units(c, CH_CELL_ll));
    chorus_status st = CHORUS_OK;

    ch_copy(c->dst + c->me * c->stride, c->src, bytes, g);
    for (size_t at = 0; at < bytes && st == CHORUS_OK; at += most) {
        struct ch_round_cursor cursor = ch_round_cursor_first(0, ch_min(most, bytes - at));

        st = ch_rounds_begin(c, CH_CELL_ll, &cursor.exchange,
                             g); /* dest contains this PE's own block already */
        for (uint32_t span = 1; span < c->n && st == CHORUS_OK; span *= c->radix)
            st = ch_fcollect_round(c, c->dst + at, &cursor, span, g);
    }
    return st;
}

/*
 * fcollect in rounds, by direct stores: in each round a PE writes all blocks that it has into
 * the dest of k - 1 other PEs, and afterwards has k times as many.
 *
 *   needs    put, symmetric_dest
 *   steps    ch_rounds(n, k)
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   Bruck, Ho, Kipnis, Upfal and Weathersby (1997), radix k; each PE waits until the
 *            PEs that it writes to have entered
 */

/* Copy `count` blocks, from PE `first` on and modulo the team, from this PE's dest to a
 * peer's. */
CH_FN void ch_put_blocks(const struct ch_coll *c, uint32_t peer, uint32_t first, uint32_t count,
                         struct ch_lanes g)
{
    for (uint32_t i = 0; i < count; i++) {
        char *block = c->dst + (first + i < c->n ? first + i : first + i - c->n) * c->stride;

        ch_put(c, peer, block, block, ch_bytes(c), g);
    }
}

/* Signal each PE that will write to this one in any round that it may, with a lane for each. */
CH_FN void ch_signal_ready_to_writers(const struct ch_coll *c, uint64_t epoch,
                                      struct ch_lanes g)
{
    ch_lanes_sync(g); /* other lanes' accesses precede the stores */
    for (uint32_t span = 1; span < c->n; span *= c->radix)
        for (uint32_t j = 1 + g.lane; ch_is_target(c, span, j); j += g.width)
            ch_lane_signal(c, ch_pe_after(c, j * span), CH_WORD_READY, epoch, CH_CREDIT);
}

/* One round by direct stores, between the same PEs as ch_fcollect_round. */
CH_FN chorus_status ch_fcollect_direct_round(const struct ch_coll *c, uint64_t epoch,
                                             uint32_t span, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    for (uint32_t j = 1; ch_is_target(c, span, j) && st == CHORUS_OK; j++) {
        const uint32_t peer = ch_pe_after(c, c->n - j * span);

        st = ch_await(c, peer, CH_WORD_READY, epoch, g); /* its dest may be written */
        if (st != CHORUS_OK) return st;
        ch_put_blocks(c, peer, c->me, (uint32_t)ch_gather_sent(c->n, span, j), g);
        ch_signal(c, peer, CH_WORD_DONE, epoch, CH_DATA, g); /* pairs with the wait below */
    }
    for (uint32_t j = 1 + g.lane; ch_is_target(c, span, j) && st == CHORUS_OK; j += g.width)
        st = ch_lane_await(c, ch_pe_after(c, j * span), CH_WORD_DONE, epoch);
    return ch_lanes_agree(st, g);
}

/* fcollect in rounds by direct stores, as described above. */
CH_FN chorus_status ch_fcollect_bruck(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    chorus_status st = CHORUS_OK;

    ch_signal_ready_to_writers(c, epoch, g);
    ch_copy(c->dst + c->me * c->stride, c->src, ch_bytes(c), g);
    ch_lanes_sync(g); /* each lane sends blocks that others have copied */
    for (uint32_t span = 1; span < c->n && st == CHORUS_OK; span *= c->radix)
        st = ch_fcollect_direct_round(c, epoch, span, g);
    return st == CHORUS_OK ? ch_flush(c, g) : st;
}

/*
 * fcollect by multicast: one store of a PE writes its block into the dest of all PEs, after
 * all have entered the call.
 *
 *   needs    map, multicast, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   NVSHMEM, NVLS one shot; here each PE waits until its peers have entered
 */
CH_FN chorus_status ch_fcollect_multicast(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    chorus_status st;

    ch_multicast_signal(c, CH_WORD_READY, epoch, CH_CREDIT, g); /* dest may be written */
    st = ch_await_all(c, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_multicast_store(c, c->dst + c->me * c->stride, c->src, ch_bytes(c), g);
    ch_multicast_signal(c, CH_WORD_DONE, epoch, CH_DATA, g);
    return ch_await_all(c, CH_WORD_DONE, epoch, g); /* dest is complete */
}

/*
 * fcollect by copy engines: the engines of a GPU copy its block into the dest of every other
 * PE, after all PEs have entered the call.
 *
 *   needs    map, copy_engine, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   all push; engines make the copies
 */
CH_FN chorus_status ch_fcollect_engine(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_engine_all(c, 0, g);
}

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
    const uint64_t epoch = ch_next_epoch(c, g);
    const struct ch_slice cut = ch_cta_part(c, ch_bytes(c));
    const struct ch_words count = {&c->count, NULL, 0};
    size_t first = 0;
    uint64_t exchange;
    const chorus_status st = ch_exchange_words(c, count, &exchange, g);
    struct ch_coll own = *c; /* on this CTA's part of the block */

    if (st != CHORUS_OK) return st;
    for (uint32_t pe = 0; pe < c->me; pe++)
        first += ch_received_word(c, pe, exchange, 0);
    own.src = c->src + cut.first;
    own.count = cut.count / c->elem_bytes;
    ch_store_all_alternating(&own, c->dst + first * c->elem_bytes + cut.first, epoch, g);
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

/* The length in bytes of PE `pe`'s block, which the exchange has announced. */
CH_FN size_t ch_collected_bytes(const struct ch_coll *c, uint32_t pe, uint64_t exchange)
{
    return pe == c->me ? ch_bytes(c) : ch_received_word(c, pe, exchange, 0) * c->elem_bytes;
}

/* Exchange the chunk at byte `at` of this CTA's part of each block, where that is longer than
 * `at`. */
CH_FN chorus_status ch_collect_chunk(const struct ch_coll *c, uint64_t exchange, size_t at,
                                     size_t chunk, struct ch_lanes g)
{
    const struct ch_slice own = ch_cta_part(c, ch_bytes(c));
    chorus_status st = CHORUS_OK;
    char *block = c->dst;

    if (at < own.count)
        st = ch_send(c, CH_CELL_simple, ch_pes_others(c), c->src + own.first + at, 0,
                     ch_min(chunk, own.count - at), g);
    for (uint32_t pe = 0; pe < c->n && st == CHORUS_OK; pe++) {
        const size_t bytes = ch_collected_bytes(c, pe, exchange);
        const struct ch_slice part = ch_cta_part(c, bytes);

        if (pe != c->me && at < part.count)
            st = ch_recv(c, CH_CELL_simple, pe, block + part.first + at,
                         ch_min(chunk, part.count - at), g);
        block += bytes;
    }
    return st;
}

/* collect in messages to all, as described above. */
CH_FN chorus_status ch_collect_exchange(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t chunk = c->layout->chunk_bytes[CH_CELL_simple];
    const struct ch_slice own = ch_cta_part(c, ch_bytes(c));
    const struct ch_words count = {&c->count, NULL, 0};
    size_t first = 0, most = 0;
    uint64_t exchange;
    chorus_status st = ch_exchange_words(c, count, &exchange, g);

    if (st != CHORUS_OK) return st;
    for (uint32_t pe = 0; pe < c->n; pe++) {
        const size_t bytes = ch_collected_bytes(c, pe, exchange);

        if (pe < c->me) first += bytes;
        most = ch_max(most, ch_cta_part(c, bytes).count);
    }
    ch_copy(c->dst + first + own.first, c->src + own.first, own.count, g);
    for (size_t at = 0; at < most && st == CHORUS_OK; at += chunk)
        st = ch_collect_chunk(c, exchange, at, chunk, g);
    return st;
}

#endif /* CH_ALGO_FCOLLECT_H */
