/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levels.h: calls on the child teams of a team on several hosts (team/sync.h), and gateways:
 * the PEs of a host that send to other hosts.
 *
 * An algorithm calls the function of another algorithm for a child team. This inner call has
 * the CTA, the type and the operator of the outer one, and the peers and the duplicate of the
 * child team. All peers on one host are mapped.
 */
#ifndef CH_LEVELS_H
#define CH_LEVELS_H

#include "coll/primitives/fifo.h"
#include "coll/primitives/primitives.h"
#include "coll/shape_nodes.h"

/* *in = a call of c's CTA on `child`, with blocks of `count` elements. Its root is the child's
 * PE 0. */
CH_PART void ch_coll_init_child(struct ch_coll *in, const struct ch_coll *c,
                                const struct ch_child *child, char *dst, const char *src,
                                size_t count)
{
    const size_t cta = c->sync_offset / c->layout->dup_bytes;
    struct ch_dup *dup = &child->dups[cta];

    ch_coll_init(in, child->me, child->n, child->peers, child->layout);
    in->sync_offset = cta * child->layout->dup_bytes;
    in->epoch = &dup->epoch;
    in->exchanges = dup->exchanges;
    in->positions = dup->positions;
    in->slots = dup->slots;
    in->remotes = child->remotes;
    in->pes = child->pes;
    in->count = count;
    in->elem_bytes = c->elem_bytes;
    in->stride = count * c->elem_bytes;
    in->dst = dst;
    in->src = src;
    in->radix = c->radix;
    in->tag = c->tag;
    in->reduce = c->reduce;
    in->type = c->type;
    in->op = c->op;
#if CH_IN_PROGRAM
    in->combine_slots = c->combine_slots;
#endif
    in->policy = c->policy;
    in->late_peer = c->late_peer;
    in->is_due = c->is_due;
    in->lets_next = c->lets_next;
    in->failed = c->failed;
    in->broken = c->broken;
}

/* *in = the same call as c, but among the PEs of this host. */
CH_FN void ch_coll_init_node(struct ch_coll *in, const struct ch_coll *c)
{
    ch_coll_init_child(in, c, &c->levels->node, c->dst, c->src, c->count);
}

/* *in = the same call as c, but among the PEs of this PE's rail. */
CH_FN void ch_coll_init_rail(struct ch_coll *in, const struct ch_coll *c)
{
    ch_coll_init_child(in, c, &c->levels->rail, c->dst, c->src, c->count);
}

/* The PE of host `node` on rail `rail`: the one of this number or, where there are fewer PEs,
 * of this number modulo theirs. */
CH_FN uint32_t ch_rail_pe(const struct ch_coll *c, uint32_t node, uint32_t rail)
{
    const struct ch_nodes *nodes = &c->levels->nodes;

    return ch_node_pe(nodes, node, rail % ch_node_pes(nodes, node));
}

/* The PE of host `node` on this PE's own rail. */
CH_FN uint32_t ch_rail_pe_on_host(const struct ch_coll *c, uint32_t node)
{
    return ch_rail_pe(c, node, c->levels->node.me);
}

/* Signal all PEs of the child and wait for the signals of all; lanes may have stored data
 * before. */
CH_PART chorus_status ch_signal_and_await(const struct ch_coll *c, uint32_t word,
                                          uint64_t epoch, enum ch_sense sense,
                                          struct ch_lanes g)
{
    ch_signal_all(c, word, epoch, sense, g);
    return ch_await_all(c, word, epoch, g);
}

/* alltoall within a host, whose PEs make the call `node`: store this PE's blocks into their
 * dest. */
CH_PART void ch_store_blocks_on_host(const struct ch_coll *c, const struct ch_coll *node,
                                     struct ch_lanes g)
{
    char *mine = c->dst + c->me * c->stride;

    for (uint32_t k = 0; k < node->n; k++) {
        const uint32_t pe = node->pes[ch_pe_after(node, k)];

        ch_copy_apart(ch_peer_address(c, pe, mine), c->src + pe * c->stride, ch_bytes(c), g);
    }
}

/* --- several PEs of a host that send to other hosts at the same time ---------------------- */

/* A message to another host costs its sender the most: it goes through a system call. Where a
 * host has messages for several hosts, its gateways therefore send one each. */

/* On the PEs of one host: the first `senders` PEs signal that they have come this far, and the
 * first `receivers` PEs wait for all of these signals. */
