/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rounds.h: exchanges in packets that take several rounds and forward blocks (Bruck).
 *
 * Such an exchange has a number as those of exchange.h do, but a PE sends messages only to the
 * PEs of a dissemination of radix k, one to each, in rounds. A message holds blocks of several
 * PEs; each block begins at a packet of its own. It is not stored in the slot of its sender.
 * Instead, the n slots of the exchange form one area, in which the messages of all rounds
 * follow each other, each beginning at a line of its own, in the same order on every PE. A
 * slot therefore need not be as long as a block of every PE.
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

/* Units of a slot, and of a PE's own slot. */
CH_FN uint64_t ch_slot_units(const struct ch_coll *c, enum ch_cell kind)
{
    return c->layout->slot_bytes[kind] / CH_SLOT_UNIT;
}

CH_FN uint64_t ch_own_units(const struct ch_coll *c, enum ch_cell kind)
{
    return c->layout->own_bytes[kind] / CH_SLOT_UNIT;
}

/* Begin the next exchange, and return its number. */
CH_FN chorus_status ch_rounds_begin(const struct ch_coll *c, enum ch_cell kind,
                                    uint64_t *exchange, struct ch_lanes g)
{
    const uint64_t last = c->exchanges[kind];
    const chorus_status st = /* all lanes have read the number */
        ch_agree(ch_may_exchange(kind, last, ch_mark(c)), g);

    if (st != CHORUS_OK) return st;
    *exchange = last + 1;
    if (g.lane == 0) c->exchanges[kind] = last + 1;
    return CHORUS_OK;
}

/* The next message to a PE, or from one. Every PE goes through the same messages. */
struct ch_round_cursor {
    uint64_t exchange;
    size_t bytes; /* units of a block */
    size_t at;    /* its offset from the start of the first slot */
};

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
    size_t bytes; /* units of a block */
};

CH_FN size_t ch_block_bytes(size_t bytes)
{
    return ch_cells(CH_CELL_ll, bytes) * ch_cell_bytes(CH_CELL_ll);
}

/* The next message, of `count` blocks, in memory of `owner`. */
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

CH_FN struct ch_blocks ch_blocks_to(const struct ch_coll *c, struct ch_round_cursor *l,
                                    uint32_t peer, uint64_t count)
{
    return ch_blocks_at(c, l, peer, peer, count);
}

CH_FN struct ch_blocks ch_blocks_from(const struct ch_coll *c, struct ch_round_cursor *l,
                                      uint32_t peer, uint64_t count)
{
    return ch_blocks_at(c, l, c->me, peer, count);
}

/* The message's next block. */
CH_FN void ch_blocks_next(struct ch_blocks *m)
{
    m->slot.memory += ch_block_bytes(m->bytes);
}

CH_FN void ch_blocks_put(struct ch_blocks *m, const char *src, struct ch_lanes g)
{
    ch_cells_fill(CH_CELL_ll, m->slot.memory, m->slot.flag, src, m->bytes, g);
    ch_blocks_next(m);
}

CH_FN void ch_blocks_take(const struct ch_coll *c, struct ch_blocks *m, char *dst,
                          struct ch_lanes g, chorus_status *st)
{
    ch_cells_empty(c, CH_CELL_ll, m->peer, m->slot.memory, m->slot.flag, dst, m->bytes, g, st);
    ch_blocks_next(m);
}

#endif /* CH_ROUNDS_H */
