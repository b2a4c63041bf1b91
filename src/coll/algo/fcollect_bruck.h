/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect in rounds, in messages: in each round a PE sends all blocks that it has to k - 1
 * other PEs, and afterwards has k times as many.
 *
 *   needs    put
 *   steps    ch_gather_steps(n, k, m, p)
 *   wire     (n - 1) * m
 *   scratch  the slots of all peers
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   Bruck, Ho, Kipnis, Upfal and Weathersby (1997), radix k. Blocks are stored where
 *            they belong, so no rotation is needed at the end
 */
#ifndef CH_FCOLLECT_BRUCK_H
#define CH_FCOLLECT_BRUCK_H

#include "coll/primitives/rounds.h"

/* This PE has its own block and those of the `span` - 1 PEs after it, and sends them to PEs
 * before it. */
CH_FN chorus_status ch_fcollect_round(const struct ch_coll *c, char *dst,
                                      struct ch_landing *landing, uint32_t span,
                                      struct ch_lanes g)
{
    struct ch_landing sent = *landing;
    chorus_status st = CHORUS_OK;

    for (uint32_t j = 1; ch_is_target(c, span, j); j++) {
        const uint64_t count = ch_run(c->n, span, j);
        struct ch_blocks to = ch_blocks_to(c, &sent, ch_after(c, c->n - j * span), count);

        for (uint32_t i = 0; i < count; i++)
            ch_blocks_put(&to, dst + ch_after(c, i) * c->stride, g);
    }
    ch_lanes_sync(g); /* all lanes have stored their share */
    for (uint32_t j = 1 + g.lane; ch_is_target(c, span, j); j += g.width)
        ch_notify(c->patience, c->peers[ch_after(c, c->n - j * span)].door);
    for (uint32_t j = 1; ch_is_target(c, span, j); j++) {
        const uint64_t count = ch_run(c->n, span, j);
        struct ch_blocks from = ch_blocks_from(c, landing, ch_after(c, j * span), count);

        for (uint32_t i = 0; i < count; i++)
            ch_blocks_take(c, &from, dst + ch_after(c, j * span + i) * c->stride, g, &st);
    }
    return ch_agree(st, g); /* the next round sends blocks that other lanes have stored */
}

CH_FN chorus_status ch_fcollect_bruck_ll(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c),
                 most = ch_gather_bytes(c->n, c->radix, ch_slot_units(c, CH_CELL_ll));
    chorus_status st = CHORUS_OK;

    ch_copy(c->dst + c->me * c->stride, c->src, bytes, g);
    for (size_t at = 0; at < bytes && st == CHORUS_OK; at += most) {
        struct ch_landing landing = ch_landing_first(0, ch_min(most, bytes - at));

        st = ch_rounds_begin(c, CH_CELL_ll, &landing.exchange,
                             g); /* dest contains this PE's own block already */
        for (uint32_t span = 1; span < c->n && st == CHORUS_OK; span *= c->radix)
            st = ch_fcollect_round(c, c->dst + at, &landing, span, g);
    }
    return st;
}

#endif /* CH_FCOLLECT_BRUCK_H */
