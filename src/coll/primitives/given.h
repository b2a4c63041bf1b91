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

/* All lanes: send the `bytes` at src + p * step to PE p. On return, the words of all PEs are
 * available by ch_given, until the call sends others. */
CH_FN chorus_status ch_give_words(const struct ch_coll *c, const char *src, size_t step,
                                  size_t bytes, uint64_t *exchange, struct ch_lanes g)
{
    const struct ch_gift gift = ch_gift_of(c, CH_CELL_simple, src, step, bytes, g);
    const chorus_status st = ch_give(c, CH_CELL_simple, &gift, exchange, g);

    return st == CHORUS_OK ? ch_hear_all(c, CH_WORD_GIVEN, *exchange, g) : st;
}

/* Word i that `peer`, another PE, sent. */
CH_FN uint64_t ch_given(const struct ch_coll *c, uint32_t peer, uint64_t exchange, uint32_t i)
{
    const struct ch_slot slot =
        ch_slot_at(ch_slots_of(c, CH_CELL_simple, c->me, peer), exchange);
    const struct ch_lanes alone = {0, 1};
    uint64_t word;

    ch_copy(&word, slot.memory + i * sizeof(word), sizeof(word), alone);
    return word;
}

/* All lanes: the puts of all PEs have arrived, and this PE's source may change. */
CH_FN chorus_status ch_finish_puts(const struct ch_coll *c, uint64_t epoch, struct ch_lanes g)
{
    chorus_status st;

    ch_tell_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    st = ch_hear_all(c, CH_WORD_DONE, epoch, g); /* dest is complete */
    return st == CHORUS_OK ? ch_flush(c, g) : st;
}

#endif /* CH_GIVEN_H */
