/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_to in one shot: every PE sends its source to the root through sync memory, and the
 * root combines them.
 *
 *   needs    put
 *   steps    1
 *   wire     m
 *   scratch  a FIFO for each peer
 *   inplace  safe: the root combines a chunk where its own chunk is
 *   result   combined in PE order 0..n-1
 *   source   reduce in one shot, with one PE that receives
 */
#ifndef CH_REDUCE_TO_ONE_SHOT_H
#define CH_REDUCE_TO_ONE_SHOT_H

#include "coll/primitives/fifo.h"

CH_FN chorus_status ch_reduce_to_one_shot(const struct ch_coll *c, enum ch_cell kind,
                                          struct ch_lanes g)
{
    const int is_root = c->me == c->root;
    chorus_status st = CHORUS_OK;

    for (size_t at = 0; at < ch_bytes(c) && st == CHORUS_OK;) {
        const size_t bytes = ch_part(c, kind, at);

        st = is_root ? ch_fold(c, kind, ch_all(c), c->dst + at, c->src + at, bytes, g)
                     : ch_send(c, kind, ch_only(c->root), c->src + at, 0, bytes, g);
        at += bytes;
    }
    return st;
}

CH_FN chorus_status ch_reduce_to_one_shot_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_to_one_shot(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_reduce_to_one_shot_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_to_one_shot(c, CH_CELL_ll, g);
}

#endif /* CH_REDUCE_TO_ONE_SHOT_H */
