/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rounds.h: exchanges in packets whose messages go in rounds, by way of other PEs (Bruck).
 *
 * An exchange is one of exchange.h: it has a number and uses the same places. Here a PE gives
 * a few others a message, in the rounds of a dissemination of radix k, and each message holds
 * blocks of several PEs, one behind another, each from a packet of its own on. A PE gives
 * another at most one message in an exchange. It has finished exchange e + 1 only when it has
 * a block of every PE, and that PE gave it after it had taken all of exchange e. So the two
 * places suffice here too.
 */
#ifndef CH_ROUNDS_H
#define CH_ROUNDS_H

#include "coll/exchange.h"

/* The number of the next exchange in packets, which begins. */
CH_FN chorus_status ch_rounds_begin(const struct ch_coll *c, uint64_t *exchange,
                                    struct ch_lanes g)
{
    const uint64_t last = c->exchanges[CH_RING_ll];
    const chorus_status st = ch_agree(ch_standing(c), g); /* all lanes have read the number */

    if (st != CHORUS_OK) return st;
    *exchange = last + 1;
    if (g.lane == 0) c->exchanges[CH_RING_ll] = last + 1;
    return CHORUS_OK;
}

/* A message being given or taken, block by block. */
struct ch_parcel {
    uint32_t peer;
    struct ch_slot place;
    size_t bytes; /* of a block */
};

CH_FN struct ch_parcel ch_parcel_to(const struct ch_coll *c, uint32_t peer, uint64_t exchange,
                                    size_t bytes)
{
    struct ch_parcel p;

    p.peer = peer;
    p.place = ch_place(ch_places_of(c, CH_RING_ll, peer, c->me), exchange);
    p.bytes = bytes;
    return p;
}

CH_FN struct ch_parcel ch_parcel_from(const struct ch_coll *c, uint32_t peer, uint64_t exchange,
                                      size_t bytes)
{
    struct ch_parcel p;

    p.peer = peer;
    p.place = ch_place(ch_places_of(c, CH_RING_ll, c->me, peer), exchange);
    p.bytes = bytes;
    return p;
}

/* The message's next block. */
CH_FN void ch_parcel_next(struct ch_parcel *p)
{
    p->place.memory += ch_cells(CH_RING_ll, p->bytes) * ch_cell_bytes(CH_RING_ll);
}

CH_FN void ch_parcel_put(struct ch_parcel *p, const char *src, struct ch_lanes g)
{
    ch_cells_fill(CH_RING_ll, p->place.memory, p->place.flag, src, p->bytes, g);
    ch_parcel_next(p);
}

CH_FN void ch_parcel_take(const struct ch_coll *c, struct ch_parcel *p, char *dst,
                          struct ch_lanes g, chorus_status *st)
{
    ch_cells_empty(c, CH_RING_ll, p->peer, p->place.memory, p->place.flag, dst, p->bytes, g,
                   st);
    ch_parcel_next(p);
}

#endif /* CH_ROUNDS_H */
