/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_levels.h: reduce of a team on several hosts: on each host, then between hosts, then on
 * each host.
 */
#ifndef CH_ALGO_REDUCE_LEVELS_H
#define CH_ALGO_REDUCE_LEVELS_H

#include "coll/algo/broadcast.h"
#include "coll/algo/inside_kernels.h"
#include "coll/algo/reduce_rounds.h"
#include "coll/primitives/fifo.h"
#include "coll/primitives/levels.h"

/* --- a reduce in which each PE combines one block, through FIFOs of plain data ------------ */

/*
 * All others send each PE its block of the vector, and the PE sends the result to all. A
 * message is a chunk of a block or of a result. A PE has read the results of a chunk before it
 * sends the next one, so a peer has at most the two messages of one chunk to read. If dst is
 * src, a result is received where this PE has lent a part of its vector, so that must have been
 * sent.
 */

/* The chunk at byte `at` of the block that PE p combines; `first` counts bytes of src. */
CH_FN struct ch_slice ch_block_part(const struct ch_coll *c, uint32_t p, size_t at)
{
    const struct ch_slice block = ch_slice_of(c->count, c->n, p);
    const size_t bytes = block.count * c->elem_bytes;
    struct ch_slice part;

    part.first = block.first * c->elem_bytes + at;
    part.count = at < bytes ? ch_min(c->layout->chunk_bytes[CH_CELL_simple], bytes - at) : 0;
    return part;
}

/* Send each other PE the chunk at byte `at` of its block, and combine this PE's chunk. */
CH_FN chorus_status ch_blocks_combine(const struct ch_coll *c, size_t at, struct ch_lanes g)
{
    const struct ch_slice own = ch_block_part(c, c->me, at);
    chorus_status st = CHORUS_OK;

    for (uint32_t k = 1; k < c->n && st == CHORUS_OK; k++) {
        const struct ch_slice part = ch_block_part(c, ch_pe_after(c, k), at);

        if (part.count > 0)
            st = ch_send_lent(c, CH_CELL_simple, ch_pes_one(ch_pe_after(c, k)),
                              c->src + part.first, part.count, g);
    }
    if (own.count == 0 || st != CHORUS_OK) return st;
    return ch_recv_combine(c, CH_CELL_simple, ch_pes_all(c), c->dst + own.first,
                           c->src + own.first, own.count, g);
}

/* Send this PE's combined chunk to all others, and receive theirs. */
CH_FN chorus_status ch_blocks_collect(const struct ch_coll *c, size_t at, struct ch_lanes g)
{
    const struct ch_slice own = ch_block_part(c, c->me, at);
    chorus_status st = CHORUS_OK;

    if (own.count > 0)
        st =
            ch_send_lent(c, CH_CELL_simple, ch_pes_others(c), c->dst + own.first, own.count, g);
    for (uint32_t k = 1; k < c->n && st == CHORUS_OK; k++) {
        const uint32_t from = ch_pe_after(c, c->n - k);
        const struct ch_slice part = ch_block_part(c, from, at);

        if (part.count > 0)
            st = ch_recv(c, CH_CELL_simple, from, c->dst + part.first, part.count, g);
    }
    return st;
}

/* reduce in which each PE combines one block of the vector; dst may be src. */
CH_FN chorus_status ch_reduce_blocks(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t chunk = c->layout->chunk_bytes[CH_CELL_simple],
                 most = ch_slice_of(c->count, c->n, 0).count * c->elem_bytes;
    chorus_status st = CHORUS_OK;

    for (size_t at = 0; at < most && st == CHORUS_OK; at += chunk) {
        st = ch_blocks_combine(c, at, g);
        if (st == CHORUS_OK) st = ch_flush_lent(c, chunk, g);
        if (st == CHORUS_OK) st = ch_blocks_collect(c, at, g);
    }
    return st == CHORUS_OK ? ch_flush_lent(c, chunk, g) : st;
}

/* --- the algorithms ----------------------------------------------------------------------- */

