/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducescatter in messages to all: every PE sends each other PE its block through sync
 * memory, chunk by chunk, and combines the blocks that it receives.
 *
 *   needs    put
 *   steps    c
 *   wire     (n - 1) * s
 *   scratch  two slots of a chunk for each peer
 *   inplace  safe for dest = source and for dest = this PE's block of source
 *   result   combined in PE order 0 .. n-1
 *   source   NVSHMEM, all push; here for blocks of any length, chunk by chunk
 */
#ifndef CH_REDUCESCATTER_PUSH_H
#define CH_REDUCESCATTER_PUSH_H

#include "coll/primitives/exchange.h"

CH_FN chorus_status ch_reducescatter_push(const struct ch_coll *c, enum ch_cell kind,
                                          struct ch_lanes g)
{
    const struct ch_exchange x = {.src = c->src,
                                  .src_step = c->stride,
                                  .own = c->src + c->me * c->stride,
                                  .is_combined = 1};

    return ch_exchange_all(c, kind, x, g);
}

CH_FN chorus_status ch_reducescatter_push_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reducescatter_push(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_reducescatter_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reducescatter_push(c, CH_CELL_ll, g);
}

CH_FN chorus_status ch_reducescatter_push_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reducescatter_push(c, CH_CELL_ll128, g);
}

#endif /* CH_REDUCESCATTER_PUSH_H */
