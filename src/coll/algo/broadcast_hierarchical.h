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
#include "coll/algo/broadcast_pull.h"
#include "coll/algo/broadcast_tree.h"
#include "coll/primitives/levels.h"

/* How the PEs of a host get a piece: they read it on a board, or where its sender has it. */
enum ch_broadcast_within { CH_BY_BOARD, CH_BY_PULL };

CH_FN chorus_status ch_broadcast_within(const struct ch_coll *node,
                                        enum ch_broadcast_within how, struct ch_lanes g)
{
    return how == CH_BY_PULL ? ch_broadcast_pull(node, g)
                             : ch_broadcast_board(node, CH_CELL_simple, g);
}

/* One piece, of `count` elements at byte `at`. Every PE except the root has it in dest before
 * it forwards it. `how` is a constant. */
CH_FN chorus_status ch_broadcast_piece(const struct ch_coll *c, size_t at, size_t count,
                                       enum ch_broadcast_within how, struct ch_lanes g)
{
    const struct ch_levels *levels = c->levels;
    const uint32_t from = levels->nodes.node[c->root];
    const int is_root_node = levels->nodes.node[c->me] == from;
    const char *src = (c->me == c->root ? c->src : c->dst) + at;
    const char *shown = (is_root_node ? c->src : c->dst) + at; /* where the sender has it */
    struct ch_coll node = ch_call_on(c, &levels->node, c->dst + at, shown, count),
                   /* the root has it in dest after the call on its host */
        rail = ch_call_on(c, &levels->rail, (char *)(uintptr_t)src, src, count);
    chorus_status st = CHORUS_OK;

    node.root = is_root_node ? levels->nodes.local[c->root] : 0;
    rail.root = from;
    if (is_root_node && node.root != 0) st = ch_broadcast_within(&node, how, g);
    if (node.me == 0 && st == CHORUS_OK) st = ch_tree_pass(&rail, CH_CELL_simple, g);
    if (!(is_root_node && node.root != 0) && st == CHORUS_OK)
        st = ch_broadcast_within(&node, how, g);
    return st;
}

/* A piece is shorter than a chunk, so that a leader receives one while its host reads the one
 * before. */
CH_FN chorus_status ch_broadcast_levels(const struct ch_coll *c, enum ch_broadcast_within how,
                                        struct ch_lanes g)
{
    const struct ch_coll rail = ch_on_rail(c);
    const size_t bytes = ch_bytes(c);
    chorus_status st = CHORUS_OK;

    for (size_t at = 0, part; at < bytes && st == CHORUS_OK; at += part) {
        part = ch_min(ch_part(c, CH_CELL_simple, at), 2 * CH_PLAIN_BYTES);
        st = ch_broadcast_piece(c, at, part / c->elem_bytes, how, g);
    }
    return st == CHORUS_OK ? ch_flush_lent(&rail, bytes, g) : st;
}

CH_FN chorus_status ch_broadcast_hierarchical(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_broadcast_levels(c, CH_BY_BOARD, g);
}

#endif /* CH_BROADCAST_HIERARCHICAL_H */
