/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier on two levels: the PEs of a host signal their leader, the leaders synchronise by
 * dissemination, and each leader signals the PEs of its host.
 *
 *   needs    put, nodes
 *   steps    2 * ch_shared(h) + ch_rounds(h->count, k)
 *   wire     ch_fan(h->count, k) + h->most - 1
 *   scratch  two words per PE of the host, one per host
 *   inplace  has no buffers
 *   result   every PE has entered before any PE leaves; earlier stores are visible
 *   source   of this library; a host sends one message in each round, however many PEs it has
 */
#ifndef CH_BARRIER_HIERARCHICAL_H
#define CH_BARRIER_HIERARCHICAL_H

#include "coll/algo/barrier_dissemination.h"
#include "coll/primitives/levels.h"

CH_FN chorus_status ch_barrier_hierarchical(const struct ch_coll *c, struct ch_lanes g)
{
    const struct ch_coll node = ch_on_node(c), rail = ch_on_rail(c);
    const uint64_t epoch = ch_epoch(&node, g);
    chorus_status st;

    if (node.me != 0) {
        ch_tell(&node, 0, CH_WORD_READY, epoch, CH_ENTRY, g);
        return ch_hear(&node, 0, CH_WORD_DONE, epoch, g);
    }
    st = ch_hear_all(&node, CH_WORD_READY, epoch, g); /* all of the host have entered */
    if (st == CHORUS_OK) st = ch_barrier_dissemination(&rail, g);
    if (st == CHORUS_OK) ch_tell_all(&node, CH_WORD_DONE, epoch, CH_ENTRY, g);
    return st;
}

#endif /* CH_BARRIER_HIERARCHICAL_H */
