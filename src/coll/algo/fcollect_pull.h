/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect by direct loads: each PE copies its block into its own dest; after all PEs have
 * done so, every PE reads the blocks of the others from their dest.
 *
 *   needs    map, symmetric_dest
 *   steps    ch_rounds(n, k)
 *   wire     (n - 1) * m
 *   scratch  a word per PE
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   all push; here the receivers copy, and PEs signal by dissemination
 */
#ifndef CH_FCOLLECT_PULL_H
#define CH_FCOLLECT_PULL_H

#include "coll/primitives/primitives.h"

CH_FN chorus_status ch_fcollect_pull(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t given = ch_epochs(c, 2, g), taken = given + 1;
    chorus_status st;

    ch_copy(c->dst + c->me * c->stride, c->src, ch_bytes(c), g);
    st = ch_disseminate(c, CH_WORD_DONE, given, CH_DATA, g); /* all blocks may be read */
    if (st != CHORUS_OK) return st;
    for (uint32_t k = 1; k < c->n; k++) {
        const uint32_t peer = ch_after(c, k);
        char *block = c->dst + peer * c->stride;

        ch_copy(block, ch_on_peer(c, peer, block), ch_bytes(c), g);
    }
    return ch_disseminate(c, CH_WORD_DONE, taken, CH_CREDIT, g); /* dest may be changed */
}

#endif /* CH_FCOLLECT_PULL_H */
