/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoall_levels.h: alltoall of a team on several hosts: directly within a host, in messages
 * of several blocks between hosts.
 */
#ifndef CH_ALGO_ALLTOALL_LEVELS_H
#define CH_ALGO_ALLTOALL_LEVELS_H

#include "coll/primitives/fifo.h"
#include "coll/primitives/levels.h"

/* --- blocks for PEs of another host, several in one message ------------------------------- */

/*
 * For each other host, one PE of this host sends and receives, its gateway; one PE of that
 * host is the gateway for this host. A gateway packs blocks from the memory of the PEs of its
 * host into the FIFO to the other gateway, and unpacks the blocks that it receives into the
 * dest of these PEs, so all of them must have entered the call. Both gateways of two hosts send
 * a chunk and then receive one, as fifo.h requires.
 */

/* The data that hosts exchange at a time: a part of every block. */
struct ch_bundle {
    size_t at, bytes; /* of a block */
    uint64_t per;     /* number of parts in a message */
    uint32_t node;    /* of this PE */
};

/* The PE of host `node` that is its gateway to host `other`. */
CH_FN uint32_t ch_gateway(const struct ch_nodes *nodes, uint32_t node, uint32_t other)
{
    return ch_node_pe(nodes, node, other % ch_node_pes(nodes, node));
}

/* Number of blocks that a host has for another. */
CH_FN uint64_t ch_bundle_blocks(const struct ch_coll *c, uint32_t from, uint32_t to)
{
    const struct ch_nodes *nodes = &c->levels->nodes;

    return (uint64_t)ch_node_pes(nodes, from) * ch_node_pes(nodes, to);
}

/* The PE that a block comes from and the PE it is for, as numbers in the team. */
struct ch_way {
    uint32_t from, to;
};

/* The PEs of block i of those that host `from` has for host `to`. */
CH_PART struct ch_way ch_bundle_block_pes(const struct ch_coll *c, uint32_t from, uint32_t to,
                                          uint64_t i)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const uint64_t each = ch_node_pes(nodes, to);
    struct ch_way way;

    way.from = ch_node_pe(nodes, from, (uint32_t)(i / each));
    way.to = ch_node_pe(nodes, to, (uint32_t)(i % each));
    return way;
}

/* Copy the `count` blocks from `first` on that this host has for host `to` to `memory`, where
 * they follow each other. */
CH_PART void ch_bundle_pack(const struct ch_coll *c, const struct ch_bundle *b, uint32_t to,
                            uint64_t first, uint64_t count, char *memory, struct ch_lanes g)
{
    for (uint64_t i = 0; i < count; i++) {
        const struct ch_way way = ch_bundle_block_pes(c, b->node, to, first + i);
        const char *block = c->src + way.to * c->stride;

        ch_copy_apart(memory + i * b->bytes, ch_peer_address(c, way.from, block) + b->at,
                      b->bytes, g);
    }
}

/* Copy the `count` blocks from `first` on that host `from` has for this host from `memory` into
 * the dest of the PEs they are for. */
CH_PART void ch_bundle_unpack(const struct ch_coll *c, const struct ch_bundle *b, uint32_t from,
                              uint64_t first, uint64_t count, const char *memory,
                              struct ch_lanes g)
{
    for (uint64_t i = 0; i < count; i++) {
        const struct ch_way way = ch_bundle_block_pes(c, from, b->node, first + i);
        char *block = c->dst + way.from * c->stride + b->at;

        ch_copy_apart(ch_peer_address(c, way.to, block), memory + i * b->bytes, b->bytes, g);
    }
}

/* Send message `round` to another host, if there is such a message. */
CH_PART chorus_status ch_bundle_send(const struct ch_coll *c, const struct ch_bundle *b,
                                     uint32_t to, uint64_t round, struct ch_lanes g)
{
    const uint64_t blocks = ch_bundle_blocks(c, b->node, to), first = round * b->per;
    const uint32_t peer = ch_gateway(&c->levels->nodes, to, b->node);
    struct ch_message m;
    chorus_status st;
    uint64_t count;

    if (first >= blocks) return CHORUS_OK;
    count = ch_min(b->per, blocks - first);
    st = ch_pack_begin(c, peer, count * b->bytes, &m, g);
    if (st != CHORUS_OK) return st;
    ch_bundle_pack(c, b, to, first, count, m.memory, g);
    ch_pack_end(c, peer, count * b->bytes, &m, g);
    return CHORUS_OK;
}

