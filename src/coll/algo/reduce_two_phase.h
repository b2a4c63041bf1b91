/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce in two phases by direct loads and stores: each PE first loads its slice from all PEs
 * and combines all of it, and then stores all of it to all PEs. Links carry loads in the first
 * phase and stores in the second, never both.
 *
 *   needs    map, symmetric_dest, symmetric_source
 *   steps    2
 *   wire     2 * (n - 1) * s
 *   scratch  two words per PE
 *   inplace  safe: only PE p reads or writes slice p until the last round
 *   result   combined in PE order 0 .. n-1: bitwise equal on every PE
 *   source   as reduce_two_shot.h, which loads and stores batch by batch
 */
#ifndef CH_REDUCE_TWO_PHASE_H
#define CH_REDUCE_TWO_PHASE_H

#include "coll/primitives/primitives.h"

CH_FN chorus_status ch_reduce_two_phase(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    const struct ch_slice slice = ch_slice_of(c->count, c->n, c->me);
    const size_t at = slice.first * c->elem_bytes, bytes = slice.count * c->elem_bytes;
    chorus_status st;

    ch_tell_all(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read, dest written */
    st = ch_hear_all(c, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_combine_all(c, c->dst + at, c->src + at, bytes, CH_TO_ME, g);
    ch_lanes_sync(g); /* each lane stores data that others have combined */
    ch_store_all(c, c->dst + at, c->dst + at, bytes, g);
    ch_tell_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    return ch_hear_all(c, CH_WORD_DONE, epoch, g); /* dest is complete, source may be reused */
}

#endif /* CH_REDUCE_TWO_PHASE_H */
