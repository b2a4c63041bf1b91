/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange.h: messages that every PE of a team sends to every other PE at once.
 *
 * The exchanges of a duplicate are numbered in each protocol, equally on every PE. The number
 * is the flag of packets and lines; plain data is announced by a word. For each sender, the
 * receiver has two slots for messages of the protocol, used in turn. No credits are needed: a
 * PE begins exchange e + 2 after it has received all messages of e + 1, and the other PEs sent
 * these after they had read all messages of e. For this, every PE of the team must take part
 * in every exchange, with messages of the same length (1 byte to a chunk), by ch_exchange_send
 * and then one of the other functions.
 */
#ifndef CH_EXCHANGE_H
#define CH_EXCHANGE_H

#include "coll/primitives/cells.h"

/*
 * The data that a lane sends, a batch at a time, to one PE after another. All addresses are
 * computed before the first load, so that a small call only waits for its loads.
 */
struct ch_contribution {
    const char *src; /* PE p's message is at src + p * step */
    size_t step, bytes;
    struct ch_turns turns; /* the PEs of this lane */
    uint32_t i;            /* the PE of the next batch */
    const char *from;
    struct ch_slot_pair to;
    struct ch_batch batch; /* without bytes if the lane has nothing to send */
    int is_padded;         /* a constant: the first data_bytes from src on are data */
    size_t data_bytes;
    int is_lent;   /* plain data that must not change before ch_flush_lent */
    int is_stored; /* plain data that is in the slots already */
    int is_sent;   /* and that those of PEs that are not mapped were sent */
};

/* Compute the addresses and the first batch for the PE with the index contribution->i. */
CH_FN void ch_contribution_set_target(const struct ch_coll *c, enum ch_cell kind,
                                      struct ch_contribution *contribution)
{
    const struct ch_pes others = ch_pes_others(c);
    const uint32_t pe = ch_pes_at(c, others, contribution->i);

    contribution->from = contribution->src + pe * contribution->step;
    contribution->to = ch_slots_of(c, kind, pe, c->me);
    contribution->batch = ch_batch_first(
        kind, contribution->from, contribution->i < others.count ? contribution->bytes : 0,
        contribution->turns.lanes);
}

/* A contribution that sends each other PE p the `bytes` at src + p * step. */
CH_FN struct ch_contribution ch_contribution_of(const struct ch_coll *c, enum ch_cell kind,
                                                const char *src, size_t step, size_t bytes,
                                                struct ch_lanes g)
{
    struct ch_contribution contribution;

    contribution.src = src;
    contribution.step = step;
    contribution.bytes = bytes;
    contribution.turns = ch_turns_of(ch_pes_others(c).count, g);
    contribution.i = contribution.turns.first;
    contribution.is_padded = 0;
    contribution.data_bytes = 0;
    contribution.is_lent = 0;
    contribution.is_stored = 0;
    contribution.is_sent = 0;
    ch_contribution_set_target(c, kind, &contribution);
    return contribution;
}

/* Go on to the next batch, of the same PE or of the next. Returns 0 after the last one. */
CH_FN int ch_contribution_next(const struct ch_coll *c, enum ch_cell kind,
                               struct ch_contribution *contribution)
{
    ch_batch_next(&contribution->batch);
    if (ch_batch_more(&contribution->batch)) return 1;
    contribution->i += contribution->turns.step;
    if (contribution->i >= ch_pes_others(c).count) return 0;
    ch_contribution_set_target(c, kind, contribution);
    return 1;
}

/* How many of the `bytes` from `from` on are before `end`. */
CH_FN size_t ch_bytes_before(const char *end, const char *from, size_t bytes)
{
    return from >= end ? 0 : ch_min((size_t)(end - from), bytes);
}

/* v = the first batch of the contribution. */
CH_FN void ch_contribution_load(struct ch_value *v, const struct ch_contribution *contribution)
{
    if (contribution->is_padded)
        ch_value_load_padded(v, contribution->from,
                             ch_bytes_before(contribution->src + contribution->data_bytes,
                                             contribution->from, contribution->bytes),
                             &contribution->batch);
    else
        ch_value_load(v, contribution->from, &contribution->batch);
}

/* v = a later batch of the contribution. */
CH_FN void ch_contribution_load_more(struct ch_value *v,
                                     const struct ch_contribution *contribution)
{
    if (contribution->is_padded)
        ch_contribution_load(v, contribution);
    else
        ch_value_load_more(v, contribution->from, &contribution->batch);
}

