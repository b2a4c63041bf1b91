/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducescatter in rounds, with forwarding: an alltoall as in alltoall_bruck.h, after which
 * each PE combines the blocks that it has received.
 *
 *   needs    put
 *   steps    ch_combine_steps(n, k, s, p, o)
 *   wire     ch_digits(n, k) * s
 *   scratch  the slots of all peers; this PE's own slot holds blocks
 *   inplace  safe for dest = source and for dest = this PE's block of source: a part of dest
 *            is written when that part of source was read
 *   result   combined in PE order 0 .. n-1
 *   source   of this library: the index algorithm of Bruck and others (1997), then a local
 *            reduction
 */
#ifndef CH_REDUCESCATTER_BRUCK_H
#define CH_REDUCESCATTER_BRUCK_H

#include "coll/algo/alltoall_bruck.h"

CH_FN chorus_status ch_reducescatter_bruck(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c),
                 most = ch_combine_bytes(c->n, c->radix, ch_slot_units(c, CH_CELL_ll),
                                         ch_own_units(c, CH_CELL_ll));
    chorus_status st = CHORUS_OK;

    for (size_t at = 0; at < bytes && st == CHORUS_OK; at += most) {
        struct ch_forward f;

        f.src = c->src + at;
        f.src_step = c->stride;
        f.dst_step = ch_min(most, bytes - at);
        f.landing = ch_landing_first(0, f.dst_step);
        st = ch_rounds_begin(c, CH_CELL_ll, &f.landing.exchange,
                             g); /* the last part is combined */
        if (st != CHORUS_OK) return st;
        f.dst = ch_slot_at(ch_own_slots(c, CH_CELL_ll, c->me), f.landing.exchange).memory;
        st = ch_forward_all(c, &f, g);
        if (st != CHORUS_OK) return st;
        for (uint32_t pe = g.lane; pe < c->n; pe += g.width)
            c->slots[pe].memory = pe == c->me ? (char *)(uintptr_t)f.src + pe * c->stride
                                              : f.dst + pe * f.dst_step;
        ch_combine_slots(c, c->dst + at, c->n, f.dst_step, g);
    }
    return st;
}

#endif /* CH_REDUCESCATTER_BRUCK_H */
