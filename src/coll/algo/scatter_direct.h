/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter by direct stores: the root writes each PE's block into that PE's dest, after that PE
 * has entered the call.
 *
 *   needs    put, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   alltoall, all push, with one PE that sends
 */
#ifndef CH_SCATTER_DIRECT_H
#define CH_SCATTER_DIRECT_H

#include "coll/algo/alltoall_direct.h"

CH_FN chorus_status ch_scatter_direct(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    chorus_status st;

    if (c->me != c->root) {
        ch_tell(c, c->root, CH_WORD_READY, epoch, CH_CREDIT, g);
        return ch_hear(c, c->root, CH_WORD_DONE, epoch, g);
    }
    st = ch_hear_all(c, CH_WORD_READY, epoch, g); /* dest may be written */
    if (st != CHORUS_OK) return st;
    ch_store_each(c, c->dst, g);
    ch_tell_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    return ch_flush(c, g);
}

#endif /* CH_SCATTER_DIRECT_H */
