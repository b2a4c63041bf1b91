/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce on two levels for short vectors: a reduce in one shot on each host, a recursive
 * exchange among the leaders of the hosts, and a broadcast by a board on each host.
 *
 *   needs    put, whole, nodes
 *   steps    ch_shared(h) * (c + 1) + c * ch_exchanges(h->count, k)
 *   wire     ch_leaders_wire(h, k, m)
 *   scratch  two slots of a chunk for each PE of the host, a FIFO to each partner, a board
 *   inplace  safe: data is sent before it is overwritten
 *   result   combined in PE order on each host, then in one order on all leaders: bitwise
 *            equal on every PE
 *   source   of this library; it consists of three other algorithms
 */
#ifndef CH_REDUCE_LEADERS_H
#define CH_REDUCE_LEADERS_H

#include "coll/algo/broadcast_board.h"
#include "coll/algo/reduce_one_shot.h"
#include "coll/algo/reduce_recursive.h"
#include "coll/primitives/levels.h"

CH_FN chorus_status ch_reduce_leaders(const struct ch_coll *c, struct ch_lanes g)
{
    struct ch_coll node = ch_on_node(c), rail = ch_on_rail(c);
    chorus_status st = ch_reduce_one_shot(&node, CH_CELL_simple, g);

    node.src = rail.src = c->dst; /* the host's sum */
    if (node.me == 0 && st == CHORUS_OK) st = ch_reduce_recursive(&rail, CH_CELL_simple, g);
    return st == CHORUS_OK ? ch_broadcast_board(&node, CH_CELL_simple, g) : st;
}

#endif /* CH_REDUCE_LEADERS_H */
