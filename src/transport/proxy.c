/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/proxy.h"

#include "base/clock.h"
#include "device/device.h"
#include "transport/network.h"

#include <stdlib.h>
#include <string.h>

/* Requests that the ring holds, its completion words, and flushes and quiets that can be under
 * way: each CTA of a call has one at a time, as has each kernel of one thread for a call of the
 * program on a stream, and the calls of a team follow each other. */
#define RING_LOG2 10u
#define WORDS_LOG2 8u
enum { CALLS_MAX = 1024, INLINE_PLACES = 1024, HALF = INLINE_PLACES / 2 };

/* Kernels post in these contexts: CH_CTX_DEFAULT and CH_CTX_ALGORITHMS. */
enum { CONTEXTS = 2 };

_Static_assert(CH_RING_ALL_PES == CH_LINK_ALL, "the network takes the number of a request");

/* The thread polls for this long after a call was queued or a request came. */
#define BUSY_NS (20 * CH_NS_PER_MS)

/* The same after something has arrived for a PE whose kernels post nothing. */
#define ARRIVAL_NS (2 * CH_NS_PER_MS)

/* Requests that are carried out between two passes that look for what is complete. */
enum { TAKEN_MAX = 64 };

/* A flush or a quiet that is under way, or a get or an atomic operation. */
struct call {
    ch_is_over_fn is_over;
    uint32_t ctx, pe;
    uint64_t *word;
    uint64_t value;
    uint64_t since_ns; /* by ch_clock_ns */
};

struct ch_proxy {
    struct ch_heap *heap; /* borrowed, as is network */
    struct ch_network *network;
    void *pinned; /* owned: a struct pinned */
    void *shared; /* owned: a struct ch_ring_shared, in memory of the GPU */
    struct ch_ring ring;
    struct ch_ring_consumer consumer;
    struct call calls[CALLS_MAX]; /* [n_calls] */
    uint32_t n_calls;
    struct ch_ring_request held; /* if has_held: taken, and not carried out */
    bool has_held;
    uint64_t next;       /* the consumer's, for threads without the lock; atomic */
    uint64_t n_inline;   /* requests with inline data so far */
    bool has_calls;      /* after they were served last; atomic */
    bool is_serving;     /* a thread that waits for room in a queue has released the lock */
    bool drops;          /* requests, see ch_proxy_drop; under the lock */
    uint64_t busy_until; /* by ch_clock_ns; atomic */
    bool reads[];        /* [2][CONTEXTS][n]: the network may read places of this half for this
                            context and peer */
};

/* Pinned memory of a ring. */
struct pinned {
    struct ch_ring_slot slots[1u << RING_LOG2];
    uint64_t words[1u << WORDS_LOG2];
    uint64_t freed;
    uint64_t inlined[INLINE_PLACES][CH_RING_INLINE_BYTES / sizeof(uint64_t)];
    unsigned char outboxes[(1u << WORDS_LOG2) * CH_RING_BOX_BYTES] __attribute__((aligned(64)));
    struct ch_ring_inbox inboxes[CH_RING_INBOXES];
};

chorus_status ch_proxy_open(struct ch_heap *heap, struct ch_network *network,
                            struct ch_proxy **proxy_out)
{
    struct ch_proxy *proxy =
        calloc(1, sizeof(*proxy) + 2 * CONTEXTS * (size_t)network->n * sizeof(bool));
    struct pinned *pinned;
    chorus_status st;