/* Store v as packets or lines of the exchange after `last`, unless `refused` is not 0: the call
 * must not send. */
CH_FN void ch_exchange_send_batch(enum ch_cell kind, uint64_t last, uint64_t refused,
                                  const struct ch_value *v,
                                  const struct ch_contribution *contribution)
{
    const struct ch_slot slot = ch_slot_at(contribution->to, ch_opaque_after_loads(last) + 1);

    if (ch_opaque_after_loads(refused) == 0)
        ch_value_send(kind, slot.memory, v, &contribution->batch, slot.flag);
}

/* Send all batches; the first is loaded already. That load precedes the loop, since ptxas waits
 * for all loads at the beginning of a loop. */
CH_FN void ch_exchange_send_cells(const struct ch_coll *c, enum ch_cell kind, uint64_t last,
                                  uint64_t refused, struct ch_value *v,
                                  struct ch_contribution contribution)
{
    ch_exchange_send_batch(kind, last, refused, v, &contribution);
    while (ch_contribution_next(c, kind, &contribution)) {
        ch_contribution_load_more(v, &contribution);
        ch_exchange_send_batch(kind, last, refused, v, &contribution);
    }
}

/* Store the plain data of the exchange after `last` into the slots on the other PEs, except
 * lent data for PEs that are not mapped. */
CH_PART void ch_exchange_store_plain(const struct ch_coll *c, uint64_t last,
                                     const struct ch_contribution *contribution)
{
    const struct ch_pes others = ch_pes_others(c);

    for (uint32_t i = contribution->turns.first; i < others.count;
         i += contribution->turns.step) {
        const uint32_t pe = ch_pes_at(c, others, i);
        const struct ch_slot_pair slots = ch_slots_of(c, CH_CELL_simple, pe, c->me);

        if (contribution->is_lent && !ch_is_mapped(c, pe)) continue;
        ch_copy_apart(ch_slot_at(slots, last + 1).memory,
                      contribution->src + pe * contribution->step, contribution->bytes,
                      contribution->turns.lanes);
    }
}

/* The address of the plain data for a PE: its source if it is lent, else `to`, where lanes have
 * stored it. */
CH_FN const char *ch_contribution_at(const struct ch_contribution *contribution, uint32_t pe,
                                     const char *to)
{
    return contribution->is_lent ? contribution->src + pe * contribution->step : to;
}

/* One lane: send a PE that is not mapped its plain data of the exchange after `last`. */
CH_FN void ch_exchange_put(const struct ch_coll *c, uint64_t last,
                           const struct ch_contribution *contribution, uint32_t pe)
{
    char *to = ch_slot_at(ch_slots_of(c, CH_CELL_simple, pe, c->me), last + 1).memory;

    ch_sync_put(c, pe, to, ch_contribution_at(contribution, pe, to), contribution->bytes);
}

/* One lane: announce the plain data of the exchange after `last` to a PE. If the PE is not
 * mapped and was not sent the data before, the announcement carries it. */
CH_PART void ch_exchange_announce(const struct ch_coll *c, uint64_t last,
                                  const struct ch_contribution *contribution, uint32_t pe)
{
    char *to = ch_slot_at(ch_slots_of(c, CH_CELL_simple, pe, c->me), last + 1).memory;

    if (contribution->is_sent)
        ch_lane_signal(c, pe, CH_WORD_GIVEN, last + 1, CH_DATA);
    else
        ch_sync_put_signal(c, pe, to, ch_contribution_at(contribution, pe, to),
                           contribution->bytes, CH_WORD_GIVEN, last + 1);
}

/* Send each other PE its packets or lines, in the next exchange of this protocol. *exchange:
 * its number. Sources may be reused on return. */
CH_FN chorus_status ch_exchange_send(const struct ch_coll *c, enum ch_cell kind,
                                     const struct ch_contribution *contribution,
                                     uint64_t *exchange, struct ch_lanes g)
{
    const struct ch_pes others = ch_pes_others(c);
    struct ch_value v;
    uint64_t last, mark, refused;
    chorus_status st;

    /* Inside kernels the wait for the number is here, so v is loaded before; after a kernel's
     * wait, the compiler issues all three loads together if that of v is last, and if nothing
     * before it needs the other two. */
    if (!c->is_due) ch_contribution_load(&v, contribution);
    last = ch_last_exchange(c, kind, g);
    mark = ch_failure_mark(c);
    if (c->is_due) ch_contribution_load(&v, contribution);
    refused = mark | (kind == CH_CELL_ll ? ch_opaque_after_loads(last) & CH_TAKEN : 0);
    ch_exchange_send_cells(c, kind, last, refused, &v, *contribution);
    st = ch_lanes_agree_on_exchange(c, ch_may_exchange(kind, last, mark),
                                    g); /* all lanes have sent */
    if (st != CHORUS_OK) return st;
    *exchange = last + 1;
    ch_set_last_exchange(c, kind, last + 1, g);
    for (uint32_t i = g.lane; i < others.count; i += g.width)
        ch_notify(c->policy, c->peers[ch_pes_at(c, others, i)].door);
    return CHORUS_OK;
}

