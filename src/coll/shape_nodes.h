/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape_nodes.h: the arithmetic of algorithms on two levels, for any map of PEs to hosts. If
 * hosts have unequal numbers of PEs, the number of steps is an upper bound.
 */
#ifndef CH_SHAPE_NODES_H
#define CH_SHAPE_NODES_H

#include "coll/shape.h"
#include "team/sync.h"

/* 1 if some host has several PEs of the team, else 0. */
CH_FN uint64_t ch_shared(const struct ch_nodes *h)
{
    return h->most > 1 ? 1 : 0;
}

/* --- messages to all hosts ---------------------------------------------------------------- */

/* A k-nomial tree of n positions. Position p has the children p + j * span, 0 < j < k, for each
 * power `span` of k below a bound, as far as they are less than n. Returns that bound: the
 * largest power of k that divides the position or, if less, the smallest that is at least n. */
CH_FN uint64_t ch_nomial_span(uint64_t position, uint64_t n, uint64_t k)
{
    uint64_t span = 1;

    while (span < n && position % (span * k) == 0)
        span *= k;
    return span;
}

/* The parent in a k-nomial tree of a position other than 0. */
CH_FN uint32_t ch_nomial_parent(uint32_t position, uint32_t k)
{
    uint32_t span = 1;

    while (position / span % k == 0)
        span *= k;
    return position / span / k * k * span;
}

/* The turn of a position other than 0 of a k-nomial tree: the j with which it is a child of its
 * parent (ch_nomial_span). */
CH_FN uint32_t ch_nomial_turn(uint32_t position, uint32_t k)
{
    while (position % k == 0)
        position /= k;
    return position % k;
}

/* The sum of (turn - 1) over a position of a k-nomial tree and its ancestors except the
 * root. */
CH_FN uint32_t ch_nomial_turns(uint32_t position, uint32_t k)
{
    uint32_t sum = 0;

    for (; position > 0; position /= k)
        sum += position % k > 1 ? position % k - 1 : 0;
    return sum;
}

/* The number of children with this turn that a position has in a k-nomial tree of n. */
CH_FN uint64_t ch_nomial_sends(uint64_t position, uint64_t n, uint64_t k, uint64_t turn)
{
    uint64_t sends = 0;

    for (uint64_t span = ch_nomial_span(position, n, k) / k; span > 0; span /= k)
        if (position + turn * span < n) sends++;
    return sends;
}

/* The radix of rounds among hosts in which each PE of the smallest host sends one message. */
CH_FN uint64_t ch_ports_radix(const struct ch_nodes *h)
{
    return (uint64_t)h->least + 1;
}

/* The number of gateways of each host in the round of distances below (least + 1) * span: its
 * PE i signals the host at distance (i + 1) * span. */
CH_FN uint32_t ch_gateways(const struct ch_nodes *h, uint64_t span)
{
    return (uint32_t)ch_min(h->least, (h->count - 1) / span);
}

/* --- barrier ------------------------------------------------------------------------- */

/* Steps of a barrier among hosts in which each gateway signals one host in a round. Between two
 * rounds, the gateways of a host wait for each other. */
CH_FN uint64_t ch_nodes_barrier_steps(const struct ch_nodes *h)
{
    const uint64_t rounds = ch_rounds(h->count, h->least + 1);

    if (h->count == 1) return ch_shared(h);
    return 2 * ch_shared(h) + rounds + (h->least > 1 ? rounds - 1 : 0);
}

/* The wire of barrier:hierarchical, in signals that the first PE of the largest host sends: to
 * the gateways of every round, one of which it is itself; to a host in every round; to all of
 * its host at the end. */
CH_FN uint64_t ch_nodes_barrier_wire(const struct ch_nodes *h)
{
    uint64_t signals = h->most - 1;

    for (uint64_t span = 1; span < h->count; span *= ch_ports_radix(h))
        signals += ch_gateways(h, span);
    return signals;
}

/* --- broadcast ---------------------------------------------------------------------------- */

/* Is the root on no rail, so that no message of its host is its own? */
CH_FN uint32_t ch_is_on_no_rail(const struct ch_nodes *h, uint64_t root)
{
    return h->local[root] >= h->least;
}

/* Steps of a broadcast from `root`: the maximum over the hosts of the messages on the way there
 * in a k-nomial tree, k = least + 1, of the boards on that way, which every sender but the
 * first of a host reads, and one more where others on the host read its board. */
