/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h: the ring of a PE, by which kernels post requests to the progress thread of the host.
 *
 * Any lane of any CTA of the PE's kernels posts (a producer); one thread of the host takes (the
 * consumer). The slots are in pinned memory of the host. A producer gets a ticket by an atomic
 * addition in GPU memory, and stores the request of ticket t in slot t % capacity. A slot has
 * four quads, each with 12 bytes of the request and the phase of the ticket, which is the
 * number of its lap + 1, modulo 2^32. A slot is valid if all its quads have the phase of the
 * ticket that the consumer expects there. No store of a quad therefore needs to be ordered
 * before another. Phases are compared for equality: slots that are a lap old have the phase
 * before, and memory that was never stored has phase 0, which only lap 2^32 - 1 uses.
 *
 * The consumer takes requests in the order of tickets. After it has copied a request it stores
 * `freed`, the number of the tickets that it has taken, by which it returns the slot's credit:
 * a producer stores when ticket - freed < capacity. Producers keep the last `freed` that one of
 * them found in GPU memory (`seen`), and load pinned memory, over PCIe, only if that is not
 * enough. `seen` may go back to an older value, which costs a load but is never wrong.
 *
 * A producer waits while the ring is full, within the limits of its policy; nothing is dropped.
 * Producers with earlier tickets need earlier credits, so they cannot wait for those with later
 * ones. If a wait fails, a ticket has no request, and the consumer never gets past its slot:
 * requests of later tickets would never be carried out. The producer therefore marks the ring
 * as broken, and all later posts and waits of this PE, for any team, return the failure at
 * once. The consumer does not wait for the slot. It polls it between other work, and its thread
 * ends with the job.
 *
 * Requests for one peer are carried out in the order of their tickets, and the tickets of lanes
 * that synchronise are in the order of their posts, since all add to one word.
 *
 * A lane that waits for the host posts a request with a completion word and a value, and waits
 * for at least this value in the word, which is in pinned memory. Lanes that have no word of
 * their own share those of the ring (ch_ring_call). Call number k, which is taken by an atomic
 * addition as tickets are, has word k % words and value k / words + 1. The lane posts only
 * after the word has the value before, that is, after the host has completed the call that used
 * the word last. The values of a word therefore grow one by one in the order in which the host
 * stores them, and a lane never takes the completion of another call for its own. Nothing is
 * returned or reset: the lane of the earlier call may still poll the word, and any later value
 * ends its wait, too. A call whose request was posted is completed by the host even if the wait
 * of its lane has failed. One that posts no request marks the ring as broken, since no later
 * call could use its word.
 *
 * Each of these words has an outbox in pinned memory, from which the host sends what lanes have
 * put there, so that they need not wait until their own memory was read. The word tells when
 * the outbox may be filled again.
 *
 * What the host gets for lanes whose memory it cannot store to, it stores in an inbox, which
 * has a completion word of its own. Use number k, which is taken as that of a call, is of inbox
 * k % CH_RING_INBOXES. As lanes load from the inbox when the request is complete, one of them
 * says in GPU memory that the next may use it (ch_ring_leave_inbox). If the wait for the host
 * fails, the host may still store there, so the ring is broken.
 */
#ifndef CH_RING_H
#define CH_RING_H

