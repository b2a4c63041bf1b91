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

/* ch_store_all, by parts: from the last to the first in every second call, as the caches still
 * hold what the call before read and wrote last, and programs use buffers again. A network is
 * given the whole block at once. */
CH_FN void ch_store_all_in_turn(const struct ch_coll *c, char *dst, bool is_backward,
                                struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c), most = ch_is_all_mapped(c) ? CH_PLAIN_BYTES : bytes;

    for (size_t done = 0; done < bytes; done += most) {
        const size_t part = ch_min(most, bytes - done),
                     at = is_backward ? bytes - done - part : done;

        ch_store_all(c, dst + at, c->src + at, part, g);
    }
}

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
    ch_store_all_in_turn(c, c->dst + first * c->elem_bytes, epoch % 2 != 0, g);
    return ch_finish_puts(c, epoch, g);
}

#endif /* CH_COLLECT_DIRECT_H */
