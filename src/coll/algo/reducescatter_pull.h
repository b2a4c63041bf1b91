/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducescatter by direct loads: every PE loads its block from the sources of all PEs and
 * combines them. In place, PE 0 does so before the others, since its block of their sources is
 * where they store their results. Only calls inside kernels do this in place: it takes a second
 * step, and other algorithms do not.
 *
 *   needs    map, apart, symmetric_source
 *   steps    1
 *   wire     (n - 1) * s
 *   scratch  two words per PE
 *   inplace  safe inside kernels: only PE 0 reads the block where the others store
 *   result   combined in PE order 0 .. n-1
 *   source   all push; here the receivers read
 */
#ifndef CH_REDUCESCATTER_PULL_H
#define CH_REDUCESCATTER_PULL_H

#include "coll/primitives/primitives.h"

CH_FN chorus_status ch_reducescatter_pull(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    chorus_status st;

    ch_tell_all(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */
    st = ch_hear_all(c, CH_WORD_READY, epoch, g);
    if (st == CHORUS_OK && c->dst == c->src && c->me != 0)
        st = ch_hear(c, 0, CH_WORD_DONE, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_combine_all(c, c->dst, c->src + c->me * c->stride, ch_bytes(c), CH_TO_ME, g);
    ch_tell_all(c, CH_WORD_DONE, epoch, CH_CREDIT, g);
    return ch_hear_all(c, CH_WORD_DONE, epoch, g); /* source may be reused */
}

#endif /* CH_REDUCESCATTER_PULL_H */