CH_FN uint64_t ch_nodes_broadcast_steps(const struct ch_nodes *h, uint64_t root)
{
    const uint32_t from = h->node[root], k = h->least + 1;
    uint64_t most = ch_node_pes(h, from) > 1;

    for (uint32_t position = 1; position < h->count; position++) {
        uint64_t steps = ch_node_pes(h, (from + position) % h->count) > 1;

        for (uint32_t at = position; at > 0; at = ch_nomial_parent(at, k)) {
            const uint32_t is_read =
                ch_nomial_turn(at, k) > 1 ||
                (ch_nomial_parent(at, k) == 0 && ch_is_on_no_rail(h, root));

            steps += 1 + is_read;
        }
        most = ch_max(most, steps);
    }
    return most;
}

/* The wire of broadcast:hierarchical: m bytes for each host to which a PE sends, and m more if
 * it reads a board. */
CH_FN uint64_t ch_nodes_broadcast_wire(const struct ch_nodes *h, uint64_t root, uint64_t m)
{
    uint64_t most = h->most > 1;

    for (uint32_t position = 0; position < h->count; position++)
        for (uint32_t turn = 1; turn <= h->least; turn++) {
            const uint32_t reads = turn > 1 || (position == 0 && ch_is_on_no_rail(h, root));

            most =
                ch_max(most, ch_nomial_sends(position, h->count, h->least + 1, turn) + reads);
        }
    return most * m;
}

/* Steps between hosts of broadcast:rails, in which each PE of a host forwards one slice of m
 * bytes: by a binomial tree if the longest slice is one message of up to b bytes, else host by
 * host. */
CH_FN uint64_t ch_rails_broadcast_steps(const struct ch_nodes *h, uint64_t m, uint64_t b)
{
    return ch_most_grains(m, h->least) > b ? h->count - 1 : ch_log2(h->count);
}

/* The number of hosts to which a PE of the host at a position forwards its slice in
 * broadcast:rails. */
CH_FN uint64_t ch_rails_sends(const struct ch_nodes *h, uint64_t slice, uint32_t position,
                              uint64_t b)
{
    return slice > b ? (uint64_t)(position + 1 < h->count)
                     : ch_nomial_sends(position, h->count, 2, 1);
}

/* The wire of broadcast:rails. On the root's host, a PE reads all m bytes and sends its slice;
 * on others, it writes its slice to each PE of its host, and forwards it. */
CH_FN uint64_t ch_rails_broadcast_wire(const struct ch_nodes *h, uint64_t root, uint64_t m,
                                       uint64_t b)
{
    uint64_t most = 0;

    for (uint32_t position = 0; position < h->count; position++) {
        const uint32_t node = (h->node[root] + position) % h->count;
        const uint64_t pes = ch_node_pes(h, node);

        for (uint32_t local = 0; local < pes; local++) {
            const uint64_t slice =
                local < h->least ? ch_grains_of(m, h->least, local).count : 0;
            const uint64_t within = position > 0              ? slice * (pes - 1)
                                    : local != h->local[root] ? m
                                                              : 0;

            most = ch_max(most, within + slice * ch_rails_sends(h, slice, position, b));
        }
    }
    return most;
}

/* --- reduce ------------------------------------------------------------------------------- */

/* The number of messages that PE `pe` sends in a recursive exchange with radix k among n PEs,
 * of which p take part; each of the others sends its vector to one of them. */
CH_FN uint64_t ch_recursive_sends(uint64_t n, uint64_t k, uint64_t pe)
{
    const uint64_t p = ch_exchange_pes(n, k), power = ch_power(n, k);

    if (pe >= p) return 1;
    return (k - 1) * ch_rounds(power, k) + p / power - 1 + (pe + p < n);
}

/* The wire of reduce:leaders, in which the PEs of a host exchange their vectors, and its leader
 * takes part in a recursive exchange: m for each other PE of its host and for each message of
 * the exchange. */
CH_FN uint64_t ch_leaders_wire(const struct ch_nodes *h, uint64_t k, uint64_t m)
{
    uint64_t most = h->most > 1 ? h->most : 0;

    for (uint32_t v = 0; v < h->count; v++)
        most = ch_max(most, ch_node_pes(h, v) - 1 + ch_recursive_sends(h->count, k, v));
    return most * m;
}

/* Bytes of the longest slice where the rails divide a vector of m bytes, in elements of e
 * bytes. */