/* Send each other PE its plain data, in the next exchange of it. *exchange: its number. Sources
 * that are not lent may be reused on return. */
CH_PART chorus_status ch_exchange_send_plain(const struct ch_coll *c,
                                             const struct ch_contribution *contribution,
                                             uint64_t *exchange, struct ch_lanes g)
{
    const struct ch_pes others = ch_pes_others(c);
    const uint64_t last = ch_last_exchange(c, CH_CELL_simple, g), mark = ch_failure_mark(c);
    chorus_status st;

    if (mark == 0 && !contribution->is_stored) ch_exchange_store_plain(c, last, contribution);
    st = ch_lanes_agree_on_exchange(c, ch_may_exchange(CH_CELL_simple, last, mark),
                                    g); /* all lanes have sent */
    if (st != CHORUS_OK) return st;
    *exchange = last + 1;
    ch_set_last_exchange(c, CH_CELL_simple, last + 1, g);
    for (uint32_t i = g.lane; i < others.count; i += g.width)
        ch_exchange_announce(c, last, contribution, ch_pes_at(c, others, i));
    return CHORUS_OK;
}

/* Begin the next exchange of this protocol without a message: a word announces it to the
 * others. *exchange: its number. */
CH_FN chorus_status ch_exchange_begin_empty(const struct ch_coll *c, enum ch_cell kind,
                                            uint64_t *exchange, enum ch_sense sense,
                                            struct ch_lanes g)
{
    const uint64_t last = ch_last_exchange(c, kind, g);
    const chorus_status st = /* all lanes have read it, and their accesses precede the stores */
        ch_lanes_agree_on_exchange(c, ch_may_exchange(kind, last, ch_failure_mark(c)), g);

    if (st != CHORUS_OK) return st;
    *exchange = last + 1;
    ch_lanes_signal_all(c, CH_WORD_MET, last + 1, sense, g);
    ch_set_last_exchange(c, kind, last + 1, g);
    return CHORUS_OK;
}

/* Copy the packets or lines that each PE p has sent into dst + p * step; for this PE, the data
 * at `own`. */
CH_FN chorus_status ch_gather_cells(const struct ch_coll *c, enum ch_cell kind,
                                    uint64_t exchange, char *dst, size_t step, const char *own,
                                    size_t bytes, struct ch_lanes g)
{
    /* Not before this PE's messages are sent. */
    const struct ch_turns turns = ch_turns_of((uint32_t)ch_opaque_after_loads(c->n), g);
    chorus_status st = CHORUS_OK;

    for (uint32_t pe = turns.first; pe < c->n; pe += turns.step) {
        const struct ch_slot slot = ch_slot_at(ch_slots_of(c, kind, c->me, pe), exchange);

        if (pe == c->me)
            ch_cells_copy_plain(kind, own, dst + pe * step, bytes, turns.lanes);
        else
            ch_cells_recv(c, kind, pe, slot.memory, slot.flag, dst + pe * step, bytes,
                          turns.lanes, &st);
    }
    return ch_lanes_agree(st, g); /* all lanes have read the slots */
}

/* The slot of the exchange in which plain data from a PE arrives. */
CH_FN char *ch_plain_slot(const struct ch_coll *c, uint64_t exchange, uint32_t pe)
{
    return ch_slot_at(ch_slots_of(c, CH_CELL_simple, c->me, pe), exchange).memory;
}

/* Copy the plain data from each PE p, all of which has arrived, to dst + p * step; for this PE,
 * the data at `own`. Messages that are lent are where the call's slots say. */
CH_PART chorus_status ch_gather_plain(const struct ch_coll *c, uint64_t exchange, char *dst,
                                      size_t step, const char *own, size_t bytes,
                                      struct ch_lanes g)
{
    const struct ch_turns turns = ch_turns_of(c->n, g);
    const int is_lent = ch_is_lent(c, bytes);

