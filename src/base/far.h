/* SPDX-License-Identifier: Apache-2.0 */
/*
 * far.h: what a kernel of the program does for a call to a peer that is not near: it posts
 * requests to the ring of the PE, in the default context.
 *
 * The lanes of a call make it together, as inside kernels: lane 0 posts. All lanes have the
 * same arguments, and get the same status. A failure marks the ring as broken, or the job is
 * ending; later calls fail, too.
 *
 * A message of up to CH_RING_INLINE_BYTES is in the request. One of up to CH_RING_BOX_BYTES, or
 * whose memory on this PE the host cannot access (variables of threads, shared and constant
 * memory), goes through the boxes of the ring, a part after another. The host accesses the
 * memory of others itself.
 */
#ifndef CH_FAR_H
#define CH_FAR_H

#include "base/amo.h"
#include "base/ring.h"

/* What a call needs: the ring, and how its waits end. */
struct ch_far {
    const struct ch_ring *ring;
    const struct ch_wait_policy *policy;
};

/* A peer, and the address there that it has itself. */
struct ch_there {
    uint32_t pe;
    uint64_t at;
};

CH_FN struct ch_ring_request ch_far_request(enum ch_ring_op op, struct ch_there there,
                                            uint32_t inline_bytes)
{
    struct ch_ring_request r;

    memset(&r, 0, sizeof(r));
    r.head = ch_request_head(op, there.pe, inline_bytes) | CH_REQUEST_CTX(CH_CTX_DEFAULT);
    r.there = there.at;
    return r;
}

/* Lane 0's status, for all lanes, which it synchronises. */
CH_FN chorus_status ch_far_agree(chorus_status st, struct ch_lanes g)
{
    return (chorus_status)(int64_t)ch_lanes_broadcast(g, (uint64_t)(int64_t)st);
}

/* --- puts --------------------------------------------------------------------------------- */

/* One lane: post a put of up to CH_RING_INLINE_BYTES. */
CH_FN chorus_status ch_far_put_inline(struct ch_far f, struct ch_there to, const void *source,
                                      size_t bytes)
{
    const unsigned char *at = (const unsigned char *)source;
    struct ch_ring_request r = ch_far_request(CH_RING_PUT_INLINE, to, (uint32_t)bytes);

    r.source = ch_ring_load_word(at, bytes);
    if (bytes > 8) r.bytes = ch_ring_load_word(at + 8, bytes - 8);
    if (bytes > 16) r.word = ch_ring_load_word(at + 16, bytes - 16);
    if (bytes > 24) r.value = ch_ring_load_word(at + 24, bytes - 24);
    return ch_ring_post(f.ring, f.policy, &r);
}

/* A signal that follows a put; word 0: none. */
struct ch_far_signal {
    uint64_t word, value;
    int adds;
};

/* The request for `bytes` at `source`, with its signal. */
CH_FN struct ch_ring_request ch_far_put_request(struct ch_there to, const void *source,
                                                size_t bytes, struct ch_far_signal signal)
{
    struct ch_ring_request r =
        ch_far_request(signal.word != 0 ? CH_RING_PUT_SIGNAL : CH_RING_PUT, to, 0);

    if (signal.adds) r.head |= CH_REQUEST_ADDS;
    r.source = (uint64_t)(uintptr_t)source;
    r.bytes = bytes;
    r.word = signal.word;
    r.value = signal.value;
    return r;
}

/* One lane: post a put from memory that the host accesses, and a flush with the word of call
 * `number`. */
CH_FN chorus_status ch_far_post_put(struct ch_far f, struct ch_there to, const void *source,
                                    size_t bytes, struct ch_far_signal signal, uint64_t number)
{
    struct ch_ring_request r = ch_far_put_request(to, source, bytes, signal),
                           flush = ch_far_request(CH_RING_FLUSH, to, 0);
    chorus_status st;

    flush.word = (uint64_t)(uintptr_t)ch_ring_word_of(f.ring, number, &flush.value);
    if (signal.word == 0) {
        r.word = flush.word;
        r.value = flush.value;
    }
    st = ch_ring_post(f.ring, f.policy, &r);
    if (st == CHORUS_OK && signal.word != 0) st = ch_ring_post(f.ring, f.policy, &flush);
    if (st != CHORUS_OK) ch_ring_break(f.ring, st);
    return st;
}

