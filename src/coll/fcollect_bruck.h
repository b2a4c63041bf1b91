/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect in rounds: every PE has k times as many blocks after each, and gives them away.
 *
 *   needs    map
 *   steps    ch_run_steps(n, k, m, p)
 *   wire     (n - 1) * m
 *   scratch  two places for each peer
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   Bruck, Ho, Kipnis, Upfal and Weathersby (1997), radix k; blocks are taken to
 *            where they belong, so that nothing is rotated in the end
 */
#ifndef CH_FCOLLECT_BRUCK_H
#define CH_FCOLLECT_BRUCK_H

#include "coll/rounds.h"

/* This PE has its own block and those of the `span` - 1 PEs after it, and gives them to PEs
 * before it. */
CH_FN chorus_status ch_fcollect_round(const struct ch_coll *c, char *dst, size_t bytes,
                                      uint64_t exchange, uint32_t span, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    for (uint32_t j = 1; ch_is_target(c, span, j); j++) {
        struct ch_parcel to = ch_parcel_to(c, ch_after(c, c->n - j * span), exchange, bytes);

        for (uint32_t i = 0; i < ch_run(c->n, span, j); i++)
            ch_parcel_put(&to, dst + ch_after(c, i) * c->stride, g);
    }
    ch_lanes_sync(g); /* all lanes have stored their share */
    for (uint32_t j = 1 + g.lane; ch_is_target(c, span, j); j += g.width)
        ch_notify(c->patience, c->peers[ch_after(c, c->n - j * span)].door);
    for (uint32_t j = 1; ch_is_target(c, span, j); j++) {
        struct ch_parcel from = ch_parcel_from(c, ch_after(c, j * span), exchange, bytes);

        for (uint32_t i = 0; i < ch_run(c->n, span, j); i++)
            ch_parcel_take(c, &from, dst + ch_after(c, j * span + i) * c->stride, g, &st);
    }
    return ch_agree(st, g); /* the next round gives what other lanes took */
}

CH_FN chorus_status ch_fcollect_bruck_ll(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c),
                 most = ch_run_bytes(c->n, c->radix, c->layout->place_packets);
    chorus_status st = CHORUS_OK;

    ch_copy(c->dst + c->me * c->stride, c->src, bytes, g);
    for (size_t at = 0; at < bytes && st == CHORUS_OK; at += most) {
        uint64_t exchange;

        st = ch_rounds_begin(c, &exchange, g); /* its own block is there, too */
        for (uint32_t span = 1; span < c->n && st == CHORUS_OK; span *= c->radix)
            st = ch_fcollect_round(c, c->dst + at, ch_min(most, bytes - at), exchange, span, g);
    }
    return st;
}

#endif /* CH_FCOLLECT_BRUCK_H */