/* Receive message `round` from another host, if there is such a message. */
CH_PART chorus_status ch_bundle_recv(const struct ch_coll *c, const struct ch_bundle *b,
                                     uint32_t from, uint64_t round, struct ch_lanes g)
{
    const uint64_t blocks = ch_bundle_blocks(c, from, b->node), first = round * b->per,
                   count = first < blocks ? ch_min(b->per, blocks - first) : 0;
    const struct ch_pes gateway = ch_pes_one(ch_gateway(&c->levels->nodes, from, b->node));
    chorus_status st;

    if (count == 0) return CHORUS_OK;
    st = ch_await_messages(c, CH_CELL_simple, gateway, count * b->bytes, g);
    if (st != CHORUS_OK) return st;
    ch_bundle_unpack(c, b, from, first, count, c->slots[0].memory, g);
    return ch_release_slots(c, CH_CELL_simple, gateway, st, g);
}

/* Exchange one part of all blocks with the hosts to which this PE is the gateway. */
CH_PART chorus_status ch_bundle_exchange_part(const struct ch_coll *c,
                                              const struct ch_bundle *b, struct ch_lanes g)
{
    const struct ch_child *node = &c->levels->node;
    const uint32_t count = c->levels->nodes.count;
    uint64_t rounds = 0;
    chorus_status st = CHORUS_OK;

    for (uint32_t v = node->me; v < count; v += node->n)
        if (v != b->node)
            rounds = ch_max(rounds, ch_divide_up(ch_max(ch_bundle_blocks(c, v, b->node),
                                                        ch_bundle_blocks(c, b->node, v)),
                                                 b->per));
    for (uint64_t round = 0; round < rounds; round++) {
        for (uint32_t v = node->me; v < count && st == CHORUS_OK; v += node->n)
            if (v != b->node) st = ch_bundle_send(c, b, v, round, g);
        for (uint32_t v = node->me; v < count && st == CHORUS_OK; v += node->n)
            if (v != b->node) st = ch_bundle_recv(c, b, v, round, g);
    }
    return st;
}

/* Exchange all blocks between hosts, as far as this PE is a gateway. */
CH_FN chorus_status ch_bundle_all(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c);
    chorus_status st = CHORUS_OK;
    struct ch_bundle b;

    b.node = c->levels->nodes.node[c->me];
    b.per = ch_bundle_per(bytes, c->layout->chunk_bytes[CH_CELL_simple]);
    for (b.at = 0; b.at < bytes && st == CHORUS_OK; b.at += b.bytes) {
        b.bytes = ch_chunk_bytes_at(c, CH_CELL_simple, b.at);
        st = ch_bundle_exchange_part(c, &b, g);
    }
    return st;
}

/* --- the algorithms ----------------------------------------------------------------------- */

/*
 * alltoall on two levels. Within a host, each PE writes its blocks into the dest of the
 * others. For each pair of hosts, one PE of each (a gateway) exchanges all blocks between the
 * two hosts.
 *
 *   needs    put, nodes, symmetric_dest, symmetric_source
 *   steps    ch_bundle_steps(h, m, b)
 *   wire     ch_bundle_wire(h, m)
 *   scratch  two words per PE of the host, a FIFO to each gateway
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   of this library; a gateway packs the blocks that it finds in the sources of its
 *            host's PEs
 */
CH_PART chorus_status ch_alltoall_hierarchical(const struct ch_coll *c, struct ch_lanes g)
{
    struct ch_coll node;
    uint64_t epoch;
    chorus_status st;

    ch_coll_init_node(&node, c);
    epoch = ch_next_epoch(&node, g);
    /* source may be read, dest written */
    st = ch_signal_and_await(&node, CH_WORD_READY, epoch, CH_ENTRY, g);
    if (st == CHORUS_OK) st = ch_bundle_all(c, g);
    if (st != CHORUS_OK) return st;
    ch_store_blocks_on_host(c, &node, g);
    /* dest is complete, source may be reused */
    return ch_signal_and_await(&node, CH_WORD_DONE, epoch, CH_DATA, g);
}

/*
 * alltoall over rails: each PE sends the PE that has its number on each other host the blocks
 * that all PEs of its own host have for it, in one message. Within a host, each PE writes its
 * blocks into the dest of the others.
 *
 *   needs    put, nodes, symmetric_dest, symmetric_source
 *   steps    2 * ch_shared(h) + ch_rails_mail_steps(h, m, b)
 *   wire     ch_rails_mail_wire(h, m)
 *   scratch  two words per PE of the host, a FIFO from one PE of each other host
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   of this library: the first half of an alltoall by leaders, in which every PE leads
 *
 * If a host has only s PEs, its PE i sends to the PEs i, i + s, i + 2 s ... of each other host.
 */

/* What a message carries: of the blocks of PEs `first` to first + per of a host, where it has
 * them, the `bytes` from `at` on. */
struct ch_mail {
    size_t at, bytes;
    uint64_t first, per;
};

