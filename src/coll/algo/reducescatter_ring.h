/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducescatter along a ring: each block is sent from PE to PE until it reaches its owner, and
 * each PE on the way combines its own contribution with it.
 *
 *   needs    put, whole
 *   steps    (n - 1) * ch_divide_up(c, 2)
 *   wire     (n - 1) * s
 *   scratch  a FIFO to the next PE
 *   inplace  safe for dest = source and for dest = this PE's block of source: dest is written
 *            when that part of source was read
 *   result   block p combined in the order p + 1, p + 2 .. p
 *   source   the first half of a reduce along a ring, as by Patarasu and Yuan (2009)
 */
#ifndef CH_REDUCESCATTER_RING_H
#define CH_REDUCESCATTER_RING_H

#include "coll/primitives/fifo.h"

/* Turn `t` of 0 .. n - 1: block p starts at PE p + 1 and reaches its owner after n - 1
 * turns. */
CH_FN chorus_status ch_reducescatter_ring_turn(const struct ch_coll *c, struct ch_leg l,
                                               uint32_t t, struct ch_lanes g)
{
    const uint32_t p = (c->me + 2 * c->n - 1 - t) % c->n;
    const char *own = c->src + p * c->stride + l.first;

    if (l.bytes == 0) return CHORUS_OK;
    if (t == 0) return ch_send(c, CH_CELL_simple, ch_only(ch_next(c)), own, 0, l.bytes, g);
    if (t < c->n - 1) return ch_fold_on(c, own, l.bytes, g);
    return ch_fold_relay(c, c->dst + l.first, own, l.bytes, g);
}

CH_FN chorus_status ch_reducescatter_ring(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c), most = ch_relay_bytes(c);

    if (c->n == 1) {
        ch_copy(c->dst, c->src, bytes, g);
        return CHORUS_OK;
    }
    for (size_t at = 0; at < bytes; at += most)
        for (uint32_t i = 0; i < CH_LEGS * c->n; i++) {
            struct ch_leg l = ch_leg_of(c, ch_min(most, bytes - at), i % CH_LEGS);
            chorus_status st;

            l.first += at;
            st = ch_reducescatter_ring_turn(c, l, i / CH_LEGS, g);
            if (st != CHORUS_OK) return st;
        }
    return CHORUS_OK;
}

#endif /* CH_REDUCESCATTER_RING_H */
