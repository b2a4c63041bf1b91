/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect_levels.h: fcollect of a team on several hosts, in which several PEs of a host send
 * blocks to other hosts.
 */
#ifndef CH_ALGO_FCOLLECT_LEVELS_H
#define CH_ALGO_FCOLLECT_LEVELS_H

#include "coll/primitives/fifo.h"
#include "coll/primitives/levels.h"

/*
 * fcollect on two levels. Within a host, each PE writes its block into the dest of the others.
 * Hosts exchange blocks in rounds of radix k, one more than the PEs of the smallest host: in a
 * round, each of these PEs, the gateways, sends one host all blocks that its host had before
 * the round, as far as they are missing there, and writes those it receives into the dest of
 * its host's PEs. Up to k hosts need one round.
 *
 *   needs    put, nodes, symmetric_dest
 *   steps    ch_nodes_fcollect_steps(h, m, b)
 *   wire     ch_nodes_fcollect_wire(h, m)
 *   scratch  two words per PE of the host, a FIFO to each gateway
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   Bruck et al. (1997), with a port for each PE of a host
 */

/* What a host has in a round: the blocks of a host, and of those before it; of each block, the
 * part from byte `at` on. */
struct ch_host_blocks {
    uint32_t node, hosts;
    size_t at, bytes;
};

/* The PE whose block is the i-th of the stock: those of the stock's host come first. */
CH_FN uint32_t ch_host_blocks_pe(const struct ch_coll *c, const struct ch_host_blocks *stock,
                                 uint64_t i)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    uint32_t node = stock->node;

    for (; i >= ch_node_pes(nodes, node); node = ch_host_before(nodes, node, 1))
        i -= ch_node_pes(nodes, node);
    return ch_node_pe(nodes, node, (uint32_t)i);
}

/* Copy `count` blocks of a stock, from `first` on, to memory. Those of this host are in the
 * dest of their PEs, all others in this PE's. */
CH_PART void ch_host_blocks_pack(const struct ch_coll *c, const struct ch_host_blocks *stock,
                                 uint64_t first, uint64_t count, char *memory,
                                 struct ch_lanes g)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t pe = ch_host_blocks_pe(c, stock, first + i);
        const char *block = c->dst + pe * c->stride + stock->at;

        ch_copy_apart(memory + i * stock->bytes,
                      ch_is_mapped(c, pe) ? ch_peer_address(c, pe, block) : block, stock->bytes,
                      g);
    }
}

/* Copy `count` blocks of a stock, from `first` on, from memory into the dest of every PE of
 * this host. */
CH_PART void ch_host_blocks_unpack(const struct ch_coll *c, const struct ch_host_blocks *stock,
                                   uint64_t first, uint64_t count, const char *memory,
                                   struct ch_lanes g)
{
    const struct ch_child *node = &c->levels->node;

    for (uint64_t i = 0; i < count; i++) {
        char *block = c->dst + ch_host_blocks_pe(c, stock, first + i) * c->stride + stock->at;

        for (uint32_t p = 0; p < node->n; p++)
            ch_copy_apart(ch_peer_address(c, node->pes[p], block), memory + i * stock->bytes,
                          stock->bytes, g);
    }
}

/* Send host `to` one message of `count` blocks of the stock, to its PE on this rail. */
CH_PART chorus_status ch_host_blocks_send(const struct ch_coll *c,
                                          const struct ch_host_blocks *stock, uint64_t first,
                                          uint64_t count, uint32_t to, struct ch_lanes g)
{
    struct ch_coll rail;
    struct ch_message m;
    chorus_status st;

    ch_coll_init_rail(&rail, c);
    st = ch_pack_begin(&rail, to, count * stock->bytes, &m, g);
    if (st != CHORUS_OK) return st;
    ch_host_blocks_pack(c, stock, first, count, m.memory, g);
    ch_pack_end(&rail, to, count * stock->bytes, &m, g);
    return CHORUS_OK;
}

/* Receive one message of `count` blocks of the stock of another host, from its PE on this
 * rail. */
CH_PART chorus_status ch_host_blocks_recv(const struct ch_coll *c,
                                          const struct ch_host_blocks *stock, uint64_t first,
                                          uint64_t count, struct ch_lanes g)
{
    const struct ch_pes from = ch_pes_one(stock->node);
    struct ch_coll rail;
    chorus_status st;

    ch_coll_init_rail(&rail, c);
    st = ch_await_messages(&rail, CH_CELL_simple, from, count * stock->bytes, g);
    if (st != CHORUS_OK) return st;
    ch_host_blocks_unpack(c, stock, first, count, rail.slots[0].memory, g);
    return ch_release_slots(&rail, CH_CELL_simple, from, st, g);
}

/* On a gateway: send this host's stock to the host at a distance, and receive the stock of the
 * host at this distance behind, message by message. */
CH_PART chorus_status ch_host_blocks_exchange(const struct ch_coll *c,
                                              struct ch_host_blocks stock, uint32_t distance,
                                              struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const uint32_t to = ch_host_before(nodes, stock.node, nodes->count - distance);
    const uint64_t per = ch_bundle_per(ch_bytes(c), c->layout->chunk_bytes[CH_CELL_simple]);
    struct ch_host_blocks other = stock;
    uint64_t given, taken;
    chorus_status st = CHORUS_OK;

    other.node = ch_host_before(nodes, stock.node, distance);
    given = ch_hosts_pes(nodes, stock.node, stock.hosts);
    taken = ch_hosts_pes(nodes, other.node, stock.hosts);
    for (uint64_t i = 0; i < ch_max(given, taken) && st == CHORUS_OK; i += per) {
        if (i < given) st = ch_host_blocks_send(c, &stock, i, ch_min(per, given - i), to, g);
        if (i < taken && st == CHORUS_OK)
            st = ch_host_blocks_recv(c, &other, i, ch_min(per, taken - i), g);
    }
    return st;
}

