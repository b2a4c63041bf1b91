/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/proxy.h"

#include "base/clock.h"
#include "device/device.h"
#include "transport/network.h"

#include <stdlib.h>
#include <string.h>

/* Requests that the ring holds, and flushes that can be under way: each CTA of a call has one
 * at a time, and the calls of a team follow each other. */
#define RING_LOG2 10u
enum { FLUSHES_MAX = 1024 };

/* The thread polls for this long after a call was queued or a request came. */
#define BUSY_NS (20 * CH_NS_PER_MS)

/* A flush that is under way. */
struct flush {
    uint32_t pe;
    uint64_t *word;
    uint64_t value;
};

struct ch_proxy {
    struct ch_heap *heap; /* borrowed, as is network */
    struct ch_network *network;
    void *pinned; /* owned: the slots, then `freed` */
    void *shared; /* owned: a struct ch_ring_shared, in memory of the GPU */
    struct ch_ring ring;
    struct ch_ring_consumer consumer;
    struct flush flushes[FLUSHES_MAX]; /* [n_flushes] */
    uint32_t n_flushes;
    bool is_serving;     /* a thread that waits for room in a queue has released the lock */
    uint64_t busy_until; /* by ch_clock_ns; atomic */
};

static size_t slots_bytes(void)
{
    return sizeof(struct ch_ring_slot) << RING_LOG2;
}

chorus_status ch_proxy_open(struct ch_heap *heap, struct ch_network *network,
                            struct ch_proxy **proxy_out)
{
    struct ch_proxy *proxy = calloc(1, sizeof(*proxy));
    chorus_status st;

    if (proxy == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a ring of requests");
    proxy->heap = heap;
    proxy->network = network;
    st = ch_heap_pool_alloc(heap, slots_bytes() + sizeof(uint64_t), &proxy->pinned);
    if (st == CHORUS_OK)
        st = ch_heap_sync_alloc(heap, sizeof(struct ch_ring_shared), &proxy->shared);
    if (st != CHORUS_OK) {
        ch_proxy_close(proxy);
        return st;
    }
    proxy->consumer.slots = proxy->pinned;
    proxy->consumer.freed = (uint64_t *)(void *)((char *)proxy->pinned + slots_bytes());
    proxy->consumer.capacity_log2 = RING_LOG2;
    proxy->ring = (struct ch_ring){proxy->consumer.slots, proxy->consumer.freed, proxy->shared,
                                   RING_LOG2};
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

void ch_proxy_expect(struct ch_proxy *proxy)
{
    __atomic_store_n(&proxy->busy_until, ch_clock_ns() + BUSY_NS, __ATOMIC_RELAXED);
}

/* Store the word of each flush whose sources were read. Returns whether there was one. */
static bool complete_flushes(struct ch_proxy *proxy)
{
    const struct ch_network *network = proxy->network;
    const uint32_t n = proxy->n_flushes;

    proxy->n_flushes = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct flush *flush = &proxy->flushes[i];

        if (network->ops->is_sent(network->ep, CH_CTX_ALGORITHMS, flush->pe))
            ch_ring_complete(flush->word, flush->value);
        else
            proxy->flushes[proxy->n_flushes++] = *flush;
    }
    return proxy->n_flushes != n;
}

static void *at(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* Post a word, or data and a word. */
static void put_signal(const struct ch_network *network, const struct ch_request *r)
{
    const bool has_data = ch_request_op(r) == CH_RING_PUT_SIGNAL;
    const struct ch_put_signal put = {
        .dest = has_data ? at(r->there) : NULL,
        .source = has_data ? at(r->source) : NULL,
        .bytes = has_data ? r->bytes : 0,
        .word = at(has_data ? r->word : r->there),
        .op = CH_AMO_SET,
        .value = r->value,
    };

    (void)network->ops->put_signal(network->ep, CH_CTX_ALGORITHMS, ch_request_pe(r), &put);
}

/* Carry out a request. Failures of links are kept by the network, and end the waits. */
static void carry_out(struct ch_proxy *proxy, const struct ch_request *r)
{
    const struct ch_network *network = proxy->network;
    const uint32_t pe = ch_request_pe(r);

    switch (ch_request_op(r)) {
    case CH_RING_PUT:
        (void)network->ops->put(network->ep, CH_CTX_ALGORITHMS, pe, at(r->there), at(r->source),
                                r->bytes);
        break;
    case CH_RING_WORD:
    case CH_RING_PUT_SIGNAL:
        put_signal(network, r);
        break;
    case CH_RING_FLUSH:
        proxy->flushes[proxy->n_flushes++] = (struct flush){pe, at(r->word), r->value};
        break;
    case CH_RING_PUT_INLINE: /* no kernel posts one so far */
        break;
    }
    proxy->consumer.carried_out++;
}

bool ch_proxy_has_request(const struct ch_proxy *proxy)
{
    const struct ch_ring_consumer *ring = &proxy->consumer;
    const uint64_t next = __atomic_load_n(&ring->next, __ATOMIC_RELAXED);
    uint64_t lo, hi;

    ch_quad_load(ch_ring_slot_of(ring->slots, next, ring->capacity_log2)->quad[0], &lo, &hi);
    return (uint32_t)(hi >> 32) == ch_ring_phase(next, ring->capacity_log2);
}

bool ch_proxy_serve(struct ch_proxy *proxy)
{
    struct ch_request request;
    bool has_served = false;

    if (proxy->is_serving) return false;
    proxy->is_serving = true;
    while (proxy->n_flushes < FLUSHES_MAX && ch_ring_take(&proxy->consumer, &request)) {
        carry_out(proxy, &request);
        has_served = true;
    }
    if (complete_flushes(proxy)) has_served = true;
    proxy->is_serving = false;
    if (has_served) ch_proxy_expect(proxy);
    return has_served;
}