/* How many blocks of a host of `pes` PEs the message carries. */
CH_FN uint64_t ch_mail_blocks(const struct ch_mail *mail, uint64_t pes)
{
    return mail->first < pes ? ch_min(mail->per, pes - mail->first) : 0;
}

/* Send PE `to` of another host its message: blocks for it from the PEs of this host. */
CH_FN chorus_status ch_mail_send(const struct ch_coll *c, const struct ch_mail *mail,
                                 uint32_t to, struct ch_lanes g)
{
    const struct ch_child *node = &c->levels->node;
    const uint64_t blocks = ch_mail_blocks(mail, node->n);
    const char *block = c->src + to * c->stride + mail->at;
    struct ch_message m;
    chorus_status st;

    if (blocks == 0) return CHORUS_OK;
    st = ch_pack_begin(c, to, blocks * mail->bytes, &m, g);
    if (st != CHORUS_OK) return st;
    for (uint64_t i = 0; i < blocks; i++)
        ch_copy_apart(m.memory + i * mail->bytes,
                      ch_peer_address(c, node->pes[mail->first + i], block), mail->bytes, g);
    ch_pack_end(c, to, blocks * mail->bytes, &m, g);
    return CHORUS_OK;
}

/* Send its message to each PE of another host that this PE serves. */
CH_FN chorus_status ch_mail_send_all(const struct ch_coll *c, const struct ch_mail *mail,
                                     struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const struct ch_child *node = &c->levels->node;
    chorus_status st = CHORUS_OK;

    for (uint32_t k = 1; k < nodes->count; k++) {
        const uint32_t v = ch_ahead(nodes->node[c->me], nodes->count, 2, k);

        for (uint32_t i = node->me; i < ch_node_pes(nodes, v) && st == CHORUS_OK; i += node->n)
            st = ch_mail_send(c, mail, ch_node_pe(nodes, v, i), g);
    }
    return st;
}

/* Receive the message from host `node`, and copy its blocks into dest. */
CH_FN chorus_status ch_mail_recv(const struct ch_coll *c, const struct ch_mail *mail,
                                 uint32_t node, struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const struct ch_pes from = ch_pes_one(ch_rail_pe_on_host(c, node));
    const uint64_t blocks = ch_mail_blocks(mail, ch_node_pes(nodes, node));
    chorus_status st;

    if (blocks == 0) return CHORUS_OK;
    st = ch_await_messages(c, CH_CELL_simple, from, blocks * mail->bytes, g);
    if (st != CHORUS_OK) return st;
    for (uint64_t i = 0; i < blocks; i++)
        ch_copy_apart(c->dst +
                          ch_node_pe(nodes, node, (uint32_t)(mail->first + i)) * c->stride +
                          mail->at,
                      c->slots[0].memory + i * mail->bytes, mail->bytes, g);
    return ch_release_slots(c, CH_CELL_simple, from, st, g);
}

/* Receive this PE's message from each other host. */
CH_FN chorus_status ch_mail_recv_all(const struct ch_coll *c, const struct ch_mail *mail,
                                     struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    chorus_status st = CHORUS_OK;

    for (uint32_t k = 1; k < nodes->count && st == CHORUS_OK; k++)
        st = ch_mail_recv(c, mail, ch_behind(nodes->node[c->me], nodes->count, 2, k), g);
    return st;
}

/* alltoall over rails, as described above: message by message. */
CH_FN chorus_status ch_alltoall_rails(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c);
    struct ch_coll node;
    uint64_t epoch;
    chorus_status st;
    struct ch_mail mail;

    ch_coll_init_node(&node, c);
    epoch = ch_next_epoch(&node, g);
    mail.per = ch_bundle_per(bytes, c->layout->chunk_bytes[CH_CELL_simple]);
    /* source may be read, dest written */
    st = ch_signal_and_await(&node, CH_WORD_READY, epoch, CH_ENTRY, g);
    for (mail.at = 0; mail.at < bytes && st == CHORUS_OK; mail.at += mail.bytes) {
        mail.bytes = ch_chunk_bytes_at(c, CH_CELL_simple, mail.at);
        for (mail.first = 0; mail.first < c->levels->nodes.most && st == CHORUS_OK;
             mail.first += mail.per) {
            st = ch_mail_send_all(c, &mail, g);
            if (mail.at + mail.first == 0 && st == CHORUS_OK)
                ch_store_blocks_on_host(c, &node, g);
            if (st == CHORUS_OK) st = ch_mail_recv_all(c, &mail, g);
        }
    }
    if (st != CHORUS_OK) return st;
    /* dest is complete, source may be reused */
    return ch_signal_and_await(&node, CH_WORD_DONE, epoch, CH_DATA, g);
}

#endif /* CH_ALGO_ALLTOALL_LEVELS_H */
