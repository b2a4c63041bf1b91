/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fifo.h: messages through the FIFOs of sync.h, in one of three protocols.
 *
 * ch_send fills cells of the FIFO to each PE of a set; ch_recv and ch_recv_combine read them.
 * Since the cells are in sync memory, a PE may send before the peer has entered the call. A
 * message is at most a chunk. A sender waits for credits, so a PE must not send a peer more
 * than two chunks that the peer can only read after it has sent its own. `kind` is a constant
 * at every call, so only its branch is left after inlining.
 *
 * In each of the three functions, each PE of the set is assigned to one lane. The lane finds
 * the address of the message, waits for credits or for the message, and stores a slot that all
 * lanes read. After the message the lanes synchronise, so that all lanes may read dst and src
 * may be reused. The same lane then announces the message, or returns credits, from the slot
 * alone.
 */
#ifndef CH_FIFO_H
#define CH_FIFO_H

#include "coll/primitives/cells.h"

/* This PE's positions in its FIFOs to and from `peer`. */
CH_FN struct ch_positions *ch_positions_of(const struct ch_coll *c, enum ch_cell kind,
                                           uint32_t peer)
{
    return &c->positions[(size_t)kind * c->n + peer];
}

/* The message of `bytes` that follows cell `position` of the FIFO on `owner` from `writer`. */
CH_FN struct ch_message ch_message_at(const struct ch_coll *c, enum ch_cell kind,
                                      uint32_t owner, uint32_t writer, uint64_t position,
                                      size_t bytes)
{
    struct ch_message m = ch_message_after(c->peers[owner].sync + c->sync_offset, c->layout,
                                           kind, writer, position, bytes);

    m.flag = ch_add_tag(c, m.flag);
    return m;
}

/* The next message of this PE, of `bytes`, to `peer`. */
CH_FN struct ch_message ch_next_outgoing(const struct ch_coll *c, enum ch_cell kind,
                                         uint32_t peer, size_t bytes)
{
    return ch_message_at(c, kind, peer, c->me, ch_positions_of(c, kind, peer)->sent, bytes);
}

/* The next message of `bytes` from `peer`. */
CH_FN struct ch_message ch_next_incoming(const struct ch_coll *c, enum ch_cell kind,
                                         uint32_t peer, size_t bytes)
{
    return ch_message_at(c, kind, c->me, peer, ch_positions_of(c, kind, peer)->taken, bytes);
}

/* One lane: wait until the receiver has returned the credits for the cells up to `end`. */
CH_FN chorus_status ch_wait_for_credits(const struct ch_coll *c, enum ch_cell kind,
                                        uint32_t peer, uint64_t end)
{
    struct ch_positions *positions = ch_positions_of(c, kind, peer);
    const uint64_t cells = (uint64_t)1 << c->layout->cells_log2[kind];
    chorus_status st;

    if (end - positions->freed <= cells) return CHORUS_OK;
    st = ch_lane_await(c, peer, CH_WORD_TAKEN + kind,
                       end - cells); /* pairs with ch_credit_sender */
    positions->freed = ch_read_credit(c, peer, CH_WORD_TAKEN + kind);
    return st;
}

/* The slot in which a message is. */
CH_FN struct ch_slot ch_slot_of(struct ch_message m)
{
    const struct ch_slot slot = {m.memory, m.flag, m.end};

    return slot;
}

/* One lane: *slot = that of the next message to `peer`, of `bytes`. Waits until it may be
 * filled. */
CH_FN chorus_status ch_await_slot_to(const struct ch_coll *c, enum ch_cell kind, uint32_t peer,
                                     size_t bytes, struct ch_slot *slot)
{
    const struct ch_message m = ch_next_outgoing(c, kind, peer, bytes);
    const chorus_status st = ch_wait_for_credits(c, kind, peer, m.end);

    *slot = ch_slot_of(m);
    ch_positions_of(c, kind, peer)->sent = m.end;
    return st;
}

/* One lane: *slot = that of the next message from `peer`, of `bytes`. In the simple protocol,
 * waits for the whole message before any of it is loaded. */
CH_FN chorus_status ch_await_slot_from(const struct ch_coll *c, enum ch_cell kind,
                                       uint32_t peer, size_t bytes, struct ch_slot *slot)
{
    const struct ch_message m = ch_next_incoming(c, kind, peer, bytes);

    *slot = ch_slot_of(m);
    ch_positions_of(c, kind, peer)->taken = m.end;
    if (kind != CH_CELL_simple) return CHORUS_OK;
    return ch_lane_await(c, peer, CH_WORD_FILLED, m.end); /* pairs with ch_announce_message */
}

