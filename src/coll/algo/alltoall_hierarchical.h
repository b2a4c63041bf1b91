/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoall on two levels. Within a host, each PE writes its blocks into the dest of the
 * others. For each pair of hosts, one PE of each (a gateway) exchanges all blocks between the
 * two hosts.
 *
 *   needs    put, nodes, symmetric_dest, symmetric_source
 *   steps    ch_bundle_steps(h, m, b)
 *   wire     ch_bundle_wire(h, m)
 *   scratch  two words per PE of the host, a FIFO to each gateway
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   of this library; a gateway packs the blocks that it finds in the sources of its
 *            host's PEs
 */
#ifndef CH_ALLTOALL_HIERARCHICAL_H
#define CH_ALLTOALL_HIERARCHICAL_H

#include "coll/primitives/bundle.h"

CH_FN chorus_status ch_alltoall_hierarchical(const struct ch_coll *c, struct ch_lanes g)
{
    const struct ch_coll node = ch_on_node(c);
    const uint64_t epoch = ch_epoch(&node, g);
    chorus_status st;

    /* source may be read, dest written */
    st = ch_tell_and_hear(&node, CH_WORD_READY, epoch, CH_ENTRY, g);
    if (st == CHORUS_OK) st = ch_bundle_all(c, g);
    if (st != CHORUS_OK) return st;
    ch_blocks_within(c, &node, g);
    /* dest is complete, source may be reused */
    return ch_tell_and_hear(&node, CH_WORD_DONE, epoch, CH_DATA, g);
}

#endif /* CH_ALLTOALL_HIERARCHICAL_H */
