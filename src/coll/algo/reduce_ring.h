/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce along a ring: a reduce-scatter and then an all-gather, each of which sends slices
 * from PE to PE.
 *
 *   needs    put, whole
 *   steps    2 * (n - 1) * ch_divide_up(c, 2 * n)
 *   wire     2 * m - ch_least_two(m, e, n)
 *   scratch  a FIFO to the next PE
 *   inplace  safe: a slice of source is read before dest has its result
 *   result   slice p combined in the order p, p + 1 .. p - 1, by one PE each, and then
 *            forwarded: bitwise equal on every PE
 *   source   Patarasu and Yuan (2009); two messages of each slice are in flight
 */
#ifndef CH_REDUCE_RING_H
#define CH_REDUCE_RING_H

#include "coll/primitives/fifo.h"

/*
 * Turn `t` of 0 .. 2 n - 2 for a piece at `at`: slice p starts at PE p, is complete after n - 1
 * turns, on PE p - 1, and has reached all PEs after n - 1 more.
 */
CH_FN chorus_status ch_reduce_ring_turn(const struct ch_coll *c, size_t at, size_t count,
                                        uint32_t t, uint32_t leg, struct ch_lanes g)
{
    const uint32_t p = (c->me + 2 * c->n - t) % c->n;
    const struct ch_slice slice = ch_slice_of(count, c->n, p);
    const struct ch_leg l = ch_leg_of(c, slice.count * c->elem_bytes, leg);
    const size_t from = at + slice.first * c->elem_bytes + l.first;
    chorus_status st;

    if (l.bytes == 0) return CHORUS_OK;
    if (t == 0)
        return ch_send(c, CH_CELL_simple, ch_only(ch_next(c)), c->src + from, 0, l.bytes, g);
    if (t < c->n - 1) return ch_fold_on(c, c->src + from, l.bytes, g);
    if (t == c->n - 1)
        st = ch_fold_relay(c, c->dst + from, c->src + from, l.bytes, g);
    else
        st = ch_recv(c, CH_CELL_simple, ch_prev(c), c->dst + from, l.bytes, g);
    if (st != CHORUS_OK || t == 2 * c->n - 2) return st;
    return ch_send(c, CH_CELL_simple, ch_only(ch_next(c)), c->dst + from, 0, l.bytes, g);
}

CH_FN chorus_status ch_reduce_ring(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t most = c->n * (ch_relay_bytes(c) / c->elem_bytes);

    if (c->n == 1) {
        ch_copy(c->dst, c->src, ch_bytes(c), g);
        return CHORUS_OK;
    }
    for (size_t done = 0; done < c->count; done += most)
        for (uint32_t i = 0; i < CH_LEGS * (2 * c->n - 1); i++) {
            const chorus_status st =
                ch_reduce_ring_turn(c, done * c->elem_bytes, ch_min(most, c->count - done),
                                    i / CH_LEGS, i % CH_LEGS, g);

            if (st != CHORUS_OK) return st;
        }
    return CHORUS_OK;
}

#endif /* CH_REDUCE_RING_H */
