/* SPDX-License-Identifier: Apache-2.0 */
/*
 * primitives.h: the primitives that algorithms are written in: signals, waits, copies of one
 * chunk, over exec.h.
 *
 * Signals: ch_next_epoch gives the number of a call on a duplicate; ch_signal stores an epoch
 * in a word of a peer, ch_await waits for one. All lanes must call each of these functions in
 * the same order. Every wait returns a status that is equal on all lanes; if it is not
 * CHORUS_OK, the team is unusable, and the algorithm returns it.
 */
#ifndef CH_PRIMITIVES_H
#define CH_PRIMITIVES_H

#include "coll/primitives/batch.h"
#include "coll/coll.h"
#include "coll/shape.h"

/* The bytes of a block from byte `at` on that one message carries: a chunk, or the rest. */
CH_FN size_t ch_chunk_bytes_at(const struct ch_coll *c, enum ch_cell kind, size_t at)
{
    return ch_min(c->layout->chunk_bytes[kind], ch_bytes(c) - at);
}

/* ch_copy, for functions of their own (CH_PART). */
CH_PART void ch_copy_apart(void *dst, const void *src, size_t bytes, struct ch_lanes g)
{
    ch_copy(dst, src, bytes, g);
}

/* May this call send? Not after an earlier one has failed. */
CH_FN chorus_status ch_check_not_failed(const struct ch_coll *c)
{
    return ch_failure_mark(c) == 0 ? CHORUS_OK : CHORUS_ERR_ABORTED;
}

/* May a call that has read `mark` (ch_failure_mark) begin the exchange after `last`? Not while
 * a call inside a kernel uses the team. */
CH_FN chorus_status ch_may_exchange(enum ch_cell kind, uint64_t last, uint64_t mark)
{
    const int is_taken = kind == CH_CELL_ll && (last & CH_TAKEN) != 0;

    if (mark != 0) return CHORUS_ERR_ABORTED;
    return is_taken ? CHORUS_ERR_STATE : CHORUS_OK;
}

/* The first of `count` epochs of this call on the duplicate: 1, 2, ... equal on every PE. A
 * call uses this once; it has several epochs if one word announces several events in turn. */
CH_FN uint64_t ch_next_epochs(const struct ch_coll *c, uint64_t count, struct ch_lanes g)
{
    const uint64_t last = *c->epoch;

    ch_lanes_sync(g); /* all lanes have read it */
    if (g.lane == 0) *c->epoch = last + count;
    return last + 1;
}

/* The epoch of a call that has only one. */
CH_FN uint64_t ch_next_epoch(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_next_epochs(c, 1, g);
}

/* The address of the word on `owner` that `writer` stores. */
CH_FN uint64_t *ch_word_at(const struct ch_coll *c, uint32_t owner, uint32_t word,
                           uint32_t writer)
{
    return ch_sync_word(c->peers[owner].sync + c->sync_offset, c->n, (enum ch_word)word,
                        writer);
}

/* One lane: store `value` in this PE's `word` on `peer`. Pairs with ch_await there. */
CH_FN void ch_lane_signal(const struct ch_coll *c, uint32_t peer, uint32_t word, uint64_t value,
                          enum ch_sense sense)
{
    const uint64_t tagged = ch_add_tag(c, value);

    if (!ch_is_mapped(c, peer)) {
        const struct ch_remote *remote = &c->remotes[peer];
        char *there = (char *)ch_word_at(c, peer, word, c->me) + remote->sync;

        ch_link_post_word(remote->link, (uint64_t *)(void *)there, tagged, sense);
        return;
    }
    ch_word_store(ch_word_at(c, peer, word, c->me), tagged, sense);
    ch_notify(c->policy, c->peers[peer].door);
}

/* One lane: for a peer that is not mapped, send the `bytes` at `from`, which lanes have stored
 * at `memory` itself or which are lent (below), to `memory` in the peer's sync memory.
 * ch_lane_signal announces them. */
CH_FN void ch_sync_put(const struct ch_coll *c, uint32_t peer, char *memory, const char *from,
                       size_t bytes)
{
    if (!ch_is_mapped(c, peer))
        ch_link_post(c->remotes[peer].link, memory + c->remotes[peer].sync, from, bytes);
}

/* One lane: ch_sync_put, and ch_lane_signal of `word`; one message to a peer that is not
 * mapped. */
CH_FN void ch_sync_put_signal(const struct ch_coll *c, uint32_t peer, char *memory,
                              const char *from, size_t bytes, uint32_t word, uint64_t value)
{
    const struct ch_remote *remote;

    if (ch_is_mapped(c, peer)) {
        ch_lane_signal(c, peer, word, value, CH_DATA);
        return;
    }
    remote = &c->remotes[peer];
    ch_link_post_signal(
        remote->link, memory + remote->sync, from, bytes,
        (uint64_t *)(void *)((char *)ch_word_at(c, peer, word, c->me) + remote->sync),
        ch_add_tag(c, value), CH_DATA);
}

