/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_to.h: reduce whose result only the root gets. */
#ifndef CH_ALGO_REDUCE_TO_H
#define CH_ALGO_REDUCE_TO_H

#include "coll/primitives/fifo.h"
#include "coll/primitives/primitives.h"

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
CH_FN chorus_status ch_reduce_to_pull(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    chorus_status st;

    if (c->me != c->root) {
        ch_signal(c, c->root, CH_WORD_READY, epoch, CH_ENTRY, g);
        return ch_await(c, c->root, CH_WORD_DONE, epoch, g); /* source may be reused */
    }
    st = ch_await_all(c, CH_WORD_READY, epoch, g); /* sources may be read */
    if (st != CHORUS_OK) return st;
    ch_combine_all(c, c->dst, c->src, ch_bytes(c), CH_TO_ME, g);
    ch_signal_all(c, CH_WORD_DONE, epoch, CH_CREDIT, g);
    return CHORUS_OK;
}

/*
 * reduce_to in one shot: every PE sends its source to the root through sync memory, and the
 * root combines them.
 *
 *   needs    put
 *   steps    1
 *   wire     m
 *   scratch  a FIFO for each peer
 *   inplace  safe: the root combines a chunk where its own chunk is
 *   result   combined in PE order 0..n-1
 *   source   reduce in one shot, with one PE that receives
 */
CH_FN chorus_status ch_reduce_to_one_shot(const struct ch_coll *c, enum ch_cell kind,
                                          struct ch_lanes g)
{
    const int is_root = c->me == c->root;
    chorus_status st = CHORUS_OK;

    for (size_t at = 0; at < ch_bytes(c) && st == CHORUS_OK;) {
        const size_t bytes = ch_part(c, kind, at);

        st = is_root ? ch_fold(c, kind, ch_all(c), c->dst + at, c->src + at, bytes, g)
                     : ch_send(c, kind, ch_only(c->root), c->src + at, 0, bytes, g);
        at += bytes;
    }
    return st;
}

CH_FN chorus_status ch_reduce_to_one_shot_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_to_one_shot(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_reduce_to_one_shot_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_to_one_shot(c, CH_CELL_ll, g);
}

#endif /* CH_ALGO_REDUCE_TO_H */
