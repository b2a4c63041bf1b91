/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_to in one shot by direct loads: the root reads the sources of all PEs and combines
 * them.
 *
 *   needs    map, symmetric_source
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: the root reads a batch of all sources before it stores their combination
 *   result   combined in PE order 0..n-1
 *   source   reduce in one shot by loads, with one PE that reads
 */
#ifndef CH_REDUCE_TO_PULL_H
#define CH_REDUCE_TO_PULL_H

#include "coll/primitives/primitives.h"

CH_FN chorus_status ch_reduce_to_pull(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    chorus_status st;

    if (c->me != c->root) {
        ch_tell(c, c->root, CH_WORD_READY, epoch, CH_ENTRY, g);
        return ch_hear(c, c->root, CH_WORD_DONE, epoch, g); /* source may be reused */
    }
    st = ch_hear_all(c, CH_WORD_READY, epoch, g); /* sources may be read */
    if (st != CHORUS_OK) return st;
    ch_combine_all(c, c->dst, c->src, ch_bytes(c), CH_TO_ME, g);
    ch_tell_all(c, CH_WORD_DONE, epoch, CH_CREDIT, g);
    return CHORUS_OK;
}

#endif /* CH_REDUCE_TO_PULL_H */
