/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levels.h: calls on the child teams of a team on several hosts (team/nodes.h).
 *
 * An algorithm calls the function of another algorithm for a child team. This inner call has
 * the CTA, the type and the operator of the outer one, and the peers and the duplicate of the
 * child team. All peers on one host are mapped.
 */
#ifndef CH_LEVELS_H
#define CH_LEVELS_H

#include "coll/shape_nodes.h"
#include "coll/primitives/primitives.h"

/* A call on `child`, with blocks of `count` elements. Its root is the child's PE 0. */
CH_FN struct ch_coll ch_call_on(const struct ch_coll *c, const struct ch_child *child,
                                char *dst, const char *src, size_t count)
{
    const size_t cta = c->sync_offset / c->layout->dup_bytes;
    struct ch_dup *dup = &child->dups[cta];
    struct ch_coll in = *c;

    in.me = child->me;
    in.n = child->n;
    in.root = 0;
    in.count = count;
    in.stride = count * c->elem_bytes;
    in.dst = dst;
    in.src = src;
    in.peers = child->peers;
    in.remotes = child->remotes;
    in.layout = child->layout;
    in.sync_offset = cta * child->layout->dup_bytes;
    in.epoch = &dup->epoch;
    in.exchanges = dup->exchanges;
    in.positions = dup->positions;
    in.slots = dup->slots;
    in.levels = 0;
    in.pes = child->pes;
    return in;
}

/* The same for the whole call, on the PEs of this host or of this PE's rail. */
CH_FN struct ch_coll ch_on_node(const struct ch_coll *c)
{
    return ch_call_on(c, &c->levels->node, c->dst, c->src, c->count);
}

CH_FN struct ch_coll ch_on_rail(const struct ch_coll *c)
{
    return ch_call_on(c, &c->levels->rail, c->dst, c->src, c->count);
}

/* The PE of host `node` on rail `rail`: the one of this number or, where there are fewer PEs,
 * of this number modulo theirs. */
CH_FN uint32_t ch_rail_pe(const struct ch_coll *c, uint32_t node, uint32_t rail)
{
    const struct ch_nodes *nodes = &c->levels->nodes;

    return ch_node_pe(nodes, node, rail % ch_node_pes(nodes, node));
}

/* The PE of host `node` on this PE's own rail. */
CH_FN uint32_t ch_counterpart(const struct ch_coll *c, uint32_t node)
{
    return ch_rail_pe(c, node, c->levels->node.me);
}

/* Signal all PEs of the child and wait for the signals of all; lanes may have stored data
 * before. */
CH_FN chorus_status ch_tell_and_hear(const struct ch_coll *c, uint32_t word, uint64_t epoch,
                                     enum ch_sense sense, struct ch_lanes g)
{
    ch_tell_all(c, word, epoch, sense, g);
    return ch_hear_all(c, word, epoch, g);
}

/* alltoall within a host, whose PEs make the call `node`: this PE's blocks to their dest. */
CH_FN void ch_blocks_within(const struct ch_coll *c, const struct ch_coll *node,
                            struct ch_lanes g)
{
    char *mine = c->dst + c->me * c->stride;

    for (uint32_t k = 0; k < node->n; k++) {
        const uint32_t pe = node->pes[ch_after(node, k)];

        ch_copy(ch_on_peer(c, pe, mine), c->src + pe * c->stride, ch_bytes(c), g);
    }
}

#endif /* CH_LEVELS_H */
