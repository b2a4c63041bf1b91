/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducescatter in rounds: blocks travel as in alltoall_bruck.h and are combined at home.
 *
 *   needs    map
 *   steps    ch_home_steps(n, k, s, p)
 *   wire     ch_digits(n, k) * s
 *   scratch  two places for each peer, and this PE's own for blocks
 *   inplace  safe for dest = source and for dest = this PE's block of
 *            source: a part of dest is written when that part of source was read
 *   result   combined in PE order 0 .. n-1
 *   source   of this library: the index algorithm of Bruck and others (1997), then a
 *            local reduction
 */
#ifndef CH_REDUCESCATTER_BRUCK_H
#define CH_REDUCESCATTER_BRUCK_H

#include "coll/alltoall_bruck.h"

CH_FN chorus_status ch_reducescatter_bruck(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c),
                 most = ch_home_bytes(c->n, c->radix, c->layout->place_packets);
    chorus_status st = CHORUS_OK;

    for (size_t at = 0; at < bytes && st == CHORUS_OK; at += most) {
        struct ch_travel t;

        t.src = c->src + at;
        t.src_step = c->stride;
        t.bytes = t.dst_step = ch_min(most, bytes - at);
        st = ch_rounds_begin(c, &t.exchange, g); /* the last part is combined */
        if (st != CHORUS_OK) return st;
        t.dst = ch_place(ch_places_of(c, CH_RING_ll, c->me, c->me), t.exchange).memory;
        st = ch_travel_all(c, &t, g);
        if (st != CHORUS_OK) return st;
        ch_combine_row(c, c->dst + at, t.dst, t.src + c->me * c->stride, t.bytes, g);
    }
    return st;
}

#endif /* CH_REDUCESCATTER_BRUCK_H */
