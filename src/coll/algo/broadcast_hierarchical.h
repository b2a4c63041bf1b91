/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast on two levels, a piece at a time: a k-ary tree among the leaders of the hosts, and
 * a board on each host. A root that is not a leader first posts the message on the board of
 * its host.
 *
 *   needs    put, nodes
 *   steps    ch_nodes_broadcast_steps(h, k, r)
 *   wire     ch_nodes_broadcast_wire(h, k, r, m)
 *   scratch  a FIFO to each child in the tree, a board
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   topology-aware hierarchical tree of NVSHMEM; here it consists of two other
 *            algorithms
 */
#ifndef CH_BROADCAST_HIERARCHICAL_H
#define CH_BROADCAST_HIERARCHICAL_H

#include "coll/algo/broadcast_board.h"
#include "coll/algo/broadcast_tree.h"
#include "coll/primitives/levels.h"

/* One piece, of `count` elements at byte `at`. Every PE except the root has it in dest before
 * it forwards it. */
CH_FN chorus_status ch_broadcast_levels(const struct ch_coll *c, size_t at, size_t count,
                                        struct ch_lanes g)
{
    const struct ch_levels *levels = c->levels;
    const uint32_t from = levels->nodes.node[c->root];
    const int is_root_node = levels->nodes.node[c->me] == from;
    const char *src = (c->me == c->root ? c->src : c->dst) + at;
    struct ch_coll node = ch_call_on(c, &levels->node, c->dst + at, src, count),
                   /* the root has it in dest after the call on its host */
        rail = ch_call_on(c, &levels->rail, (char *)(uintptr_t)src, src, count);
    chorus_status st = CHORUS_OK;

    node.root = is_root_node ? levels->nodes.local[c->root] : 0;
    rail.root = from;
    if (is_root_node && node.root != 0) st = ch_broadcast_board(&node, CH_CELL_simple, g);
    if (node.me == 0 && st == CHORUS_OK) st = ch_tree_pass(&rail, CH_CELL_simple, g);
    if (!(is_root_node && node.root != 0) && st == CHORUS_OK)
        st = ch_broadcast_board(&node, CH_CELL_simple, g);
    return st;
}

/* A piece is shorter than a chunk, so that a leader receives one while its host reads the one
 * before. */
CH_FN chorus_status ch_broadcast_hierarchical(const struct ch_coll *c, struct ch_lanes g)
{
    const struct ch_coll rail = ch_on_rail(c);
    const size_t bytes = ch_bytes(c);
    chorus_status st = CHORUS_OK;

    for (size_t at = 0, part; at < bytes && st == CHORUS_OK; at += part) {
        part = ch_min(ch_part(c, CH_CELL_simple, at), CH_PLAIN_BYTES);
        st = ch_broadcast_levels(c, at, part / c->elem_bytes, g);
    }
    return st == CHORUS_OK ? ch_flush_lent(&rail, bytes, g) : st;
}

#endif /* CH_BROADCAST_HIERARCHICAL_H */