    if (proxy == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a ring of requests");
    proxy->heap = heap;
    proxy->network = network;
    st = ch_heap_pool_alloc(heap, sizeof(*pinned), &proxy->pinned);
    if (st == CHORUS_OK)
        st = ch_heap_sync_alloc(heap, sizeof(struct ch_ring_shared), &proxy->shared);
    if (st != CHORUS_OK) {
        ch_proxy_close(proxy);
        return st;
    }
    pinned = proxy->pinned;
    proxy->consumer.slots = pinned->slots;
    proxy->consumer.freed = &pinned->freed;
    proxy->consumer.capacity_log2 = RING_LOG2;
    proxy->ring = (struct ch_ring){.slots = pinned->slots,
                                   .freed = &pinned->freed,
                                   .shared = proxy->shared,
                                   .capacity_log2 = RING_LOG2,
                                   .words_log2 = WORDS_LOG2,
                                   .words = pinned->words,
                                   .outboxes = pinned->outboxes,
                                   .inboxes = pinned->inboxes};
    *proxy_out = proxy;
    return CHORUS_OK;
}

void ch_proxy_close(struct ch_proxy *proxy)
{
    if (proxy == NULL) return;
    ch_heap_sync_free(proxy->heap, proxy->shared);
    ch_heap_pool_free(proxy->heap, proxy->pinned);
    free(proxy);
}

const struct ch_ring *ch_proxy_ring(const struct ch_proxy *proxy)
{
    return &proxy->ring;
}

bool ch_proxy_is_busy(const struct ch_proxy *proxy)
{
    return ch_clock_ns() < __atomic_load_n(&proxy->busy_until, __ATOMIC_RELAXED);
}

/* Let the progress thread poll for this time, if it would not do so longer. */
static void poll_for(struct ch_proxy *proxy, uint64_t ns)
{
    const uint64_t until = ch_clock_ns() + ns;

    if (until > __atomic_load_n(&proxy->busy_until, __ATOMIC_RELAXED))
        __atomic_store_n(&proxy->busy_until, until, __ATOMIC_RELAXED);
}

void ch_proxy_expect(struct ch_proxy *proxy)
{
    poll_for(proxy, BUSY_NS);
}

void ch_proxy_expect_more(struct ch_proxy *proxy)
{
    poll_for(proxy, ARRIVAL_NS);
}

/* Is a call over by the same condition as another? */
static bool ends_with(const struct call *call, const struct call *other)
{
    return call->is_over == other->is_over && call->ctx == other->ctx && call->pe == other->pe;
}

/* Store the word of each flush and quiet that is over. Returns whether there was one. The
 * network is asked once for those that follow each other with one condition: hundreds do where
 * each thread of a kernel waits. */
static bool complete_calls(struct ch_proxy *proxy)
{
    const uint32_t n = proxy->n_calls;
    struct call last = {0};
    bool is_over = false;

    proxy->n_calls = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct call call = proxy->calls[i];

        if (!ends_with(&call, &last))
            is_over = call.is_over(proxy->network->ep, call.ctx, call.pe);
        last = call;
        if (is_over)
            ch_ring_complete(call.word, call.value);
        else
            proxy->calls[proxy->n_calls++] = call;
    }
    return proxy->n_calls != n;
}

