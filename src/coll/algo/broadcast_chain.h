/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast along a chain: each PE forwards the message to the next PE, a chunk at a time.
 *
 *   needs    put
 *   steps    n - 1
 *   wire     m
 *   scratch  a FIFO to the next PE
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   pipelined chain, as in Open MPI's coll/tuned
 */
#ifndef CH_BROADCAST_CHAIN_H
#define CH_BROADCAST_CHAIN_H

#include "coll/algo/broadcast_tree.h"

CH_FN chorus_status ch_broadcast_chain(const struct ch_coll *c, struct ch_lanes g)
{
    struct ch_coll chain = *c;

    chain.radix = 1;
    return ch_broadcast_tree(&chain, CH_CELL_simple, g);
}

#endif /* CH_BROADCAST_CHAIN_H */