CH_PART chorus_status ch_signal_and_await_on_node(const struct ch_coll *node, uint32_t senders,
                                                  uint32_t receivers, uint64_t epoch,
                                                  enum ch_sense sense, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    ch_lanes_sync(g); /* what any lane has heard precedes the stores below */
    for (uint32_t pe = g.lane; node->me < senders && pe < receivers; pe += g.width)
        if (pe != node->me) ch_lane_signal(node, pe, CH_WORD_READY, epoch, sense);
    for (uint32_t pe = g.lane; node->me < receivers && pe < senders && st == CHORUS_OK;
         pe += g.width)
        if (pe != node->me) st = ch_lane_await(node, pe, CH_WORD_READY, epoch);
    return ch_lanes_agree(st, g);
}

/* --- a message to all hosts, by ch_nomial_span with k = least + 1 ------------------------- */

/* The position of this PE's host in the tree: how many hosts it is after the root's host. */
CH_FN uint32_t ch_host_position(const struct ch_coll *c)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const uint32_t node = nodes->node[c->me], from = nodes->node[c->root];

    return node >= from ? node - from : node + nodes->count - from;
}

/* The host at a position, where `root` is the host at position 0. */
CH_FN uint32_t ch_host_at(uint32_t root, uint64_t position, uint32_t hosts)
{
    return (uint32_t)((root + position) % hosts);
}

/* On a rail, whose root is on the root's host: send `bytes` to the PE's children of one turn in
 * a k-nomial tree, those with most hosts behind them first. from must not change before
 * ch_flush_lent. */
CH_FN chorus_status ch_nomial_send(const struct ch_coll *rail, uint32_t position, uint64_t k,
                                   uint64_t turn, const char *from, size_t bytes,
                                   struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    for (uint64_t span = ch_nomial_span(position, rail->n, k) / k; span > 0 && st == CHORUS_OK;
         span /= k)
        if (position + turn * span < rail->n)
            st = ch_send_lent(
                rail, CH_CELL_simple,
                ch_pes_one(ch_host_at(rail->root, position + turn * span, rail->n)), from,
                bytes, g);
    return st;
}

/* On a rail, whose root is on the root's host: receive `bytes` from the PE's parent in a
 * k-nomial tree. */
CH_FN chorus_status ch_nomial_receive(const struct ch_coll *rail, uint32_t position, uint32_t k,
                                      char *dst, size_t bytes, struct ch_lanes g)
{
    return ch_recv(rail, CH_CELL_simple,
                   ch_host_at(rail->root, ch_nomial_parent(position, k), rail->n), dst, bytes,
                   g);
}

/* The number, on the host at a position, of the PE that sends to children of turn 1. Those of
 * the next turns follow it, modulo least. All messages stay on their rail, so it is the PE that
 * receives from the parent. */
CH_FN uint32_t ch_host_first(const struct ch_coll *c, uint32_t position)
{
    const struct ch_nodes *nodes = &c->levels->nodes;

    return (nodes->local[c->root] + ch_nomial_turns(position, nodes->least + 1)) % nodes->least;
}

/* The number, on its host, of the PE that has the message before the others there:
 * ch_host_first or the root. */
CH_FN uint32_t ch_host_root(const struct ch_coll *c, uint32_t position)
{
    return position == 0 ? c->levels->nodes.local[c->root] : ch_host_first(c, position);
}

/* *in = the same call as c, but among the PEs of this PE's rail, with the PE on the root's host
 * as its root. */
CH_FN void ch_coll_init_root_rail(struct ch_coll *in, const struct ch_coll *c)
{
    ch_coll_init_rail(in, c);
    in->root = c->levels->nodes.node[c->root];
}

/* On the first PE (ch_host_first) of a host that is not the root's: receive `bytes` into
 * dst. */
CH_PART chorus_status ch_host_receive(const struct ch_coll *c, uint32_t position, char *dst,
                                      size_t bytes, struct ch_lanes g)
{
    struct ch_coll rail;

    ch_coll_init_root_rail(&rail, c);
    return ch_nomial_receive(&rail, position, c->levels->nodes.least + 1, dst, bytes, g);
}

/* On a PE that has the message: send it to the hosts that this PE serves. from must not change
 * before ch_flush_lent. */
CH_PART chorus_status ch_host_send(const struct ch_coll *c, uint32_t position, const char *from,
                                   size_t bytes, struct ch_lanes g)
{
    const uint32_t least = c->levels->nodes.least, local = c->levels->node.me;
    struct ch_coll rail;

    if (local >= least) return CHORUS_OK;
    ch_coll_init_root_rail(&rail, c);
    return ch_nomial_send(&rail, position, least + 1,
                          (local + least - ch_host_first(c, position)) % least + 1, from, bytes,
                          g);
}

#endif /* CH_LEVELS_H */