static void *at(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* The contexts and peers whose data is in the half of the place for the next inline data:
 * [CONTEXTS][n]. */
static bool *next_reads(struct ch_proxy *proxy)
{
    return proxy->reads + proxy->n_inline / HALF % 2 * CONTEXTS * proxy->network->n;
}

/* May the place for the next inline data be used? Once in half a lap, the network must have
 * sent, at any time, what was in that half. */
static bool has_place(struct ch_proxy *proxy)
{
    const struct ch_network *network = proxy->network;
    bool *reads = next_reads(proxy), has_any = false;

    if (proxy->n_inline % HALF != 0) return true;
    for (uint32_t i = 0; i < CONTEXTS * network->n; i++) {
        if (reads[i])
            reads[i] = !network->ops->is_sent(network->ep, i / network->n, i % network->n);
        has_any |= reads[i];
    }
    return !has_any;
}

/* Copy the inline data of a request to where the network may read it until it is sent. */
static const void *keep_inline(struct ch_proxy *proxy, const struct ch_ring_request *r)
{
    struct pinned *pinned = proxy->pinned;
    uint64_t *place = pinned->inlined[proxy->n_inline % INLINE_PLACES];

    next_reads(proxy)[ch_request_ctx(r) * proxy->network->n + ch_request_pe(r)] = true;
    proxy->n_inline++;
    memcpy(place, (const char *)r + offsetof(struct ch_ring_request, source),
           CH_RING_INLINE_BYTES);
    return place;
}

/* Post a word, or data and a word. */
static void put_signal(struct ch_proxy *proxy, const struct ch_ring_request *r)
{
    const struct ch_network *network = proxy->network;
    const bool has_data = ch_request_op(r) == CH_RING_PUT_SIGNAL;
    const uint32_t inline_bytes = ch_request_inline_bytes(r);
    struct ch_put_signal put = {
        .word = at(has_data ? r->word : r->there),
        .op = (r->head & CH_REQUEST_ADDS) != 0 ? CH_AMO_ADD : CH_AMO_SET,
        .value = r->value,
    };

    if (has_data) {
        put.dest = at(r->there);
        put.source = inline_bytes != 0 ? keep_inline(proxy, r) : at(r->source);
        put.bytes = inline_bytes != 0 ? inline_bytes : r->bytes;
    }
    (void)network->ops->put_signal(network->ep, ch_request_ctx(r), ch_request_pe(r), &put);
}

/* List a request that completes its word when this is so, for complete_calls. */
static void add_call(struct ch_proxy *proxy, const struct ch_ring_request *r,
                     ch_is_over_fn is_over, uint64_t value)
{
    proxy->calls[proxy->n_calls++] = (struct call){
        .is_over = is_over,
        .ctx = ch_request_ctx(r),
        .pe = ch_request_pe(r),
        .word = at(r->word),
        .value = value,
        .since_ns = ch_clock_ns(),
    };
}

/* Perform an atomic operation. The host alone stores the word of an inbox, which counts its
 * uses; one at a time is under way. */
static void change_word(struct ch_proxy *proxy, const struct ch_ring_request *r)
{
    const struct ch_network *network = proxy->network;
    struct ch_ring_inbox *inbox = at(r->word);
    uint64_t *old = inbox != NULL ? (uint64_t *)(void *)inbox->data : NULL;

    if (old != NULL) *old = 0; /* of a word of 4 bytes, only the lower half may be stored */
    (void)network->ops->amo(network->ep, ch_request_ctx(r), ch_request_pe(r),
                            (enum ch_amo)ch_request_amo_op(r), at(r->there),
                            ch_request_amo_width(r), r->value, r->source, old);
    if (inbox != NULL) add_call(proxy, r, network->ops->is_done, inbox->arrived + 1);
}

/* Is the request for a peer that the network reaches, or a flush or quiet for all, and is it
 * one that kernels post? */
static bool is_valid(const struct ch_network *network, const struct ch_ring_request *r)
{
    const enum ch_ring_op op = ch_request_op(r);
    const uint32_t pe = ch_request_pe(r), width = ch_request_amo_width(r);

    if (ch_request_ctx(r) >= CONTEXTS) return false;
    if (op == CH_RING_AMO &&
        (ch_request_amo_op(r) > CH_AMO_COMPARE_SWAP || (width != 4 && width != 8)))
        return false;
    if (pe == CH_RING_ALL_PES) return op == CH_RING_FLUSH || op == CH_RING_QUIET;
    return pe < network->n && network->is_reached[pe];
}

/* Carry out a request. Failures of links are kept by the network, and end the waits. */
static void perform(struct ch_proxy *proxy, const struct ch_ring_request *r)
{
    const struct ch_network *network = proxy->network;
    const uint32_t ctx = ch_request_ctx(r), pe = ch_request_pe(r);

    if (!is_valid(network, r)) {
        ch_network_fail(proxy->network,
                        "a kernel has posted a request for a PE that no network "
                        "reaches; its memory was changed");
        return;
    }
    switch (ch_request_op(r)) {
    case CH_RING_PUT:
        if (r->bytes != 0) /* 0: of a CTA without a part of the data */
            (void)network->ops->put(network->ep, ctx, pe, at(r->there), at(r->source),
                                    r->bytes);
        if (r->word != 0) add_call(proxy, r, network->ops->is_sent, r->value);
        break;
    case CH_RING_PUT_INLINE:
        (void)network->ops->put(network->ep, ctx, pe, at(r->there), keep_inline(proxy, r),
                                ch_request_inline_bytes(r));
        break;
    case CH_RING_GET:
        (void)network->ops->get(network->ep, ctx, pe, at(r->source), at(r->there), r->bytes);
        if (r->word != 0) add_call(proxy, r, network->ops->is_done, r->value);
        break;
    case CH_RING_WORD:
    case CH_RING_PUT_SIGNAL:
        put_signal(proxy, r);
        break;
    case CH_RING_FLUSH:
        add_call(proxy, r, network->ops->is_sent, r->value);
        break;
    case CH_RING_QUIET:
        add_call(proxy, r, network->ops->is_done, r->value);
        break;
    case CH_RING_AMO:
        change_word(proxy, r);
        break;
    }
}

/* Carry out a request, or drop it. */
static void carry_out(struct ch_proxy *proxy, const struct ch_ring_request *r)
{
    if (!proxy->drops) perform(proxy, r);
    __atomic_store_n(&proxy->consumer.carried_out, proxy->consumer.carried_out + 1,
                     __ATOMIC_RELEASE);
}

static bool has_request(const struct ch_proxy *proxy)
{
    const struct ch_ring_consumer *ring = &proxy->consumer;
    const uint64_t next = __atomic_load_n(&proxy->next, __ATOMIC_RELAXED);
    uint64_t lo, hi;

    ch_quad_load(ch_ring_slot_of(ring->slots, next, ring->capacity_log2)->quad[0], &lo, &hi);
    return (uint32_t)(hi >> 32) == ch_ring_phase(next, ring->capacity_log2);
}

bool ch_proxy_has_work(const struct ch_proxy *proxy)
{
    return has_request(proxy) || __atomic_load_n(&proxy->has_calls, __ATOMIC_RELAXED);
}

chorus_status ch_proxy_posted(const struct ch_proxy *proxy, uint64_t *n_out,
                              bool *is_broken_out)
{
    struct ch_ring_shared shared;

    CH_TRY(ch_device_copy(ch_heap_device(proxy->heap), &shared, proxy->shared, sizeof(shared)));
    *n_out = shared.ticket;
    *is_broken_out = shared.broken != 0;
    return CHORUS_OK;
}

uint64_t ch_proxy_carried_out(const struct ch_proxy *proxy)
{
    return __atomic_load_n(&proxy->consumer.carried_out, __ATOMIC_ACQUIRE);
}

void ch_proxy_drop(struct ch_proxy *proxy)
{
    proxy->drops = true;
}

bool ch_proxy_forget(struct ch_proxy *proxy, const uint64_t *words, uint32_t n)
{
    uint32_t kept = 0;

    if (proxy->is_serving) return false;
    for (uint32_t i = 0; i < proxy->n_calls; i++)
        if (proxy->calls[i].word < words || proxy->calls[i].word >= words + n)
            proxy->calls[kept++] = proxy->calls[i];
    proxy->n_calls = kept;
    return true;
}

/* Is the call not over until this request is, too? */
static bool is_prolonged_by(const struct call *call, const struct ch_ring_request *r)
{
    const enum ch_ring_op op = ch_request_op(r);

    return op != CH_RING_FLUSH && op != CH_RING_QUIET && call->ctx == ch_request_ctx(r) &&
           (call->pe == CH_RING_ALL_PES || call->pe == ch_request_pe(r));
}

/* Is this the time of a call of such an age, see must_wait? */
static bool is_favoured(uint64_t age_ns)
{
    const uint64_t age_ms = age_ns / CH_NS_PER_MS;
    uint64_t reached_ns;

    if (age_ms == 0) return false;
    reached_ns = (UINT64_C(1) << (63 - __builtin_clzll(age_ms))) * CH_NS_PER_MS;
    return age_ns - reached_ns <= reached_ns / 4;
}

/*
 * Must a request wait, so that a call ends? A call is over only when nothing is under way that
 * its context has posted to its peer, which may never be so while others post. When its age
 * reaches 1, 2, 4, 8 ms and so on, no request that would prolong it is carried out for a
 * quarter of that time: what is under way then ends, once the time is long enough for it. In
 * between requests are carried out, also if the call never ends, as its peer is stopped: so of
 * several calls that a request would prolong, the oldest alone counts. Requests behind one that
 * waits do so, too.
 */
static bool must_wait(const struct ch_proxy *proxy, const struct ch_ring_request *r)
{
    for (uint32_t i = 0; i < proxy->n_calls; i++)
        if (is_prolonged_by(&proxy->calls[i], r))
            return is_favoured(ch_clock_ns() - proxy->calls[i].since_ns);
    return false;
}

/* Take the next request, unless one waits. Returns whether there is one. */
static bool has_next(struct ch_proxy *proxy)
{
    if (proxy->has_held) return true;
    if (!ch_ring_take(&proxy->consumer, &proxy->held)) return false;
    __atomic_store_n(&proxy->next, proxy->consumer.next, __ATOMIC_RELAXED);
    proxy->has_held = true;
    return true;
}

/* May a request be taken, so that there is room for what it needs? */
static bool may_take(struct ch_proxy *proxy)
{
    return proxy->drops || (proxy->n_calls < CALLS_MAX && has_place(proxy));
}

bool ch_proxy_serve(struct ch_proxy *proxy)
{
    struct ch_ring_request request;
    uint32_t n = 0;
    bool has_served;

    if (proxy->is_serving) return false;
    proxy->is_serving = true;
    for (; n < TAKEN_MAX && may_take(proxy) && has_next(proxy); n++) {
        if (!proxy->drops && must_wait(proxy, &proxy->held)) break;
        request = proxy->held;
        proxy->has_held = false;
        carry_out(proxy, &request);
    }
    has_served = n != 0;
    if (proxy->drops) proxy->n_calls = 0;
    if (complete_calls(proxy)) has_served = true;
    __atomic_store_n(&proxy->has_calls, proxy->n_calls != 0 || proxy->has_held,
                     __ATOMIC_RELAXED);
    proxy->is_serving = false;
    if (has_served) ch_proxy_expect(proxy);
    return has_served;
}