CH_FN uint64_t ch_rail_bytes(const struct ch_nodes *h, uint64_t m, uint64_t e)
{
    return ch_divide_up(m / e, h->least) * e;
}

/* Steps of reduce:hierarchical: of a recursive exchange of slices (ch_rail_bytes) on the rails,
 * in messages of up to b bytes, and one step on each host before and one after it. */
CH_FN uint64_t ch_rails_steps(const struct ch_nodes *h, uint64_t k, uint64_t m, uint64_t e,
                              uint64_t b)
{
    return 2 * ch_shared(h) +
           ch_divide_up(ch_rail_bytes(h, m, e), b) * ch_exchanges(h->count, k);
}

/* The wire of reduce:hierarchical: a PE reads the longest slice from each other PE of its host,
 * sends it in each of its messages on the rail, and writes it to each other PE of its host. */
CH_FN uint64_t ch_rails_wire(const struct ch_nodes *h, uint64_t k, uint64_t m, uint64_t e)
{
    uint64_t most = 0;

    for (uint32_t v = 0; v < h->count; v++)
        most = ch_max(most, 2 * (ch_node_pes(h, v) - 1) + ch_recursive_sends(h->count, k, v));
    return most * ch_rail_bytes(h, m, e);
}

/* Steps of reduce:rails, in which each PE of a rail combines a block of the slices and sends it
 * to all others: two for each message of the longest block, and two on each host. */
CH_FN uint64_t ch_rails_blocks_steps(const struct ch_nodes *h, uint64_t m, uint64_t e,
                                     uint64_t b)
{
    const uint64_t block = ch_divide_up(ch_rail_bytes(h, m, e) / e, h->count) * e;

    return 2 * ch_shared(h) + (h->count > 1 ? 2 * ch_divide_up(block, b) : 0);
}

/* The wire of reduce:rails: a PE reads and writes the longest slice on its host, sends the
 * blocks of this slice that others combine, and sends its own to each of them. */
CH_FN uint64_t ch_rails_blocks_wire(const struct ch_nodes *h, uint64_t m, uint64_t e)
{
    const uint64_t rail = ch_rail_bytes(h, m, e);
    uint64_t most = 0;

    for (uint32_t v = 0; v < h->count; v++) {
        const uint64_t block = ch_slice_of(rail / e, h->count, v).count * e;

        most = ch_max(most, 2 * (ch_node_pes(h, v) - 1) * rail +
                                (h->count > 1 ? rail + (h->count - 2) * block : 0));
    }
    return most;
}

/* --- fcollect, alltoall ------------------------------------------------------------------- */

/* How many blocks of m bytes fit into a message of b bytes; 1 if not even one does. */
CH_FN uint64_t ch_bundle_per(uint64_t m, uint64_t b)
{
    return m == 0 || m > b ? 1 : b / m;
}

/* The number of the host that is `back` hosts before host `node`, counted around all hosts. */
CH_FN uint32_t ch_host_before(const struct ch_nodes *h, uint32_t node, uint32_t back)
{
    return node >= back ? node - back : node + h->count - back;
}

/* The number of PEs of host `node` and of the hosts before it, `hosts` hosts in all. */
CH_FN uint64_t ch_hosts_pes(const struct ch_nodes *h, uint32_t node, uint32_t hosts)
{
    uint64_t pes = 0;

    for (uint32_t back = 0; back < hosts; back++)
        pes += ch_node_pes(h, ch_host_before(h, node, back));
    return pes;
}

/* Steps of a fcollect in rounds of radix k = least + 1 among hosts: one on each host before the
 * first round and after the last; the messages of each round, and one step between two rounds
 * if there are several gateways. The same again for each part of a block that is longer than a
 * message, with one step between two parts unless one gateway alone takes the longest. */
CH_FN uint64_t ch_nodes_fcollect_steps(const struct ch_nodes *h, uint64_t m, uint64_t b)
{
    const uint64_t parts = ch_divide_up(m, b), is_shared = ch_shared(h);
    const int are_equal = h->count == 1 || (h->count > 2 && h->least > 1);
    uint64_t steps = 0;

    for (uint64_t span = 1; span < h->count; span *= ch_ports_radix(h))
        steps += ch_divide_up(ch_min(span, h->count - span) * h->most, ch_bundle_per(m, b)) +
                 (span > 1 && h->least > 1 ? 1 : 0);
    return 2 * is_shared + parts * steps +
           (are_equal && parts > 1 ? is_shared * (parts - 1) : 0);
}

