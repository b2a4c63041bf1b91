/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce on two levels: each PE combines one slice of the vectors of its host's PEs, a
 * recursive exchange on each rail combines the slices of the hosts, and each PE writes its
 * slice into the dest of the other PEs of its host.
 *
 *   needs    put, whole, nodes, symmetric_dest, symmetric_source
 *   steps    ch_rails_steps(h, k, m, e, b)
 *   wire     ch_rails_wire(h, k, m, e)
 *   scratch  two words per PE of the host, a FIFO to each partner on the rail
 *   inplace  safe: of a host's PEs only one reads or writes a slice until the last step
 *   result   combined in PE order on each host, then in one order on each rail: bitwise equal
 *            on every PE
 *   source   hierarchical reduce over rails, as in Open MPI's coll/han; on the host, the two
 *            halves of reduce_two_shot.h
 *
 * There are as many slices as rails. A PE that is on no rail combines no slice; its source is
 * read, and its dest is written, by others.
 */
#ifndef CH_REDUCE_HIERARCHICAL_H
#define CH_REDUCE_HIERARCHICAL_H

#include "coll/algo/reduce_recursive.h"
#include "coll/primitives/blocks.h"
#include "coll/primitives/levels.h"

/* The slice of this PE; empty if it is on no complete rail. */
CH_FN struct ch_slice ch_rail_slice(const struct ch_coll *c)
{
    const uint32_t slices = c->levels->nodes.least, local = c->levels->node.me;
    const struct ch_slice none = {0, 0};

    return local < slices ? ch_slice_of(c->count, slices, local) : none;
}

/* in_blocks: the PEs of a rail combine a block of its slices each, in place of a recursive
 * exchange of the slices. */
CH_FN chorus_status ch_reduce_levels(const struct ch_coll *c, int in_blocks, struct ch_lanes g)
{
    const struct ch_slice slice = ch_rail_slice(c);
    char *mine = c->dst + slice.first * c->elem_bytes;
    const char *own = c->src + slice.first * c->elem_bytes;
    const struct ch_coll node = ch_on_node(c),
                         rail = ch_call_on(c, &c->levels->rail, mine, mine, slice.count);
    const uint64_t epoch = ch_epoch(&node, g);
    chorus_status st;

    /* source may be read, dest written */
    st = ch_tell_and_hear(&node, CH_WORD_READY, epoch, CH_ENTRY, g);
    if (st != CHORUS_OK) return st;
    ch_combine_all(&node, mine, own, ch_bytes(&rail), CH_TO_ME, g);
    st = in_blocks ? ch_reduce_blocks(&rail, g) : ch_reduce_recursive(&rail, CH_CELL_simple, g);
    if (st != CHORUS_OK) return st;
    ch_store_all(&node, mine, mine, ch_bytes(&rail), g);
    /* dest is complete, source may be reused */
    return ch_tell_and_hear(&node, CH_WORD_DONE, epoch, CH_DATA, g);
}

CH_FN chorus_status ch_reduce_hierarchical(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_levels(c, 0, g);
}

#endif /* CH_REDUCE_HIERARCHICAL_H */
