/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducescatter in one shot by multicast: one load of a PE returns the combination of all PEs'
 * sources; every PE loads its block.
 *
 *   needs    map, apart, multicast, symmetric_source
 *   steps    1
 *   wire     (n - 1) * s
 *   scratch  two words per PE
 *   inplace  not possible
 *   result   combined in PE order 0 .. n-1
 *   source   NVSHMEM, NVLS one shot
 */
#ifndef CH_REDUCESCATTER_MULTICAST_H
#define CH_REDUCESCATTER_MULTICAST_H

#include "coll/primitives/multicast.h"

CH_FN chorus_status ch_reducescatter_multicast(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    chorus_status st;

    ch_multicast_tell(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */
    st = ch_hear_all(c, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_multicast_reduce(c, c->dst, c->src + c->me * c->stride, ch_bytes(c), g);
    ch_multicast_tell(c, CH_WORD_DONE, epoch, CH_CREDIT, g);
    return ch_hear_all(c, CH_WORD_DONE, epoch, g); /* source may be reused */
}

#endif /* CH_REDUCESCATTER_MULTICAST_H */
