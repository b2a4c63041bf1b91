/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect along a ring: each PE forwards every block that it receives to the next PE, until
 * all PEs have all blocks.
 *
 *   needs    put
 *   steps    (n - 1) * ch_divide_up(c, 2)
 *   wire     (n - 1) * m
 *   scratch  a FIFO to the next PE
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   Thakur, Rabenseifner and Gropp (2005); two messages of each block are in flight
 */
#ifndef CH_FCOLLECT_RING_H
#define CH_FCOLLECT_RING_H

#include "coll/primitives/fifo.h"

/* Turn `t` of 0 .. n - 1: block p starts at PE p. */
CH_FN chorus_status ch_fcollect_ring_turn(const struct ch_coll *c, struct ch_leg l, uint32_t t,
                                          struct ch_lanes g)
{
    char *to = c->dst + ch_after(c, c->n - t) * c->stride + l.first;
    chorus_status st;

    if (l.bytes == 0) return CHORUS_OK;
    if (t == 0)
        return ch_send(c, CH_CELL_simple, ch_only(ch_next(c)), c->src + l.first, 0, l.bytes, g);
    st = ch_recv(c, CH_CELL_simple, ch_prev(c), to, l.bytes, g);
    if (st != CHORUS_OK || t == c->n - 1) return st;
    return ch_send(c, CH_CELL_simple, ch_only(ch_next(c)), to, 0, l.bytes, g);
}

CH_FN chorus_status ch_fcollect_ring(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c), most = ch_relay_bytes(c);

    ch_copy(c->dst + c->me * c->stride, c->src, bytes, g);
    for (size_t at = 0; at < bytes && c->n > 1; at += most)
        for (uint32_t i = 0; i < CH_LEGS * c->n; i++) {
            struct ch_leg l = ch_leg_of(c, ch_min(most, bytes - at), i % CH_LEGS);
            chorus_status st;

            l.first += at;
            st = ch_fcollect_ring_turn(c, l, i / CH_LEGS, g);
            if (st != CHORUS_OK) return st;
        }
    return CHORUS_OK;
}

#endif /* CH_FCOLLECT_RING_H */
