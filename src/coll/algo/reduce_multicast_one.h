/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce in one shot by multicast: one load of a PE returns the combination of the vectors of
 * all PEs; every PE loads the whole vector.
 *
 *   needs    map, apart, multicast, exact, symmetric_source
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  not possible
 *   result   combined in PE order 0 .. n-1: bitwise equal on every PE. In hardware it is used
 *            only where every order gives the same bits: integers
 *   source   NVSHMEM, NVLS one shot
 */
#ifndef CH_REDUCE_MULTICAST_ONE_H
#define CH_REDUCE_MULTICAST_ONE_H

#include "coll/primitives/multicast.h"

CH_FN chorus_status ch_reduce_multicast_one(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    chorus_status st;

    ch_multicast_tell(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */
    st = ch_hear_all(c, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_multicast_reduce(c, c->dst, c->src, ch_bytes(c), g);
    ch_multicast_tell(c, CH_WORD_DONE, epoch, CH_CREDIT, g);
    return ch_hear_all(c, CH_WORD_DONE, epoch, g); /* source may be reused */
}

#endif /* CH_REDUCE_MULTICAST_ONE_H */
