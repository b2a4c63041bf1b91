/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoall by direct stores: every PE writes its blocks into the dest of every other PE, after
 * that PE has entered the call.
 *
 *   needs    put, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   NVSHMEM, all push; here each PE waits until its peers have entered
 */
#ifndef CH_ALLTOALL_DIRECT_H
#define CH_ALLTOALL_DIRECT_H

#include "coll/primitives/primitives.h"

/* dst, on every PE = this PE's block for it; each batch is stored to all PEs before the next
 * batch, so that this PE's memory and all links are busy at the same time. The source must not
 * change before ch_flush. */
CH_FN void ch_store_each(const struct ch_coll *c, char *dst, struct ch_lanes g)
{
    for (uint32_t k = 1; k < c->n && !ch_is_all_mapped(c); k++)
        if (!ch_is_mapped(c, ch_after(c, k)))
            ch_put(c, ch_after(c, k), dst, c->src + ch_after(c, k) * c->stride, ch_bytes(c), g);
    for (struct ch_batch b = ch_batch_first(CH_PLAIN, dst, ch_bytes(c), g); ch_batch_more(&b);
         ch_batch_next(&b))
        for (uint32_t k = 0; k < c->n; k++) {
            const uint32_t peer = ch_after(c, k);
            struct ch_value v;

            if (!ch_is_mapped(c, peer)) continue;
            ch_value_load(&v, c->src + peer * c->stride, &b);
            ch_value_store(ch_on_peer(c, peer, dst), &v, &b);
        }
}

/* The same of mapped peers, one after the other, with more loads in flight. */
CH_FN void ch_copy_each(const struct ch_coll *c, char *dst, struct ch_lanes g)
{
    for (uint32_t k = 0; k < c->n; k++)
        ch_copy(ch_on_peer(c, ch_after(c, k), dst), c->src + ch_after(c, k) * c->stride,
                ch_bytes(c), g);
}

CH_FN chorus_status ch_alltoall_direct(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    char *mine = c->dst + c->me * c->stride;
    chorus_status st;

    ch_tell_all(c, CH_WORD_READY, epoch, CH_CREDIT, g);
    st = ch_hear_all(c, CH_WORD_READY, epoch, g); /* dest may be written */
    if (st != CHORUS_OK) return st;
    if (CH_INSIDE_KERNELS)
        ch_copy_each(c, mine, g);
    else
        ch_store_each(c, mine, g);
    ch_tell_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    st = ch_hear_all(c, CH_WORD_DONE, epoch, g); /* dest is complete */
    return st == CHORUS_OK ? ch_flush(c, g) : st;
}

#endif /* CH_ALLTOALL_DIRECT_H */
