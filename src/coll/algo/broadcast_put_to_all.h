/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast by direct stores: the root writes into the dest of every other PE, one batch of
 * data into all of them before the next batch.
 *
 *   needs    put, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   NVSHMEM, put to all; here the root waits until each peer has entered
 */
#ifndef CH_BROADCAST_PUT_TO_ALL_H
#define CH_BROADCAST_PUT_TO_ALL_H

#include "coll/primitives/primitives.h"

CH_FN chorus_status ch_broadcast_put_to_all(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    chorus_status st;

    if (c->me != c->root) {
        ch_tell(c, c->root, CH_WORD_READY, epoch, CH_CREDIT, g);
        return ch_hear(c, c->root, CH_WORD_DONE, epoch, g);
    }
    st = ch_hear_all(c, CH_WORD_READY, epoch, g); /* dest may be written */
    if (st != CHORUS_OK) return st;
    ch_store_all(c, c->dst, c->src, ch_bytes(c), g);
    ch_tell_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    return ch_flush(c, g);
}

#endif /* CH_BROADCAST_PUT_TO_ALL_H */
