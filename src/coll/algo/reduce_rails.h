/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce over rails: as in reduce_hierarchical.h, but each PE of a rail combines one block of
 * the slices of the hosts and sends it to all, in place of an exchange of whole slices.
 *
 *   needs    put, whole, nodes, symmetric_dest, symmetric_source
 *   steps    ch_rails_blocks_steps(h, m, e, b)
 *   wire     ch_rails_blocks_wire(h, m, e)
 *   scratch  two words per PE of the host, a FIFO to each PE of the rail
 *   inplace  safe: of a host's PEs only one reads or writes a slice until the last step
 *   result   combined in PE order on each host, then in the order of the hosts, each element by
 *            one PE: bitwise equal on every PE
 *   source   reduce_hierarchical.h with the two parts of Rabenseifner (ICCS 2004), each by
 *            messages to all
 */
#ifndef CH_REDUCE_RAILS_H
#define CH_REDUCE_RAILS_H

#include "coll/algo/reduce_hierarchical.h"

CH_FN chorus_status ch_reduce_rails(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_levels(c, 1, g);
}

#endif /* CH_REDUCE_RAILS_H */
