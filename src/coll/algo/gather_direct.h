/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather by direct stores: every PE writes its block into the dest of the root, after the root
 * has entered the call.
 *
 *   needs    put, symmetric_dest
 *   steps    1
 *   wire     m
 *   scratch  two words per PE
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   fcollect, all push, with one PE that receives
 */
#ifndef CH_GATHER_DIRECT_H
#define CH_GATHER_DIRECT_H

#include "coll/primitives/primitives.h"

CH_FN chorus_status ch_gather_direct(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    char *mine = c->dst + c->me * c->stride;
    chorus_status st;

    if (c->me == c->root) {
        ch_tell_all(c, CH_WORD_READY, epoch, CH_CREDIT, g);
        ch_copy(mine, c->src, ch_bytes(c), g);
        return ch_hear_all(c, CH_WORD_DONE, epoch, g); /* dest is complete */
    }
    st = ch_hear(c, c->root, CH_WORD_READY, epoch, g); /* dest may be written */
    if (st != CHORUS_OK) return st;
    ch_put(c, c->root, mine, c->src, ch_bytes(c), g);
    ch_tell(c, c->root, CH_WORD_DONE, epoch, CH_DATA, g);
    return ch_flush(c, g);
}

#endif /* CH_GATHER_DIRECT_H */