#include "base/exec.h"
#include "chorus/status.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * What the host does. An address in the peer's memory is the peer's own. Earlier requests are
 * those of the same context; other contexts are not ordered. FLUSH and QUIET may be for
 * CH_RING_ALL_PES.
 *
 * PUT         store `bytes` at `source` at `there`, in the memory of the peer; if `word` is not
 *             0, then a FLUSH
 * PUT_INLINE  the same with up to CH_RING_INLINE_BYTES that are in the request
 * WORD        the peer's word `there` becomes `value`, after all earlier requests for that peer
 * PUT_SIGNAL  PUT, then the peer's word `word` becomes `value`; up to
 *             CH_RING_INLINE_SIGNAL_BYTES may be in the request
 * FLUSH       this PE's completion word `word` becomes `value` when the sources of all earlier
 *             requests for the peer may change
 * GET         store `bytes` at `there`, in the memory of the peer, at `source`, in that of this
 *             PE; if `word` is not 0, then a QUIET
 * QUIET       as FLUSH, when all earlier requests for the peer have taken effect, and the data
 *             of gets is stored
 * AMO         change the peer's word `there` by the atomic operation that `bytes` names
 *             (ch_request_amo), with the operands `value` and, to compare with, `source`; if
 *             `word` is not 0, it is that of an inbox, whose data becomes the old value, and
 *             the use of the inbox is complete then
 */
enum ch_ring_op {
    CH_RING_PUT = 1,
    CH_RING_PUT_INLINE,
    CH_RING_WORD,
    CH_RING_PUT_SIGNAL,
    CH_RING_FLUSH,
    CH_RING_GET,
    CH_RING_QUIET,
    CH_RING_AMO
};

#define CH_RING_ALL_PES UINT32_MAX

#define CH_RING_INLINE_BYTES 32u
#define CH_RING_INLINE_SIGNAL_BYTES 16u

/* PUT_INLINE has its data in place of source, bytes, word and value; a PUT_SIGNAL whose head
 * counts bytes of inline data, in place of source and bytes. */
struct ch_ring_request {
    uint64_t head; /* made by ch_request_head */
    uint64_t there;
    uint64_t source;
    uint64_t bytes;
    uint64_t word;
    uint64_t value;
};

/* Of a request: bits 0 to 7 the op, 8 to 15 the bytes of inline data, 16 whether the producer
 * waited for a credit, 17 whether `value` is added to the word of a WORD or PUT_SIGNAL instead
 * of replacing it, 24 to 31 the context (exec_types.h), 32 to 63 the peer. The other bits are
 * 0.
 */
#define CH_REQUEST_WAITED (UINT64_C(1) << 16)
#define CH_REQUEST_ADDS (UINT64_C(1) << 17)
#define CH_REQUEST_CTX(ctx) ((uint64_t)(ctx) << 24)

/* In context 0, unless CH_REQUEST_CTX is added. */
CH_FN uint64_t ch_request_head(enum ch_ring_op op, uint32_t pe, uint32_t inline_bytes)
{
    return (uint64_t)op | (uint64_t)inline_bytes << 8 | (uint64_t)pe << 32;
}

CH_FN enum ch_ring_op ch_request_op(const struct ch_ring_request *r)
{
    return (enum ch_ring_op)(r->head & 0xff);
}

CH_FN uint32_t ch_request_inline_bytes(const struct ch_ring_request *r)
{
    return (uint32_t)(r->head >> 8 & 0xff);
}

CH_FN uint32_t ch_request_ctx(const struct ch_ring_request *r)
{
    return (uint32_t)(r->head >> 24 & 0xff);
}

CH_FN uint32_t ch_request_pe(const struct ch_ring_request *r)
{
    return (uint32_t)(r->head >> 32);
}

/* The first 8 bytes at src, or `bytes` if that is less, and 0 behind them. The loop is
 * unrolled: an array would be in local memory. */
CH_FN uint64_t ch_ring_load_word(const unsigned char *src, size_t bytes)
{
    uint64_t word = 0;

    if (bytes >= 8 && ((uintptr_t)src & 7) == 0) return *(const uint64_t *)(const void *)src;
    CH_UNROLL
    for (uint32_t i = 0; i < 8; i++)
        if (i < bytes) word |= (uint64_t)src[i] << 8 * i;
    return word;
}

/* `bytes` of an AMO: an operation on a word of 4 or 8 bytes. */
CH_FN uint64_t ch_request_amo(uint32_t op, uint32_t width)
{
    return (uint64_t)op << 8 | width;
}

