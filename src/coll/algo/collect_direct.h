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
    const uint64_t epoch = ch_epoch(c, g), count = c->count;
    size_t first = 0;
    uint64_t exchange;
    const chorus_status st =
        ch_give_words(c, (const char *)&count, 0, sizeof(count), &exchange, g);

    if (st != CHORUS_OK) return st;
    for (uint32_t pe = 0; pe < c->me; pe++)
        first += ch_given(c, pe, exchange, 0);
    ch_store_all_in_turn(c, c->dst + first * c->elem_bytes, epoch, g);
    return ch_finish_puts(c, epoch, g);
}

#endif /* CH_COLLECT_DIRECT_H */
