/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast_levels.h: broadcast to a team on several hosts, in which several PEs of a host send
 * to other hosts.
 */
#ifndef CH_ALGO_BROADCAST_LEVELS_H
#define CH_ALGO_BROADCAST_LEVELS_H

#include "coll/algo/broadcast.h"
#include "coll/primitives/levels.h"

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

/* Broadcast one piece, of `count` elements at byte `at`. Every PE except the root has it in
 * dest before it forwards it. */
CH_PART chorus_status ch_broadcast_levels(const struct ch_coll *c, size_t at, size_t count,
                                          struct ch_lanes g)
{
    const uint32_t position = ch_host_position(c);
    const char *src = (c->me == c->root ? c->src : c->dst) + at;
    struct ch_coll node;
    chorus_status st = CHORUS_OK;

    ch_coll_init_child(&node, c, &c->levels->node, c->dst + at, src, count);
    node.root = ch_host_root(c, position);
    if (position > 0 && node.me == node.root)
        st = ch_host_receive(c, position, node.dst, ch_bytes(&node), g);
    if (st == CHORUS_OK) st = ch_broadcast_board(&node, CH_CELL_simple, g);
    return st == CHORUS_OK ? ch_host_send(c, position, src, ch_bytes(&node), g) : st;
}

/* broadcast on two levels, as described above. A piece is shorter than a chunk, so that a host
 * receives one while it reads and sends the one before. */
CH_PART chorus_status ch_broadcast_hierarchical(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c);
    struct ch_coll rail;
    chorus_status st = CHORUS_OK;

    for (size_t at = 0, part; at < bytes && st == CHORUS_OK; at += part) {
        part = ch_min(ch_chunk_bytes_at(c, CH_CELL_simple, at), CH_PLAIN_BYTES);
        st = ch_broadcast_levels(c, at, part / c->elem_bytes, g);
    }
    if (st != CHORUS_OK) return st;
    ch_coll_init_rail(&rail, c);
    return ch_flush_lent(&rail, bytes, g);
}

/*
 * broadcast over rails: the PEs of the root's host read source, each sends one slice to the PEs
 * that have its number on their hosts, and on each other host every PE writes its slice into
 * the dest of the others. As many PEs of a host send and receive as there are complete rails.
 * A slice of one message goes along a binomial tree of the hosts, a longer one along a chain.
 *
 *   needs    put, nodes, symmetric_dest, symmetric_source
 *   steps    2 * ch_shared(h) + ch_rails_broadcast_steps(h, m, b)
 *   wire     ch_rails_broadcast_wire(h, r, m, b)
 *   scratch  two words per PE of the host, a FIFO to the next PEs of the rail
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   scatter and allgather over several rails, as in MVAPICH and Open MPI's coll/han
 */

/* On the root's host: copy the root's source to dest, except the slice of this PE, which has
 * it. */
CH_FN void ch_rails_copy_from_root(const struct ch_coll *c, const char *source,
                                   struct ch_slice slice, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c), end = slice.first + slice.count;

    ch_copy_apart(c->dst, source, slice.first, g);
    ch_copy_apart(c->dst + end, source + end, bytes - end, g);
}

/* Broadcast the slice of a rail, one message, along a binomial tree of its PEs. */
CH_FN chorus_status ch_rails_broadcast_tree(const struct ch_coll *rail, struct ch_lanes g)
{
    const uint32_t position = (rail->me + rail->n - rail->root) % rail->n;
    const size_t bytes = ch_bytes(rail);
    chorus_status st = CHORUS_OK;

    if (position > 0) st = ch_nomial_receive(rail, position, 2, rail->dst, bytes, g);
    if (st == CHORUS_OK) st = ch_nomial_send(rail, position, 2, 1, rail->dst, bytes, g);
    return st == CHORUS_OK ? ch_flush_lent(rail, bytes, g) : st;
}

/* Broadcast the slice of a rail to its PEs: along a chain if it is longer than a message. */
CH_FN chorus_status ch_rails_broadcast_slice(const struct ch_coll *rail, struct ch_lanes g)
{
    if (ch_bytes(rail) == 0) return CHORUS_OK;
    if (ch_bytes(rail) > rail->layout->chunk_bytes[CH_CELL_simple])
        return ch_broadcast_chain(rail, g);
    return ch_rails_broadcast_tree(rail, g);
}

/* broadcast over rails, as described above. */
CH_FN chorus_status ch_broadcast_rails(const struct ch_coll *c, struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const uint32_t from = nodes->node[c->root], local = c->levels->node.me;
    const int is_root_node = nodes->node[c->me] == from;
    const struct ch_slice none = {0, 0},
                          slice = local < nodes->least
                                      ? ch_grains_of(ch_bytes(c), nodes->least, local)
                                      : none;
    const char *source = c->me == c->root ? c->src : ch_peer_address(c, c->root, c->src);
    char *mine = c->dst + slice.first;
    struct ch_coll node, rail;
    uint64_t epoch;
    chorus_status st;

    ch_coll_init_node(&node, c);
    ch_coll_init_child(&rail, c, &c->levels->rail, mine, mine, slice.count / c->elem_bytes);
    epoch = ch_next_epoch(&node, g);
    rail.root = from;
    /* source may be read, dest written */
    st = ch_signal_and_await(&node, CH_WORD_READY, epoch, CH_ENTRY, g);
    if (st != CHORUS_OK) return st;
    if (is_root_node) ch_copy_apart(mine, source + slice.first, slice.count, g);
    st = ch_rails_broadcast_slice(&rail, g);
    if (st != CHORUS_OK) return st;
    if (is_root_node)
        ch_rails_copy_from_root(c, source, slice, g);
    else
        ch_store_all(&node, mine, mine, slice.count, g);
    /* dest is complete, source may be reused */
    return ch_signal_and_await(&node, CH_WORD_DONE, epoch, CH_DATA, g);
}

#endif /* CH_ALGO_BROADCAST_LEVELS_H */