CH_FN uint32_t ch_request_amo_op(const struct ch_ring_request *r)
{
    return (uint32_t)(r->bytes >> 8);
}

CH_FN uint32_t ch_request_amo_width(const struct ch_ring_request *r)
{
    return (uint32_t)(r->bytes & 0xff);
}

#define CH_RING_QUADS 4u

struct ch_ring_slot {
    uint64_t quad[CH_RING_QUADS][2];
} __attribute__((aligned(64)));

/* Bytes of an outbox and of an inbox; the number of inboxes. The simulator has few, short ones.
 */
#ifdef CH_SIM
#define CH_RING_BOX_BYTES 64u
#define CH_RING_INBOXES_LOG2 1u
#else
#define CH_RING_BOX_BYTES 1024u
#define CH_RING_INBOXES_LOG2 8u
#endif
#define CH_RING_INBOXES (1u << CH_RING_INBOXES_LOG2)

struct ch_ring_inbox {
    uint64_t arrived; /* the completion word: how many uses are complete */
    uint64_t unused[7];
    unsigned char data[CH_RING_BOX_BYTES];
} __attribute__((aligned(64)));

/* What producers share, in GPU memory. */
struct ch_ring_shared {
    uint64_t ticket; /* the next one */
    uint64_t seen;   /* a value that `freed` had */
    uint64_t broken; /* the failure because of which a ticket has no request; CHORUS_OK: none */
    uint64_t calls;  /* the number of the next ch_ring_call */
    uint64_t quieted; /* requests of the program of all tickets before this have taken effect */
    uint64_t inboxes; /* the number of the next use of an inbox */
    uint64_t left[CH_RING_INBOXES]; /* of each: how many uses are over */
};

/* The ring as producers know it, with addresses of the GPU. Slots and words begin as zero.
 * Tests let a ring begin at another ticket, stored in ticket, seen, quieted, freed and next; it
 * is a multiple of the capacity, and its phase is not 0. */
struct ch_ring {
    struct ch_ring_slot *slots; /* in pinned memory */
    const uint64_t *freed;      /* likewise */
    struct ch_ring_shared *shared;
    uint32_t capacity_log2;        /* there are 2^capacity_log2 slots */
    uint32_t words_log2;           /* and 2^words_log2 completion words, for ch_ring_call */
    uint64_t *words;               /* in pinned memory, as what follows */
    unsigned char *outboxes;       /* CH_RING_BOX_BYTES for each of the words */
    struct ch_ring_inbox *inboxes; /* [CH_RING_INBOXES] */
};

/* The ring as the consumer knows it, with addresses of the host. Another thread of the host may
 * copy the last three members to the record of the PE. */
struct ch_ring_consumer {
    struct ch_ring_slot *slots;
    uint64_t *freed;
    uint32_t capacity_log2;
    uint64_t next;        /* the ticket that is taken next: so many requests were posted, apart
                             from those that are still in the ring */
    uint64_t waited;      /* so many of them had to wait for a credit */
    uint64_t carried_out; /* so many the consumer has carried out; its caller adds to this */
};

/* A slot of ticket t has this phase. */
CH_FN uint32_t ch_ring_phase(uint64_t ticket, uint32_t capacity_log2)
{
    return (uint32_t)(ticket >> capacity_log2) + 1;
}

CH_FN struct ch_ring_slot *ch_ring_slot_of(struct ch_ring_slot *slots, uint64_t ticket,
                                           uint32_t capacity_log2)
{
    return &slots[ticket & ((UINT64_C(1) << capacity_log2) - 1)];
}

/* --- producers -----------------------------------------------------------------------------
 */

/* Why the ring is broken, else CHORUS_OK. */
CH_FN chorus_status ch_ring_failure(const struct ch_ring *ring)
{
    return (chorus_status)(int64_t)ch_relaxed_load(&ring->shared->broken);
}