/* Is a message of this number of bytes sent directly from its source to peers that are not
 * mapped? It is then lent: it must not change before ch_flush_lent. */
CH_FN int ch_is_lent(const struct ch_coll *c, size_t bytes)
{
    return !ch_is_all_mapped(c) && bytes >= CH_LENT_BYTES;
}

/* Is it sent from there for another reason, too: because the function that posts it reads it
 * (CH_INLINE_BYTES)? Only the lanes that post read it, so it must not change before
 * ch_flush_lent, either. */
CH_FN int ch_is_sent_from_source(const struct ch_coll *c, size_t bytes)
{
    return ch_is_lent(c, bytes) || (!ch_is_all_mapped(c) && bytes <= CH_INLINE_BYTES);
}

/* All lanes, not synchronised: put `bytes` at src into the peer's copy of the symmetric object
 * at `at`. src must not change before ch_flush. */
CH_FN void ch_put(const struct ch_coll *c, uint32_t peer, char *at, const char *src,
                  size_t bytes, struct ch_lanes g)
{
    if (ch_is_mapped(c, peer))
        ch_copy(ch_peer_address(c, peer, at), src, bytes, g);
    else if (g.lane == 0)
        ch_link_post(c->remotes[peer].link, ch_peer_address(c, peer, at), src, bytes);
}

/* All lanes: store `value` in this PE's `word` on `peer`. All earlier stores of all lanes are
 * visible to the peer once its ch_await returns. */
CH_FN void ch_signal(const struct ch_coll *c, uint32_t peer, uint32_t word, uint64_t value,
                     enum ch_sense sense, struct ch_lanes g)
{
    ch_lanes_sync(g); /* other lanes' accesses precede the store */
    if (g.lane == 0) ch_lane_signal(c, peer, word, value, sense);
}

/* ch_lane_signal to every other PE, by lanes that have synchronised. */
CH_FN void ch_lanes_signal_all(const struct ch_coll *c, uint32_t word, uint64_t value,
                               enum ch_sense sense, struct ch_lanes g)
{
    for (uint32_t k = 1 + g.lane; k < c->n; k += g.width)
        ch_lane_signal(c, ch_pe_after(c, k), word, value, sense);
}

/* ch_signal to every other PE. */
CH_FN void ch_signal_all(const struct ch_coll *c, uint32_t word, uint64_t value,
                         enum ch_sense sense, struct ch_lanes g)
{
    ch_lanes_sync(g); /* other lanes' accesses precede the stores */
    ch_lanes_signal_all(c, word, value, sense, g);
}

/* One lane: wait until `word` of `writer`, at `at`, is at least `least`. ERR_ARG: the writer's
 * call has another length. Credits may be those of an earlier call. The word is loaded twice
 * before the call fails, since some networks store a word byte by byte. */
CH_FN chorus_status ch_lane_await_at(const struct ch_coll *c, uint32_t writer, uint32_t word,
                                     const uint64_t *at, uint64_t least)
{
    const uint64_t expected = ch_add_tag(c, least);
    uint64_t found;
    chorus_status st = ch_word_await(c->policy, at, least << CH_TAG_BITS, &found);

    if (st == CHORUS_OK && word < CH_WORD_TAKEN && ch_differs_in_tag(found, expected) &&
        ch_differs_in_tag(ch_word_load(at), expected))
        st = CHORUS_ERR_ARG;
    if (st != CHORUS_OK) ch_record_late_peer(c, writer);
    return st;
}

/* One lane: wait until the word of `peer` on this PE is at least `least`. */
CH_FN chorus_status ch_lane_await(const struct ch_coll *c, uint32_t peer, uint32_t word,
                                  uint64_t least)
{
    return ch_lane_await_at(c, peer, word, ch_word_at(c, c->me, word, peer), least);
}

/* The value of a credit of `peer`, as this PE sees it now. */
CH_FN uint64_t ch_read_credit(const struct ch_coll *c, uint32_t peer, uint32_t word)
{
    return ch_remove_tag(ch_word_load(ch_word_at(c, c->me, word, peer)));
}

/* Synchronises the lanes, and returns the same status on all of them: the first failure, if any
 * lane has one. */
CH_FN chorus_status ch_lanes_agree(chorus_status st, struct ch_lanes g)
{
    if (!ch_lanes_any(g, st != CHORUS_OK)) return CHORUS_OK;
    if (ch_lanes_any(g, st == CHORUS_ERR_ABORTED)) return CHORUS_ERR_ABORTED;
    if (CH_TAG_BITS != 0 && ch_lanes_any(g, st == CHORUS_ERR_ARG)) return CHORUS_ERR_ARG;
    return ch_lanes_any(g, st == CHORUS_ERR_STATE) ? CHORUS_ERR_STATE : CHORUS_ERR_TIMEOUT;
}

