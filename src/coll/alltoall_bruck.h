/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoall in rounds: a block travels the digits of its distance, one a round.
 *
 *   needs    map
 *   steps    ch_digit_steps(n, k, m, p)
 *   wire     ch_digits(n, k) * m
 *   scratch  two places for each peer; dest holds blocks that travel on
 *   inplace  not possible: the api refuses buffers that overlap
 *   result   a copy
 *   source   Bruck, Ho, Kipnis, Upfal and Weathersby (1997), radix k; a block waits where
 *            that of its distance will end, so that nothing is rotated
 */
#ifndef CH_ALLTOALL_BRUCK_H
#define CH_ALLTOALL_BRUCK_H

#include "coll/rounds.h"

/* Blocks on their way: PE p's of the source is at src + p * src_step; what came lies in `dst`,
 * where the block of the PE before that is as far away will lie in the end. */
struct ch_travel {
    const char *src;
    size_t src_step;
    char *dst;
    size_t dst_step, bytes;
    uint64_t exchange;
};

/* Where blocks are kept that came from, or go on with, distance i. */
CH_FN char *ch_travel_kept(const struct ch_coll *c, const struct ch_travel *t, uint32_t i)
{
    return t->dst + ch_after(c, c->n - i) * t->dst_step;
}

/* All blocks whose distance has digit j at `span`. One with smaller digits has been sent
 * before, and is no longer this PE's own. */
CH_FN void ch_travel_put(const struct ch_coll *c, const struct ch_travel *t, uint32_t span,
                         uint32_t j, struct ch_lanes g)
{
    struct ch_parcel to = ch_parcel_to(c, ch_after(c, j * span), t->exchange, t->bytes);

    for (uint32_t base = j * span; base < c->n; base += span * c->radix)
        for (uint32_t i = base; i < ch_min(base + span, c->n); i++)
            ch_parcel_put(
                &to,
                i == base ? t->src + ch_after(c, i) * t->src_step : ch_travel_kept(c, t, i), g);
}

CH_FN void ch_travel_take(const struct ch_coll *c, const struct ch_travel *t, uint32_t span,
                          uint32_t j, struct ch_lanes g, chorus_status *st)
{
    struct ch_parcel from =
        ch_parcel_from(c, ch_after(c, c->n - j * span), t->exchange, t->bytes);

    for (uint32_t base = j * span; base < c->n; base += span * c->radix)
        for (uint32_t i = base; i < ch_min(base + span, c->n); i++)
            ch_parcel_take(c, &from, ch_travel_kept(c, t, i), g, st);
}

CH_FN chorus_status ch_travel_round(const struct ch_coll *c, const struct ch_travel *t,
                                    uint32_t span, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    for (uint32_t j = 1; ch_is_target(c, span, j); j++)
        ch_travel_put(c, t, span, j, g);
    ch_lanes_sync(g); /* all lanes have stored what others now take another in place of */
    for (uint32_t j = 1 + g.lane; ch_is_target(c, span, j); j += g.width)
        ch_notify(c->patience, c->peers[ch_after(c, j * span)].door);
    for (uint32_t j = 1; ch_is_target(c, span, j); j++)
        ch_travel_take(c, t, span, j, g, &st);
    return ch_agree(st, g); /* the next round gives what other lanes took */
}

/* All rounds: then dst + p * dst_step is the block from PE p, but for this PE's. */
CH_FN chorus_status ch_travel_all(const struct ch_coll *c, const struct ch_travel *t,
                                  struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    for (uint32_t span = 1; span < c->n && st == CHORUS_OK; span *= c->radix)
        st = ch_travel_round(c, t, span, g);
    return st;
}

CH_FN chorus_status ch_alltoall_bruck(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c),
                 most = ch_digit_bytes(c->n, c->radix, c->layout->place_packets);
    chorus_status st = CHORUS_OK;

    ch_copy(c->dst + c->me * c->stride, c->src + c->me * c->stride, bytes, g);
    for (size_t at = 0; at < bytes && st == CHORUS_OK; at += most) {
        struct ch_travel t;

        t.src = c->src + at;
        t.dst = c->dst + at;
        t.src_step = t.dst_step = c->stride;
        t.bytes = ch_min(most, bytes - at);
        st = ch_rounds_begin(c, &t.exchange, g);
        if (st == CHORUS_OK) st = ch_travel_all(c, &t, g);
    }
    return st;
}

#endif /* CH_ALLTOALL_BRUCK_H */
