/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rounds.h: exchanges in packets that take several rounds and forward blocks (Bruck).
 *
 * Such an exchange has a number and uses places as those of exchange.h do, but a PE sends
 * messages only to the PEs of a dissemination of radix k, one to each, in rounds. A message
 * holds blocks of several PEs, each from a packet of its own on. Two places for each peer
 * suffice here too: a PE has finished exchange e + 1 only when it has a block of every PE, and
 * every PE sends its block after it has taken all messages of exchange e.
 */
#ifndef CH_ROUNDS_H
#define CH_ROUNDS_H

#include "coll/words/exchange.h"
#include "coll/shape_rounds.h"

/* Units that a place holds. */
CH_FN uint64_t ch_place_units(const struct ch_coll *c, enum ch_cell kind)
{
    return c->layout->place_bytes[kind] / CH_PLACE_UNIT;
}

/* The number of the next exchange, which begins. */
CH_FN chorus_status ch_rounds_begin(const struct ch_coll *c, enum ch_cell kind,
                                    uint64_t *exchange, struct ch_lanes g)
{
    const uint64_t last = c->exchanges[kind];
    const chorus_status st = ch_agree(ch_standing(c), g); /* all lanes have read the number */

    if (st != CHORUS_OK) return st;
    *exchange = last + 1;
    if (g.lane == 0) c->exchanges[kind] = last + 1;
    return CHORUS_OK;
}

/* A message that is sent or taken block by block. */
struct ch_blocks {
    uint32_t peer;
    struct ch_slot place;
    size_t bytes; /* of a block */
};

CH_FN struct ch_blocks ch_blocks_to(const struct ch_coll *c, uint32_t peer, uint64_t exchange,
                                    size_t bytes)
{
    struct ch_blocks m;

    m.peer = peer;
    m.place = ch_place(ch_places_of(c, CH_CELL_ll, peer, c->me), exchange);
    m.bytes = bytes;
    return m;
}

CH_FN struct ch_blocks ch_blocks_from(const struct ch_coll *c, uint32_t peer, uint64_t exchange,
                                      size_t bytes)
{
    struct ch_blocks m;

    m.peer = peer;
    m.place = ch_place(ch_places_of(c, CH_CELL_ll, c->me, peer), exchange);
    m.bytes = bytes;
    return m;
}

/* The message's next block. */
CH_FN void ch_blocks_next(struct ch_blocks *m)
{
    m->place.memory += ch_cells(CH_CELL_ll, m->bytes) * ch_cell_bytes(CH_CELL_ll);
}

CH_FN void ch_blocks_put(struct ch_blocks *m, const char *src, struct ch_lanes g)
{
    ch_cells_fill(CH_CELL_ll, m->place.memory, m->place.flag, src, m->bytes, g);
    ch_blocks_next(m);
}

CH_FN void ch_blocks_take(const struct ch_coll *c, struct ch_blocks *m, char *dst,
                          struct ch_lanes g, chorus_status *st)
{
    ch_cells_empty(c, CH_CELL_ll, m->peer, m->place.memory, m->place.flag, dst, m->bytes, g,
                   st);
    ch_blocks_next(m);
}

#endif /* CH_ROUNDS_H */
