/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rounds.h: exchanges in packets that take several rounds and forward blocks (Bruck); and those
 * of a few words, after which a call moves its data.
 *
 * An exchange in rounds has a number as those of exchange.h do, but a PE sends messages only to
 * the PEs of a dissemination of radix k, one to each, in rounds. A message holds blocks of
 * several PEs; each block begins at a packet of its own. It is not stored in the slot of its
 * sender. Instead, the n slots of the exchange form one area, in which the messages of all
 * rounds follow each other, each beginning at a line of its own, in the same order on every PE.
 * A slot therefore need not be as long as a block of every PE.
 *
 * Memory for two exchanges is enough here too: a PE has finished exchange e + 1 only when it
 * has a block of every PE, and every PE sends its block after it has read all messages of
 * exchange e. A PE that sends in exchange e + 2 therefore knows that every PE has read all
 * messages of e.
 */
#ifndef CH_ROUNDS_H
#define CH_ROUNDS_H

#include "coll/primitives/exchange.h"
#include "coll/shape_rounds.h"

/* The number of units in a slot. */
CH_FN uint64_t ch_slot_units(const struct ch_coll *c, enum ch_cell kind)
{
    return c->layout->slot_bytes[kind] / CH_SLOT_UNIT;
}

/* The number of units in a PE's own slot (ch_own_slots). */
CH_FN uint64_t ch_own_units(const struct ch_coll *c, enum ch_cell kind)
{
    return c->layout->own_bytes[kind] / CH_SLOT_UNIT;
}

/* Begin the next exchange. *exchange: its number. */
CH_FN chorus_status ch_rounds_begin(const struct ch_coll *c, enum ch_cell kind,
                                    uint64_t *exchange, struct ch_lanes g)
{
    const uint64_t last = c->exchanges[kind];
    const chorus_status st = /* all lanes have read the number */
        ch_lanes_agree(ch_may_exchange(kind, last, ch_failure_mark(c)), g);

    if (st != CHORUS_OK) return st;
    *exchange = last + 1;
    if (g.lane == 0) c->exchanges[kind] = last + 1;
    return CHORUS_OK;
}

/* The next message to a PE, or from one. Every PE goes through the same messages. */
struct ch_round_cursor {
    uint64_t exchange;
    size_t bytes; /* of a block */
    size_t at;    /* its offset from the start of the first slot */
};

/* The first message of an exchange of blocks of `bytes`. */
CH_FN struct ch_round_cursor ch_round_cursor_first(uint64_t exchange, size_t bytes)
{
    struct ch_round_cursor l;

    l.exchange = exchange;
    l.bytes = bytes;
    l.at = 0;
    return l;
}

/* A message that is sent or received block by block. */
struct ch_blocks {
    uint32_t peer;
    struct ch_slot slot;
    size_t bytes; /* of a block */
};

/* The bytes of memory that a block of `bytes` takes, in packets. */
CH_FN size_t ch_block_bytes(size_t bytes)
{
    return ch_cells(CH_CELL_ll, bytes) * ch_cell_bytes(CH_CELL_ll);
}

/* The next message, of `count` blocks, in memory of `owner`; the cursor moves behind it. */
CH_FN struct ch_blocks ch_blocks_at(const struct ch_coll *c, struct ch_round_cursor *l,
                                    uint32_t owner, uint32_t peer, uint64_t count)
{
    const size_t line = CH_MESSAGE_UNITS * CH_SLOT_UNIT;
    struct ch_blocks m;

    m.peer = peer;
    m.slot = ch_slot_at(ch_slots_of(c, CH_CELL_ll, owner, 0), l->exchange);
    m.slot.memory += l->at;
    m.bytes = l->bytes;
    l->at += ch_divide_up(count * ch_block_bytes(l->bytes), line) * line;
    return m;
}

/* The next message to `peer`, of `count` blocks. */
CH_FN struct ch_blocks ch_blocks_to(const struct ch_coll *c, struct ch_round_cursor *l,
                                    uint32_t peer, uint64_t count)
{
    return ch_blocks_at(c, l, peer, peer, count);
}

/* The next message from `peer`, of `count` blocks. */
CH_FN struct ch_blocks ch_blocks_from(const struct ch_coll *c, struct ch_round_cursor *l,
                                      uint32_t peer, uint64_t count)
{
    return ch_blocks_at(c, l, c->me, peer, count);
}

/* Go on to the message's next block. */
CH_FN void ch_blocks_next(struct ch_blocks *m)
{
    m->slot.memory += ch_block_bytes(m->bytes);
}

/* Send the block at src as the message's next block. */
CH_FN void ch_blocks_send(struct ch_blocks *m, const char *src, struct ch_lanes g)
{
    ch_cells_send(CH_CELL_ll, m->slot.memory, m->slot.flag, src, m->bytes, g);
    ch_blocks_next(m);
}

