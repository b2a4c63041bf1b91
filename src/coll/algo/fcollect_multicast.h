/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect by multicast: one store of a PE writes its block into the dest of all PEs, after
 * all have entered the call.
 *
 *   needs    map, multicast, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   NVSHMEM, NVLS one shot; here each PE waits until its peers have entered
 */
#ifndef CH_FCOLLECT_MULTICAST_H
#define CH_FCOLLECT_MULTICAST_H

#include "coll/primitives/multicast.h"

CH_FN chorus_status ch_fcollect_multicast(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    chorus_status st;

    ch_multicast_tell(c, CH_WORD_READY, epoch, CH_CREDIT, g); /* dest may be written */
    st = ch_hear_all(c, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_multicast_store(c, c->dst + c->me * c->stride, c->src, ch_bytes(c), g);
    ch_multicast_tell(c, CH_WORD_DONE, epoch, CH_DATA, g);
    return ch_hear_all(c, CH_WORD_DONE, epoch, g); /* dest is complete */
}

#endif /* CH_FCOLLECT_MULTICAST_H */
