/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect by direct stores: the PEs exchange the counts of their blocks, then each PE writes
 * its block into the dest of all others.
 *
 *   needs    put, symmetric_dest
 *   steps    2
 *   wire     (n - 1) * (m + 8)
 *   scratch  two slots of a word for each peer
 *   inplace  not possible: before the call no PE knows the position of its block
 *   result   a copy
 *   source   fcollect, all push, after an exchange of counts, which also shows that the PEs
 *            have entered
 */
#ifndef CH_COLLECT_DIRECT_H
#define CH_COLLECT_DIRECT_H

#include "coll/primitives/given.h"

CH_FN chorus_status ch_collect_direct(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    const struct ch_slice cut = ch_cut(c, ch_bytes(c));
    const struct ch_words count = {&c->count, NULL, 0};
    size_t first = 0;
    uint64_t exchange;
    const chorus_status st = ch_give_words(c, count, &exchange, g);
    struct ch_coll own = *c; /* on this CTA's part of the block */

    if (st != CHORUS_OK) return st;
    for (uint32_t pe = 0; pe < c->me; pe++)
        first += ch_given(c, pe, exchange, 0);
    own.src = c->src + cut.first;
    own.count = cut.count / c->elem_bytes;
    ch_store_all_in_turn(&own, c->dst + first * c->elem_bytes + cut.first, epoch, g);
    return ch_finish_puts(c, epoch, g);
}

#endif /* CH_COLLECT_DIRECT_H */
