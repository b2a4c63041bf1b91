/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier.h: barriers in rounds, among PEs or among hosts. That in which each PE signals all
 * others is in inside_kernels.h.
 */
#ifndef CH_ALGO_BARRIER_H
#define CH_ALGO_BARRIER_H

#include "coll/primitives/levels.h"
#include "coll/primitives/primitives.h"

/*
 * barrier by dissemination with radix k: in round r (from 0) each PE signals the PEs at the
 * distances k^r, 2 k^r ... (k - 1) k^r (ch_ahead). With k = n there is one round, in which
 * every PE signals every other.
 *
 *   needs    put
 *   steps    ch_rounds(n, k)
 *   wire     ch_fan(n, k)
 *   scratch  one word per PE
 *   inplace  has no buffers
 *   result   every PE has entered before any PE leaves; earlier stores are visible
 *   source   Hensgen, Finkel and Manber (1988), with k - 1 signals in a round
 */
CH_FN chorus_status ch_barrier_dissemination(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);

    return ch_disseminate(c, CH_WORD_BARRIER, epoch, CH_ENTRY, g);
}

/* On a gateway, in a round: signal the PE of the rail at a distance, and wait for that at this
 * distance behind. */
CH_PART chorus_status ch_barrier_round(const struct ch_coll *rail, uint32_t k,
                                       uint32_t distance, uint64_t epoch, struct ch_lanes g)
{
    ch_signal(rail, ch_ahead(rail->me, rail->n, k, distance), CH_WORD_BARRIER, epoch, CH_ENTRY,
              g);
    return ch_await(rail, ch_behind(rail->me, rail->n, k, distance), CH_WORD_BARRIER, epoch, g);
}

/*
 * barrier on two levels: hosts synchronise by dissemination of radix k, one more than the PEs
 * of the smallest host, so that each of these PEs signals one host in a round. The PEs of a
 * host wait for each other before the first round, between two rounds and after the last.
 *
 *   needs    put, nodes
 *   steps    ch_nodes_barrier_steps(h)
 *   wire     ch_nodes_barrier_wire(h)
 *   scratch  a word per PE of the host, one per host
 *   inplace  has no buffers
 *   result   every PE has entered before any PE leaves; earlier stores are visible
 *   source   of this library; a host has as many ports as PEs, in the multiport model of Bruck
 *            et al. (1997)
 */
CH_PART chorus_status ch_barrier_hierarchical(const struct ch_coll *c, struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const uint32_t hosts = nodes->count, k = nodes->least + 1;
    uint32_t informed = c->levels->node.n; /* PEs 0 .. informed - 1 know what the next round
                                              tells */
    struct ch_coll node, rail;
    uint64_t epoch;
    chorus_status st = CHORUS_OK;

    ch_coll_init_node(&node, c);
    ch_coll_init_rail(&rail, c);
    epoch = ch_next_epoch(&rail, g);
    for (uint32_t span = 1; span < hosts; span *= k) {
        const uint32_t gateways = ch_gateways(nodes, span), distance = (node.me + 1) * span;

        st = ch_signal_and_await_on_node(&node, informed, gateways, ch_next_epoch(&node, g),
                                         CH_ENTRY, g);
        if (st == CHORUS_OK && node.me < gateways)
            st = ch_barrier_round(&rail, k, distance, epoch, g);
        if (st != CHORUS_OK) return st;
        informed = gateways;
    }
    return ch_signal_and_await_on_node(&node, informed, node.n, ch_next_epoch(&node, g),
                                       CH_ENTRY, g);
}

#endif /* CH_ALGO_BARRIER_H */