/* Mark the ring as broken: a ticket or a call has no request. */
CH_FN void ch_ring_break(const struct ch_ring *ring, chorus_status why)
{
    ch_relaxed_store(&ring->shared->broken, (uint64_t)(int64_t)why);
}

/* Is there a credit for `ticket` if the consumer has freed that many? The difference is right
 * even if tickets wrap around, since the consumer cannot be past a ticket without a request. */
CH_FN int ch_ring_has_credit(const struct ch_ring *ring, uint64_t ticket, uint64_t freed)
{
    return ticket - freed < UINT64_C(1) << ring->capacity_log2;
}

/* How many tickets the consumer has freed, as a lane that waits for its credit looks; `freed`:
 * when it looked last. Lanes that are far from theirs look where others store what they have
 * seen, as loads of pinned memory would delay those of the lanes that are next. Some look there
 * by themselves, since a store may be older than the one that it replaces. */
CH_FN uint64_t ch_ring_freed(const struct ch_ring *ring, uint64_t ticket, uint64_t freed,
                             uint32_t looks)
{
    enum { NEXT = 32, SELDOM = 16 };
    const uint64_t missing = ticket - freed - (UINT64_C(1) << ring->capacity_log2);

    return missing < NEXT || looks % SELDOM == 0 ? ch_word_load(ring->freed)
                                                 : ch_relaxed_load(&ring->shared->seen);
}

/* Wait for the credit of `ticket`, of which `seen` is not enough. *waited_out: did one have to
 * wait for it? After a failure the ring is broken. */
CH_FN chorus_status ch_ring_await_credit(const struct ch_ring *ring,
                                         const struct ch_wait_policy *policy, uint64_t ticket,
                                         int *waited_out)
{
    struct ch_wait w;
    chorus_status st = CHORUS_OK;
    uint32_t looks = 0;
    uint64_t freed;

    memset(&w, 0, sizeof(w));
    *waited_out = 0;
    /* Pairs with the store of `freed` in ch_ring_take. */
    for (freed = ch_word_load(ring->freed); !ch_ring_has_credit(ring, ticket, freed);
         freed = ch_ring_freed(ring, ticket, freed, ++looks)) {
        *waited_out = 1;
        st = ch_ring_failure(ring);
        if (st == CHORUS_OK) st = ch_wait_slow(policy, &w);
        if (st != CHORUS_OK) break;
    }
    ch_wait_end(policy, &w);
    if (st == CHORUS_OK)
        ch_relaxed_store(&ring->shared->seen, freed);
    else
        ch_ring_break(ring, st);
    return st;
}

/* Store three of a request's members in two quads. */
CH_FN void ch_ring_store_half(uint64_t (*quad)[2], uint32_t phase, uint64_t a, uint64_t b,
                              uint64_t c)
{
    const uint64_t high = (uint64_t)phase << 32;

    ch_quad_store(quad[0], a, (uint32_t)b | high);
    ch_quad_store(quad[1], b >> 32 | c << 32, c >> 32 | high);
}

/* Does the host read or store memory of this PE for such a request, besides words? */
CH_FN int ch_ring_has_data(const struct ch_ring_request *r)
{
    const enum ch_ring_op op = ch_request_op(r);

    return op == CH_RING_PUT || op == CH_RING_GET ||
           (op == CH_RING_PUT_SIGNAL && ch_request_inline_bytes(r) == 0);
}

