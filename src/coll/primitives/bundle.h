/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bundle.h: blocks that the PEs of a host have for PEs of other hosts, several in one message.
 *
 * For each other host, one PE of this host sends and receives, its gateway; one PE of that
 * host is the gateway for this host. A gateway packs blocks from the memory of the PEs of its
 * host into the FIFO to the other gateway, and unpacks the blocks that it receives into the
 * dest of these PEs, so all of them must have entered the call. Both gateways of two hosts send
 * a chunk and then receive one, as fifo.h requires.
 */
#ifndef CH_BUNDLE_H
#define CH_BUNDLE_H

#include "coll/primitives/fifo.h"
#include "coll/primitives/levels.h"

/* The data that hosts exchange at a time: a part of every block. */
struct ch_bundle {
    size_t at, bytes; /* of a block */
    uint64_t per;     /* number of parts in a message */
    uint32_t node;    /* of this PE */
};

/* The PE of a host that is its gateway to another. */
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

/* Block i of these: the PE it comes from and the PE it is for, as numbers in the team. */
struct ch_way {
    uint32_t from, to;
};

CH_FN struct ch_way ch_bundle_way(const struct ch_coll *c, uint32_t from, uint32_t to,
                                  uint64_t i)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const uint64_t each = ch_node_pes(nodes, to);
    struct ch_way way;

    way.from = ch_node_pe(nodes, from, (uint32_t)(i / each));
    way.to = ch_node_pe(nodes, to, (uint32_t)(i % each));
    return way;
}

/* The blocks from `first` on that this host has for another, as they follow each other in
 * memory. */
CH_FN void ch_bundle_pack(const struct ch_coll *c, const struct ch_bundle *b, uint32_t to,
                          uint64_t first, uint64_t count, char *memory, struct ch_lanes g)
{
    for (uint64_t i = 0; i < count; i++) {
        const struct ch_way way = ch_bundle_way(c, b->node, to, first + i);
        const char *block = c->src + way.to * c->stride;

        ch_copy(memory + i * b->bytes, ch_on_peer(c, way.from, block) + b->at, b->bytes, g);
    }
}

/* The blocks from another host, and the places to which they are copied. */
CH_FN void ch_bundle_unpack(const struct ch_coll *c, const struct ch_bundle *b, uint32_t from,
                            uint64_t first, uint64_t count, const char *memory,
                            struct ch_lanes g)
{
    for (uint64_t i = 0; i < count; i++) {
        const struct ch_way way = ch_bundle_way(c, from, b->node, first + i);
        char *block = c->dst + way.from * c->stride + b->at;

        ch_copy(ch_on_peer(c, way.to, block), memory + i * b->bytes, b->bytes, g);
    }
}

/* Send message `round` to another host, if there is such a message. */
CH_FN chorus_status ch_bundle_send(const struct ch_coll *c, const struct ch_bundle *b,
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

/* Receive message `round` from another host. */
CH_FN chorus_status ch_bundle_take(const struct ch_coll *c, const struct ch_bundle *b,
                                   uint32_t from, uint64_t round, struct ch_lanes g)
{
    const uint64_t blocks = ch_bundle_blocks(c, from, b->node), first = round * b->per,
                   count = first < blocks ? ch_min(b->per, blocks - first) : 0;
    const struct ch_pes gateway = ch_only(ch_gateway(&c->levels->nodes, from, b->node));
    chorus_status st;

    if (count == 0) return CHORUS_OK;
    st = ch_expect(c, CH_CELL_simple, gateway, count * b->bytes, g);
    if (st != CHORUS_OK) return st;
    ch_bundle_unpack(c, b, from, first, count, c->slots[0].memory, g);
    return ch_release(c, CH_CELL_simple, gateway, st, g);
}

/* All messages of this PE for one part of the blocks. */
CH_FN chorus_status ch_bundle_part(const struct ch_coll *c, const struct ch_bundle *b,
                                   struct ch_lanes g)
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
            if (v != b->node) st = ch_bundle_take(c, b, v, round, g);
    }
    return st;
}

/* All blocks, between hosts only. */
CH_FN chorus_status ch_bundle_all(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c);
    chorus_status st = CHORUS_OK;
    struct ch_bundle b;

    b.node = c->levels->nodes.node[c->me];
    b.per = ch_bundle_per(bytes, c->layout->chunk_bytes[CH_CELL_simple]);
    for (b.at = 0; b.at < bytes && st == CHORUS_OK; b.at += b.bytes) {
        b.bytes = ch_part(c, CH_CELL_simple, b.at);
        st = ch_bundle_part(c, &b, g);
    }
    return st;
}

#endif /* CH_BUNDLE_H */
