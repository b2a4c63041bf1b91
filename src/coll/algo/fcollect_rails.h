/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect over rails: each PE sends its block to the PE that has its number on each other
 * host, and writes its own block and those that it receives into the dest of the PEs of its
 * host.
 *
 *   needs    put, nodes, symmetric_dest
 *   steps    2 * ch_shared(h) + (h->count > 1 ? c * ch_divide_up(h->most, h->least) : 0)
 *   wire     ch_rails_fcollect_wire(h, m)
 *   scratch  two words per PE of the host, a FIFO from one PE of each other host
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   allgather on two levels with several leaders, as in Kandalla et al. (2009); here
 *            every PE leads
 *
 * Where another host has only s PEs, PE i sends to PE i % s.
 */
#ifndef CH_FCOLLECT_RAILS_H
#define CH_FCOLLECT_RAILS_H

#include "coll/primitives/fifo.h"
#include "coll/primitives/levels.h"

/* One part of this PE's block to its counterpart on each other host. */
CH_FN chorus_status ch_rails_give(const struct ch_coll *c, size_t at, size_t bytes,
                                  struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const char *mine = c->dst + c->me * c->stride + at;
    chorus_status st = CHORUS_OK;

    for (uint32_t v = 0; v < nodes->count && st == CHORUS_OK; v++)
        if (v != nodes->node[c->me])
            st = ch_send(c, CH_CELL_simple, ch_only(ch_counterpart(c, v)), mine, 0, bytes, g);
    return st;
}

/* The same part of the blocks for this PE's host that this PE receives. */
CH_FN chorus_status ch_rails_take(const struct ch_coll *c, size_t at, size_t bytes,
                                  struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const struct ch_child *node = &c->levels->node;
    chorus_status st = CHORUS_OK;

    for (uint32_t v = 0; v < nodes->count; v++)
        for (uint32_t i = node->me; i < ch_node_pes(nodes, v) && st == CHORUS_OK; i += node->n)
            if (v != nodes->node[c->me]) {
                const uint32_t pe = ch_node_pe(nodes, v, i);

                st = ch_recv(c, CH_CELL_simple, pe, c->dst + pe * c->stride + at, bytes, g);
            }
    return st;
}

/* A block of dest to the dest of the other PEs of this host. */
CH_FN void ch_rails_share(const struct ch_coll *node, char *block, size_t bytes,
                          struct ch_lanes g)
{
    ch_lanes_sync(g); /* all lanes have stored their share of the block */
    ch_store_all(node, block, block, bytes, g);
}

CH_FN chorus_status ch_fcollect_rails(const struct ch_coll *c, struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const struct ch_coll node = ch_on_node(c);
    const uint64_t epoch = ch_epoch(&node, g);
    const size_t bytes = ch_bytes(c);
    chorus_status st;

    ch_copy(c->dst + c->me * c->stride, c->src, bytes, g);
    /* dest may be written */
    st = ch_tell_and_hear(&node, CH_WORD_READY, epoch, CH_ENTRY, g);
    for (size_t at = 0, part; at < bytes && st == CHORUS_OK; at += part) {
        part = ch_part(c, CH_CELL_simple, at);
        st = ch_rails_give(c, at, part, g);
        if (st == CHORUS_OK) st = ch_rails_take(c, at, part, g);
    }
    if (st != CHORUS_OK) return st;
    for (uint32_t v = 0; v < nodes->count; v++)
        for (uint32_t i = node.me; i < ch_node_pes(nodes, v); i += node.n)
            ch_rails_share(&node, c->dst + ch_node_pe(nodes, v, i) * c->stride, bytes, g);
    return ch_tell_and_hear(&node, CH_WORD_DONE, epoch, CH_DATA, g); /* dest is complete */
}

#endif /* CH_FCOLLECT_RAILS_H */