/* Put up to CH_RING_BOX_BYTES by an outbox. */
CH_FN chorus_status ch_far_put_box(struct ch_far f, struct ch_there to, const void *source,
                                   size_t bytes, struct ch_far_signal signal, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;
    uint64_t number = 0;
    unsigned char *box;

    if (g.lane == 0) st = ch_ring_begin_call(f.ring, f.policy, &number);
    st = ch_far_agree(st, g);
    number = ch_lanes_broadcast(g, number);
    if (st != CHORUS_OK) return st;
    box = ch_ring_outbox(f.ring, number);
    ch_copy(box, source, bytes, g);
    ch_lanes_sync(g); /* all lanes have stored their share */
    return g.lane == 0 ? ch_far_post_put(f, to, box, bytes, signal, number) : CHORUS_OK;
}

/* One lane: put from the source itself. waits: until the source may change. */
CH_FN chorus_status ch_far_put_direct(struct ch_far f, struct ch_there to, const void *source,
                                      size_t bytes, struct ch_far_signal signal, int waits)
{
    chorus_status st;
    uint64_t number, value;
    const uint64_t *word;

    if (!waits) {
        const struct ch_ring_request r = ch_far_put_request(to, source, bytes, signal);

        return ch_ring_post(f.ring, f.policy, &r);
    }
    st = ch_ring_begin_call(f.ring, f.policy, &number);
    if (st == CHORUS_OK) st = ch_far_post_put(f, to, source, bytes, signal, number);
    if (st != CHORUS_OK) return st;
    word = ch_ring_word_of(f.ring, number, &value);
    return ch_ring_wait(f.ring, f.policy, word, value);
}

/* One lane: post a signal with up to CH_RING_INLINE_SIGNAL_BYTES before it. */
CH_FN chorus_status ch_far_signal_inline(struct ch_far f, struct ch_there to,
                                         const void *source, size_t bytes,
                                         struct ch_far_signal signal)
{
    const unsigned char *at = (const unsigned char *)source;
    struct ch_ring_request r = ch_far_put_request(to, 0, 0, signal);

    if (bytes != 0) {
        r.head |= (uint64_t)bytes << 8;
        r.source = ch_ring_load_word(at, bytes);
        if (bytes > 8) r.bytes = ch_ring_load_word(at + 8, bytes - 8);
    }
    return ch_ring_post(f.ring, f.policy, &r);
}

/* Put, and then signal. waits: the source may change on return, as that of a message through
 * outboxes may in any case. */
CH_FN chorus_status ch_far_put(struct ch_far f, struct ch_there to, const void *source,
                               size_t bytes, struct ch_far_signal signal, int waits,
                               struct ch_lanes g)
{
    const struct ch_far_signal none = {0, 0, 0};
    const size_t inline_most =
        signal.word != 0 ? CH_RING_INLINE_SIGNAL_BYTES : CH_RING_INLINE_BYTES;
    chorus_status st = CHORUS_OK;

    ch_lanes_sync(g); /* what any lane wrote to the source is moved */
    if (bytes <= inline_most) {
        if (g.lane == 0 && signal.word != 0)
            st = ch_far_signal_inline(f, to, source, bytes, signal);
        else if (g.lane == 0 && bytes != 0)
            st = ch_far_put_inline(f, to, source, bytes);
    } else if (bytes > CH_RING_BOX_BYTES && CH_IS_FOR_HOST(source)) {
        if (g.lane == 0) st = ch_far_put_direct(f, to, source, bytes, signal, waits);
    } else {
        for (size_t at = 0; at < bytes && st == CHORUS_OK; at += CH_RING_BOX_BYTES) {
            const size_t left = bytes - at;
            const int is_last = left <= CH_RING_BOX_BYTES;
            const struct ch_there there = {to.pe, to.at + at};

            st = ch_far_put_box(f, there, (const char *)source + at,
                                is_last ? left : CH_RING_BOX_BYTES, is_last ? signal : none, g);
        }
    }
    return ch_far_agree(st, g);
}

/* --- gets and atomics --------------------------------------------------------------------- */

/* Get up to CH_RING_BOX_BYTES by an inbox. */
CH_FN chorus_status ch_far_get_box(struct ch_far f, void *dest, struct ch_there from,
                                   size_t bytes, struct ch_lanes g)
{
    struct ch_ring_request r = ch_far_request(CH_RING_GET, from, 0);
    chorus_status st = CHORUS_OK;
    uint64_t number = 0;

    if (g.lane == 0) {
        st = ch_ring_begin_inbox(f.ring, f.policy, &number);
        r.source = (uint64_t)(uintptr_t)ch_ring_inbox(f.ring, number)->data;
        r.bytes = bytes;
        if (st == CHORUS_OK) st = ch_ring_fetch(f.ring, f.policy, &r, number);
    }
    st = ch_far_agree(st, g);
    number = ch_lanes_broadcast(g, number);
    if (st != CHORUS_OK) return st;
    ch_copy(dest, ch_ring_inbox(f.ring, number)->data, bytes, g);
    ch_lanes_sync(g); /* all lanes have loaded theirs */
    if (g.lane == 0) ch_ring_leave_inbox(f.ring, number);
    return CHORUS_OK;
}