/* One lane: announce that the message of `bytes` to `peer` is in its FIFO or, if it is lent, at
 * `from`. */
CH_FN void ch_announce_message(const struct ch_coll *c, enum ch_cell kind, uint32_t peer,
                               const struct ch_slot *slot, const char *from, size_t bytes)
{
    if (kind == CH_CELL_simple) {
        ch_sync_put_signal(c, peer, slot->memory, from, bytes, CH_WORD_FILLED, slot->end);
    } else {
        ch_notify(c->policy, c->peers[peer].door);
    }
}

/* One lane, after the message from `peer` was received: give the peer a credit, since its cells
 * may be filled again. It gets one after each quarter of a FIFO: seldom enough to cost little,
 * and often enough for two chunks to be in flight. */
CH_FN void ch_credit_sender(const struct ch_coll *c, enum ch_cell kind, uint32_t peer,
                            const struct ch_slot *slot)
{
    struct ch_positions *positions = ch_positions_of(c, kind, peer);

    if (slot->end - positions->told < ((uint64_t)1 << c->layout->cells_log2[kind]) / 4) return;
    positions->told = slot->end;
    ch_lane_signal(c, peer, CH_WORD_TAKEN + kind, slot->end, CH_CREDIT);
}

/* Store packets or lines, for each PE p the `bytes` at src + p * step, into the slots of a
 * set. */
CH_FN void ch_fill_slots(const struct ch_coll *c, enum ch_cell kind, struct ch_pes to,
                         const char *src, size_t step, size_t bytes, struct ch_lanes g)
{
    const struct ch_turns turns = ch_turns_of(to.count, g);

    for (uint32_t i = turns.first; i < to.count; i += turns.step) {
        const uint32_t pe = ch_pes_at(c, to, i);
        const struct ch_slot slot = c->slots[i];

        if (pe != c->me)
            ch_cells_send(kind, slot.memory, slot.flag, src + pe * step, bytes, turns.lanes);
    }
}

/* Copy plain data, for each PE p the `bytes` at src + p * step, into the slots of a set.
 * is_lent: only for PEs that are mapped; others are sent it from src. */
CH_FN void ch_fill_slots_plain(const struct ch_coll *c, struct ch_pes to, const char *src,
                               size_t step, size_t bytes, int is_lent, struct ch_lanes g)
{
    for (uint32_t i = 0; i < to.count; i++) {
        const uint32_t pe = ch_pes_at(c, to, i);

        if (pe != c->me && (!is_lent || ch_is_mapped(c, pe)))
            ch_copy_apart(c->slots[i].memory, src + pe * step, bytes, g);
    }
}

/* The common part of ch_send and ch_send_lent. is_lent: PEs that are not mapped are sent the
 * data from src, which must not change; only in the simple protocol. */
CH_PART chorus_status ch_send_as(const struct ch_coll *c, enum ch_cell kind, struct ch_pes to,
                                 const char *src, size_t step, size_t bytes, int is_lent,
                                 struct ch_lanes g)
{
    chorus_status st = ch_check_not_failed(c);

    for (uint32_t i = g.lane; i < to.count && st == CHORUS_OK; i += g.width)
        if (ch_pes_at(c, to, i) != c->me)
            st = ch_await_slot_to(c, kind, ch_pes_at(c, to, i), bytes, &c->slots[i]);
    st = ch_lanes_agree(st, g); /* all slots are set */
    if (st != CHORUS_OK) return st;
    if (kind == CH_CELL_simple)
        ch_fill_slots_plain(c, to, src, step, bytes, is_lent, g);
    else
        ch_fill_slots(c, kind, to, src, step, bytes, g);
    ch_lanes_sync(g); /* all lanes have stored their share */
    for (uint32_t i = g.lane; i < to.count; i += g.width) {
        const uint32_t pe = ch_pes_at(c, to, i);

        if (pe != c->me)
            ch_announce_message(c, kind, pe, &c->slots[i],
                                is_lent ? src + pe * step : c->slots[i].memory, bytes);
    }
    return CHORUS_OK;
}

/*
 * Send each PE p of the set, but not this one, the `bytes` (1 to a chunk) at src + p * step.
 * src may be reused on return.
 */