/* ch_lanes_agree for a status that depends on the number of the last exchange; inside kernels
 * one lane has read that number for all, so the status is equal already. */
CH_FN chorus_status ch_lanes_agree_on_exchange(const struct ch_coll *c, chorus_status st,
                                               struct ch_lanes g)
{
    if (c->is_known == 0) return ch_lanes_agree(st, g);
    ch_lanes_sync(g);
    return st;
}

/* All lanes: wait until the puts of ch_put have arrived at all PEs; their sources may then
 * change. */
CH_FN chorus_status ch_flush(const struct ch_coll *c, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    if (ch_is_all_mapped(c)) return CHORUS_OK;
    for (uint32_t k = 1; k < c->n && g.lane == 0 && st == CHORUS_OK; k++)
        if (!ch_is_mapped(c, ch_pe_after(c, k)))
            st = ch_link_flush(c->remotes[ch_pe_after(c, k)].link);
    return ch_lanes_agree(st, g);
}

/* All lanes: wait until lent messages of up to this number of bytes have arrived; their sources
 * may then change. */
CH_FN chorus_status ch_flush_lent(const struct ch_coll *c, size_t bytes, struct ch_lanes g)
{
    const int has_inline = CH_INLINE_BYTES != 0 && !ch_is_all_mapped(c);

    if (!has_inline && !ch_is_lent(c, bytes)) return CHORUS_OK;
    ch_lanes_sync(g); /* other lanes have posted theirs */
    return ch_is_lent(c, bytes) ? ch_flush(c, g) : CHORUS_OK;
}

/* All lanes: wait until the word of `peer` on this PE is at least `least`. */
CH_FN chorus_status ch_await(const struct ch_coll *c, uint32_t peer, uint32_t word,
                             uint64_t least, struct ch_lanes g)
{
    return ch_lanes_agree(g.lane == 0 ? ch_lane_await(c, peer, word, least) : CHORUS_OK, g);
}

/* ch_await from every other PE. */
CH_FN chorus_status ch_await_all(const struct ch_coll *c, uint32_t word, uint64_t least,
                                 struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    for (uint32_t k = 1 + g.lane; k < c->n && st == CHORUS_OK; k += g.width)
        st = ch_lane_await(c, ch_pe_after(c, k), word, least);
    return ch_lanes_agree(st, g);
}

/* In the round of a dissemination in which PEs are `span` apart: is there a message to the PE
 * at distance j * span? */
CH_FN int ch_is_target(const struct ch_coll *c, uint32_t span, uint32_t j)
{
    return j < c->radix && (uint64_t)j * span < c->n;
}

/*
 * A dissemination with the call's radix: when it returns, all PEs have announced `value`,
 * directly or through others. Earlier stores of any lane of a PE are visible to all PEs if
 * sense is CH_DATA.
 */
CH_FN chorus_status ch_disseminate(const struct ch_coll *c, uint32_t word, uint64_t value,
                                   enum ch_sense sense, struct ch_lanes g)
{
    for (uint32_t span = 1; span < c->n; span *= c->radix) {
        chorus_status st = CHORUS_OK;

        ch_lanes_sync(
            g); /* signals received by any lane in the last round precede the stores below */
        for (uint32_t j = 1 + g.lane; ch_is_target(c, span, j); j += g.width)
            ch_lane_signal(c, ch_ahead(c->me, c->n, c->radix, j * span), word, value,
                           sense); /* awaited below */
        for (uint32_t j = 1 + g.lane; ch_is_target(c, span, j) && st == CHORUS_OK; j += g.width)
            st = ch_lane_await(c, ch_behind(c->me, c->n, c->radix, j * span), word, value);
        st = ch_lanes_agree(st, g);
        if (st != CHORUS_OK) return st;
    }
    return CHORUS_OK;
}

/* The destination of a combination: this PE's dst, or the same address on every PE. */
enum ch_reach_of { CH_TO_ME, CH_TO_ALL };

/*
 * dst = src of PE 0 op src of PE 1 ..., loaded from the memory of the PEs: `src` is this PE's
 * address of the symmetric vector, and every PE of the team is a source, in PE order.
 */
