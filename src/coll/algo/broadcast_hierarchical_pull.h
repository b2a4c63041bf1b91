/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast on two levels, a piece at a time: a k-ary tree among the leaders of the hosts,
 * whose dest the PEs of their hosts read. Those of the root's host read its source.
 *
 *   needs    put, nodes, symmetric_dest, symmetric_source
 *   steps    ch_nodes_broadcast_steps(h, k, r)
 *   wire     ch_nodes_broadcast_wire(h, k, r, m)
 *   scratch  a FIFO to each child in the tree, two words per PE of the host
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   topology-aware hierarchical tree of NVSHMEM; here leaders copy nothing for their
 *            hosts
 */
#ifndef CH_BROADCAST_HIERARCHICAL_PULL_H
#define CH_BROADCAST_HIERARCHICAL_PULL_H

#include "coll/algo/broadcast_hierarchical.h"

CH_FN chorus_status ch_broadcast_hierarchical_pull(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_broadcast_levels(c, CH_BY_PULL, g);
}

#endif /* CH_BROADCAST_HIERARCHICAL_PULL_H */
