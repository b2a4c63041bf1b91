/* SPDX-License-Identifier: Apache-2.0 */
/* shape_nodes.h: the arithmetic of algorithms on two levels, for any map of PEs to hosts. Where
 * hosts have unequal numbers of PEs, steps are the most that there can be. */
#ifndef CH_SHAPE_NODES_H
#define CH_SHAPE_NODES_H

#include "coll/shape.h"
#include "team/nodes.h"

/* 1 if a host has several PEs. */
CH_FN uint64_t ch_shared(const struct ch_nodes *h)
{
    return h->most > 1 ? 1 : 0;
}

/* --- broadcast ---------------------------------------------------------------------------- */

/* Does the root hand its message to its host's leader first? */
CH_FN uint32_t ch_is_led(const struct ch_nodes *h, uint64_t root)
{
    return h->local[root] != 0;
}

/* Steps of a broadcast from `root`, in a tree among leaders and a board on each host. */
CH_FN uint64_t ch_nodes_broadcast_steps(const struct ch_nodes *h, uint64_t k, uint64_t root)
{
    const uint32_t from = h->node[root];
    uint64_t most = ch_node_pes(h, from) > 1;

    for (uint32_t position = 1; position < h->count; position++) {
        const uint32_t node = (from + position) % h->count;

        most = ch_max(most, ch_is_led(h, root) + ch_depth(position + 1, k) +
                                (ch_node_pes(h, node) > 1));
    }
    return most;
}

CH_FN uint64_t ch_nodes_broadcast_wire(const struct ch_nodes *h, uint64_t k, uint64_t root,
                                       uint64_t m)
{
    const uint64_t leader = ch_min(k, h->count - 1) + ch_is_led(h, root);

    return ch_max(leader, h->most > 1) * m;
}

/* --- reduce ------------------------------------------------------------------------------- */

/* Messages that PE `pe` of a recursive exchange sends. */
CH_FN uint64_t ch_exchange_sent(uint64_t n, uint64_t k, uint64_t pe)
{
    const uint64_t p = ch_exchange_pes(n, k), power = ch_power(n, k);

    if (pe >= p) return 1;
    return (k - 1) * ch_rounds(power, k) + p / power - 1 + (pe + p < n);
}

/* Bytes that the busiest PE moves where each host's sum goes from all its PEs to all, and the
 * result from its leader to the others. */
CH_FN uint64_t ch_leaders_wire(const struct ch_nodes *h, uint64_t k, uint64_t m)
{
    uint64_t most = h->most > 1 ? h->most : 0;

    for (uint32_t v = 0; v < h->count; v++)
        most = ch_max(most, ch_node_pes(h, v) - 1 + ch_exchange_sent(h->count, k, v));
    return most * m;
}

/* Bytes of the longest slice where a vector of `m` is shared among the complete rails. */
CH_FN uint64_t ch_rail_bytes(const struct ch_nodes *h, uint64_t m, uint64_t e)
{
    return ch_divide_up(m / e, h->least) * e;
}

/* Steps of a recursive exchange of such slices, between two steps on each host. */
CH_FN uint64_t ch_rails_steps(const struct ch_nodes *h, uint64_t k, uint64_t m, uint64_t e,
                              uint64_t b)
{
    return 2 * ch_shared(h) +
           ch_divide_up(ch_rail_bytes(h, m, e), b) * ch_exchanges(h->count, k);
}

/* Bytes that the PE with the longest slice reads, sends on its rail, and writes. */
CH_FN uint64_t ch_rails_wire(const struct ch_nodes *h, uint64_t k, uint64_t m, uint64_t e)
{
    uint64_t most = 0;

    for (uint32_t v = 0; v < h->count; v++)
        most = ch_max(most, 2 * (ch_node_pes(h, v) - 1) + ch_exchange_sent(h->count, k, v));
    return most * ch_rail_bytes(h, m, e);
}

/* --- fcollect, alltoall ------------------------------------------------------------------- */

/* Parts of blocks of `m` bytes that a message of `b` holds. */
CH_FN uint64_t ch_bundle_per(uint64_t m, uint64_t b)
{
    return m == 0 || m > b ? 1 : b / m;
}

/* The most blocks that a host has for another, if each PE has one for each, or one for all. */
CH_FN uint64_t ch_bundle_most(const struct ch_nodes *h, int is_each)
{
    uint64_t first = 0, second = 0;

    for (uint32_t v = 0; v < h->count; v++) {
        const uint64_t pes = ch_node_pes(h, v);

        second = ch_max(second, ch_min(first, pes));
        first = ch_max(first, pes);
    }
    return is_each ? first * second : h->count > 1 ? first : 0;
}

/* Messages of two hosts, one behind another, between two steps on each. */
CH_FN uint64_t ch_bundle_steps(const struct ch_nodes *h, uint64_t m, uint64_t b, int is_each)
{
    return 2 * ch_shared(h) +
           ch_divide_up(m, b) * ch_divide_up(ch_bundle_most(h, is_each), ch_bundle_per(m, b));
}

/* Blocks that a PE packs from others of its host, sends, and unpacks to others there. */
CH_FN uint64_t ch_bundle_moved(const struct ch_nodes *h, uint32_t node, uint32_t local,
                               int is_each)
{
    const uint64_t pes = ch_node_pes(h, node);
    uint64_t moved = pes - 1; /* its own, on its host */

    for (uint64_t v = local; v < h->count; v += pes) {
        const uint64_t others = ch_node_pes(h, (uint32_t)v);

        if (v == node) continue;
        moved += (pes - 1) * (is_each ? others : 1) + pes * (is_each ? others : 1) +
                 (pes - 1) * others;
    }
    return moved;
}

CH_FN uint64_t ch_bundle_wire(const struct ch_nodes *h, uint64_t m, int is_each)
{
    uint64_t most = 0;

    for (uint32_t v = 0; v < h->count; v++)
        for (uint32_t i = 0; i < ch_node_pes(h, v); i++)
            most = ch_max(most, ch_bundle_moved(h, v, i, is_each));
    return most * m;
}

/* --- reducescatter ------------------------------------------------------------------------ */

/* Blocks of PEs of other hosts that PE `local` of a host combines. */
CH_FN uint64_t ch_partials(const struct ch_nodes *h, uint32_t node, uint32_t local)
{
    const uint64_t pes = ch_node_pes(h, node);
    uint64_t blocks = 0;

    for (uint32_t v = 0; v < h->count; v++) {
        const uint64_t others = ch_node_pes(h, v);

        if (v != node && others > local) blocks += ch_divide_up(others - local, pes);
    }
    return blocks;
}

CH_FN uint64_t ch_partials_wire(const struct ch_nodes *h, uint64_t m)
{
    uint64_t most = 0;

    for (uint32_t v = 0; v < h->count; v++)
        for (uint32_t i = 0; i < ch_node_pes(h, v); i++) {
            const uint64_t blocks = ch_partials(h, v, i);

            most = ch_max(most, blocks + (blocks + 1) * (ch_node_pes(h, v) - 1));
        }
    return most * m;
}

#endif /* CH_SHAPE_NODES_H */
