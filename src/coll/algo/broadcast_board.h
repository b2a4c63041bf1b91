/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast by a board: the root stores its message once, in its own sync memory, and every
 * other PE loads it from there, chunk by chunk. The root waits for no PE.
 *
 *   needs    map
 *   steps    1
 *   wire     m
 *   scratch  the root's board
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   of this library; pull, through sync memory
 */
#ifndef CH_BROADCAST_BOARD_H
#define CH_BROADCAST_BOARD_H

#include "coll/primitives/board.h"

CH_FN chorus_status ch_broadcast_board(const struct ch_coll *c, enum ch_cell kind,
                                       struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c);
    chorus_status st = CHORUS_OK;

    for (size_t at = 0, part; at < bytes && c->n > 1 && st == CHORUS_OK; at += part) {
        part = ch_part(c, kind, at);
        st = c->me == c->root ? ch_post(c, kind, c->src + at, part, g)
                              : ch_read(c, kind, c->root, c->dst + at, part, g);
    }
    if (c->me == c->root && st == CHORUS_OK) ch_copy(c->dst, c->src, bytes, g);
    return st;
}

CH_FN chorus_status ch_broadcast_board_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_broadcast_board(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_broadcast_board_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_broadcast_board(c, CH_CELL_ll, g);
}

CH_FN chorus_status ch_broadcast_board_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_broadcast_board(c, CH_CELL_ll128, g);
}

#endif /* CH_BROADCAST_BOARD_H */
