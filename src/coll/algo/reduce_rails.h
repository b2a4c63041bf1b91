/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce over rails: as in reduce_hierarchical.h, but the slices of the hosts are combined
 * along a ring on each rail, which sends a part of a slice in each step in place of the whole
 * slice.
 *
 *   needs    put, whole, nodes, symmetric_dest, symmetric_source
 *   steps    ch_rails_ring_steps(h, m, e, b)
 *   wire     ch_rails_ring_wire(h, m, e)
 *   scratch  two words per PE of the host, a FIFO to the next PE of the rail
 *   inplace  safe: of a host's PEs only one reads or writes a slice until the last step
 *   result   combined in PE order on each host, then in the order of reduce_ring.h on each
 *            rail: bitwise equal on every PE
 *   source   reduce_hierarchical.h with the ring of Patarasu and Yuan (2009)
 */
#ifndef CH_REDUCE_RAILS_H
#define CH_REDUCE_RAILS_H

#include "coll/algo/reduce_hierarchical.h"

CH_FN chorus_status ch_reduce_rails(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_levels(c, 1, g);
}

#endif /* CH_REDUCE_RAILS_H */
