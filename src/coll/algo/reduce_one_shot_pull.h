/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce in one shot by direct loads: after all PEs have entered, every PE loads the vectors
 * of all PEs and combines them.
 *
 *   needs    map, apart, symmetric_source
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  not possible
 *   result   combined in PE order 0 .. n-1: bitwise equal on every PE
 *   source   as reduce_one_shot.h; here the receivers read
 */
#ifndef CH_REDUCE_ONE_SHOT_PULL_H
#define CH_REDUCE_ONE_SHOT_PULL_H

#include "coll/primitives/primitives.h"

CH_FN chorus_status ch_reduce_one_shot_pull(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    chorus_status st;

    ch_tell_all(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */
    st = ch_hear_all(c, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_combine_all(c, c->dst, c->src, ch_bytes(c), CH_TO_ME, g);
    ch_tell_all(c, CH_WORD_DONE, epoch, CH_CREDIT, g);
    return ch_hear_all(c, CH_WORD_DONE, epoch, g); /* source may be reused */
}

#endif /* CH_REDUCE_ONE_SHOT_PULL_H */
