/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast in messages to all: the root sends its message to every other PE through sync
 * memory, chunk by chunk.
 *
 *   needs    put
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two slots of a chunk for each peer
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   a tree of radix n, as an exchange in which only the root has messages: a PE
 *            leaves when all have entered, and no positions of FIFOs need to be loaded first
 */
#ifndef CH_BROADCAST_PUSH_H
#define CH_BROADCAST_PUSH_H

#include "coll/primitives/exchange.h"

/* Send the root's chunk at byte `at`. */
CH_FN chorus_status ch_broadcast_push_give(const struct ch_coll *c, enum ch_cell kind,
                                           size_t at, size_t bytes, struct ch_lanes g)
{
    const struct ch_gift gift = ch_gift_of(c, kind, c->src + at, 0, bytes, g);
    uint64_t exchange;
    const chorus_status st = ch_give(c, kind, &gift, &exchange, g);

    if (st != CHORUS_OK) return st;
    if (c->dst != c->src) ch_cells_bypass(kind, c->src + at, c->dst + at, bytes, g);
    return ch_hear_all(c, CH_WORD_MET, exchange, g);
}

/* Receive it on another PE. The first lanes wait for cells and the last ones for the other
 * PEs. */
CH_FN chorus_status ch_broadcast_push_take(const struct ch_coll *c, enum ch_cell kind,
                                           size_t at, size_t bytes, struct ch_lanes g)
{
    uint64_t exchange;
    struct ch_slot slot;
    chorus_status st = ch_meet(c, kind, &exchange, CH_CREDIT, g);

    if (st != CHORUS_OK) return st;
    slot = ch_slot_at(ch_slots_of(c, kind, c->me, c->root), exchange);
    ch_cells_empty(c, kind, c->root, slot.memory, slot.flag, c->dst + at, bytes, g, &st);
    for (uint32_t k = g.width - g.lane; k < c->n && st == CHORUS_OK; k += g.width)
        if (ch_after(c, k) != c->root) st = ch_listen(c, ch_after(c, k), CH_WORD_MET, exchange);
    return ch_agree(st, g); /* all lanes have read the slot */
}

CH_FN chorus_status ch_broadcast_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c);
    chorus_status st = CHORUS_OK;

    for (size_t at = 0, part; at < bytes && st == CHORUS_OK; at += part) {
        part = ch_part(c, CH_CELL_ll, at);
        st = c->me == c->root ? ch_broadcast_push_give(c, CH_CELL_ll, at, part, g)
                              : ch_broadcast_push_take(c, CH_CELL_ll, at, part, g);
        if (CH_INSIDE_KERNELS) return st; /* a message is one chunk */
    }
    return st;
}

#endif /* CH_BROADCAST_PUSH_H */
