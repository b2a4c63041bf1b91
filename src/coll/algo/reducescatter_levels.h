/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducescatter_levels.h: reducescatter of a team on several hosts: on each host, then between
 * hosts.
 */
#ifndef CH_ALGO_REDUCESCATTER_LEVELS_H
#define CH_ALGO_REDUCESCATTER_LEVELS_H

#include "coll/primitives/fifo.h"
#include "coll/primitives/levels.h"
#include "coll/shape_rounds.h"

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

/* dst = the part at byte `at` of the block for PE `pe`, from the sources of this host's PEs
 * combined. */
CH_PART void ch_combine_partial(const struct ch_coll *c, char *dst, uint32_t pe, size_t at,
                                size_t bytes, struct ch_lanes g)
{
    const struct ch_child *node = &c->levels->node;

    ch_lanes_sync(g); /* other lanes have read the slots */
    for (uint32_t i = g.lane; i < node->n; i += g.width)
        c->slots[i].memory = ch_peer_address(c, node->pes[i], c->src + pe * c->stride + at);
    ch_combine_slots(c, dst, node->n, bytes, g);
}

/* Combine that part (ch_combine_partial) directly into the FIFO to PE `pe`, and send it. */
CH_PART chorus_status ch_partial_send(const struct ch_coll *c, uint32_t pe, size_t at,
                                      size_t bytes, struct ch_lanes g)
{
    struct ch_message m;
    const chorus_status st = ch_pack_begin(c, pe, bytes, &m, g);

    if (st != CHORUS_OK) return st;
    ch_combine_partial(c, m.memory, pe, at, bytes, g);
    ch_pack_end(c, pe, bytes, &m, g);
    return CHORUS_OK;
}

/* Send each PE of another host for which this PE combines the combined part of its block; then
 * own = that of this PE's block. */
CH_PART chorus_status ch_partials_send(const struct ch_coll *c, char *own, size_t at,
                                       size_t bytes, struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const struct ch_child *node = &c->levels->node;
    chorus_status st = CHORUS_OK;

    for (uint32_t v = 0; v < nodes->count; v++)
        for (uint32_t i = node->me; i < ch_node_pes(nodes, v) && st == CHORUS_OK; i += node->n)
            if (v != nodes->node[c->me])
                st = ch_partial_send(c, ch_node_pe(nodes, v, i), at, bytes, g);
    if (st == CHORUS_OK) ch_combine_partial(c, own, c->me, at, bytes, g);
    return st;
}

/* Receive the combined parts of this PE's block from its counterparts on the other hosts, and
 * combine them and that of its own host, at `own`, into dst. */
CH_PART chorus_status ch_partials_collect(const struct ch_coll *c, char *own, size_t at,
                                          size_t bytes, struct ch_lanes g)
{
    const uint32_t count = c->levels->nodes.count;
    chorus_status st = CHORUS_OK;

    ch_lanes_sync(g); /* other lanes have read the slots */
    for (uint32_t v = g.lane; v < count && st == CHORUS_OK; v += g.width) {
        const uint32_t from = ch_rail_pe_on_host(c, v);

        c->slots[v].memory = own;
        if (from != c->me)
            st = ch_await_slot_from(c, CH_CELL_simple, from, bytes, &c->slots[v]);
    }
    st = ch_lanes_agree(st, g);
    if (st != CHORUS_OK) return st;
    ch_combine_slots(c, c->dst + at, count, bytes, g);
    ch_lanes_sync(g); /* all lanes have read the cells */
    for (uint32_t v = g.lane; v < count; v += g.width)
        if (ch_rail_pe_on_host(c, v) != c->me)
            ch_credit_sender(c, CH_CELL_simple, ch_rail_pe_on_host(c, v), &c->slots[v]);
    return CHORUS_OK;
}

/* The chunk at byte `at` of each block. After the last one, and before the wait for other
 * hosts, signal the PEs of this host that their sources have been read. */
CH_PART chorus_status ch_partials_exchange(const struct ch_coll *c, const struct ch_coll *node,
                                           size_t at, uint64_t epoch, struct ch_lanes g)
{
    const size_t bytes = ch_chunk_bytes_at(c, CH_CELL_simple, at);
    char *own = ch_slot_at(ch_own_slots(c, CH_CELL_simple, c->me), 0).memory;
    const chorus_status st = ch_partials_send(c, own, at, bytes, g);

    if (st != CHORUS_OK) return st;
    if (at + bytes == ch_bytes(c)) ch_signal_all(node, CH_WORD_DONE, epoch, CH_CREDIT, g);
    return ch_partials_collect(c, own, at, bytes, g);
}

/* reducescatter on two levels, as described above: chunk by chunk of each block. */
CH_PART chorus_status ch_reducescatter_hierarchical(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c);
    struct ch_coll node;
    uint64_t epoch;
    chorus_status st;

    if (bytes == 0) return CHORUS_OK;
    ch_coll_init_node(&node, c);
    epoch = ch_next_epoch(&node, g);
    /* source may be read */
    st = ch_signal_and_await(&node, CH_WORD_READY, epoch, CH_ENTRY, g);
    for (size_t at = 0; at < bytes && st == CHORUS_OK;
         at += ch_chunk_bytes_at(c, CH_CELL_simple, at))
        st = ch_partials_exchange(c, &node, at, epoch, g);
    if (st != CHORUS_OK) return st;
    return ch_await_all(&node, CH_WORD_DONE, epoch, g); /* source may be reused */
}

