/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast by scatter and all-gather: each PE but the root reads one slice of the root's
 * source and writes it into the dest of all PEs.
 *
 *   needs    map, symmetric_dest, symmetric_source
 *   steps    ch_min(2, n - 1)
 *   wire     (n - 1) * ch_most_grains(m, n - 1)
 *   scratch  two words per PE
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   van de Geijn's scatter and collect (1994), with direct access to all peers;
 *            there are n - 1 slices, so that the root's link carries m bytes and no more
 */
#ifndef CH_BROADCAST_SCATTER_H
#define CH_BROADCAST_SCATTER_H

#include "coll/primitives/primitives.h"

/* [at, at + bytes) of the root's source, into the dest of all but the root. */
CH_FN void ch_scatter_slice(const struct ch_coll *c, size_t at, size_t bytes, struct ch_lanes g)
{
    char *dst = c->dst + at;

    for (struct ch_batch b = ch_batch_first(CH_PLAIN, dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;

        ch_value_load(&v, ch_on_peer(c, c->root, c->src + at), &b);
        for (uint32_t k = 0; k < c->n; k++)
            if (ch_after(c, k) != c->root)
                ch_value_store(ch_on_peer(c, ch_after(c, k), dst), &v, &b);
    }
}

/* Signals that the root's source may be reused, and that the other PEs have this PE's slice. */
CH_FN void ch_scatter_done(const struct ch_coll *c, uint64_t epoch, struct ch_lanes g)
{
    ch_lanes_sync(g); /* other lanes' accesses precede the stores */
    for (uint32_t k = 1 + g.lane; k < c->n; k += g.width) {
        const uint32_t peer = ch_after(c, k);

        ch_say(c, peer, CH_WORD_DONE, epoch, peer == c->root ? CH_CREDIT : CH_DATA);
    }
}

/* Wait for all PEs except the root. */
CH_FN chorus_status ch_scatter_hear(const struct ch_coll *c, uint32_t word, uint64_t least,
                                    struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    for (uint32_t k = 1 + g.lane; k < c->n && st == CHORUS_OK; k += g.width)
        if (ch_after(c, k) != c->root) st = ch_listen(c, ch_after(c, k), word, least);
    return ch_agree(st, g);
}

CH_FN chorus_status ch_broadcast_scatter(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);

    /* The root's source may be read, and the dest of the others written. */
    ch_tell_all(c, CH_WORD_READY, epoch, c->me == c->root ? CH_ENTRY : CH_CREDIT, g);
    if (c->me == c->root) {
        ch_copy(c->dst, c->src, ch_bytes(c), g);
    } else {
        const uint32_t p = (c->me + c->n - c->root) % c->n - 1;
        const struct ch_slice slice = ch_grains_of(ch_bytes(c), c->n - 1, p);
        const chorus_status st = ch_hear_all(c, CH_WORD_READY, epoch, g);

        if (st != CHORUS_OK) return st;
        ch_scatter_slice(c, slice.first, slice.count, g);
        ch_scatter_done(c, epoch, g);
    }
    /* dest is complete, and the root's source may be reused */
    return ch_scatter_hear(c, CH_WORD_DONE, epoch, g);
}

#endif /* CH_BROADCAST_SCATTER_H */
