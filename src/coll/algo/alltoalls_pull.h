/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoalls by direct loads: after all PEs have entered the call, every PE reads the elements
 * of its blocks from the sources of the others.
 *
 *   needs    map, symmetric_source
 *   steps    ch_rounds(n, k)
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   alltoall, all pull, element by element
 */
#ifndef CH_ALLTOALLS_PULL_H
#define CH_ALLTOALLS_PULL_H

#include "coll/primitives/strided.h"

CH_FN chorus_status ch_alltoalls_pull(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    const struct ch_strided mine = ch_in_source(c, c->me, 0);
    const chorus_status st =
        ch_disseminate(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */

    if (st != CHORUS_OK) return st;
    for (uint32_t k = 0; k < c->n; k++) {
        const uint32_t peer = ch_after(c, k);

        ch_copy_strided(c, ch_in_dest(c, peer, 0),
                        ch_strided_at(ch_on_peer(c, peer, mine.at), mine.step), c->count, g);
    }
    return ch_disseminate(c, CH_WORD_DONE, epoch, CH_CREDIT, g); /* source may be reused */
}

#endif /* CH_ALLTOALLS_PULL_H */