/* The number of blocks that PE `local` of host `node` moves in fcollect:hierarchical: loads
 * from other PEs of its host, to pack them; sends; and stores to other PEs of its host. */
CH_FN uint64_t ch_nodes_fcollect_moved(const struct ch_nodes *h, uint32_t node, uint32_t local)
{
    const uint64_t others = ch_node_pes(h, node) - 1;
    uint64_t moved = others;

    for (uint64_t span = 1; span < h->count; span *= ch_ports_radix(h)) {
        uint32_t distance, hosts;

        if (local >= ch_gateways(h, span)) break;
        distance = (uint32_t)((local + 1) * span);
        hosts = (uint32_t)ch_min(span, h->count - distance);
        moved += others + ch_hosts_pes(h, node, hosts) +
                 others * ch_hosts_pes(h, ch_host_before(h, node, distance), hosts);
    }
    return moved;
}

/* The wire of fcollect:hierarchical with blocks of m bytes. */
CH_FN uint64_t ch_nodes_fcollect_wire(const struct ch_nodes *h, uint64_t m)
{
    uint64_t most = 0;

    for (uint32_t v = 0; v < h->count; v++)
        for (uint32_t i = 0; i < ch_node_pes(h, v); i++)
            most = ch_max(most, ch_nodes_fcollect_moved(h, v, i));
    return most * m;
}

/* The most blocks that one host has for another: one for each pair of PEs. */
CH_FN uint64_t ch_bundle_most(const struct ch_nodes *h)
{
    uint64_t first = 0, second = 0;

    for (uint32_t v = 0; v < h->count; v++) {
        const uint64_t pes = ch_node_pes(h, v);

        second = ch_max(second, ch_min(first, pes));
        first = ch_max(first, pes);
    }
    return first * second;
}

/* The number of blocks that PE `local` of host `node` receives from other hosts if PE i of each
 * sends to PE i % s of a host of s PEs. */
CH_FN uint64_t ch_rails_received(const struct ch_nodes *h, uint32_t node, uint64_t local)
{
    const uint64_t pes = ch_node_pes(h, node);
    uint64_t received = 0;

    for (uint32_t v = 0; v < h->count; v++)
        if (v != node && ch_node_pes(h, v) > local)
            received += ch_divide_up(ch_node_pes(h, v) - local, pes);
    return received;
}

/* The wire of fcollect:rails: a PE sends its block to each other host, and stores its own and
 * those that it receives to the PEs of its host. */
CH_FN uint64_t ch_rails_fcollect_wire(const struct ch_nodes *h, uint64_t m)
{
    uint64_t most = 0;

    for (uint32_t v = 0; v < h->count; v++)
        most = ch_max(most, (ch_node_pes(h, v) - 1) * (1 + ch_rails_received(h, v, 0)));
    return (h->count - 1 + most) * m;
}

/* Steps of alltoall:hierarchical: the messages of up to b bytes that carry all blocks from one
 * host to another, and one step on each host before and after them. */
CH_FN uint64_t ch_bundle_steps(const struct ch_nodes *h, uint64_t m, uint64_t b)
{
    return 2 * ch_shared(h) +
           ch_divide_up(m, b) * ch_divide_up(ch_bundle_most(h), ch_bundle_per(m, b));
}

/* The number of blocks that PE `local` of host `node` moves in alltoall:hierarchical: loads
 * from other PEs of its host, to pack them; sends; and stores to other PEs of its host, to
 * unpack them. */
CH_FN uint64_t ch_bundle_moved(const struct ch_nodes *h, uint32_t node, uint32_t local)
{
    const uint64_t pes = ch_node_pes(h, node);
    uint64_t moved = pes - 1; /* its own, on its host */

    for (uint64_t v = local; v < h->count; v += pes) {
        const uint64_t others = ch_node_pes(h, (uint32_t)v);

        if (v == node) continue;
        moved += (3 * pes - 2) * others;
    }
    return moved;
}

/* The wire of alltoall:hierarchical with blocks of m bytes. */
CH_FN uint64_t ch_bundle_wire(const struct ch_nodes *h, uint64_t m)
{
    uint64_t most = 0;

    for (uint32_t v = 0; v < h->count; v++)
        for (uint32_t i = 0; i < ch_node_pes(h, v); i++)
            most = ch_max(most, ch_bundle_moved(h, v, i));
    return most * m;
}

/* --- reducescatter ------------------------------------------------------------------------ */