/* As ch_ring_post; *ticket_out: the ticket of the request. */
CH_FN chorus_status ch_ring_post_numbered(const struct ch_ring *ring,
                                          const struct ch_wait_policy *policy,
                                          const struct ch_ring_request *request,
                                          uint64_t *ticket_out)
{
    const uint64_t seen = ch_relaxed_load(&ring->shared->seen);
    chorus_status st = ch_ring_failure(ring);
    struct ch_ring_slot *slot;
    uint64_t ticket, head = request->head;
    uint32_t phase;
    int waited = 0;

    if (ch_ring_has_data(request)) ch_release_fence();
    ticket = ch_ticket_take(&ring->shared->ticket);
    *ticket_out = ticket;
    /* Requests of algorithms need no quiet of the program. */
    if (ch_request_ctx(request) == CH_CTX_ALGORITHMS)
        ch_ticket_skip(&ring->shared->quieted, ticket);
    if (st != CHORUS_OK) return st;
    if (!ch_ring_has_credit(ring, ticket, seen)) {
        st = ch_ring_await_credit(ring, policy, ticket, &waited);
        if (st != CHORUS_OK) return st;
    }
    if (waited) head |= CH_REQUEST_WAITED;
    slot = ch_ring_slot_of(ring->slots, ticket, ring->capacity_log2);
    phase = ch_ring_phase(ticket, ring->capacity_log2);
    ch_ring_store_half(&slot->quad[0], phase, head, request->there, request->source);
    ch_ring_store_half(&slot->quad[2], phase, request->bytes, request->word, request->value);
    return CHORUS_OK;
}

/* Post a request. Its sources were stored by this lane, or by lanes that have synchronised with
 * it since, as were earlier accesses to where a get stores. The fence comes before the ticket,
 * because the consumer waits for all who have one. Nothing depends on the first two loads until
 * the ticket is there, so a GPU has all three under way at once; a ticket of a ring that is
 * broken may stay without a request. */
CH_FN chorus_status ch_ring_post(const struct ch_ring *ring,
                                 const struct ch_wait_policy *policy,
                                 const struct ch_ring_request *request)
{
    uint64_t ticket;

    return ch_ring_post_numbered(ring, policy, request, &ticket);
}

/* Wait until the host has stored `value` or more in a completion word, acquire. The word comes
 * first, because it may have been stored before the ring broke. */
CH_FN chorus_status ch_ring_wait(const struct ch_ring *ring,
                                 const struct ch_wait_policy *policy, const uint64_t *word,
                                 uint64_t value)
{
    struct ch_wait w;
    chorus_status st = CHORUS_OK;

    memset(&w, 0, sizeof(w));
    /* Pairs with ch_ring_complete. */
    while (ch_word_load(word) < value && st == CHORUS_OK) {
        st = ch_ring_failure(ring);
        if (st == CHORUS_OK) st = ch_wait_slow(policy, &w);
    }
    ch_wait_end(policy, &w);
    return st;
}

/* Post a FLUSH or QUIET with this head, and wait for it: until the sources of all earlier
 * requests may change that are for its peer and of its context, and of this lane or of those
 * that have synchronised with it, or until they have taken effect. One lane at a time uses a
 * completion word, with values that grow. */
CH_FN chorus_status ch_ring_flush(const struct ch_ring *ring,
                                  const struct ch_wait_policy *policy, uint64_t head,
                                  uint64_t *word, uint64_t value)
{
    const struct ch_ring_request request = {head, 0, 0, 0, (uint64_t)(uintptr_t)word, value};
    const chorus_status st = ch_ring_post(ring, policy, &request);

    return st == CHORUS_OK ? ch_ring_wait(ring, policy, word, value) : st;
}

/* The completion word of call `number`, which gets the value *value_out. */
CH_FN uint64_t *ch_ring_word_of(const struct ch_ring *ring, uint64_t number,
                                uint64_t *value_out)
{
    *value_out = (number >> ring->words_log2) + 1;
    return &ring->words[number & ((UINT64_C(1) << ring->words_log2) - 1)];
}

/* Take the number of a call, and wait until the call that used its word last is complete. The
 * caller posts a request that completes it; after a failure the ring is broken. */
