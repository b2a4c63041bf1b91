/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoall in messages to all: every PE sends each other PE its block through sync memory,
 * chunk by chunk, and copies what it receives into dest. With packets or lines it is named
 * all_push, with plain data exchange.
 *
 *   needs    put
 *   steps    c
 *   wire     (n - 1) * m
 *   scratch  two slots of a chunk for each peer
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   all push of NVSHMEM, which has only the simple protocol
 */
#ifndef CH_ALLTOALL_PUSH_H
#define CH_ALLTOALL_PUSH_H

#include "coll/primitives/exchange.h"

CH_FN chorus_status ch_alltoall_push(const struct ch_coll *c, enum ch_cell kind,
                                     struct ch_lanes g)
{
    const struct ch_exchange x = {.src = c->src,
                                  .src_step = c->stride,
                                  .own = c->src + c->me * c->stride,
                                  .dst_step = c->stride};

    return ch_exchange_all(c, kind, x, g);
}

/* No PE waits for others to enter, as with alltoall_direct.h; the data is copied once more,
 * unless a network stores it in dest. */
CH_FN chorus_status ch_alltoall_push_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_alltoall_push(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_alltoall_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_alltoall_push(c, CH_CELL_ll, g);
}

CH_FN chorus_status ch_alltoall_push_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_alltoall_push(c, CH_CELL_ll128, g);
}

#endif /* CH_ALLTOALL_PUSH_H */
