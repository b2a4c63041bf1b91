/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast along a k-ary tree, a chunk at a time: each PE forwards what it receives to its k
 * children, through FIFOs.
 *
 *   needs    put
 *   steps    ch_depth(n, k)
 *   wire     ch_min(k, n - 1) * m
 *   scratch  FIFOs to the children
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   NVSHMEM, k-ary flat tree in LL; here for messages of any length, chunk by chunk
 */
#ifndef CH_BROADCAST_TREE_H
#define CH_BROADCAST_TREE_H

#include "coll/primitives/fifo.h"

/* Positions are relative to the root: its children are 1 .. k, the children of 1 are k + 1 and
 * so on. */
CH_FN uint32_t ch_tree_pe(const struct ch_coll *c, uint32_t position)
{
    const uint32_t pe = c->root + position;

    return pe < c->n ? pe : pe - c->n;
}

/* A division takes many instructions on a GPU, on which teams are small. */
CH_FN uint32_t ch_tree_parent(const struct ch_coll *c, uint32_t position)
{
    return ch_tree_pe(c, position <= c->radix ? 0 : (position - 1) / c->radix);
}

/* from must not change before ch_flush_lent. */
CH_FN chorus_status ch_tree_send(const struct ch_coll *c, enum ch_cell kind, uint32_t position,
                                 const char *from, size_t bytes, struct ch_lanes g)
{
    const uint64_t first = (uint64_t)position * c->radix + 1,
                   end = ch_min(first + c->radix, c->n);
    struct ch_pes children;

    if (first >= end) return CHORUS_OK;
    children.first = ch_tree_pe(c, (uint32_t)first);
    children.step = 1;
    children.count = (uint32_t)(end - first);
    return ch_lend(c, kind, children, from, bytes, g);
}

/* Without the end of the call: lent data is still to be flushed. */
CH_FN chorus_status ch_tree_pass(const struct ch_coll *c, enum ch_cell kind, struct ch_lanes g)
{
    const uint32_t position = c->me >= c->root ? c->me - c->root : c->me + c->n - c->root;
    const size_t bytes = ch_bytes(c);
    const char *from = c->me == c->root ? c->src : c->dst;
    chorus_status st = CHORUS_OK;

    for (size_t at = 0, part; at < bytes; at += part) {
        part = ch_part(c, kind, at);
        if (c->me != c->root) {
            st = ch_recv(c, kind, ch_tree_parent(c, position), c->dst + at, part, g);
            if (st != CHORUS_OK) return st;
        }
        st = ch_tree_send(c, kind, position, from + at, part, g);
        if (st != CHORUS_OK) return st;
    }
    if (c->me == c->root && c->dst != c->src) ch_copy(c->dst, c->src, bytes, g);
    return CHORUS_OK;
}

CH_FN chorus_status ch_broadcast_tree(const struct ch_coll *c, enum ch_cell kind,
                                      struct ch_lanes g)
{
    const chorus_status st = ch_tree_pass(c, kind, g);

    if (st != CHORUS_OK || kind != CH_CELL_simple) return st;
    return ch_flush_lent(c, ch_bytes(c), g);
}

CH_FN chorus_status ch_broadcast_tree_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_broadcast_tree(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_broadcast_tree_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_broadcast_tree(c, CH_CELL_ll, g);
}

CH_FN chorus_status ch_broadcast_tree_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_broadcast_tree(c, CH_CELL_ll128, g);
}

#endif /* CH_BROADCAST_TREE_H */