/* One lane: *value_out = up to 8 bytes at the peer, and 0 behind them. */
CH_FN chorus_status ch_far_load(struct ch_far f, struct ch_there from, size_t bytes,
                                uint64_t *value_out)
{
    struct ch_ring_request r = ch_far_request(CH_RING_GET, from, 0);
    chorus_status st;
    uint64_t number;

    *value_out = 0;
    st = ch_ring_begin_inbox(f.ring, f.policy, &number);
    if (st != CHORUS_OK) return st;
    r.source = (uint64_t)(uintptr_t)ch_ring_inbox(f.ring, number)->data;
    r.bytes = bytes;
    st = ch_ring_fetch(f.ring, f.policy, &r, number);
    if (st != CHORUS_OK) return st;
    *value_out = ch_ring_load_word(ch_ring_inbox(f.ring, number)->data, bytes);
    ch_ring_leave_inbox(f.ring, number);
    return CHORUS_OK;
}

/* One lane: the host stores what it gets at dest. */
CH_FN chorus_status ch_far_get_direct(struct ch_far f, void *dest, struct ch_there from,
                                      size_t bytes, int waits)
{
    struct ch_ring_request r = ch_far_request(CH_RING_GET, from, 0),
                           quiet = ch_far_request(CH_RING_QUIET, from, 0);
    chorus_status st;

    r.source = (uint64_t)(uintptr_t)dest;
    r.bytes = bytes;
    st = ch_ring_post(f.ring, f.policy, &r);
    if (st != CHORUS_OK || !waits) return st;
    return ch_ring_call(f.ring, f.policy, &quiet);
}

/* Get. waits: the data is there on return, as that of a message through inboxes is in any
 * case. */
CH_FN chorus_status ch_far_get(struct ch_far f, void *dest, struct ch_there from, size_t bytes,
                               int waits, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    ch_lanes_sync(g); /* other lanes' accesses to dest precede the stores there */
    if (bytes > CH_RING_BOX_BYTES && CH_IS_FOR_HOST(dest)) {
        if (g.lane == 0) st = ch_far_get_direct(f, dest, from, bytes, waits);
    } else {
        for (size_t at = 0; at < bytes && st == CHORUS_OK; at += CH_RING_BOX_BYTES) {
            const size_t left = bytes - at;
            const struct ch_there there = {from.pe, from.at + at};

            st = ch_far_get_box(f, (char *)dest + at, there,
                                left < CH_RING_BOX_BYTES ? left : CH_RING_BOX_BYTES, g);
        }
    }
    return ch_far_agree(st, g);
}

/* An atomic operation (enum ch_amo) on a word of `width` bytes. */
struct ch_far_amo {
    uint32_t op, width;
    uint64_t value, compare;
};

/* One lane: change the word at the peer. *old_out: what it was; null: nobody asks. */
CH_FN chorus_status ch_far_change(struct ch_far f, struct ch_there word, struct ch_far_amo amo,
                                  uint64_t *old_out)
{
    struct ch_ring_request r = ch_far_request(CH_RING_AMO, word, 0);
    chorus_status st;
    uint64_t number;

    r.bytes = ch_request_amo(amo.op, amo.width);
    r.source = amo.compare;
    r.value = amo.value;
    if (old_out == 0) return ch_ring_post(f.ring, f.policy, &r);
    st = ch_ring_begin_inbox(f.ring, f.policy, &number);
    if (st == CHORUS_OK) st = ch_ring_fetch(f.ring, f.policy, &r, number);
    if (st != CHORUS_OK) return st;
    *old_out = ch_ring_load_word(ch_ring_inbox(f.ring, number)->data, 8);
    ch_ring_leave_inbox(f.ring, number);
    return CHORUS_OK;
}

/* One lane: set a word at the peer, or add to it, after earlier requests for that peer. */
CH_FN chorus_status ch_far_signal(struct ch_far f, struct ch_there word, uint64_t value,
                                  int adds)
{
    struct ch_ring_request r = ch_far_request(CH_RING_WORD, word, 0);

    if (adds) r.head |= CH_REQUEST_ADDS;
    r.value = value;
    return ch_ring_post(f.ring, f.policy, &r);
}

/* One lane: wait until all requests of the program have taken effect that it has posted, and
 * lanes that have synchronised with it. */
CH_FN chorus_status ch_far_quiet(struct ch_far f)
{
    const struct ch_there all = {CH_RING_ALL_PES, 0};
    const struct ch_ring_request quiet = ch_far_request(CH_RING_QUIET, all, 0);

    return ch_ring_quiet(f.ring, f.policy, &quiet);
}

#endif /* CH_FAR_H */