CH_FN chorus_status ch_ring_begin_call(const struct ch_ring *ring,
                                       const struct ch_wait_policy *policy,
                                       uint64_t *number_out)
{
    const uint64_t number = ch_ticket_take(&ring->shared->calls);
    uint64_t value;
    const uint64_t *const word = ch_ring_word_of(ring, number, &value);
    const chorus_status st = ch_ring_wait(ring, policy, word, value - 1);

    *number_out = number;
    if (st != CHORUS_OK) ch_ring_break(ring, st);
    return st;
}

/* As ch_ring_call; *ticket_out: the ticket of the request. */
CH_FN chorus_status ch_ring_call_numbered(const struct ch_ring *ring,
                                          const struct ch_wait_policy *policy,
                                          const struct ch_ring_request *request,
                                          uint64_t *ticket_out)
{
    struct ch_ring_request posted = *request;
    uint64_t number, *word;
    chorus_status st = ch_ring_begin_call(ring, policy, &number);

    if (st != CHORUS_OK) return st;
    word = ch_ring_word_of(ring, number, &posted.value);
    posted.word = (uint64_t)(uintptr_t)word;
    st = ch_ring_post_numbered(ring, policy, &posted, ticket_out);
    if (st == CHORUS_OK) return ch_ring_wait(ring, policy, word, posted.value);
    ch_ring_break(ring, st);
    return st;
}

/* Post a FLUSH or QUIET with a completion word of the ring, and wait for it. Any lane, at any
 * time; its members `word` and `value` are set here. */
CH_FN chorus_status ch_ring_call(const struct ch_ring *ring,
                                 const struct ch_wait_policy *policy,
                                 const struct ch_ring_request *request)
{
    uint64_t ticket;

    return ch_ring_call_numbered(ring, policy, request, &ticket);
}

/* The memory from which the host sends what is posted with the word of call `number`. */
CH_FN unsigned char *ch_ring_outbox(const struct ch_ring *ring, uint64_t number)
{
    return ring->outboxes +
           (number & ((UINT64_C(1) << ring->words_log2) - 1)) * CH_RING_BOX_BYTES;
}

CH_FN struct ch_ring_inbox *ch_ring_inbox(const struct ch_ring *ring, uint64_t number)
{
    return &ring->inboxes[number % CH_RING_INBOXES];
}

/* Take the number of a use of an inbox, and wait until the use before is over. */
CH_FN chorus_status ch_ring_begin_inbox(const struct ch_ring *ring,
                                        const struct ch_wait_policy *policy,
                                        uint64_t *number_out)
{
    const uint64_t number = ch_ticket_take(&ring->shared->inboxes);
    const uint64_t *const left = &ring->shared->left[number % CH_RING_INBOXES];
    struct ch_wait w;
    chorus_status st = CHORUS_OK;

    *number_out = number;
    memset(&w, 0, sizeof(w));
    /* Pairs with ch_ring_leave_inbox. */
    while (ch_word_load(left) < number >> CH_RING_INBOXES_LOG2 && st == CHORUS_OK) {
        st = ch_ring_failure(ring);
        if (st == CHORUS_OK) st = ch_wait_slow(policy, &w);
    }
    ch_wait_end(policy, &w);
    if (st != CHORUS_OK) ch_ring_break(ring, st);
    return st;
}

/* Post a GET or an AMO for which the host completes this use of an inbox, and wait for that. */
CH_FN chorus_status ch_ring_fetch(const struct ch_ring *ring,
                                  const struct ch_wait_policy *policy,
                                  const struct ch_ring_request *request, uint64_t number)
{
    uint64_t *const word = &ch_ring_inbox(ring, number)->arrived;
    const uint64_t value = (number >> CH_RING_INBOXES_LOG2) + 1;
    struct ch_ring_request posted = *request;
    chorus_status st;

    posted.word = (uint64_t)(uintptr_t)word;
    if (ch_request_op(request) == CH_RING_GET) posted.value = value;
    st = ch_ring_post(ring, policy, &posted);
    if (st == CHORUS_OK) st = ch_ring_wait(ring, policy, word, value);
    if (st != CHORUS_OK) ch_ring_break(ring, st);
    return st;
}

