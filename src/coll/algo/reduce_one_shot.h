/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce in one shot: every PE sends its vector to every other PE through sync memory, chunk
 * by chunk, and combines all that it receives.
 *
 *   needs    put
 *   steps    c
 *   wire     (n - 1) * m
 *   scratch  two slots of a chunk for each peer
 *   inplace  safe: a chunk is sent before it is overwritten
 *   result   combined in PE order 0 .. n-1: bitwise equal on every PE
 *   source   NVSHMEM, fcollect and local reduce, on one level; here for any team
 */
#ifndef CH_REDUCE_ONE_SHOT_H
#define CH_REDUCE_ONE_SHOT_H

#include "coll/primitives/exchange.h"

CH_FN chorus_status ch_reduce_one_shot(const struct ch_coll *c, enum ch_cell kind,
                                       struct ch_lanes g)
{
    const struct ch_exchange x = {
        .src = c->src, .src_step = 0, .own = c->src, .is_combined = 1};

    return ch_exchange_all(c, kind, x, g);
}

CH_FN chorus_status ch_reduce_one_shot_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_one_shot(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_reduce_one_shot_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_one_shot(c, CH_CELL_ll, g);
}

CH_FN chorus_status ch_reduce_one_shot_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_one_shot(c, CH_CELL_ll128, g);
}

#endif /* CH_REDUCE_ONE_SHOT_H */
