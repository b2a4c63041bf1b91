/* SPDX-License-Identifier: Apache-2.0 */
/*
 * board.h: messages that a PE stores once, for every other PE of the team to load.
 *
 * A PE's board is the FIFO from the PE to itself, which no message of fifo.h uses. Only the PE
 * writes there; cells, flags and positions are as in any FIFO, but every other PE reads each
 * message, so the writer waits for credits from all of them. Every PE must read all messages
 * of a board, otherwise the writer waits forever once the board is full. In the simple
 * protocol one word announces a message, the owner's CH_WORD_FILLED to itself.
 *
 * Both functions begin with a synchronisation of the lanes, as those of fifo.h do, and neither
 * ends with one.
 */
#ifndef CH_BOARD_H
#define CH_BOARD_H

#include "coll/primitives/fifo.h"

/* The message of `bytes` that follows cell `position` of the owner's board. */
CH_FN struct ch_message ch_board_message(const struct ch_coll *c, enum ch_cell kind,
                                         uint32_t owner, uint64_t position, size_t bytes)
{
    return ch_message_at(c, kind, owner, owner, position, bytes);
}

/* Wait until the cells of this PE's board up to `end` may be filled. */
CH_FN chorus_status ch_board_wait_for_credits(const struct ch_coll *c, enum ch_cell kind,
                                              uint64_t end, struct ch_lanes g)
{
    struct ch_positions *own = ch_positions_of(c, kind, c->me);
    const uint64_t cells = (uint64_t)1 << c->layout->cells_log2[kind];
    uint64_t least = end;
    chorus_status st;

    if (end - own->freed <= cells) return CHORUS_OK;
    st = ch_await_all(c, CH_WORD_READ + kind, end - cells, g);
    if (st != CHORUS_OK || g.lane != 0) return st;
    for (uint32_t k = 1; k < c->n; k++)
        least = ch_min(least, ch_read_credit(c, ch_pe_after(c, k), CH_WORD_READ + kind));
    own->freed = least;
    return CHORUS_OK;
}

/* Prefetch the line of the fourth message after this one, if all have the same length. A nearer
 * one would be prefetched too late; a farther one is taken back by the writer if the reader is
 * close behind it. */
CH_FN void ch_board_prefetch(const struct ch_coll *c, enum ch_cell kind, struct ch_message m,
                             size_t bytes)
{
    const uint64_t cells = m.end - m.begin;
    const struct ch_message later = ch_board_message(c, kind, c->me, m.end + 3 * cells, bytes);

    ch_prefetch_write(later.memory, cells * ch_cell_bytes(kind));
}

/* Post `bytes` (1 to a chunk) on this PE's board. src may be reused on return. */
CH_PART chorus_status ch_board_post(const struct ch_coll *c, enum ch_cell kind, const char *src,
                                    size_t bytes, struct ch_lanes g)
{
    struct ch_positions *own = ch_positions_of(c, kind, c->me);
    struct ch_message m;
    chorus_status st;

    ch_lanes_sync(g); /* lane 0 has stored `sent`, other lanes their share of src */
    m = ch_board_message(c, kind, c->me, own->sent, bytes);
    st = ch_check_not_failed(c);
    if (st == CHORUS_OK) st = ch_board_wait_for_credits(c, kind, m.end, g);
    if (st != CHORUS_OK) return st;
    if (kind == CH_CELL_simple)
        ch_copy_apart(m.memory, src, bytes, g);
    else
        ch_cells_send(kind, m.memory, m.flag, src, bytes, g);
    ch_lanes_sync(g); /* all lanes have read `sent` and stored their share */
    if (g.lane != 0) return CHORUS_OK;
    own->sent = m.end;
    if (kind != CH_CELL_simple) ch_board_prefetch(c, kind, m, bytes);
    if (kind == CH_CELL_simple) /* pairs with ch_board_await_post */
        ch_word_store(ch_word_at(c, c->me, CH_WORD_FILLED, c->me), ch_add_tag(c, m.end),
                      CH_DATA);
    for (uint32_t k = 1; k < c->n; k++)
        ch_notify(c->policy, c->peers[ch_pe_after(c, k)].door);
    return CHORUS_OK;
}

/* Wait until the message that ends at cell `end` is on the owner's board. Only in the simple
 * protocol: packets and lines are awaited one by one, as they are read. */
CH_FN chorus_status ch_board_await_post(const struct ch_coll *c, enum ch_cell kind,
                                        uint32_t owner, uint64_t end, struct ch_lanes g)
{
    const uint64_t *word = ch_word_at(c, owner, CH_WORD_FILLED, owner);
    chorus_status st = ch_check_not_failed(c);

    if (kind != CH_CELL_simple || st != CHORUS_OK) return st;
    if (g.lane == 0) st = ch_lane_await_at(c, owner, CH_WORD_FILLED, word, end);
    return ch_lanes_agree(st, g);
}

/* After all lanes have read message m of the owner's board: give the owner a credit if a
 * quarter of a FIFO was read since the last credit, as in ch_credit_sender. */
CH_FN void ch_board_credit_owner(const struct ch_coll *c, enum ch_cell kind, uint32_t owner,
                                 struct ch_message m, struct ch_lanes g)
{
    struct ch_positions *positions = ch_positions_of(c, kind, owner);

    if (g.lane != 0) return;
    positions->read = m.end;
    if (m.end - positions->read_told < ((uint64_t)1 << c->layout->cells_log2[kind]) / 4) return;
    positions->read_told = m.end;
    /* Pairs with the wait for room. */
    ch_lane_signal(c, owner, CH_WORD_READ + kind, m.end, CH_CREDIT);
}

/* Read the next message of the owner's board, of `bytes`, into dst of this PE. */
CH_PART chorus_status ch_board_read(const struct ch_coll *c, enum ch_cell kind, uint32_t owner,
                                    char *dst, size_t bytes, struct ch_lanes g)
{
    struct ch_message m;
    chorus_status st;

    ch_lanes_sync(g); /* lane 0 has stored `read` */
    m = ch_board_message(c, kind, owner, ch_positions_of(c, kind, owner)->read, bytes);
    st = ch_board_await_post(c, kind, owner, m.end, g);
    if (st != CHORUS_OK) return st;
    if (kind == CH_CELL_simple)
        ch_copy_apart(dst, m.memory, bytes, g);
    else
        ch_cells_recv(c, kind, owner, m.memory, m.flag, dst, bytes, g, &st);
    st = ch_lanes_agree(st, g); /* all lanes have read the cells and `read` */
    if (st == CHORUS_OK) ch_board_credit_owner(c, kind, owner, m, g);
    return st;
}

#endif /* CH_BOARD_H */
