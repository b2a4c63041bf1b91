/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoall by direct loads: after all PEs have entered the call, every PE reads its blocks
 * from the sources of the others.
 *
 *   needs    map, symmetric_source
 *   steps    ch_rounds(n, k)
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   all push; here the receivers copy, and PEs signal by dissemination
 */
#ifndef CH_ALLTOALL_PULL_H
#define CH_ALLTOALL_PULL_H

#include "coll/primitives/primitives.h"

CH_FN chorus_status ch_alltoall_pull(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    const char *mine = c->src + c->me * c->stride;
    const chorus_status st =
        ch_disseminate(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */

    if (st != CHORUS_OK) return st;
    for (uint32_t k = 0; k < c->n; k++) {
        const uint32_t peer = ch_after(c, k);

        ch_copy(c->dst + peer * c->stride, ch_on_peer(c, peer, mine), ch_bytes(c), g);
    }
    return ch_disseminate(c, CH_WORD_DONE, epoch, CH_CREDIT, g); /* source may be reused */
}

#endif /* CH_ALLTOALL_PULL_H */