/*
 * reduce on two levels for short vectors: a reduce in one shot on each host, a recursive
 * exchange among the leaders of the hosts, and a broadcast by a board on each host.
 *
 *   needs    put, whole, nodes
 *   steps    ch_shared(h) * (c + 1) + c * ch_exchanges(h->count, k)
 *   wire     ch_leaders_wire(h, k, m)
 *   scratch  two slots of a chunk for each PE of the host, a FIFO to each partner, a board
 *   inplace  safe: data is sent before it is overwritten
 *   result   combined in PE order on each host, then in one order on all leaders: bitwise
 *            equal on every PE
 *   source   of this library; it consists of three other algorithms
 */
CH_PART chorus_status ch_reduce_leaders(const struct ch_coll *c, struct ch_lanes g)
{
    struct ch_coll node, rail;
    chorus_status st;

    ch_coll_init_node(&node, c);
    ch_coll_init_rail(&rail, c);
    st = ch_reduce_one_shot(&node, CH_CELL_simple, g);
    node.src = rail.src = c->dst; /* the host's sum */
    if (node.me == 0 && st == CHORUS_OK) st = ch_reduce_recursive(&rail, CH_CELL_simple, g);
    return st == CHORUS_OK ? ch_broadcast_board(&node, CH_CELL_simple, g) : st;
}

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
 *            halves of reduce:two_shot
 *
 * There are as many slices as rails. A PE that is on no rail combines no slice; its source is
 * read, and its dest is written, by others.
 */

/* The slice of this PE; empty if it is on no complete rail. */
CH_FN struct ch_slice ch_rail_slice(const struct ch_coll *c)
{
    const uint32_t slices = c->levels->nodes.least, local = c->levels->node.me;
    const struct ch_slice none = {0, 0};

    return local < slices ? ch_slice_of(c->count, slices, local) : none;
}

/* reduce on two levels, as described above. in_blocks: the PEs of a rail combine a block of its
 * slices each, in place of a recursive exchange of the slices. */
CH_FN chorus_status ch_reduce_levels(const struct ch_coll *c, int in_blocks, struct ch_lanes g)
{
    const struct ch_slice slice = ch_rail_slice(c);
    char *mine = c->dst + slice.first * c->elem_bytes;
    const char *own = c->src + slice.first * c->elem_bytes;
    struct ch_coll node, rail;
    uint64_t epoch;
    chorus_status st;

    ch_coll_init_node(&node, c);
    ch_coll_init_child(&rail, c, &c->levels->rail, mine, mine, slice.count);
    epoch = ch_next_epoch(&node, g);
    /* source may be read, dest written */
    st = ch_signal_and_await(&node, CH_WORD_READY, epoch, CH_ENTRY, g);
    if (st != CHORUS_OK) return st;
    ch_combine_all(&node, mine, own, ch_bytes(&rail), CH_TO_ME, g);
    st = in_blocks ? ch_reduce_blocks(&rail, g) : ch_reduce_recursive(&rail, CH_CELL_simple, g);
    if (st != CHORUS_OK) return st;
    ch_store_all(&node, mine, mine, ch_bytes(&rail), g);
    /* dest is complete, source may be reused */
    return ch_signal_and_await(&node, CH_WORD_DONE, epoch, CH_DATA, g);
}

CH_FN chorus_status ch_reduce_hierarchical(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_levels(c, 0, g);
}

/*
 * reduce over rails: as in reduce:hierarchical, but each PE of a rail combines one block of
 * the slices of the hosts and sends it to all, in place of an exchange of whole slices.
 *
 *   needs    put, whole, nodes, symmetric_dest, symmetric_source
 *   steps    ch_rails_blocks_steps(h, m, e, b)
 *   wire     ch_rails_blocks_wire(h, m, e)
 *   scratch  two words per PE of the host, a FIFO to each PE of the rail
 *   inplace  safe: of a host's PEs only one reads or writes a slice until the last step
 *   result   combined in PE order on each host, then in the order of the hosts, each element by
 *            one PE: bitwise equal on every PE
 *   source   reduce:hierarchical with the two parts of Rabenseifner (ICCS 2004), each by
 *            messages to all
 */
CH_FN chorus_status ch_reduce_rails(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_levels(c, 1, g);
}

#endif /* CH_ALGO_REDUCE_LEVELS_H */