/*
 * reducescatter over rails: each PE combines what the PEs of its host have for the PEs of one
 * rail, those of its own number on all hosts; then the PEs of a rail exchange and combine these
 * blocks by recursive halving.
 *
 *   needs    put, whole, apart, nodes, symmetric_source
 *   steps    ch_shared(h) + ch_rail_halving_steps(h, s, b, o)
 *   wire     ch_rail_halving_wire(h, s)
 *   scratch  two words per PE of the host, a FIFO from the PE of each round, and this PE's own
 *            slots, which hold a block for each host
 *   inplace  not possible
 *   result   combined in PE order on each host, then along the rail, each block by one PE
 *   source   recursive halving as in Thakur, Rabenseifner and Gropp (2005); for a number of
 *            hosts that is no power of two by the distances of Bruck and others (1997)
 *
 * Block j of a PE is for the host at distance j (ch_ahead). In the rounds the distance is
 * halved: the blocks from this distance on are sent to the PE that has it, and those that
 * arrive are added to the first blocks, until block 0, that of this PE, is complete. If a host
 * has only s PEs, its PE i also serves the rails i + s, i + 2 s ..., on which block j for that
 * host is one that it has (ch_rail_pe), and is not used in the end.
 */

/* Of one rail, a part of each block: at byte `at` of a PE's block, `bytes` long, the blocks at
 * `work` one after another. */
struct ch_rail_part {
    uint32_t rail;
    size_t at, bytes;
    char *work;
};

/* Combine at p->work what this host has for the PEs of the rail. */
CH_FN void ch_rail_combine_partials(const struct ch_coll *c, const struct ch_rail_part *p,
                                    struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;

    for (uint32_t j = 0; j < nodes->count; j++) {
        const uint32_t node = ch_ahead(nodes->node[c->me], nodes->count, 2, j);

        ch_combine_partial(c, p->work + j * p->bytes, ch_rail_pe(c, node, p->rail), p->at,
                           p->bytes, g);
    }
    ch_lanes_sync(g); /* other lanes have read the slots */
}

/* Send `bytes` at `out` to one PE, and add as many from another to those at `in`. Two messages
 * are in flight, as with legs (fifo.h). */
CH_FN chorus_status ch_rail_send_and_add(const struct ch_coll *c, uint32_t to, const char *out,
                                         uint32_t from, char *in, size_t bytes,
                                         struct ch_lanes g)
{
    const size_t chunk = c->layout->chunk_bytes[CH_CELL_simple];
    const struct ch_pes two = {from, (c->me + c->n - from) % c->n, 2};
    chorus_status st = CHORUS_OK;

    for (size_t at = 0, sent = 0; at < bytes && st == CHORUS_OK; at += chunk) {
        for (; sent < ch_min(bytes, at + 2 * chunk) && st == CHORUS_OK; sent += chunk)
            st = ch_send_lent(c, CH_CELL_simple, ch_pes_one(to), out + sent,
                              ch_min(chunk, bytes - sent), g);
        if (st == CHORUS_OK)
            st = ch_recv_combine(c, CH_CELL_simple, two, in + at, in + at,
                                 ch_min(chunk, bytes - at), g);
    }
    return st;
}

/* Run all rounds of recursive halving for a part; block 0 at p->work is the result. */
CH_FN chorus_status ch_rail_halving_rounds(const struct ch_coll *c,
                                           const struct ch_rail_part *p, struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const uint32_t count = nodes->count, node = nodes->node[c->me];
    chorus_status st = CHORUS_OK;

    for (uint32_t span = count > 1 ? (uint32_t)ch_last_span(count, 2) : 0;
         span > 0 && st == CHORUS_OK; span /= 2) {
        const uint32_t to = ch_rail_pe(c, ch_ahead(node, count, 2, span), p->rail),
                       from = ch_rail_pe(c, ch_behind(node, count, 2, span), p->rail);
        const size_t bytes = ch_rail_blocks(count, span) * p->bytes;

        st = ch_rail_send_and_add(c, to, p->work + span * p->bytes, from, p->work, bytes, g);
    }
    return st == CHORUS_OK ? ch_flush_lent(c, count / 2 * p->bytes, g) : st;
}

/* reducescatter over rails, as described above: part by part, for each rail that this PE
 * serves. */
CH_FN chorus_status ch_reducescatter_rails(const struct ch_coll *c, struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const size_t bytes = ch_bytes(c),
                 most = ch_rail_part_bytes(nodes,
                                           c->layout->own_bytes[CH_CELL_simple] / CH_SLOT_UNIT);
    struct ch_rail_part p;
    struct ch_coll node;
    uint64_t epoch;
    chorus_status st;

    if (bytes == 0) return CHORUS_OK;
    ch_coll_init_node(&node, c);
    epoch = ch_next_epoch(&node, g);
    p.work = ch_slot_at(ch_own_slots(c, CH_CELL_simple, c->me), 0).memory;
    /* source may be read */
    st = ch_signal_and_await(&node, CH_WORD_READY, epoch, CH_ENTRY, g);
    for (p.at = 0; p.at < bytes && st == CHORUS_OK; p.at += p.bytes) {
        p.bytes = ch_min(most, bytes - p.at);
        for (p.rail = node.me; p.rail < nodes->most && st == CHORUS_OK; p.rail += node.n) {
            ch_rail_combine_partials(c, &p, g);
            st = ch_rail_halving_rounds(c, &p, g);
            if (p.rail == node.me && st == CHORUS_OK)
                ch_copy_apart(c->dst + p.at, p.work, p.bytes, g);
        }
    }
    if (st != CHORUS_OK) return st;
    return ch_signal_and_await(&node, CH_WORD_DONE, epoch, CH_CREDIT, g); /* it may be reused */
}

#endif /* CH_ALGO_REDUCESCATTER_LEVELS_H */
