/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h: inscan and exscan. */
#ifndef CH_ALGO_SCAN_H
#define CH_ALGO_SCAN_H

#include "coll/primitives/fifo.h"

/*
 * inscan and exscan in one shot: every PE sends its source to the PEs after it, and combines
 * the sources that it receives from the PEs before it.
 *
 *   needs    put
 *   steps    ch_min(c, n - 1)
 *   wire     (n - 1) * m
 *   scratch  a FIFO for each peer
 *   inplace  safe: a chunk of source was sent before it is overwritten
 *   result   combined in PE order; PE 0 of an exscan gets zeros
 *   source   reduce in one shot, between each PE and those after it
 */

/* dst = zeros, with all lanes. */
CH_FN void ch_store_zeros(char *dst, size_t bytes, struct ch_lanes g)
{
    for (struct ch_batch b = ch_batch_first(CH_CELL_simple, dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value zeros;

        ch_value_load_padded(&zeros, dst, 0, &b);
        ch_value_store(dst, &zeros, &b);
    }
}

/* Scan the chunk of `bytes` at byte `at`. from: the PEs whose sum this PE gets. */
CH_FN chorus_status ch_scan_chunk(const struct ch_coll *c, enum ch_cell kind,
                                  struct ch_pes from, size_t at, size_t bytes,
                                  struct ch_lanes g)
{
    const struct ch_pes after = {c->me + 1, 1, c->n - 1 - c->me};
    const chorus_status st =
        after.count != 0 ? ch_send(c, kind, after, c->src + at, 0, bytes, g) : CHORUS_OK;

    if (st != CHORUS_OK) return st;
    if (c->me == 0) {
        if (from.count == 0)
            ch_store_zeros(c->dst + at, bytes, g);
        else
            ch_copy(c->dst + at, c->src + at, bytes, g);
        ch_lanes_sync(g); /* a barrier of the lanes, as after a message */
        return CHORUS_OK;
    }
    if (from.count == 1) return ch_recv(c, kind, from.first, c->dst + at, bytes, g);
    return ch_recv_combine(c, kind, from, c->dst + at, c->src + at, bytes, g);
}

/* is_inclusive: 1 in an inscan, whose sum includes this PE's source; 0 in an exscan. */
CH_FN chorus_status ch_scan_one_shot(const struct ch_coll *c, enum ch_cell kind,
                                     uint32_t is_inclusive, struct ch_lanes g)
{
    const struct ch_pes from = {0, 1, c->me + is_inclusive};

    for (size_t at = 0; at < ch_bytes(c);) {
        const size_t bytes = ch_chunk_bytes_at(c, kind, at);
        const chorus_status st = ch_scan_chunk(c, kind, from, at, bytes, g);

        if (st != CHORUS_OK) return st;
        at += bytes;
    }
    return CHORUS_OK;
}

CH_FN chorus_status ch_inscan_one_shot_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_scan_one_shot(c, CH_CELL_simple, 1, g);
}

CH_FN chorus_status ch_inscan_one_shot_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_scan_one_shot(c, CH_CELL_ll, 1, g);
}

CH_FN chorus_status ch_exscan_one_shot_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_scan_one_shot(c, CH_CELL_simple, 0, g);
}

CH_FN chorus_status ch_exscan_one_shot_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_scan_one_shot(c, CH_CELL_ll, 0, g);
}

#endif /* CH_ALGO_SCAN_H */
