/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given.h: a few words that every PE sends to every other before data is moved, and the puts
 * that follow them.
 *
 * They are stored in slots of an exchange of the simple protocol. They also show that their PE
 * has entered the call, so a PE that has received the words of all PEs may write into the dest
 * of all.
 */
#ifndef CH_GIVEN_H
#define CH_GIVEN_H

#include "coll/primitives/exchange.h"

/* For each PE p: the word at first[p * step] and, if there are two words, that at second[p]. */
struct ch_words {
    const size_t *first, *second; /* second: null if there is one */
    size_t step;
};

/* Store the words for every other PE in the slots of the exchange, a lane for each PE. */
CH_FN void ch_store_words(const struct ch_coll *c, struct ch_words words, uint64_t exchange,
                          struct ch_lanes g)
{
    const struct ch_pes others = ch_others(c);

    for (uint32_t i = g.lane; i < others.count; i += g.width) {
        const uint32_t pe = ch_pe(c, others, i);
        char *to = ch_slot_at(ch_slots_of(c, CH_CELL_simple, pe, c->me), exchange).memory;

        ch_copy_element(to, words.first + pe * words.step, sizeof(uint64_t));
        if (words.second != NULL)
            ch_copy_element(to + sizeof(uint64_t), words.second + pe, sizeof(uint64_t));
    }
}

/* All lanes: send each PE its words. On return, the words of all PEs are available by ch_given,
 * until the call sends others. */
CH_FN chorus_status ch_give_words(const struct ch_coll *c, struct ch_words words,
                                  uint64_t *exchange, struct ch_lanes g)
{
    const size_t bytes = (words.second != NULL ? 2 : 1) * sizeof(uint64_t);
    struct ch_contribution contribution =
        ch_contribution_of(c, CH_CELL_simple, c->src, 0, bytes, g);
    chorus_status st;

    contribution.is_stored = 1;
    if (ch_mark(c) == 0) ch_store_words(c, words, ch_last(c, CH_CELL_simple, g) + 1, g);
    st = ch_give(c, CH_CELL_simple, &contribution, exchange, g);
    return st == CHORUS_OK ? ch_await_all(c, CH_WORD_GIVEN, *exchange, g) : st;
}

/* Word i that `peer`, another PE, sent. */
CH_FN uint64_t ch_given(const struct ch_coll *c, uint32_t peer, uint64_t exchange, uint32_t i)
{
    const struct ch_slot slot =
        ch_slot_at(ch_slots_of(c, CH_CELL_simple, c->me, peer), exchange);
    uint64_t word;

    ch_copy_element(&word, slot.memory + i * sizeof(word), sizeof(word));
    return word;
}

/* A lane: if PE `from` sends another number of elements to PE `to` than that one expects,
 * keep the block; ERR_ARG if the call fails then. One of the two is this PE. */
CH_FN chorus_status ch_compare_counts(const struct ch_coll *c, struct ch_unequal block)
{
    if (block.sent == block.expected) return CHORUS_OK;
    *c->pattern->unequal = block;
    if (c->pattern->copies_less) return CHORUS_OK;
    ch_note_late(c, block.from == c->me ? block.to : block.from);
    return CHORUS_ERR_ARG;
}

/* A lane: the same for the block from this PE to `peer`, whose word i is the number that it
 * expects. */
CH_FN chorus_status ch_compare_sent(const struct ch_coll *c, uint32_t peer, uint64_t exchange,
                                    uint32_t i)
{
    struct ch_unequal block;

    block.from = c->me;
    block.to = peer;
    block.sent = c->pattern->src_counts[peer];
    block.expected =
        peer == c->me ? c->pattern->dst_counts[peer] : ch_given(c, peer, exchange, i);
    return ch_compare_counts(c, block);
}

/* All lanes: the puts of all PEs have arrived, and this PE's source may change. */
CH_FN chorus_status ch_finish_puts(const struct ch_coll *c, uint64_t epoch, struct ch_lanes g)
{
    chorus_status st;

    ch_signal_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    st = ch_await_all(c, CH_WORD_DONE, epoch, g); /* dest is complete */
    return st == CHORUS_OK ? ch_flush(c, g) : st;
}

#endif /* CH_GIVEN_H */