CH_FN chorus_status ch_send(const struct ch_coll *c, enum ch_cell kind, struct ch_pes to,
                            const char *src, size_t step, size_t bytes, struct ch_lanes g)
{
    return ch_send_as(c, kind, to, src, step, bytes, 0, g);
}

/* All lanes: wait until the next message of plain data to `peer`, *m, may be filled. The caller
 * fills it at m->memory before ch_pack_end, and may use the slots of the call for that. */
CH_PART chorus_status ch_pack_begin(const struct ch_coll *c, uint32_t peer, size_t bytes,
                                    struct ch_message *m, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    ch_lanes_sync(g); /* lane 0 has stored `sent`, and all lanes have read the slots */
    *m = ch_next_outgoing(c, CH_CELL_simple, peer, bytes);
    if (g.lane == 0) st = ch_wait_for_credits(c, CH_CELL_simple, peer, m->end);
    return ch_lanes_agree(st, g);
}

/* All lanes: send the message m, of `bytes`, that the caller has filled. */
CH_PART void ch_pack_end(const struct ch_coll *c, uint32_t peer, size_t bytes,
                         const struct ch_message *m, struct ch_lanes g)
{
    ch_lanes_sync(g); /* all lanes have stored their share */
    if (g.lane != 0) return;
    /* Pairs with ch_await_slot_from. */
    ch_sync_put_signal(c, peer, m->memory, m->memory, bytes, CH_WORD_FILLED, m->end);
    ch_positions_of(c, CH_CELL_simple, peer)->sent = m->end;
}

/* Send each PE of the set, but not this one, the same `bytes` at src, which must not change
 * before ch_flush_lent. */
CH_FN chorus_status ch_send_lent(const struct ch_coll *c, enum ch_cell kind, struct ch_pes to,
                                 const char *src, size_t bytes, struct ch_lanes g)
{
    const int is_lent = kind == CH_CELL_simple && ch_is_sent_from_source(c, bytes);

    return ch_send_as(c, kind, to, src, 0, bytes, is_lent, g);
}

/* All lanes: set the call's slots to those of the next messages from the set; in the simple
 * protocol, wait for the messages. The slot of this PE does not change. */
CH_PART chorus_status ch_await_messages(const struct ch_coll *c, enum ch_cell kind,
                                        struct ch_pes from, size_t bytes, struct ch_lanes g)
{
    chorus_status st = ch_check_not_failed(c);

    for (uint32_t i = g.lane; i < from.count && st == CHORUS_OK; i += g.width)
        if (ch_pes_at(c, from, i) != c->me)
            st = ch_await_slot_from(c, kind, ch_pes_at(c, from, i), bytes, &c->slots[i]);
    return ch_lanes_agree(st, g); /* all slots are set */
}

/* All lanes, after the messages of the set were received: return credits for them. st: of this
 * lane; returns the status of all lanes. */
CH_PART chorus_status ch_release_slots(const struct ch_coll *c, enum ch_cell kind,
                                       struct ch_pes from, chorus_status st, struct ch_lanes g)
{
    st = ch_lanes_agree(st, g); /* all lanes have read the cells */
    for (uint32_t i = g.lane; i < from.count && st == CHORUS_OK; i += g.width)
        if (ch_pes_at(c, from, i) != c->me)
            ch_credit_sender(c, kind, ch_pes_at(c, from, i), &c->slots[i]);
    return st;
}

/* One lane: ch_await_slot_from for a message to dst. A long one from a peer that is not mapped
 * may be received directly at dst; dst is the slot then. */
CH_FN chorus_status ch_await_slot_into(const struct ch_coll *c, enum ch_cell kind,
                                       uint32_t peer, char *dst, size_t bytes,
                                       struct ch_slot *slot)
{
    const int is_posted =
        kind == CH_CELL_simple && ch_is_lent(c, bytes) && !ch_is_mapped(c, peer) &&
        ch_link_post_receive(c->remotes[peer].link,
                             ch_next_incoming(c, kind, peer, bytes).memory, dst, bytes);
    const chorus_status st = ch_await_slot_from(c, kind, peer, bytes, slot);

    if (is_posted && ch_link_end_receive(c->remotes[peer].link)) slot->memory = dst;
    return st;
}

/* Receive the next message from `peer`, of `bytes`, into dst of this PE. dst may be written
 * from the beginning of the call on. */
