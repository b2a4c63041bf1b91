/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast by direct loads: every PE reads the source of the root, at the same time as the
 * others.
 *
 *   needs    map, symmetric_source
 *   steps    1
 *   wire     m
 *   scratch  two words per PE
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   put to all; here the receivers copy
 */
#ifndef CH_BROADCAST_PULL_H
#define CH_BROADCAST_PULL_H

#include "coll/primitives/primitives.h"

CH_FN chorus_status ch_broadcast_pull(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    chorus_status st;

    if (c->me == c->root) {
        ch_tell_all(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */
        ch_copy_in_turn(c, c->src, epoch, g);
        return ch_hear_all(c, CH_WORD_DONE, epoch, g); /* source may be reused */
    }
    st = ch_hear(c, c->root, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_copy_in_turn(c, ch_on_peer(c, c->root, c->src), epoch, g);
    ch_tell(c, c->root, CH_WORD_DONE, epoch, CH_CREDIT, g);
    return CHORUS_OK;
}

#endif /* CH_BROADCAST_PULL_H */
