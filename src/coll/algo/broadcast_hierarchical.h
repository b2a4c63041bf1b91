/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast on two levels, a piece at a time: a k-nomial tree of the hosts, and a board on each
 * host. The PE of a host that has a piece first posts it on its board, and every PE that has
 * it sends it to another host; k is one more than the PEs of the smallest host.
 *
 *   needs    put, nodes
 *   steps    ch_nodes_broadcast_steps(h, r)
 *   wire     ch_nodes_broadcast_wire(h, r, m)
 *   scratch  a FIFO to each child in the tree, a board
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   topology-aware hierarchical tree of NVSHMEM; a host has as many ports as PEs, in
 *            the multiport model of Bruck et al. (1997)
 */
#ifndef CH_BROADCAST_HIERARCHICAL_H
#define CH_BROADCAST_HIERARCHICAL_H

#include "coll/algo/broadcast_board.h"
#include "coll/primitives/levels.h"

/* One piece, of `count` elements at byte `at`. Every PE except the root has it in dest before
 * it forwards it. */
CH_FN chorus_status ch_broadcast_levels(const struct ch_coll *c, size_t at, size_t count,
                                        struct ch_lanes g)
{
    const uint32_t position = ch_host_position(c);
    const char *src = (c->me == c->root ? c->src : c->dst) + at;
    struct ch_coll node = ch_call_on(c, &c->levels->node, c->dst + at, src, count);
    chorus_status st = CHORUS_OK;

    node.root = ch_host_root(c, position);
    if (position > 0 && node.me == node.root)
        st = ch_host_receive(c, position, node.dst, ch_bytes(&node), g);
    if (st == CHORUS_OK) st = ch_broadcast_board(&node, CH_CELL_simple, g);
    return st == CHORUS_OK ? ch_host_send(c, position, src, ch_bytes(&node), g) : st;
}

/* A piece is shorter than a chunk, so that a host receives one while it reads and sends the
 * one before. */
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