CH_PART chorus_status ch_recv(const struct ch_coll *c, enum ch_cell kind, uint32_t peer,
                              char *dst, size_t bytes, struct ch_lanes g)
{
    const struct ch_pes from = ch_pes_one(peer);
    chorus_status st = ch_check_not_failed(c);

    if (kind == CH_CELL_simple && ch_is_lent(c, bytes))
        ch_lanes_sync(g); /* other lanes' accesses to dst precede the stores there */
    if (g.lane == 0 && st == CHORUS_OK)
        st = ch_await_slot_into(c, kind, peer, dst, bytes, &c->slots[0]);
    st = ch_lanes_agree(st, g); /* the slot is there */
    if (st != CHORUS_OK) return st;
    if (kind == CH_CELL_simple)
        ch_copy_apart(dst, c->slots[0].memory, bytes, g);
    else
        ch_cells_recv(c, kind, peer, c->slots[0].memory, c->slots[0].flag, dst, bytes, g, &st);
    return ch_release_slots(c, kind, from, st, g);
}

/*
 * dst = the set's data combined in its order: `own` for this PE, which is in the set, and the
 * next message from each of the others. dst may be own.
 */
CH_PART chorus_status ch_recv_combine(const struct ch_coll *c, enum ch_cell kind,
                                      struct ch_pes from, char *dst, const char *own,
                                      size_t bytes, struct ch_lanes g)
{
    const struct ch_sources sources = {from, own, CH_IN_SLOTS, 0, 0, 0};
    chorus_status st = ch_await_messages(c, kind, from, bytes, g);

    if (st != CHORUS_OK) return st;
    ch_combine(c, kind, &sources, dst, bytes, g, &st);
    return ch_release_slots(c, kind, from, st, g);
}

/* --- messages that are forwarded around the team from PE to PE ---------------------------- */

/*
 * The data that is forwarded at a time is at most two messages of plain data long, its legs,
 * and both are in flight at once: a PE processes one while the other is sent. A PE thus never
 * sends more than two chunks that the next PE can only read after it has sent its own.
 */
#define CH_LEGS 2u

/* The PE to which this one forwards. */
CH_FN uint32_t ch_next_pe(const struct ch_coll *c)
{
    return ch_pe_after(c, 1);
}

/* The PE that forwards to this one. */
CH_FN uint32_t ch_prev_pe(const struct ch_coll *c)
{
    return ch_pe_after(c, c->n - 1);
}

/* Largest number of bytes that are forwarded together. */
CH_FN size_t ch_relay_bytes(const struct ch_coll *c)
{
    return CH_LEGS * c->layout->chunk_bytes[CH_CELL_simple];
}

struct ch_leg {
    size_t first, bytes; /* no bytes: there is no such leg */
};

/* Leg 0 or 1 of `bytes` (0 to ch_relay_bytes). */
CH_FN struct ch_leg ch_leg_of(const struct ch_coll *c, size_t bytes, uint32_t leg)
{
    const size_t chunk = c->layout->chunk_bytes[CH_CELL_simple];
    struct ch_leg l;

    l.first = leg * chunk;
    l.bytes = bytes > l.first ? ch_min(chunk, bytes - l.first) : 0;
    return l;
}

/* dst = the next message of `bytes` from the previous PE, combined with `own`. dst may be
 * own. */
CH_FN chorus_status ch_recv_combine_prev(const struct ch_coll *c, char *dst, const char *own,
                                         size_t bytes, struct ch_lanes g)
{
    const struct ch_pes two = {ch_prev_pe(c), 1, 2}; /* and this PE */

    return ch_recv_combine(c, CH_CELL_simple, two, dst, own, bytes, g);
}

/* Combine the next message from the previous PE with `own`, directly into the FIFO to the next
 * PE, and send it to that. */
CH_FN chorus_status ch_recv_combine_send(const struct ch_coll *c, const char *own, size_t bytes,
                                         struct ch_lanes g)
{
    const uint32_t next = ch_next_pe(c);
    struct ch_message m;
    chorus_status st = ch_pack_begin(c, next, bytes, &m, g);

    if (st == CHORUS_OK) st = ch_recv_combine_prev(c, m.memory, own, bytes, g);
    if (st != CHORUS_OK) return st;
    ch_pack_end(c, next, bytes, &m, g);
    return CHORUS_OK;
}

#endif /* CH_FIFO_H */
