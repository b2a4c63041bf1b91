/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect by direct stores: every PE writes its block into the dest of every other PE, after
 * that PE has entered the call.
 *
 *   needs    put, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   NVSHMEM, all push; here each PE waits until its peers have entered
 */
#ifndef CH_FCOLLECT_DIRECT_H
#define CH_FCOLLECT_DIRECT_H

#include "coll/primitives/primitives.h"

CH_FN chorus_status ch_fcollect_direct(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    char *mine = c->dst + c->me * c->stride;
    chorus_status st;

    ch_tell_all(c, CH_WORD_READY, epoch, CH_CREDIT, g);
    st = ch_hear_all(c, CH_WORD_READY, epoch, g); /* dest may be written */
    if (st != CHORUS_OK) return st;
    ch_store_all_in_turn(c, mine, epoch, g);
    ch_tell_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    st = ch_hear_all(c, CH_WORD_DONE, epoch, g); /* dest is complete */
    return st == CHORUS_OK ? ch_flush(c, g) : st;
}

#endif /* CH_FCOLLECT_DIRECT_H */
