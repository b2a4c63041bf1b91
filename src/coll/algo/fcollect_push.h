/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect in messages to all: every PE sends its block to every other PE through sync memory,
 * chunk by chunk, and copies what it receives into dest. With packets or lines it is named
 * all_push, with plain data exchange.
 *
 *   needs    put
 *   steps    c
 *   wire     (n - 1) * m
 *   scratch  two slots of a chunk for each peer
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   NVSHMEM, all push in LL and LL128; here for blocks of any length, chunk by chunk
 */
#ifndef CH_FCOLLECT_PUSH_H
#define CH_FCOLLECT_PUSH_H

#include "coll/primitives/exchange.h"

CH_FN chorus_status ch_fcollect_push(const struct ch_coll *c, enum ch_cell kind,
                                     struct ch_lanes g)
{
    const struct ch_exchange x = {
        .src = c->src, .src_step = 0, .own = c->src, .dst_step = c->stride};

    return ch_exchange_all(c, kind, x, g);
}

/* No PE waits for others to enter, as with fcollect_direct.h; the data is copied once more,
 * unless a network stores it in dest. */
CH_FN chorus_status ch_fcollect_push_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_fcollect_push(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_fcollect_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_fcollect_push(c, CH_CELL_ll, g);
}

CH_FN chorus_status ch_fcollect_push_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_fcollect_push(c, CH_CELL_ll128, g);
}

#endif /* CH_FCOLLECT_PUSH_H */