/* Lanes that have synchronised with this one have loaded what they need from the inbox. */
CH_FN void ch_ring_leave_inbox(const struct ch_ring *ring, uint64_t number)
{
    ch_release_fence();
    ch_relaxed_store(&ring->shared->left[number % CH_RING_INBOXES],
                     (number >> CH_RING_INBOXES_LOG2) + 1);
}

/* Have all requests of the program taken effect that this lane has posted, and lanes that have
 * synchronised with it? Their tickets are before the one that is next. Acquire. */
CH_FN int ch_ring_is_quiet(const struct ch_ring *ring)
{
    const uint64_t next = ch_relaxed_load(&ring->shared->ticket);

    /* Pairs with ch_ring_quiet. Tickets wrap around. */
    if (ch_relaxed_load(&ring->shared->quieted) - next >= UINT64_C(1) << 63) return 0;
    ch_acquire_fence();
    return 1;
}

/* ch_ring_call with `quiet`, a QUIET of the program for all PEs, after which lanes that have
 * posted nothing since need none. An older ticket that is stored later costs a quiet, but is
 * never wrong. */
CH_FN chorus_status ch_ring_quiet(const struct ch_ring *ring,
                                  const struct ch_wait_policy *policy,
                                  const struct ch_ring_request *quiet)
{
    uint64_t ticket;
    chorus_status st;

    if (ch_ring_is_quiet(ring)) return CHORUS_OK;
    st = ch_ring_call_numbered(ring, policy, quiet, &ticket);
    /* What the host has stored, which the wait has acquired, precedes the number. */
    if (st != CHORUS_OK) return st;
    ch_release_fence();
    ch_relaxed_store(&ring->shared->quieted, ticket + 1);
    return CHORUS_OK;
}

/* --- the consumer --------------------------------------------------------------------------
 */

/* The members of a request from the quads of its slot. */
CH_FN void ch_ring_unpack(const uint64_t lo[CH_RING_QUADS], const uint64_t hi[CH_RING_QUADS],
                          struct ch_ring_request *out)
{
    out->head = lo[0];
    out->there = (uint32_t)hi[0] | lo[1] << 32;
    out->source = lo[1] >> 32 | hi[1] << 32;
    out->bytes = lo[2];
    out->word = (uint32_t)hi[2] | lo[3] << 32;
    out->value = lo[3] >> 32 | hi[3] << 32;
}

/* Take the next request, and return its credit. Returns 0 if it is not there yet. Never waits.
 */
CH_FN int ch_ring_take(struct ch_ring_consumer *ring, struct ch_ring_request *request_out)
{
    const struct ch_ring_slot *slot =
        ch_ring_slot_of(ring->slots, ring->next, ring->capacity_log2);
    const uint32_t phase = ch_ring_phase(ring->next, ring->capacity_log2);
    uint64_t lo[CH_RING_QUADS], hi[CH_RING_QUADS];

    for (uint32_t q = 0; q < CH_RING_QUADS; q++) {
        ch_quad_load(slot->quad[q], &lo[q], &hi[q]);
        if ((uint32_t)(hi[q] >> 32) != phase) return 0;
    }
    ring->next++;
    /* Ends the wait in ch_ring_await_credit; the loads above are complete. */
    ch_word_store(ring->freed, ring->next, CH_CREDIT);
    ch_ring_unpack(lo, hi, request_out);
    ring->waited += (request_out->head & CH_REQUEST_WAITED) != 0;
    request_out->head &= ~CH_REQUEST_WAITED;
    return 1;
}

/* The request that names this completion word is complete. Ends the wait in ch_ring_wait: what
 * the host has read or stored before precedes what the lane does after. */
CH_FN void ch_ring_complete(uint64_t *word, uint64_t value)
{
    ch_word_store(word, value, CH_DATA);
}

#endif /* CH_RING_H */
