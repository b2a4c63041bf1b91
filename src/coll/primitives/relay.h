/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.h: messages that are forwarded around the team from PE to PE, through FIFOs of plain
 * data.
 *
 * The data that is forwarded at a time is at most two messages long, its legs, and both are in
 * flight at once: a PE processes one while the other is sent. A PE thus never sends more than
 * two chunks that the next PE can only read after it has sent its own, as fifo.h requires.
 */
#ifndef CH_RELAY_H
#define CH_RELAY_H

#include "coll/primitives/fifo.h"

#define CH_LEGS 2u

CH_FN uint32_t ch_next(const struct ch_coll *c)
{
    return ch_after(c, 1);
}

CH_FN uint32_t ch_prev(const struct ch_coll *c)
{
    return ch_after(c, c->n - 1);
}

/* Largest number of bytes that are forwarded together. */
CH_FN size_t ch_relay_bytes(const struct ch_coll *c)
{
    return CH_LEGS * c->layout->chunk_bytes[CH_CELL_simple];
}

struct ch_leg {
    size_t first, bytes; /* no bytes: there is no such leg */
};

/* Leg 0 or 1 of `bytes` (0 to ch_relay_bytes). */
CH_FN struct ch_leg ch_leg_of(const struct ch_coll *c, size_t bytes, uint32_t leg)
{
    const size_t chunk = c->layout->chunk_bytes[CH_CELL_simple];
    struct ch_leg l;

    l.first = leg * chunk;
    l.bytes = bytes > l.first ? ch_min(chunk, bytes - l.first) : 0;
    return l;
}

/* dst = the next message of `bytes` from the previous PE, combined with `own`. dst may be
 * own. */
CH_FN chorus_status ch_fold_relay(const struct ch_coll *c, char *dst, const char *own,
                                  size_t bytes, struct ch_lanes g)
{
    const struct ch_pes two = {ch_prev(c), 1, 2}; /* and this PE */

    return ch_fold(c, CH_CELL_simple, two, dst, own, bytes, g);
}

/* The same, combined directly into the FIFO to the next PE: a ch_send of the result. */
CH_FN chorus_status ch_fold_on(const struct ch_coll *c, const char *own, size_t bytes,
                               struct ch_lanes g)
{
    const uint32_t next = ch_next(c);
    struct ch_message m;
    chorus_status st = ch_pack_begin(c, next, bytes, &m, g);

    if (st == CHORUS_OK) st = ch_fold_relay(c, m.memory, own, bytes, g);
    if (st != CHORUS_OK) return st;
    ch_pack_end(c, next, bytes, &m, g);
    return CHORUS_OK;
}

#endif /* CH_RELAY_H */
