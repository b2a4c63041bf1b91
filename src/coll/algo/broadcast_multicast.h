/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast by multicast: one store of the root reaches the dest of all PEs, after all have
 * entered the call.
 *
 *   needs    map, multicast, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   put to all of NVSHMEM, with one store in place of n - 1
 */
#ifndef CH_BROADCAST_MULTICAST_H
#define CH_BROADCAST_MULTICAST_H

#include "coll/primitives/multicast.h"

CH_FN chorus_status ch_broadcast_multicast(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    chorus_status st;

    if (c->me != c->root) {
        ch_tell(c, c->root, CH_WORD_READY, epoch, CH_CREDIT, g); /* dest may be written */
        return ch_hear(c, c->root, CH_WORD_DONE, epoch, g);
    }
    st = ch_hear_all(c, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_multicast_store(c, c->dst, c->src, ch_bytes(c), g);
    ch_multicast_tell(c, CH_WORD_DONE, epoch, CH_DATA, g);
    return CHORUS_OK;
}

#endif /* CH_BROADCAST_MULTICAST_H */