/* Exchange the part of all blocks from byte `at` on between hosts, in all rounds. */
CH_PART chorus_status ch_host_blocks_rounds(const struct ch_coll *c, const struct ch_coll *node,
                                            size_t at, struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const uint32_t hosts = nodes->count;
    chorus_status st = CHORUS_OK;

    for (uint32_t span = 1, informed = 1; span < hosts; span *= nodes->least + 1) {
        const uint32_t gateways = ch_gateways(nodes, span), distance = (node->me + 1) * span;
        struct ch_host_blocks stock = {nodes->node[c->me], 0, at,
                                       ch_chunk_bytes_at(c, CH_CELL_simple, at)};

        if (span > 1)
            st = ch_signal_and_await_on_node(node, informed, gateways, ch_next_epoch(node, g),
                                             CH_DATA, g);
        if (st == CHORUS_OK && node->me < gateways) {
            stock.hosts = (uint32_t)ch_min(span, hosts - distance);
            st = ch_host_blocks_exchange(c, stock, distance, g);
        }
        if (st != CHORUS_OK) return st;
        informed = gateways;
    }
    return CHORUS_OK;
}

/* Store this PE's block into the dest of the other PEs of its host. */
CH_PART void ch_host_blocks_store_own(const struct ch_coll *c, const struct ch_coll *node,
                                      struct ch_lanes g)
{
    char *mine = c->dst + c->me * c->stride;

    for (uint32_t k = 1; k < node->n; k++)
        ch_copy_apart(ch_peer_address(node, ch_pe_after(node, k), mine), mine, ch_bytes(c), g);
}

/* fcollect on two levels, as described above: part by part of each block. */
CH_PART chorus_status ch_fcollect_hierarchical(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c);
    struct ch_coll node;
    chorus_status st;

    ch_coll_init_node(&node, c);
    ch_copy_apart(c->dst + c->me * c->stride, c->src, bytes, g);
    /* dest contains this PE's own block and may be written */
    st = ch_signal_and_await(&node, CH_WORD_READY, ch_next_epoch(&node, g), CH_DATA, g);
    for (size_t at = 0; at < bytes && st == CHORUS_OK;
         at += ch_chunk_bytes_at(c, CH_CELL_simple, at)) {
        st = ch_host_blocks_rounds(c, &node, at, g);
        if (at == 0 && st == CHORUS_OK) ch_host_blocks_store_own(c, &node, g);
        if (st == CHORUS_OK) /* all blocks have this part in dest */
            st = ch_signal_and_await(&node, CH_WORD_READY, ch_next_epoch(&node, g), CH_DATA, g);
    }
    return st;
}

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

/* Send one part of this PE's block to its counterpart on each other host. */
CH_FN chorus_status ch_rails_send_block(const struct ch_coll *c, size_t at, size_t bytes,
                                        struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const char *mine = c->dst + c->me * c->stride + at;
    chorus_status st = CHORUS_OK;

    for (uint32_t v = 0; v < nodes->count && st == CHORUS_OK; v++)
        if (v != nodes->node[c->me])
            st = ch_send(c, CH_CELL_simple, ch_pes_one(ch_rail_pe_on_host(c, v)), mine, 0,
                         bytes, g);
    return st;
}

/* Receive the same part of each block that PEs of other hosts send to this PE. */
CH_FN chorus_status ch_rails_recv_blocks(const struct ch_coll *c, size_t at, size_t bytes,
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

/* Store a block of dest into the dest of the other PEs of this host. */
CH_FN void ch_rails_store_block(const struct ch_coll *node, char *block, size_t bytes,
                                struct ch_lanes g)
{
    ch_lanes_sync(g); /* all lanes have stored their share of the block */
    ch_store_all(node, block, block, bytes, g);
}

/* fcollect over rails, as described above. */
CH_FN chorus_status ch_fcollect_rails(const struct ch_coll *c, struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const size_t bytes = ch_bytes(c);
    struct ch_coll node;
    uint64_t epoch;
    chorus_status st;

    ch_coll_init_node(&node, c);
    epoch = ch_next_epoch(&node, g);
    ch_copy_apart(c->dst + c->me * c->stride, c->src, bytes, g);
    /* dest may be written */
    st = ch_signal_and_await(&node, CH_WORD_READY, epoch, CH_ENTRY, g);
    for (size_t at = 0, part; at < bytes && st == CHORUS_OK; at += part) {
        part = ch_chunk_bytes_at(c, CH_CELL_simple, at);
        st = ch_rails_send_block(c, at, part, g);
        if (st == CHORUS_OK) st = ch_rails_recv_blocks(c, at, part, g);
    }
    if (st != CHORUS_OK) return st;
    for (uint32_t v = 0; v < nodes->count; v++)
        for (uint32_t i = node.me; i < ch_node_pes(nodes, v); i += node.n)
            ch_rails_store_block(&node, c->dst + ch_node_pe(nodes, v, i) * c->stride, bytes, g);
    return ch_signal_and_await(&node, CH_WORD_DONE, epoch, CH_DATA, g); /* dest is complete */
}

#endif /* CH_ALGO_FCOLLECT_LEVELS_H */
