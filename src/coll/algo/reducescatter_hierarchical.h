/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducescatter on two levels: on each host, one PE combines what the PEs of the host have for
 * a PE of another host, and sends it there; that PE combines what it receives from all hosts.
 *
 *   needs    put, whole, apart, nodes, symmetric_source
 *   steps    ch_shared(h) + (h->count > 1 ? c : 0)
 *   wire     ch_partials_wire(h, s)
 *   scratch  two words per PE of the host, a FIFO from one PE of each other, this PE's own
 *            slot
 *   inplace  not possible
 *   result   combined in PE order on each host, then host by host
 *   source   hierarchical reducescatter, as in Open MPI's coll/han; here for any map of PEs
 *            to hosts
 *
 * PE i of a host combines for PE i of each other host. If the host has only s PEs, PE i % s
 * does.
 */
#ifndef CH_REDUCESCATTER_HIERARCHICAL_H
#define CH_REDUCESCATTER_HIERARCHICAL_H

#include "coll/primitives/fifo.h"
#include "coll/primitives/levels.h"

/* dst = the combination of this host's sources, of the part at byte `at` of a PE's block. */
CH_FN void ch_partial(const struct ch_coll *c, char *dst, uint32_t pe, size_t at, size_t bytes,
                      struct ch_lanes g)
{
    const struct ch_child *node = &c->levels->node;

    ch_lanes_sync(g); /* other lanes have read the slots */
    for (uint32_t i = g.lane; i < node->n; i += g.width)
        c->slots[i].memory = ch_on_peer(c, node->pes[i], c->src + pe * c->stride + at);
    ch_combine_slots(c, dst, node->n, bytes, g);
}

/* The same, combined directly into the FIFO to that PE. */
CH_FN chorus_status ch_partial_send(const struct ch_coll *c, uint32_t pe, size_t at,
                                    size_t bytes, struct ch_lanes g)
{
    struct ch_message m;
    const chorus_status st = ch_pack_begin(c, pe, bytes, &m, g);

    if (st != CHORUS_OK) return st;
    ch_partial(c, m.memory, pe, at, bytes, g);
    ch_pack_end(c, pe, bytes, &m, g);
    return CHORUS_OK;
}

/* Send to all PEs of other hosts for which this PE combines. */
CH_FN chorus_status ch_partials_send(const struct ch_coll *c, size_t at, size_t bytes,
                                     struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const struct ch_child *node = &c->levels->node;
    chorus_status st = CHORUS_OK;

    for (uint32_t v = 0; v < nodes->count; v++)
        for (uint32_t i = node->me; i < ch_node_pes(nodes, v) && st == CHORUS_OK; i += node->n)
            if (v != nodes->node[c->me])
                st = ch_partial_send(c, ch_node_pe(nodes, v, i), at, bytes, g);
    return st;
}

/* This PE's part from its counterparts on all hosts, that of its own host at `own`. */
CH_FN chorus_status ch_partials_collect(const struct ch_coll *c, char *own, size_t at,
                                        size_t bytes, struct ch_lanes g)
{
    const uint32_t count = c->levels->nodes.count;
    chorus_status st = CHORUS_OK;

    ch_lanes_sync(g); /* other lanes have read the slots */
    for (uint32_t v = g.lane; v < count && st == CHORUS_OK; v += g.width) {
        const uint32_t from = ch_counterpart(c, v);

        c->slots[v].memory = own;
        if (from != c->me) st = ch_slot_from(c, CH_CELL_simple, from, bytes, &c->slots[v]);
    }
    st = ch_agree(st, g);
    if (st != CHORUS_OK) return st;
    ch_combine_slots(c, c->dst + at, count, bytes, g);
    ch_lanes_sync(g); /* all lanes have read the cells */
    for (uint32_t v = g.lane; v < count; v += g.width)
        if (ch_counterpart(c, v) != c->me)
            ch_taken(c, CH_CELL_simple, ch_counterpart(c, v), &c->slots[v]);
    return CHORUS_OK;
}

CH_FN chorus_status ch_reducescatter_hierarchical(const struct ch_coll *c, struct ch_lanes g)
{
    const struct ch_coll node = ch_on_node(c);
    const uint64_t epoch = ch_epoch(&node, g);
    const size_t bytes = ch_bytes(c);
    char *own = ch_slot_at(ch_own_slots(c, CH_CELL_simple, c->me), 0).memory;
    chorus_status st;

    if (bytes == 0) return CHORUS_OK;
    /* source may be read */
    st = ch_tell_and_hear(&node, CH_WORD_READY, epoch, CH_ENTRY, g);
    for (size_t at = 0, part; at < bytes && st == CHORUS_OK; at += part) {
        part = ch_part(c, CH_CELL_simple, at);
        st = ch_partials_send(c, at, part, g);
        if (st != CHORUS_OK) return st;
        ch_partial(c, own, c->me, at, part, g);
        if (at + part == bytes) /* before the wait for other hosts */
            ch_tell_all(&node, CH_WORD_DONE, epoch, CH_CREDIT, g);
        st = ch_partials_collect(c, own, at, part, g);
    }
    if (st != CHORUS_OK) return st;
    return ch_hear_all(&node, CH_WORD_DONE, epoch, g); /* source may be reused */
}

#endif /* CH_REDUCESCATTER_HIERARCHICAL_H */
