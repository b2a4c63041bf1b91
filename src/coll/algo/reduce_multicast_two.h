/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce in two shots by multicast: one load of a PE returns the combination of the vectors of
 * all PEs, and one store reaches all PEs; each PE does so for its slice.
 *
 *   needs    map, multicast, symmetric_dest, symmetric_source
 *   steps    2
 *   wire     2 * (n - 1) * s
 *   scratch  two words per PE
 *   inplace  safe: only PE p reads or writes slice p until the last round
 *   result   each slice combined on one PE, in PE order 0 .. n-1: bitwise equal on every PE,
 *            in hardware too
 *   source   NVSHMEM, NVLS two shot
 */
#ifndef CH_REDUCE_MULTICAST_TWO_H
#define CH_REDUCE_MULTICAST_TWO_H

#include "coll/primitives/multicast.h"

CH_FN chorus_status ch_reduce_multicast_two(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    const struct ch_slice slice = ch_slice_of(c->count, c->n, c->me);
    const size_t at = slice.first * c->elem_bytes;
    chorus_status st;

    ch_multicast_tell(c, CH_WORD_READY, epoch, CH_ENTRY,
                      g); /* source may be read, dest written */
    st = ch_hear_all(c, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_multicast_reduce_all(c, c->dst + at, c->src + at, slice.count * c->elem_bytes, g);
    ch_multicast_tell(c, CH_WORD_DONE, epoch, CH_DATA, g);
    return ch_hear_all(c, CH_WORD_DONE, epoch, g); /* dest is complete, source may be reused */
}

#endif /* CH_REDUCE_MULTICAST_TWO_H */
