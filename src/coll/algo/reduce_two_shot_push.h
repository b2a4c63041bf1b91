/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce in two shots by stores: every PE stores each peer's slice into that peer's sync
 * memory, and each PE combines its slice there and stores the result into the dest of all PEs,
 * several chunks at a time.
 *
 *   needs    map, symmetric_dest
 *   steps    ch_divide_up(c, n * ch_slot_chunks(n)) + 1
 *   wire     m + (n - 2) * ch_most_grains(m, n)
 *   scratch  two slots of ch_slot_chunks(n) chunks for each peer
 *   inplace  safe: a piece of a source is sent before any PE announces the piece, and results
 *            are stored after
 *   result   each slice combined on one PE, in PE order 0 .. n-1: bitwise equal on every PE
 *   source   as reduce_two_shot.h, which loads the slices; on a link that is busy in both
 *            directions stores reach a higher bandwidth
 *
 * Each piece is an exchange (exchange.h), which a PE sends while it combines the piece before.
 * A PE announces piece j after it has combined piece j - 1, so a PE that has heard of piece j
 * from all PEs knows that all have read piece j - 1. An exchange without messages ends the
 * call.
 */
#ifndef CH_REDUCE_TWO_SHOT_PUSH_H
#define CH_REDUCE_TWO_SHOT_PUSH_H

#include "coll/primitives/exchange.h"

/* Bytes of every piece except the last one, which has the remaining bytes. */
CH_FN size_t ch_shot_piece_bytes(const struct ch_coll *c)
{
    return c->n * ch_slot_chunks(c->n) * c->layout->chunk_bytes[CH_CELL_simple];
}

/* PE p's slice of the piece at `at`; `first` is an index in src. */
CH_FN struct ch_slice ch_shot_slice_of(const struct ch_coll *c, size_t at, uint32_t p)
{
    const size_t bytes = ch_min(ch_shot_piece_bytes(c), ch_bytes(c) - at);
    struct ch_slice s = ch_grains_of(bytes, c->n, p);

    s.first += at;
    return s;
}

/* Store the other PEs' slices of the piece into this PE's slots there. */
CH_FN void ch_shot_give(const struct ch_coll *c, size_t at, uint64_t exchange,
                        struct ch_lanes g)
{
    if (at >= ch_bytes(c)) return;
    for (uint32_t k = 1; k < c->n; k++) {
        const uint32_t peer = ch_after(c, k);
        const struct ch_slice s = ch_shot_slice_of(c, at, peer);
        const struct ch_slot_pair slots = ch_slots_of(c, CH_CELL_simple, peer, c->me);

        ch_copy(ch_slot_at(slots, exchange).memory, c->src + s.first, s.count, g);
    }
}

/* Combine this PE's slice of the piece, and store it into the dest of all PEs. */
CH_FN void ch_shot_combine(const struct ch_coll *c, size_t at, uint64_t exchange,
                           struct ch_lanes g)
{
    const struct ch_slice s = ch_shot_slice_of(c, at, c->me);
    const struct ch_sources sources = {ch_all(c), c->src + s.first, CH_IN_EXCHANGE, exchange, 0,
                                       0};
    char *dst = c->dst + s.first;
    chorus_status st = CHORUS_OK; /* no wait: the exchange has waited for plain data */

    for (struct ch_batch b = ch_batch_first(CH_CELL_simple, dst, s.count, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;
        struct ch_acc acc;

        ch_combine_sources(c, CH_CELL_simple, &sources, c->n, ch_ahead_of(c), &acc, &b, &st);
        ch_value_stage(&v, dst, &b);
        ch_acc_last(c, &v, &acc, &b);
        ch_value_store(dst, &v, &b);
        for (uint32_t k = 1; k < c->n; k++)
            ch_value_store(ch_on_peer(c, ch_after(c, k), dst), &v, &b);
    }
}

CH_FN chorus_status ch_reduce_two_shot_push_simple(const struct ch_coll *c, struct ch_lanes g)
{
    uint64_t exchange = ch_last(c, CH_CELL_simple, g) + 1;
    chorus_status st = CHORUS_OK;

    if (c->n == 1) ch_copy(c->dst, c->src, ch_bytes(c), g);
    if (c->n == 1 || c->count == 0) return CHORUS_OK;
    ch_shot_give(c, 0, exchange, g);
    for (size_t at = 0; at < ch_bytes(c) && st == CHORUS_OK; at += ch_shot_piece_bytes(c)) {
        ch_tell_all(c, CH_WORD_GIVEN, exchange, CH_DATA, g);
        st = ch_hear_all(c, CH_WORD_GIVEN, exchange, g); /* dest of all may be written */
        if (st != CHORUS_OK) return st;
        ch_shot_give(c, at + ch_shot_piece_bytes(c), exchange + 1, g);
        ch_shot_combine(c, at, exchange++, g);
    }
    ch_tell_all(c, CH_WORD_GIVEN, exchange, CH_DATA, g);
    ch_last_is(c, CH_CELL_simple, exchange, g);
    return ch_hear_all(c, CH_WORD_GIVEN, exchange, g); /* dest is complete */
}

#endif /* CH_REDUCE_TWO_SHOT_PUSH_H */