CH_FN void ch_combine_all(const struct ch_coll *c, char *dst, const char *src, size_t bytes,
                          enum ch_reach_of to, struct ch_lanes g)
{
    for (struct ch_batch b = ch_batch_first(ch_plain_kind(c), dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v[CH_AHEAD];
        struct ch_accumulator acc;

        for (uint32_t pe = 0; pe < c->n; pe += ch_loads_ahead(c)) {
            CH_EACH_AHEAD (u)
                if (u < ch_loads_ahead(c) && pe + u < c->n)
                    ch_value_load(&v[u], ch_peer_address(c, pe + u, src), &b);
            ch_acc_combine(c, &acc, pe == 0, v, c->n - pe, &b);
        }
        ch_value_stage(&v[0], dst, &b);
        ch_acc_to_value(c, &v[0], &acc, &b);
        ch_value_store(dst, &v[0], &b);
        for (uint32_t k = 1; k < c->n && to == CH_TO_ALL; k++)
            ch_value_store(ch_peer_address(c, ch_pe_after(c, k), dst), &v[0], &b);
    }
}

/* dst = the plain vectors of `bytes` that the first `count` slots point to, combined in that
 * order. All slots are set. dst may be one of them. */
CH_FN void ch_combine_set_slots(const struct ch_coll *c, char *dst, uint32_t count,
                                size_t bytes, struct ch_lanes g)
{
    for (struct ch_batch b = ch_batch_first(CH_SLOTS_KIND, dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v[CH_AHEAD];
        struct ch_accumulator acc;

        for (uint32_t i = 0; i < count; i += ch_loads_ahead(c)) {
            CH_EACH_AHEAD (u)
                if (u < ch_loads_ahead(c) && i + u < count)
                    ch_value_load(&v[u], c->slots[i + u].memory, &b);
            ch_acc_combine(c, &acc, i == 0, v, count - i, &b);
        }
        ch_value_stage(&v[0], dst, &b);
        ch_acc_to_value(c, &v[0], &acc, &b);
        ch_value_store(dst, &v[0], &b);
    }
}

/* The same; any lane may have set a slot. Inside kernels only the caller of the algorithm knows
 * the type and the operator as constants. */
CH_FN void ch_combine_slots(const struct ch_coll *c, char *dst, uint32_t count, size_t bytes,
                            struct ch_lanes g)
{
    ch_lanes_sync(g); /* all slots are set */
#if CH_IN_PROGRAM
    c->combine_slots(c, dst, count, bytes, g);
#else
    ch_combine_set_slots(c, dst, count, bytes, g);
#endif
}

/* Store this PE's src to dst on every PE, itself included. src must not change before ch_flush.
 * dst may be src. */
CH_FN void ch_store_all(const struct ch_coll *c, char *dst, const char *src, size_t bytes,
                        struct ch_lanes g)
{
    for (uint32_t k = 1; k < c->n && !ch_is_all_mapped(c); k++)
        if (!ch_is_mapped(c, ch_pe_after(c, k)))
            ch_put(c, ch_pe_after(c, k), dst, src, bytes, g);
    for (struct ch_batch b = ch_batch_first(CH_PLAIN, dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;

        ch_value_load(&v, src, &b);
        for (uint32_t k = !ch_is_all_mapped(c) && dst == src; k < c->n; k++)
            if (ch_is_mapped(c, ch_pe_after(c, k)))
                ch_value_store(ch_peer_address(c, ch_pe_after(c, k), dst), &v, &b);
    }
}

/* The offset in a block of `bytes` of the part that is copied after `done` bytes: in every
 * second call the parts go from the last to the first. The caches still hold what the call
 * before read and wrote last, and programs use buffers again. */
CH_FN size_t ch_alternating_offset(uint64_t epoch, size_t bytes, size_t done, size_t part)
{
    return epoch % 2 != 0 ? bytes - done - part : done;
}

/* ch_store_all of the call's source, in parts at ch_alternating_offset. A network gets the
 * whole block at once. */
CH_FN void ch_store_all_alternating(const struct ch_coll *c, char *dst, uint64_t epoch,
                                    struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c), most = ch_is_all_mapped(c) ? CH_PLAIN_BYTES : bytes;

    if (bytes <= most) {
        ch_store_all(c, dst, c->src, bytes, g);
        return;
    }
    for (size_t done = 0, part; done < bytes; done += part) {
        size_t at;

        part = ch_min(most, bytes - done);
        at = ch_alternating_offset(epoch, bytes, done, part);
        ch_store_all(c, dst + at, c->src + at, part, g);
    }
}

/* The call's dst = `from`, copied in parts at ch_alternating_offset. */
CH_FN void ch_copy_alternating(const struct ch_coll *c, const char *from, uint64_t epoch,
                               struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c);

    if (bytes <= CH_PLAIN_BYTES || c->dst == from) {
        ch_copy_apart(c->dst, from, bytes, g);
        return;
    }
    for (size_t done = 0, part; done < bytes; done += part) {
        size_t at;

        part = ch_min(CH_PLAIN_BYTES, bytes - done);
        at = ch_alternating_offset(epoch, bytes, done, part);
        ch_copy_apart(c->dst + at, from + at, part, g);
    }
}

#endif /* CH_PRIMITIVES_H */