/* The number of PEs of other hosts for which PE `local` of host `node` combines a block. */
CH_FN uint64_t ch_partial_blocks(const struct ch_nodes *h, uint32_t node, uint32_t local)
{
    const uint64_t pes = ch_node_pes(h, node);
    uint64_t blocks = 0;

    for (uint32_t v = 0; v < h->count; v++) {
        const uint64_t others = ch_node_pes(h, v);

        if (v != node && others > local) blocks += ch_divide_up(others - local, pes);
    }
    return blocks;
}

/* The wire of reducescatter:hierarchical: m bytes for each combined block that a PE sends, and
 * m from each other PE of its host for each of these blocks and for its own. */
CH_FN uint64_t ch_partials_wire(const struct ch_nodes *h, uint64_t m)
{
    uint64_t most = 0;

    for (uint32_t v = 0; v < h->count; v++)
        for (uint32_t i = 0; i < ch_node_pes(h, v); i++) {
            const uint64_t blocks = ch_partial_blocks(h, v, i);

            most = ch_max(most, blocks + (blocks + 1) * (ch_node_pes(h, v) - 1));
        }
    return most * m;
}

/* The number of blocks that a PE sends in the round of recursive halving among `count` hosts in
 * which hosts are `span` apart. */
CH_FN uint64_t ch_rail_blocks(uint64_t count, uint64_t span)
{
    return ch_min(2 * span, count) - span;
}

/* Bytes of a block that are sent at a time, where a block for each host must fit into the own
 * slots of a PE: two slots of o units, of 16 bytes each. */
CH_FN uint64_t ch_rail_part_bytes(const struct ch_nodes *h, uint64_t o)
{
    return 2 * o / h->count * 16;
}

/* Steps of all rounds of recursive halving for a part of `bytes` of each block, in messages of
 * up to b bytes, of which two are in flight. */
CH_FN uint64_t ch_rail_part_steps(const struct ch_nodes *h, uint64_t bytes, uint64_t b)
{
    uint64_t steps = 0;

    for (uint64_t span = 1; span < h->count; span *= 2)
        steps += ch_divide_up(ch_rail_blocks(h->count, span) * bytes, 2 * b);
    return steps;
}

/* Steps between hosts of reducescatter:rails: recursive halving on the rails, part by part of a
 * block of m bytes; a PE of the smallest host serves several rails. */
CH_FN uint64_t ch_rail_halving_steps(const struct ch_nodes *h, uint64_t m, uint64_t b,
                                     uint64_t o)
{
    const uint64_t part = ch_rail_part_bytes(h, o);

    return ch_divide_up(h->most, h->least) *
           (m / part * ch_rail_part_steps(h, part, b) + ch_rail_part_steps(h, m % part, b));
}

/* The wire of reducescatter:rails, that of the first PE of a host: on each of its rails it
 * reads a block for each host from the other PEs of its own, and sends one for each other
 * host. */
CH_FN uint64_t ch_rail_halving_wire(const struct ch_nodes *h, uint64_t m)
{
    uint64_t most = 0;

    for (uint32_t v = 0; v < h->count; v++) {
        const uint64_t pes = ch_node_pes(h, v);

        most = ch_max(most, ch_divide_up(h->most, pes) * (h->count * pes - 1));
    }
    return most * m;
}

/* --- alltoall over rails ------------------------------------------------------------------ */

/* Steps between hosts of alltoall:rails: the messages of up to b bytes that carry the blocks of
 * all PEs of a host for one PE, one after another. */
CH_FN uint64_t ch_rails_mail_steps(const struct ch_nodes *h, uint64_t m, uint64_t b)
{
    return h->count == 1 ? 0 : ch_divide_up(m, b) * ch_divide_up(h->most, ch_bundle_per(m, b));
}

/* The wire of alltoall:rails: a PE writes its blocks to the other PEs of its host, and for each
 * PE of another host to which it sends, it loads their blocks and sends all. */
CH_FN uint64_t ch_rails_mail_wire(const struct ch_nodes *h, uint64_t m)
{
    uint64_t most = 0;

    for (uint32_t v = 0; v < h->count; v++)
        for (uint32_t i = 0; i < ch_node_pes(h, v); i++) {
            const uint64_t pes = ch_node_pes(h, v);

            most = ch_max(most, pes - 1 + ch_partial_blocks(h, v, i) * (2 * pes - 1));
        }
    return most * m;
}

#endif /* CH_SHAPE_NODES_H */