/* Receive the message's next block into dst. *st keeps the first failure. */
CH_FN void ch_blocks_recv(const struct ch_coll *c, struct ch_blocks *m, char *dst,
                          struct ch_lanes g, chorus_status *st)
{
    ch_cells_recv(c, CH_CELL_ll, m->peer, m->slot.memory, m->slot.flag, dst, m->bytes, g, st);
    ch_blocks_next(m);
}

/* --- exchanges of words before data ------------------------------------------------------- */

/*
 * A few words that every PE sends to every other before data is moved, and the puts that follow
 * them.
 *
 * They are stored in slots of an exchange of the simple protocol. They also show that their PE
 * has entered the call, so a PE that has received the words of all PEs may write into the dest
 * of all.
 */

/* For each PE p: the word at first[p * step] and, if there are two words, that at second[p]. */
struct ch_words {
    const size_t *first, *second; /* second: null if there is one */
    size_t step;
};

/* Store the words for every other PE in the slots of the exchange, a lane for each PE. */
CH_FN void ch_store_words(const struct ch_coll *c, struct ch_words words, uint64_t exchange,
                          struct ch_lanes g)
{
    const struct ch_pes others = ch_pes_others(c);

    for (uint32_t i = g.lane; i < others.count; i += g.width) {
        const uint32_t pe = ch_pes_at(c, others, i);
        char *to = ch_slot_at(ch_slots_of(c, CH_CELL_simple, pe, c->me), exchange).memory;

        ch_copy_element(to, words.first + pe * words.step, sizeof(uint64_t));
        if (words.second != NULL)
            ch_copy_element(to + sizeof(uint64_t), words.second + pe, sizeof(uint64_t));
    }
}

/* All lanes: send each PE its words. On return, the words of all PEs are available by
 * ch_received_word, until the call sends others. */
CH_FN chorus_status ch_exchange_words(const struct ch_coll *c, struct ch_words words,
                                      uint64_t *exchange, struct ch_lanes g)
{
    const size_t bytes = (words.second != NULL ? 2 : 1) * sizeof(uint64_t);
    struct ch_contribution contribution =
        ch_contribution_of(c, CH_CELL_simple, c->src, 0, bytes, g);
    chorus_status st;

    contribution.is_stored = 1;
    if (ch_failure_mark(c) == 0)
        ch_store_words(c, words, ch_last_exchange(c, CH_CELL_simple, g) + 1, g);
    st = ch_exchange_send_plain(c, &contribution, exchange, g);
    return st == CHORUS_OK ? ch_await_all(c, CH_WORD_GIVEN, *exchange, g) : st;
}

/* Word i that `peer`, another PE, sent. */
CH_FN uint64_t ch_received_word(const struct ch_coll *c, uint32_t peer, uint64_t exchange,
                                uint32_t i)
{
    const struct ch_slot slot =
        ch_slot_at(ch_slots_of(c, CH_CELL_simple, c->me, peer), exchange);
    uint64_t word;

    ch_copy_element(&word, slot.memory + i * sizeof(word), sizeof(word));
    return word;
}

/* A lane: compare the numbers of elements that the sender and the receiver of a block give; one
 * of the two is this PE. If they differ, keep the block in *unequal, and return ERR_ARG unless
 * the call copies the smaller number (copies_less). */
CH_FN chorus_status ch_compare_counts(const struct ch_coll *c, struct ch_unequal block)
{
    if (block.sent == block.expected) return CHORUS_OK;
    *c->pattern->unequal = block;
    if (c->pattern->copies_less) return CHORUS_OK;
    ch_record_late_peer(c, block.from == c->me ? block.to : block.from);
    return CHORUS_ERR_ARG;
}

/* A lane: ch_compare_counts of the block from this PE to `peer`, whose word i is the number
 * that it expects. */
CH_FN chorus_status ch_compare_sent(const struct ch_coll *c, uint32_t peer, uint64_t exchange,
                                    uint32_t i)
{
    struct ch_unequal block;

    block.from = c->me;
    block.to = peer;
    block.sent = c->pattern->src_counts[peer];
    block.expected =
        peer == c->me ? c->pattern->dst_counts[peer] : ch_received_word(c, peer, exchange, i);
    return ch_compare_counts(c, block);
}

/* All lanes, after the puts of a call: wait until the puts of all PEs have arrived, and this
 * PE's source may change. */
CH_FN chorus_status ch_finish_puts(const struct ch_coll *c, uint64_t epoch, struct ch_lanes g)
{
    chorus_status st;

    ch_signal_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    st = ch_await_all(c, CH_WORD_DONE, epoch, g); /* dest is complete */
    return st == CHORUS_OK ? ch_flush(c, g) : st;
}

#endif /* CH_ROUNDS_H */
