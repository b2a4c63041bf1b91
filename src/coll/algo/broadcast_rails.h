/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef CH_BROADCAST_RAILS_H
#define CH_BROADCAST_RAILS_H

#include "coll/algo/broadcast_chain.h"
#include "coll/primitives/levels.h"

/* The root's host: dest from the root's source, except the slice of this PE, which has it. */
CH_FN void ch_rails_read(const struct ch_coll *c, const char *source, struct ch_slice slice,
                         struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c), end = slice.first + slice.count;

    ch_copy(c->dst, source, slice.first, g);
    ch_copy(c->dst + end, source + end, bytes - end, g);
}

/* One message to the other PEs of this PE's rail. */
CH_FN chorus_status ch_rails_tree(const struct ch_coll *rail, struct ch_lanes g)
{
    const uint32_t position = (rail->me + rail->n - rail->root) % rail->n;
    const size_t bytes = ch_bytes(rail);
    chorus_status st = CHORUS_OK;

    if (position > 0) st = ch_nomial_receive(rail, position, 2, rail->dst, bytes, g);
    if (st == CHORUS_OK) st = ch_nomial_send(rail, position, 2, 1, rail->dst, bytes, g);
    return st == CHORUS_OK ? ch_flush_lent(rail, bytes, g) : st;
}

/* The slice to the other PEs of this PE's rail. */
CH_FN chorus_status ch_rails_pass(const struct ch_coll *rail, struct ch_lanes g)
{
    if (ch_bytes(rail) == 0) return CHORUS_OK;
    if (ch_bytes(rail) > rail->layout->chunk_bytes[CH_CELL_simple])
        return ch_broadcast_chain(rail, g);
    return ch_rails_tree(rail, g);
}

CH_FN chorus_status ch_broadcast_rails(const struct ch_coll *c, struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const uint32_t from = nodes->node[c->root], local = c->levels->node.me;
    const int is_root_node = nodes->node[c->me] == from;
    const struct ch_slice none = {0, 0},
                          slice = local < nodes->least
                                      ? ch_grains_of(ch_bytes(c), nodes->least, local)
                                      : none;
    const char *source = c->me == c->root ? c->src : ch_on_peer(c, c->root, c->src);
    char *mine = c->dst + slice.first;
    const struct ch_coll node = ch_on_node(c);
    struct ch_coll rail =
        ch_call_on(c, &c->levels->rail, mine, mine, slice.count / c->elem_bytes);
    const uint64_t epoch = ch_epoch(&node, g);
    chorus_status st;

    rail.root = from;
    /* source may be read, dest written */
    st = ch_tell_and_hear(&node, CH_WORD_READY, epoch, CH_ENTRY, g);
    if (st != CHORUS_OK) return st;
    if (is_root_node) ch_copy(mine, source + slice.first, slice.count, g);
    st = ch_rails_pass(&rail, g);
    if (st != CHORUS_OK) return st;
    if (is_root_node)
        ch_rails_read(c, source, slice, g);
    else
        ch_store_all(&node, mine, mine, slice.count, g);
    /* dest is complete, source may be reused */
    return ch_tell_and_hear(&node, CH_WORD_DONE, epoch, CH_DATA, g);
}

#endif /* CH_BROADCAST_RAILS_H */
