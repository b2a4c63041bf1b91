/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce in two shots in packets: every PE sends each peer that peer's slice; each PE combines
 * its slice, and sends the result to all.
 *
 *   needs    put
 *   steps    2 * ch_divide_up(c, n)
 *   wire     2 * (n - 1) * 16 * ch_divide_up(m, 16 * n)
 *   scratch  two slots of a chunk for each peer
 *   inplace  safe: a PE has a batch of a slice's result only when all PEs have sent theirs
 *   result   each slice combined on one PE, in PE order 0 .. n-1: bitwise equal on every PE
 *   source   the two parts of Rabenseifner (ICCS 2004), by messages to all
 *
 * Each piece of the vector, one chunk for each PE, takes two exchanges: slices in the first,
 * results in the second. The lane that combines a batch of a slice sends the result at once,
 * from its registers, as the same batch of the second exchange. A PE that has received all of
 * the second exchange therefore knows that all of the first has been read, as exchange.h
 * requires. For this, all slices have the same length; the last ones are padded.
 */
#ifndef CH_REDUCE_TWO_SHOT_PUSH_LL_H
#define CH_REDUCE_TWO_SHOT_PUSH_LL_H

#include "coll/primitives/exchange.h"

/* A piece of the vector: bytes [at, at + bytes), in slices of slice_bytes. */
struct ch_two_shot {
    size_t at, bytes, slice_bytes;
};

CH_FN struct ch_two_shot ch_two_shot_of(const struct ch_coll *c, size_t at)
{
    const uint64_t grain = 16; /* the widest element, and two packets */
    struct ch_two_shot t;

    t.at = at;
    t.bytes = ch_min(c->n * c->layout->chunk_bytes[CH_CELL_ll], ch_bytes(c) - at);
    t.slice_bytes = ch_divide_up(t.bytes, grain * c->n) * grain;
    return t;
}

/* Bytes of PE p's slice, without padding. */
CH_FN size_t ch_two_shot_data(const struct ch_two_shot *t, uint32_t p)
{
    const size_t first = p * t->slice_bytes;

    return first >= t->bytes ? 0 : ch_min(t->slice_bytes, t->bytes - first);
}

CH_FN struct ch_gift ch_two_shot_gift(const struct ch_coll *c, const struct ch_two_shot *t,
                                      struct ch_lanes g)
{
    struct ch_gift gift =
        ch_gift_of(c, CH_CELL_ll, c->src + t->at, t->slice_bytes, t->slice_bytes, g);

    gift.is_padded = 1;
    gift.data_bytes = t->bytes;
    return gift;
}

/* Send a batch of the result to all PEs, in the exchange of this number. */
CH_FN void ch_two_shot_send(const struct ch_coll *c, const struct ch_value *v,
                            const struct ch_batch *b, uint64_t exchange)
{
    for (uint32_t k = 1; k < c->n; k++) {
        const uint32_t peer = ch_after(c, k);
        const struct ch_slot slot =
            ch_slot_at(ch_slots_of(c, CH_CELL_ll, peer, c->me), exchange);

        ch_value_send(CH_CELL_ll, slot.memory, v, b, slot.flag);
        ch_notify(c->patience, c->peers[peer].door);
    }
}

/* Combine this PE's slice of the messages of `exchange`, and send it to all PEs in the next
 * exchange. */
CH_FN void ch_two_shot_combine(const struct ch_coll *c, const struct ch_two_shot *t,
                               uint64_t exchange, struct ch_lanes g, chorus_status *st)
{
    const size_t at = t->at + c->me * t->slice_bytes, bytes = ch_two_shot_data(t, c->me);
    const struct ch_sources sources = {ch_all(c), c->src + at, CH_IN_EXCHANGE,
                                       exchange,  1,           bytes};

    for (struct ch_batch b = ch_batch_first(CH_CELL_ll, c->dst + at, t->slice_bytes, g);
         ch_batch_more(&b); ch_batch_next(&b)) {
        const struct ch_batch data = ch_batch_clip(&b, bytes);
        struct ch_value v;
        struct ch_acc acc;

        ch_combine_sources(c, CH_CELL_ll, &sources, c->n, ch_ahead_of(c), &acc, &b, st);
        ch_value_private(&v);
        ch_acc_last(c, &v, &acc, &b);
        if (*st != CHORUS_OK) return;
        ch_two_shot_send(c, &v, &b, exchange + 1);
        ch_value_store(c->dst + at, &v, &data);
    }
}

/* Receive the results of the other PEs. */
CH_FN void ch_two_shot_gather(const struct ch_coll *c, const struct ch_two_shot *t,
                              uint64_t exchange, struct ch_lanes g, chorus_status *st)
{
    const struct ch_pes others = ch_others(c);
    const struct ch_turns turns = ch_turns_of((uint32_t)ch_later(others.count), g);

    for (uint32_t i = turns.first; i < others.count; i += turns.step) {
        const uint32_t pe = ch_pe(c, others, i);
        const struct ch_slot slot = ch_slot_at(ch_slots_of(c, CH_CELL_ll, c->me, pe), exchange);
        char *dst = c->dst + t->at + pe * t->slice_bytes;

        for (struct ch_batch b = ch_batch_first(CH_CELL_ll, dst, t->slice_bytes, turns.lanes);
             ch_batch_more(&b); ch_batch_next(&b)) {
            const struct ch_batch data = ch_batch_clip(&b, ch_two_shot_data(t, pe));
            struct ch_value v;

            ch_value_private(&v);
            ch_value_ask(CH_CELL_ll, slot.memory, &v, &b);
            ch_value_take(c, CH_CELL_ll, pe, slot.memory, &v, &b, slot.flag, st);
            ch_value_store(dst, &v, &data);
        }
    }
}

/* One piece, whose gift describes the messages. */
CH_FN chorus_status ch_two_shot_piece(const struct ch_coll *c, const struct ch_two_shot *t,
                                      const struct ch_gift *gift, struct ch_lanes g)
{
    uint64_t exchange;
    chorus_status st = ch_give(c, CH_CELL_ll, gift, &exchange, g);

    if (st != CHORUS_OK) return st;
    ch_last_is(c, CH_CELL_ll, exchange + 1, g);
    ch_two_shot_combine(c, t, exchange, g, &st);
    ch_two_shot_gather(c, t, exchange + 1, g, &st);
    return ch_agree(st, g); /* all lanes have read the slots */
}

CH_FN chorus_status ch_reduce_two_shot_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    struct ch_two_shot t = ch_two_shot_of(c, 0);
    struct ch_gift gift = ch_two_shot_gift(c, &t, g);

    ch_begin(c, (uintptr_t)gift.from | (uintptr_t)gift.to.even | gift.to.odd, &gift.batch);
    if (c->n == 1) ch_cells_bypass(CH_CELL_ll, c->src, c->dst, ch_bytes(c), g);
    if (c->n == 1 || c->count == 0) return CHORUS_OK;
    for (;;) {
        const chorus_status st = ch_two_shot_piece(c, &t, &gift, g);
        const size_t done = t.at + t.bytes;

        if (st != CHORUS_OK || done == ch_bytes(c)) return st;
        t = ch_two_shot_of(c, done);
        gift = ch_two_shot_gift(c, &t, g);
    }
}

#endif /* CH_REDUCE_TWO_SHOT_PUSH_LL_H */
