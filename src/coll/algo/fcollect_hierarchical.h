/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect on two levels. Within a host, each PE writes its block into the dest of the others.
 * For each pair of hosts, one PE of each (a gateway) exchanges all blocks of the two hosts.
 *
 *   needs    put, nodes, symmetric_dest
 *   steps    ch_bundle_steps(h, m, b, 0)
 *   wire     ch_bundle_wire(h, m, 0)
 *   scratch  two words per PE of the host, a FIFO to each gateway
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   of this library; a gateway packs the blocks that it finds in the dest of its
 *            host's PEs
 */
#ifndef CH_FCOLLECT_HIERARCHICAL_H
#define CH_FCOLLECT_HIERARCHICAL_H

#include "coll/primitives/bundle.h"

CH_FN chorus_status ch_fcollect_hierarchical(const struct ch_coll *c, struct ch_lanes g)
{
    const struct ch_coll node = ch_on_node(c);
    const uint64_t epoch = ch_epoch(&node, g);
    char *mine = c->dst + c->me * c->stride;
    chorus_status st;

    ch_copy(mine, c->src, ch_bytes(c), g);
    /* dest contains this PE's own block and may be written */
    st = ch_tell_and_hear(&node, CH_WORD_READY, epoch, CH_DATA, g);
    if (st == CHORUS_OK) st = ch_bundle_all(c, 0, g);
    if (st != CHORUS_OK) return st;
    for (uint32_t k = 1; k < node.n; k++) /* not into this PE's own dest, which gateways read */
        ch_copy(ch_on_peer(&node, ch_after(&node, k), mine), mine, ch_bytes(c), g);
    return ch_tell_and_hear(&node, CH_WORD_DONE, epoch, CH_DATA, g); /* dest is complete */
}

#endif /* CH_FCOLLECT_HIERARCHICAL_H */
