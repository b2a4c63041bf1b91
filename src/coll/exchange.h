/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange.h: messages that every PE of a team gives every other at once.
 *
 * The exchanges of a duplicate in one protocol are numbered, alike on every PE; the number is
 * the flag of packets and lines, and a word announces what is plain. Of each PE a PE has two
 * places for messages of the protocol, used in turn. That is enough, and nobody asks for room:
 * a PE begins exchange e + 2 after it has all messages of e + 1, and the others gave those
 * after they had taken all of e. So every PE of the team takes part in every exchange, with
 * messages of the same length (1 byte to a chunk), by ch_give and then one of the others.
 */
#ifndef CH_EXCHANGE_H
#define CH_EXCHANGE_H

#include "coll/cells.h"

/* The number of the last exchange in this protocol. */
CH_FN uint64_t ch_exchanged(const struct ch_coll *c, enum ch_ring ring)
{
    return c->exchanges[ring];
}

/* Packets or lines for one PE, after exchange `last`. What is given is loaded while that number
 * is. */
CH_FN void ch_give_cells(const struct ch_coll *c, enum ch_ring ring, uint64_t last, uint32_t pe,
                         const char *src, size_t bytes, struct ch_lanes g)
{
    for (struct ch_batch b = ch_batch_first(ring, src, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;
        struct ch_slot place;

        ch_value_load(&v, src, &b);
        place = ch_place(c, ring, pe, c->me, ch_later(last) + 1);
        ch_value_send(ring, place.memory, &v, &b, place.flag);
    }
}

/* Give each other PE p the `bytes` at src + p * step, in the exchange that follows `last`,
 * which is ch_exchanged's or the one that this call was in. src may be reused on return. */
CH_FN void ch_give(const struct ch_coll *c, enum ch_ring ring, uint64_t last, const char *src,
                   size_t step, size_t bytes, struct ch_lanes g)
{
    const struct ch_pes others = ch_others(c);
    const struct ch_turns turns = ch_turns_of(others.count, g);

    for (uint32_t i = turns.first; i < others.count; i += turns.step) {
        const uint32_t pe = ch_pe(c, others, i);

        if (ring == CH_RING_simple)
            ch_copy(ch_place(c, ring, pe, c->me, last + 1).memory, src + pe * step, bytes,
                    turns.lanes);
        else
            ch_give_cells(c, ring, last, pe, src + pe * step, bytes, turns.lanes);
    }
    ch_lanes_sync(g); /* all lanes have stored their share, and read the last number */
    if (g.lane == 0) c->exchanges[ring] = last + 1;
    for (uint32_t i = g.lane; i < others.count; i += g.width) {
        const uint32_t pe = ch_pe(c, others, i);

        if (ring == CH_RING_simple)
            ch_say(c, pe, CH_WORD_GIVEN, last + 1, CH_DATA);
        else
            ch_notify(c->patience, c->peers[pe].door);
    }
}

/* Take the packets or lines that each PE p gave into dst + p * step; from this PE, what is at
 * `own`. */
CH_FN chorus_status ch_gather(const struct ch_coll *c, enum ch_ring ring, uint64_t exchange,
                              char *dst, size_t step, const char *own, size_t bytes,
                              struct ch_lanes g)
{
    /* Not before the own messages are on their way. */
    const struct ch_turns turns = ch_turns_of((uint32_t)ch_later(c->n), g);
    chorus_status st = CHORUS_OK;

    for (uint32_t pe = turns.first; pe < c->n; pe += turns.step) {
        const struct ch_slot place = ch_place(c, ring, c->me, pe, exchange);

        if (pe == c->me)
            ch_cells_bypass(ring, own, dst + pe * step, bytes, turns.lanes);
        else
            ch_cells_empty(c, ring, pe, place.memory, place.flag, dst + pe * step, bytes,
                           turns.lanes, &st);
    }
    return ch_agree(st, g); /* all lanes have read the places */
}

/* dst = what each PE gave, and what is at `own`, combined in PE order. dst may be own. */
CH_FN chorus_status ch_gather_combined(const struct ch_coll *c, enum ch_ring ring,
                                       uint64_t exchange, char *dst, const char *own,
                                       size_t bytes, struct ch_lanes g)
{
    const struct ch_sources sources = {ch_all(c), own, CH_IN_PLACES, exchange};
    chorus_status st = CHORUS_OK;

    if (ring == CH_RING_simple) st = ch_hear_all(c, CH_WORD_GIVEN, exchange, g);
    if (st != CHORUS_OK) return st;
    ch_combine(c, ring, &sources, dst, bytes, g, &st);
    return ch_agree(st, g); /* all lanes have combined what was in the places */
}

#endif /* CH_EXCHANGE_H */
