/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.h: reduce in one shot or two, by loads, stores, packets or multicast. Two more, which
 * calls inside kernels use, are in inside_kernels.h, those in rounds in reduce_rounds.h, and
 * those of several hosts in reduce_levels.h.
 */
#ifndef CH_ALGO_REDUCE_H
#define CH_ALGO_REDUCE_H

#include "coll/primitives/exchange.h"
#include "coll/primitives/multicast.h"
#include "coll/primitives/primitives.h"

/*
 * reduce in one shot by direct loads: after all PEs have entered, every PE loads the vectors
 * of all PEs and combines them.
 *
 *   needs    map, apart, symmetric_source
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  not possible
 *   result   combined in PE order 0 .. n-1: bitwise equal on every PE
 *   source   as reduce:one_shot; here the receivers read
 */
CH_FN chorus_status ch_reduce_one_shot_pull(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    chorus_status st;

    ch_signal_all(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */
    st = ch_await_all(c, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_combine_all(c, c->dst, c->src, ch_bytes(c), CH_TO_ME, g);
    ch_signal_all(c, CH_WORD_DONE, epoch, CH_CREDIT, g);
    return ch_await_all(c, CH_WORD_DONE, epoch, g); /* source may be reused */
}

/*
 * reduce in two shots by stores: every PE stores each peer's slice into that peer's sync
 * memory, and each PE combines its slice there and stores the result into the dest of all PEs,
 * several chunks at a time.
 *
 *   needs    map, symmetric_dest
 *   steps    ch_divide_up(c, n * ch_slot_chunks(n)) + 1
 *   wire     m + (n - 2) * ch_most_grains(m, n)
 *   scratch  two slots of ch_slot_chunks(n) chunks for each peer
 *   inplace  safe: a piece of a source is sent before any PE announces the piece, and results
 *            are stored after
 *   result   each slice combined on one PE, in PE order 0 .. n-1: bitwise equal on every PE
 *   source   as reduce:two_shot, which loads the slices; on a link that is busy in both
 *            directions stores reach a higher bandwidth
 *
 * Each piece is an exchange (exchange.h), which a PE sends while it combines the piece before.
 * A PE announces piece j after it has combined piece j - 1, so a PE that has heard of piece j
 * from all PEs knows that all have read piece j - 1. An exchange without messages ends the
 * call.
 */

/* Bytes of every piece except the last one, which has the remaining bytes. */
CH_FN size_t ch_shot_piece_bytes(const struct ch_coll *c)
{
    return c->n * ch_slot_chunks(c->n) * c->layout->chunk_bytes[CH_CELL_simple];
}

/* PE p's slice of the piece at `at`; `first` is an index in src. */
CH_FN struct ch_slice ch_shot_slice_of(const struct ch_coll *c, size_t at, uint32_t p)
{
    const size_t bytes = ch_min(ch_shot_piece_bytes(c), ch_bytes(c) - at);
    struct ch_slice s = ch_grains_of(bytes, c->n, p);

    s.first += at;
    return s;
}

/* Store the other PEs' slices of the piece at `at`, if there is one, into this PE's slots
 * there. */
CH_FN void ch_shot_store_slices(const struct ch_coll *c, size_t at, uint64_t exchange,
                                struct ch_lanes g)
{
    if (at >= ch_bytes(c)) return;
    for (uint32_t k = 1; k < c->n; k++) {
        const uint32_t peer = ch_pe_after(c, k);
        const struct ch_slice s = ch_shot_slice_of(c, at, peer);
        const struct ch_slot_pair slots = ch_slots_of(c, CH_CELL_simple, peer, c->me);

        ch_copy(ch_slot_at(slots, exchange).memory, c->src + s.first, s.count, g);
    }
}

/* Combine this PE's slice of the piece at `at`, and store it into the dest of all PEs. */
CH_FN void ch_shot_combine_slice(const struct ch_coll *c, size_t at, uint64_t exchange,
                                 struct ch_lanes g)
{
    const struct ch_slice s = ch_shot_slice_of(c, at, c->me);
    const struct ch_sources sources = {
        ch_pes_all(c), c->src + s.first, CH_IN_EXCHANGE, exchange, 0, 0};
    char *dst = c->dst + s.first;
    chorus_status st = CHORUS_OK; /* no wait: the exchange has waited for plain data */

    for (struct ch_batch b = ch_batch_first(CH_CELL_simple, dst, s.count, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;
        struct ch_accumulator acc;

        ch_combine_sources(c, CH_CELL_simple, &sources, c->n, ch_loads_ahead(c), &acc, &b, &st);
        ch_value_stage(&v, dst, &b);
        ch_acc_to_value(c, &v, &acc, &b);
        ch_value_store(dst, &v, &b);
        for (uint32_t k = 1; k < c->n; k++)
            ch_value_store(ch_peer_address(c, ch_pe_after(c, k), dst), &v, &b);
    }
}

/* reduce in two shots by stores, as described above: piece by piece. */
CH_FN chorus_status ch_reduce_two_shot_push_simple(const struct ch_coll *c, struct ch_lanes g)
{
    uint64_t exchange = ch_last_exchange(c, CH_CELL_simple, g) + 1;
    chorus_status st = CHORUS_OK;

    if (c->n == 1) ch_copy(c->dst, c->src, ch_bytes(c), g);
    if (c->n == 1 || c->count == 0) return CHORUS_OK;
    ch_shot_store_slices(c, 0, exchange, g);
    for (size_t at = 0; at < ch_bytes(c) && st == CHORUS_OK; at += ch_shot_piece_bytes(c)) {
        ch_signal_all(c, CH_WORD_GIVEN, exchange, CH_DATA, g);
        st = ch_await_all(c, CH_WORD_GIVEN, exchange, g); /* dest of all may be written */
        if (st != CHORUS_OK) return st;
        ch_shot_store_slices(c, at + ch_shot_piece_bytes(c), exchange + 1, g);
        ch_shot_combine_slice(c, at, exchange++, g);
    }
    ch_signal_all(c, CH_WORD_GIVEN, exchange, CH_DATA, g);
    ch_set_last_exchange(c, CH_CELL_simple, exchange, g);
    return ch_await_all(c, CH_WORD_GIVEN, exchange, g); /* dest is complete */
}

/*
 * reduce in two shots in packets: every PE sends each peer that peer's slice; each PE combines
 * its slice, and sends the result to all.
 *
 *   needs    put
 *   steps    2 * ch_divide_up(c, n)
 *   wire     2 * (n - 1) * 16 * ch_divide_up(m, 16 * n)
 *   scratch  two slots of a chunk for each peer
 *   inplace  safe: a PE has a batch of a slice's result only when all PEs have sent theirs
 *   result   each slice combined on one PE, in PE order 0 .. n-1: bitwise equal on every PE
 *   source   the two parts of Rabenseifner (ICCS 2004), by messages to all
 *
 * Each piece of the vector, one chunk for each PE, takes two exchanges: slices in the first,
 * results in the second. The lane that combines a batch of a slice sends the result at once,
 * from its registers, as the same batch of the second exchange. A PE that has received all of
 * the second exchange therefore knows that all of the first has been read, as exchange.h
 * requires. For this, all slices have the same length; the last ones are padded.
 */

/* A piece of the vector: bytes [at, at + bytes), in slices of slice_bytes. */
struct ch_two_shot {
    size_t at, bytes, slice_bytes;
};

/* The piece of the vector that begins at byte `at`. */
CH_FN struct ch_two_shot ch_two_shot_of(const struct ch_coll *c, size_t at)
{
    const uint64_t grain = 16; /* the widest element, and two packets */
    struct ch_two_shot t;

    t.at = at;
    t.bytes = ch_min(c->n * c->layout->chunk_bytes[CH_CELL_ll], ch_bytes(c) - at);
    t.slice_bytes = ch_divide_up(t.bytes, grain * c->n) * grain;
    return t;
}

/* Bytes of PE p's slice, without padding. */
CH_FN size_t ch_two_shot_slice_bytes(const struct ch_two_shot *t, uint32_t p)
{
    const size_t first = p * t->slice_bytes;

    return first >= t->bytes ? 0 : ch_min(t->slice_bytes, t->bytes - first);
}

/* The contribution that sends each PE its slice of the piece. */
CH_FN struct ch_contribution ch_two_shot_contribution(const struct ch_coll *c,
                                                      const struct ch_two_shot *t,
                                                      struct ch_lanes g)
{
    struct ch_contribution contribution =
        ch_contribution_of(c, CH_CELL_ll, c->src + t->at, t->slice_bytes, t->slice_bytes, g);

    contribution.is_padded = 1;
    contribution.data_bytes = t->bytes;
    return contribution;
}

/* Send a batch of the result to all PEs, in the exchange of this number. */
CH_FN void ch_two_shot_send(const struct ch_coll *c, const struct ch_value *v,
                            const struct ch_batch *b, uint64_t exchange)
{
    for (uint32_t k = 1; k < c->n; k++) {
        const uint32_t peer = ch_pe_after(c, k);
        const struct ch_slot slot =
            ch_slot_at(ch_slots_of(c, CH_CELL_ll, peer, c->me), exchange);

        ch_value_send(CH_CELL_ll, slot.memory, v, b, slot.flag);
        ch_notify(c->policy, c->peers[peer].door);
    }
}

/* Combine this PE's slice of the messages of `exchange`, and send it to all PEs in the next
 * exchange. */
CH_FN void ch_two_shot_combine(const struct ch_coll *c, const struct ch_two_shot *t,
                               uint64_t exchange, struct ch_lanes g, chorus_status *st)
{
    const size_t at = t->at + c->me * t->slice_bytes, bytes = ch_two_shot_slice_bytes(t, c->me);
    const struct ch_sources sources = {ch_pes_all(c), c->src + at, CH_IN_EXCHANGE,
                                       exchange,      1,           bytes};

    for (struct ch_batch b = ch_batch_first(CH_CELL_ll, c->dst + at, t->slice_bytes, g);
         ch_batch_more(&b); ch_batch_next(&b)) {
        const struct ch_batch data = ch_batch_clip(&b, bytes);
        struct ch_value v;
        struct ch_accumulator acc;

        ch_combine_sources(c, CH_CELL_ll, &sources, c->n, ch_loads_ahead(c), &acc, &b, st);
        ch_value_use_scratch(&v);
        ch_acc_to_value(c, &v, &acc, &b);
        if (*st != CHORUS_OK) return;
        ch_two_shot_send(c, &v, &b, exchange + 1);
        ch_value_store(c->dst + at, &v, &data);
    }
}

/* Receive the results of the other PEs' slices into dst. *st keeps the first failure. */
CH_FN void ch_two_shot_gather(const struct ch_coll *c, const struct ch_two_shot *t,
                              uint64_t exchange, struct ch_lanes g, chorus_status *st)
{
    const struct ch_pes others = ch_pes_others(c);
    const struct ch_turns turns = ch_turns_of((uint32_t)ch_opaque_after_loads(others.count), g);

    for (uint32_t i = turns.first; i < others.count; i += turns.step) {
        const uint32_t pe = ch_pes_at(c, others, i);
        const struct ch_slot slot = ch_slot_at(ch_slots_of(c, CH_CELL_ll, c->me, pe), exchange);
        char *dst = c->dst + t->at + pe * t->slice_bytes;

        for (struct ch_batch b = ch_batch_first(CH_CELL_ll, dst, t->slice_bytes, turns.lanes);
             ch_batch_more(&b); ch_batch_next(&b)) {
            const struct ch_batch data = ch_batch_clip(&b, ch_two_shot_slice_bytes(t, pe));
            struct ch_value v;

            ch_value_use_scratch(&v);
            ch_value_poll(CH_CELL_ll, slot.memory, &v, &b);
            ch_value_wait(c, CH_CELL_ll, pe, slot.memory, &v, &b, slot.flag, st);
            ch_value_store(dst, &v, &data);
        }
    }
}

/* Reduce one piece, whose slices the contribution sends. */
CH_FN chorus_status ch_two_shot_piece(const struct ch_coll *c, const struct ch_two_shot *t,
                                      const struct ch_contribution *contribution,
                                      struct ch_lanes g)
{
    uint64_t exchange;
    chorus_status st = ch_exchange_send(c, CH_CELL_ll, contribution, &exchange, g);

    if (st != CHORUS_OK) return st;
    ch_set_last_exchange(c, CH_CELL_ll, exchange + 1, g);
    ch_two_shot_combine(c, t, exchange, g, &st);
    ch_two_shot_gather(c, t, exchange + 1, g, &st);
    return ch_lanes_agree(st, g); /* all lanes have read the slots */
}

/* reduce in two shots in packets, as described above: piece by piece. */
CH_FN chorus_status ch_reduce_two_shot_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    struct ch_two_shot t = ch_two_shot_of(c, 0);
    struct ch_contribution contribution = ch_two_shot_contribution(c, &t, g);

    ch_wait_previous_call(
        c, (uintptr_t)contribution.from | (uintptr_t)contribution.to.even | contribution.to.odd,
        &contribution.batch);
    if (c->n == 1) ch_cells_copy_plain(CH_CELL_ll, c->src, c->dst, ch_bytes(c), g);
    if (c->n == 1 || c->count == 0) return CHORUS_OK;
    for (;;) {
        const chorus_status st = ch_two_shot_piece(c, &t, &contribution, g);
        const size_t done = t.at + t.bytes;

        if (st != CHORUS_OK || done == ch_bytes(c)) return st;
        t = ch_two_shot_of(c, done);
        contribution = ch_two_shot_contribution(c, &t, g);
    }
}

/*
 * reduce in two phases by direct loads and stores: each PE first loads its slice from all PEs
 * and combines all of it, and then stores all of it to all PEs. Links carry loads in the first
 * phase and stores in the second, never both.
 *
 *   needs    map, symmetric_dest, symmetric_source
 *   steps    2
 *   wire     2 * (n - 1) * s
 *   scratch  two words per PE
 *   inplace  safe: only PE p reads or writes slice p until the last round
 *   result   combined in PE order 0 .. n-1: bitwise equal on every PE
 *   source   as reduce:two_shot, which loads and stores batch by batch
 */
CH_FN chorus_status ch_reduce_two_phase(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    const struct ch_slice slice = ch_slice_of(c->count, c->n, c->me);
    const size_t at = slice.first * c->elem_bytes, bytes = slice.count * c->elem_bytes;
    chorus_status st;

    ch_signal_all(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read, dest written */
    st = ch_await_all(c, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_combine_all(c, c->dst + at, c->src + at, bytes, CH_TO_ME, g);
    ch_lanes_sync(g); /* each lane stores data that others have combined */
    ch_store_all(c, c->dst + at, c->dst + at, bytes, g);
    ch_signal_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    return ch_await_all(c, CH_WORD_DONE, epoch, g); /* dest is complete, source may be reused */
}

/*
 * reduce in one shot by multicast: one load of a PE returns the combination of the vectors of
 * all PEs; every PE loads the whole vector.
 *
 *   needs    map, apart, multicast, exact, symmetric_source
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  not possible
 *   result   combined in PE order 0 .. n-1: bitwise equal on every PE. In hardware it is used
 *            only where every order gives the same bits: integers
 *   source   NVSHMEM, NVLS one shot
 */
CH_FN chorus_status ch_reduce_multicast_one(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    chorus_status st;

    ch_multicast_signal(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */
    st = ch_await_all(c, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_multicast_reduce(c, c->dst, c->src, ch_bytes(c), g);
    ch_multicast_signal(c, CH_WORD_DONE, epoch, CH_CREDIT, g);
    return ch_await_all(c, CH_WORD_DONE, epoch, g); /* source may be reused */
}

/*
 * reduce in two shots by multicast: one load of a PE returns the combination of the vectors of
 * all PEs, and one store reaches all PEs; each PE does so for its slice.
 *
 *   needs    map, multicast, symmetric_dest, symmetric_source
 *   steps    2
 *   wire     2 * (n - 1) * s
 *   scratch  two words per PE
 *   inplace  safe: only PE p reads or writes slice p until the last round
 *   result   each slice combined on one PE, in PE order 0 .. n-1: bitwise equal on every PE,
 *            in hardware too
 *   source   NVSHMEM, NVLS two shot
 */
CH_FN chorus_status ch_reduce_multicast_two(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    const struct ch_slice slice = ch_slice_of(c->count, c->n, c->me);
    const size_t at = slice.first * c->elem_bytes;
    chorus_status st;

    ch_multicast_signal(c, CH_WORD_READY, epoch, CH_ENTRY,
                        g); /* source may be read, dest written */
    st = ch_await_all(c, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_multicast_reduce_all(c, c->dst + at, c->src + at, slice.count * c->elem_bytes, g);
    ch_multicast_signal(c, CH_WORD_DONE, epoch, CH_DATA, g);
    return ch_await_all(c, CH_WORD_DONE, epoch, g); /* dest is complete, source may be reused */
}

#endif /* CH_ALGO_REDUCE_H */