    for (uint32_t pe = turns.first; pe < c->n; pe += turns.step) {
        const char *from = pe == c->me ? own
                           : is_lent   ? c->slots[pe].memory
                                       : ch_plain_slot(c, exchange, pe);

        if (!is_lent || from != dst + pe * step)
            ch_copy_apart(dst + pe * step, from, bytes, turns.lanes);
    }
    return ch_lanes_agree(CHORUS_OK, g); /* all lanes have read the slots */
}

/* dst = the messages of all PEs, and the data at `own`, combined in PE order. dst may be own.
 * Plain data has arrived. */
CH_FN chorus_status ch_gather_combined(const struct ch_coll *c, enum ch_cell kind,
                                       uint64_t exchange, char *dst, const char *own,
                                       size_t bytes, struct ch_lanes g)
{
    struct ch_sources sources = {ch_pes_all(c), own, CH_IN_EXCHANGE, exchange, 0, 0};
    chorus_status st = CHORUS_OK;

    /* Addresses, too, are computed after the wait. */
    if (kind == CH_CELL_simple) sources.exchange = ch_opaque_after_loads(exchange);
    if (kind == CH_CELL_simple || CH_INSIDE_KERNELS)
        sources.own = (const char *)(uintptr_t)ch_opaque_after_loads((uintptr_t)own);
    if (CH_INSIDE_KERNELS) g = ch_lanes_opaque(g);
    ch_combine(c, kind, &sources, dst, bytes, g, &st);
    return ch_lanes_agree(st, g); /* all lanes have combined the slots */
}

/* The data of a call, and its destinations. */
struct ch_exchange {
    const char *src; /* PE p is sent the data at src + p * src_step */
    size_t src_step;
    const char *own;
    int is_combined; /* a constant: combine the messages; else the message of PE p is copied to
                        dst + p * dst_step */
    size_t dst_step;
};

/* The contribution for the chunk at byte `at`. */
CH_FN struct ch_contribution ch_exchange_contribution(const struct ch_coll *c,
                                                      enum ch_cell kind,
                                                      const struct ch_exchange *x, size_t at,
                                                      struct ch_lanes g)
{
    struct ch_contribution contribution = ch_contribution_of(c, kind, x->src + at, x->src_step,
                                                             ch_chunk_bytes_at(c, kind, at), g);

    if (kind == CH_CELL_simple)
        contribution.is_lent = ch_is_sent_from_source(c, contribution.bytes);
    return contribution;
}

/* Before the wait for messages that are lent: offer each PE p that is not mapped to receive its
 * message directly at dst + p * step. The call's slot of each PE is set to the slot of the
 * exchange; its flag: a receive was posted. */
CH_FN void ch_gather_post_receives(const struct ch_coll *c, uint64_t exchange, char *dst,
                                   size_t step, size_t bytes, struct ch_lanes g)
{
    for (uint32_t i = g.lane; i < ch_pes_others(c).count; i += g.width) {
        const uint32_t pe = ch_pes_at(c, ch_pes_others(c), i);
        char *slot = ch_plain_slot(c, exchange, pe);

        c->slots[pe].memory = slot;
        c->slots[pe].flag =
            !ch_is_mapped(c, pe) &&
            ch_link_post_receive(c->remotes[pe].link, slot, dst + pe * step, bytes);
    }
}

/* After the wait for them: the call's slot is dst + p * step where a receive was used. */
CH_FN void ch_gather_check_receives(const struct ch_coll *c, char *dst, size_t step,
                                    struct ch_lanes g)
{
    for (uint32_t i = g.lane; i < ch_pes_others(c).count; i += g.width) {
        const uint32_t pe = ch_pes_at(c, ch_pes_others(c), i);

        if (c->slots[pe].flag && ch_link_end_receive(c->remotes[pe].link))
            c->slots[pe].memory = dst + pe * step;
    }
}

/* Wait for the plain data of all PEs in the exchange for the chunk at byte `at`. */
CH_FN chorus_status ch_exchange_await(const struct ch_coll *c, const struct ch_exchange *x,
                                      uint64_t exchange, size_t at, size_t bytes,
                                      struct ch_lanes g)
{
    const int is_posted = !x->is_combined && ch_is_lent(c, bytes);
    chorus_status st;

