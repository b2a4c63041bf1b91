/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoall.h: alltoall by loads, in rounds and by copy engines. Those by messages and stores to
 * all are in inside_kernels.h, those of several hosts in alltoall_levels.h.
 */
#ifndef CH_ALGO_ALLTOALL_H
#define CH_ALGO_ALLTOALL_H

#include "coll/primitives/engine.h"
#include "coll/primitives/primitives.h"
#include "coll/primitives/rounds.h"

/*
 * alltoall by direct loads: after all PEs have entered the call, every PE reads its blocks
 * from the sources of the others.
 *
 *   needs    map, symmetric_source
 *   steps    ch_rounds(n, k)
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   all push; here the receivers copy, and PEs signal by dissemination
 */
CH_FN chorus_status ch_alltoall_pull(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    const char *mine = c->src + c->me * c->stride;
    const chorus_status st =
        ch_disseminate(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */

    if (st != CHORUS_OK) return st;
    for (uint32_t k = 0; k < c->n; k++) {
        const uint32_t peer = ch_pe_after(c, k);

        ch_copy(c->dst + peer * c->stride, ch_peer_address(c, peer, mine), ch_bytes(c), g);
    }
    return ch_disseminate(c, CH_WORD_DONE, epoch, CH_CREDIT, g); /* source may be reused */
}

/*
 * alltoall in rounds, with forwarding. The distance from the source of a block to its
 * destination is a number in base k; in each round the block is sent by one digit of that
 * distance.
 *
 *   needs    put
 *   steps    ch_forward_steps(n, k, m, p)
 *   wire     ch_digits(n, k) * m
 *   scratch  the slots of all peers; dest holds blocks to forward
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   Bruck, Ho, Kipnis, Upfal and Weathersby (1997), radix k. A block that is to be
 *            forwarded is stored where the block of the same distance to this PE belongs, so
 *            no rotation is needed at the end
 */

/* The state of an exchange: the blocks for PE p are at src + p * src_step; those from PE p are,
 * at the end, at dst + p * dst_step. */
struct ch_forward {
    const char *src;
    size_t src_step;
    char *dst;
    size_t dst_step;
    struct ch_round_cursor cursor; /* offset of the next round's first message */
};

/* The place in which a block of distance i is kept between two rounds: that of the block from
 * the PE at distance i. */
CH_FN char *ch_forward_kept_at(const struct ch_coll *c, const struct ch_forward *f, uint32_t i)
{
    return f->dst + ch_pe_after(c, c->n - i) * f->dst_step;
}

/* Send all blocks whose distance has digit j at `span`. Those whose lower digits are all 0 have
 * not moved yet: they are this PE's own. */
CH_FN void ch_forward_send(const struct ch_coll *c, const struct ch_forward *f,
                           struct ch_round_cursor *cursor, uint32_t span, uint32_t j,
                           struct ch_lanes g)
{
    struct ch_blocks to = ch_blocks_to(c, cursor, ch_pe_after(c, j * span),
                                       ch_count_with_digit(c->n, c->radix, span, j));

    for (uint32_t base = j * span; base < c->n; base += span * c->radix)
        for (uint32_t i = base; i < ch_min(base + span, c->n); i++)
            ch_blocks_send(&to,
                           i == base ? f->src + ch_pe_after(c, i) * f->src_step
                                     : ch_forward_kept_at(c, f, i),
                           g);
}

/* Receive all blocks whose distance has digit j at `span` into the places where they are
 * kept. */
CH_FN void ch_forward_recv(const struct ch_coll *c, struct ch_forward *f, uint32_t span,
                           uint32_t j, struct ch_lanes g, chorus_status *st)
{
    struct ch_blocks from = ch_blocks_from(c, &f->cursor, ch_pe_after(c, c->n - j * span),
                                           ch_count_with_digit(c->n, c->radix, span, j));

    for (uint32_t base = j * span; base < c->n; base += span * c->radix)
        for (uint32_t i = base; i < ch_min(base + span, c->n); i++)
            ch_blocks_recv(c, &from, ch_forward_kept_at(c, f, i), g, st);
}

/* One round: send and receive all blocks whose distance has a digit other than 0 at `span`. */
CH_FN chorus_status ch_forward_round(const struct ch_coll *c, struct ch_forward *f,
                                     uint32_t span, struct ch_lanes g)
{
    struct ch_round_cursor sent = f->cursor;
    chorus_status st = CHORUS_OK;

    for (uint32_t j = 1; ch_is_target(c, span, j); j++)
        ch_forward_send(c, f, &sent, span, j, g);
    ch_lanes_sync(g); /* all lanes have loaded what is overwritten below */
    for (uint32_t j = 1 + g.lane; ch_is_target(c, span, j); j += g.width)
        ch_notify(c->policy, c->peers[ch_pe_after(c, j * span)].door);
    for (uint32_t j = 1; ch_is_target(c, span, j); j++)
        ch_forward_recv(c, f, span, j, g, &st);
    return ch_lanes_agree(st, g); /* the next round sends blocks that other lanes have stored */
}

/* Run all rounds; then dst + p * dst_step is the block from PE p, for all PEs except this
 * one. */
CH_FN chorus_status ch_forward_all(const struct ch_coll *c, struct ch_forward *f,
                                   struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    for (uint32_t span = 1; span < c->n && st == CHORUS_OK; span *= c->radix)
        st = ch_forward_round(c, f, span, g);
    return st;
}

/* alltoall in rounds, as described above: all rounds for one part of each block after
 * another. */
CH_FN chorus_status ch_alltoall_bruck(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c),
                 most = ch_forward_bytes(c->n, c->radix, ch_slot_units(c, CH_CELL_ll));
    chorus_status st = CHORUS_OK;

    ch_copy(c->dst + c->me * c->stride, c->src + c->me * c->stride, bytes, g);
    for (size_t at = 0; at < bytes && st == CHORUS_OK; at += most) {
        struct ch_forward f;

        f.src = c->src + at;
        f.dst = c->dst + at;
        f.src_step = f.dst_step = c->stride;
        f.cursor = ch_round_cursor_first(0, ch_min(most, bytes - at));
        st = ch_rounds_begin(c, CH_CELL_ll, &f.cursor.exchange, g);
        if (st == CHORUS_OK) st = ch_forward_all(c, &f, g);
    }
    return st;
}

/*
 * alltoall by copy engines: the engines of a GPU copy its blocks into the dest of every other
 * PE, after all PEs have entered the call.
 *
 *   needs    map, copy_engine, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   all push; engines make the copies
 */
CH_FN chorus_status ch_alltoall_engine(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_engine_all(c, c->stride, g);
}

#endif /* CH_ALGO_ALLTOALL_H */
