/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast by scatter and all-gather at once: of each piece of the message the root stores a
 * slice into every other PE's dest, and from there that PE stores it into the rest's, while the
 * root stores the next piece.
 *
 *   needs    map
 *   steps    ch_min(2, n - 1)
 *   wire     ch_max(m, (n - 2) * ch_most_grains(m, n - 1))
 *   scratch  two words per PE
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   van de Geijn's scatter and collect (1994), piece by piece and with
 *            stores alone, which carry more over a link in both directions than
 *            loads; n - 1 slices, so that the root's link carries m and no more
 *
 * A piece is a chunk for each PE but the root, and has an epoch of its own, by which the root
 * announces it. The root begins when all have entered, so whoever has heard from it may write
 * into everyone's dest.
 */
#ifndef CH_BROADCAST_SCATTER_PUSH_H
#define CH_BROADCAST_SCATTER_PUSH_H

#include "coll/algo/broadcast_scatter.h"

/* All bytes of a piece but those of the last, which is what is left. */
CH_FN size_t ch_scatter_piece_bytes(const struct ch_coll *c)
{
    return (c->n - 1) * c->layout->chunk_bytes[CH_CELL_simple];
}

/* The slice, of the piece at `at`, of the k-th PE after the root; `first` counts from src. */
CH_FN struct ch_slice ch_scatter_slice_of(const struct ch_coll *c, size_t at, uint32_t k)
{
    const size_t bytes = ch_min(ch_scatter_piece_bytes(c), ch_bytes(c) - at);
    struct ch_slice s = ch_grains_of(bytes, c->n - 1, k - 1);

    s.first += at;
    return s;
}

/* The root: a slice into that PE's dest, and into its own. */
CH_FN void ch_scatter_push(const struct ch_coll *c, struct ch_slice s, uint32_t peer,
                           struct ch_lanes g)
{
    char *own = c->dst + s.first, *dst = ch_on_peer(c, peer, own);

    for (struct ch_batch b = ch_batch_first(CH_PLAIN, own, s.count, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;

        ch_value_load(&v, c->src + s.first, &b);
        ch_value_store(dst, &v, &b);
        if (c->dst != c->src) ch_value_store(own, &v, &b);
    }
}

CH_FN chorus_status ch_scatter_from_root(const struct ch_coll *c, uint64_t epoch,
                                         struct ch_lanes g)
{
    const chorus_status st = ch_hear_all(c, CH_WORD_READY, epoch, g); /* dest may be written */

    if (st != CHORUS_OK) return st;
    for (size_t at = 0; at < ch_bytes(c); at += ch_scatter_piece_bytes(c)) {
        for (uint32_t k = 1; k < c->n; k++)
            ch_scatter_push(c, ch_scatter_slice_of(c, at, k), ch_after(c, k), g);
        ch_tell_all(c, CH_WORD_DONE, epoch++, CH_DATA, g);
    }
    return CHORUS_OK;
}

/* This PE's slice from its dest into those of all others but the root. */
CH_FN void ch_scatter_forward(const struct ch_coll *c, struct ch_slice s, struct ch_lanes g)
{
    char *own = c->dst + s.first;

    for (struct ch_batch b = ch_batch_first(CH_PLAIN, own, s.count, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;

        ch_value_load(&v, own, &b);
        for (uint32_t k = 1; k < c->n; k++)
            if (ch_after(c, k) != c->root)
                ch_value_store(ch_on_peer(c, ch_after(c, k), own), &v, &b);
    }
}

CH_FN chorus_status ch_scatter_at_leaf(const struct ch_coll *c, uint64_t epoch,
                                       struct ch_lanes g)
{
    const uint32_t k = c->me > c->root ? c->me - c->root : c->me + c->n - c->root;
    chorus_status st = CHORUS_OK;

    ch_tell(c, c->root, CH_WORD_READY, epoch, CH_CREDIT, g);
    for (size_t at = 0; at < ch_bytes(c) && st == CHORUS_OK; at += ch_scatter_piece_bytes(c)) {
        st = ch_hear(c, c->root, CH_WORD_DONE, epoch++, g);
        if (st == CHORUS_OK) ch_scatter_forward(c, ch_scatter_slice_of(c, at, k), g);
    }
    if (st != CHORUS_OK) return st;
    ch_lanes_sync(g); /* other lanes' accesses precede the stores */
    for (uint32_t j = 1 + g.lane; j < c->n; j += g.width)
        if (ch_after(c, j) != c->root)
            ch_say(c, ch_after(c, j), CH_WORD_DONE, epoch - 1, CH_DATA);
    return ch_scatter_hear(c, CH_WORD_DONE, epoch - 1, g); /* dest is complete */
}

CH_FN chorus_status ch_broadcast_scatter_push(const struct ch_coll *c, struct ch_lanes g)
{
    uint64_t epoch;

    if (c->n == 1) ch_copy(c->dst, c->src, ch_bytes(c), g);
    if (c->n == 1 || c->count == 0) return CHORUS_OK;
    epoch = ch_epochs(c, ch_divide_up(ch_bytes(c), ch_scatter_piece_bytes(c)), g);
    return c->me == c->root ? ch_scatter_from_root(c, epoch, g)
                            : ch_scatter_at_leaf(c, epoch, g);
}

#endif /* CH_BROADCAST_SCATTER_PUSH_H */