    if (is_posted) ch_gather_post_receives(c, exchange, c->dst + at, x->dst_step, bytes, g);
    st = ch_await_all(c, CH_WORD_GIVEN, exchange, g);
    if (is_posted) ch_gather_check_receives(c, c->dst + at, x->dst_step, g);
    return st;
}

/*
 * Wait for the plain data of all PEs in the exchange for the chunk at byte `at`, which
 * *contribution describes. A PE that has sent it has read the previous exchange, so the next
 * chunk is stored into the slots of that one: it is in flight while this PE reads, and is
 * announced after this PE has read. Over a network, a message that the receiver does not
 * combine is sent later, when the receiver is likely to have said where in dst it is to be
 * stored.
 */
CH_PART chorus_status ch_exchange_plain(const struct ch_coll *c, const struct ch_exchange *x,
                                        uint64_t exchange, size_t at,
                                        struct ch_contribution *contribution, struct ch_lanes g)
{
    const size_t bytes = contribution->bytes;
    chorus_status st = ch_exchange_await(c, x, exchange, at, bytes, g);

    if (st == CHORUS_OK) st = ch_flush_lent(c, bytes, g);
    if (st != CHORUS_OK || at + bytes >= ch_bytes(c)) return st;
    *contribution = ch_exchange_contribution(c, CH_CELL_simple, x, at + bytes, g);
    ch_exchange_store_plain(c, exchange, contribution);
    contribution->is_stored = 1;
    contribution->is_sent =
        x->is_combined && !ch_is_all_mapped(c) && contribution->bytes > CH_INLINE_BYTES;
    if (!contribution->is_sent) return CHORUS_OK;
    ch_lanes_sync(g); /* all lanes have stored their share */
    for (uint32_t i = g.lane; i < ch_pes_others(c).count; i += g.width)
        ch_exchange_put(c, exchange, contribution, ch_pes_at(c, ch_pes_others(c), i));
    return CHORUS_OK;
}

/* Exchange the chunk at byte `at`, which *contribution describes; then let it describe the next
 * chunk. */
CH_FN chorus_status ch_exchange_chunk(const struct ch_coll *c, enum ch_cell kind,
                                      const struct ch_exchange *x, size_t at,
                                      struct ch_contribution *contribution, struct ch_lanes g)
{
    const size_t bytes = contribution->bytes;
    uint64_t exchange;
    chorus_status st = kind == CH_CELL_simple
                           ? ch_exchange_send_plain(c, contribution, &exchange, g)
                           : ch_exchange_send(c, kind, contribution, &exchange, g);

    if (st == CHORUS_OK && kind == CH_CELL_simple)
        st = ch_exchange_plain(c, x, exchange, at, contribution, g);
    if (st != CHORUS_OK) return st;
    if (x->is_combined)
        st = ch_gather_combined(c, kind, exchange, c->dst + at, x->own + at, bytes, g);
    else if (kind == CH_CELL_simple)
        st = ch_gather_plain(c, exchange, c->dst + at, x->dst_step, x->own + at, bytes, g);
    else
        st =
            ch_gather_cells(c, kind, exchange, c->dst + at, x->dst_step, x->own + at, bytes, g);
    if (kind != CH_CELL_simple && !CH_INSIDE_KERNELS && st == CHORUS_OK &&
        at + bytes < ch_bytes(c)) {
        g.lane = (uint32_t)ch_opaque_after_loads(
            g.lane); /* divided anew: what is kept takes registers */
        *contribution = ch_exchange_contribution(c, kind, x, at + bytes, g);
    }
    return st;
}

/* Make the whole call, chunk by chunk. */
CH_FN chorus_status ch_exchange_all(const struct ch_coll *c, enum ch_cell kind,
                                    struct ch_exchange x, struct ch_lanes g)
{
    struct ch_contribution contribution = ch_exchange_contribution(c, kind, &x, 0, g);

    ch_wait_previous_call(
        c, (uintptr_t)contribution.from | (uintptr_t)contribution.to.even | contribution.to.odd,
        &contribution.batch);
    /* An empty exchange would not confirm that the others have read theirs. */
    for (size_t at = 0; at < ch_bytes(c);) {
        const size_t bytes = contribution.bytes;
        const chorus_status st = ch_exchange_chunk(c, kind, &x, at, &contribution, g);

        if (st != CHORUS_OK) return st;
        at += bytes;
        /* a message of packets is one chunk */
        if (CH_INSIDE_KERNELS && kind != CH_CELL_simple) return CHORUS_OK;
    }
    return CHORUS_OK;
}

#endif /* CH_EXCHANGE_H */
