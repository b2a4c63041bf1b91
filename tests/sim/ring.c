/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c: lanes of a GPU, the thread of the host, and peers, as a plan says.
 *
 * The consumer compares each request with the next one that its producer posts by the plan: so
 * each must come once, whole and in the order of its lane. It carries requests out by the links
 * of net.c, which read sources at any later time. The peers compare the data that a word
 * announces. The engine finds accesses to sources and data that are not ordered.
 */
#include "sim/ring.h"

#include "sim/ring_plan.h"
#include "sim/sim.h"

#include <stdio.h>
#include <string.h>

#define BATCH_MAX 4u
#define CALLS_MAX 64u

static struct ring_plan plan;
static struct ch_ring ring;
static const struct ch_wait_policy policy;
static const struct ch_lanes alone = {0, 1};
struct ring_counts ring_counts;

/* The consumer's own memory. */
static struct {
    struct ch_ring_consumer ring;
    uint32_t taken;
    uint32_t done[RING_PRODUCERS_MAX];       /* the actions of each producer that are done */
    struct ch_ring_request calls[CALLS_MAX]; /* flushes and quiets that are not complete yet */
    uint32_t n_calls;
} host;

static uint64_t *word_at(char *memory)
{
    return (uint64_t *)(void *)memory;
}

static void describe(uint32_t pe, size_t offset, char *text, size_t text_bytes)
{
    if (pe > plan.ctas)
        (void)snprintf(text, text_bytes, "stream %zu + %zu", offset / RING_STREAM_BYTES,
                       offset % RING_STREAM_BYTES);
    else if (pe == plan.ctas)
        (void)snprintf(text, text_bytes, "copies of inline data + %zu", offset);
    else if (offset >= RING_OWN)
        (void)snprintf(text, text_bytes, "what lane %zu has + %zu",
                       (offset - RING_OWN) / RING_OWN_BYTES,
                       (offset - RING_OWN) % RING_OWN_BYTES);
    else if (offset >= RING_WORDS)
        (void)snprintf(text, text_bytes, "the completion words + %zu", offset - RING_WORDS);
    else if (offset >= RING_TOGETHER)
        (void)snprintf(text, text_bytes, "the lanes' source + %zu", offset - RING_TOGETHER);
    else if (offset < RING_FREED)
        (void)snprintf(text, text_bytes, "slot %zu + %zu", offset / sizeof(struct ch_ring_slot),
                       offset % sizeof(struct ch_ring_slot));
    else
        (void)snprintf(text, text_bytes, "the ring's words + %zu", offset - RING_FREED);
}

/* --- producers
 * --------------------------------------------------------------------------------- */

static void fill(const struct ring_action *a)
{
    unsigned char bytes[RING_MESSAGE_BYTES];

    for (uint32_t i = a->lo; i < a->hi; i++)
        bytes[i - a->lo] = ring_byte(a->message, i);
    ch_copy(a->memory + a->lo, bytes, a->hi - a->lo, alone);
}

static void check(const struct ring_action *a)
{
    unsigned char got[RING_MESSAGE_BYTES];

    ch_copy(got, a->memory + a->lo, a->hi - a->lo, alone);
    for (uint32_t i = a->lo; i < a->hi; i++)
        if (got[i - a->lo] != ring_byte(a->message, i))
            sim_fail("byte %u of message %u is wrong after a quiet", i, a->message);
}

static bool is_for_all(const struct ch_ring_request *r)
{
    return ch_request_pe(r) == CH_RING_ALL_PES;
}

static void post(const struct ch_ring_request *r)
{
    chorus_status st;

    if (is_for_all(r))
        st = ch_ring_quiet(&ring, &policy, r);
    else if (ch_request_op(r) == CH_RING_QUIET)
        st = ch_ring_call(&ring, &policy, r);
    else if (ch_request_op(r) == CH_RING_FLUSH)
        st = ch_ring_flush(&ring, &policy, r->head, (uint64_t *)(uintptr_t)r->word, r->value);
    else
        st = ch_ring_post(&ring, &policy, r);
    if (st != CHORUS_OK) sim_fail("a post returned an error");
}

/* The peer of a request, with the address that it has. */
static struct ch_there there_of(const struct ch_ring_request *r, uint32_t pe)
{
    const struct ch_there there = {pe, r->there};

    return there;
}

/* The PE in whose memory an address is. */
static uint32_t pe_of(uint64_t address)
{
    return (uint32_t)((address - (uintptr_t)sim_memory(0)) / RING_PE_BYTES);
}

static void send(const struct ring_action *a, struct ch_lanes g)
{
    const struct ch_far f = {&ring, &policy};
    const struct ch_far_signal signal = {a->request.word, a->request.value, 0};
    unsigned char bytes[RING_MESSAGE_BYTES];

    for (uint32_t i = 0; i < a->hi; i++)
        bytes[i] = ring_byte(a->message, i);
    if (ch_far_put(f, there_of(&a->request, pe_of(a->request.there)), bytes, a->hi, signal, 0,
                   g) != CHORUS_OK)
        sim_fail("a put returned an error");
}

static void fetch(const struct ring_action *a, struct ch_lanes g)
{
    const struct ch_far f = {&ring, &policy};
    unsigned char got[RING_MESSAGE_BYTES];

    if (ch_far_get(f, a->memory != NULL ? (void *)a->memory : got,
                   there_of(&a->request, pe_of(a->request.there)), a->hi, 1, g) != CHORUS_OK)
        sim_fail("a get returned an error");
    for (uint32_t i = 0; i < a->hi && a->memory == NULL; i++)
        if (got[i] != ring_byte(a->message, i))
            sim_fail("byte %u of message %u is wrong in an inbox", i, a->message);
}

static void produce(uint32_t cta, uint32_t lane)
{
    const struct ring_producer *p = &plan.producers[cta * plan.width + lane];
    const struct ch_lanes g = {lane, plan.width};

    (void)ch_word_wait(&policy, word_at(sim_memory(0) + RING_READY), 1);
    for (uint32_t i = 0; i < p->n_actions; i++) {
        const struct ring_action *a = &p->actions[i];

        if (a->kind == RING_FILL)
            fill(a);
        else if (a->kind == RING_MEET)
            ch_lanes_sync(g);
        else if (a->kind == RING_CHECK)
            check(a);
        else if (a->kind == RING_SEND)
            send(a, a->is_together ? g : alone);
        else if (a->kind == RING_FETCH)
            fetch(a, a->is_together ? g : alone);
        else
            post(&a->request);
    }
}

/* --- the consumer
 * ------------------------------------------------------------------------------ */

/* The index of the producer in whose part of a PE's memory the address is, if these parts are
 * `bytes` long; RING_PRODUCERS_MAX if it is in none. */
static uint32_t producer_of(const struct ch_ring_request *r)
{
    const bool is_flush = ch_request_op(r) == CH_RING_FLUSH,
               is_call = is_flush || ch_request_op(r) == CH_RING_QUIET;
    const uint64_t address = is_flush ? r->word : r->there;
    const uint64_t pe = (address - (uintptr_t)sim_memory(0)) / RING_PE_BYTES;
    const uint64_t at = (address - (uintptr_t)sim_memory(0)) % RING_PE_BYTES;

    if (is_call && pe < plan.ctas && at >= RING_OWN)
        return (uint32_t)(pe * plan.width + (at - RING_OWN) / RING_OWN_BYTES);
    if (!is_call && pe > plan.ctas && pe <= plan.ctas + plan.peers)
        return (uint32_t)(at / RING_STREAM_BYTES);
    return RING_PRODUCERS_MAX;
}

/* The ring chooses the word of a quiet, and its value, and so with calls by boxes, and these.
 */
static bool is_same(const struct ch_ring_request *found, const struct ring_action *planned)
{
    const enum ch_ring_op op = ch_request_op(found);
    struct ch_ring_request comparable = *found;

    if (planned->kind != RING_POST) comparable.source = 0;
    if (op == CH_RING_QUIET || (planned->kind != RING_POST && op != CH_RING_PUT_SIGNAL))
        comparable.word = comparable.value = 0;
    return memcmp(&comparable, &planned->request, sizeof(comparable)) == 0;
}

/* The flush of an outbox follows a put with a signal. */
static bool is_for_outbox(const struct ch_ring_request *r)
{
    const uint64_t at = r->word - (uintptr_t)ring.words;

    return ch_request_op(r) == CH_RING_FLUSH && at < (sizeof(uint64_t) << ring.words_log2);
}

/* The next action from `at` on that posts, and is not left out before the request `r`: a
 * producer posts no quiet of all PEs that it does not need. */
static uint32_t next_post(const struct ring_producer *p, uint32_t at,
                          const struct ch_ring_request *r)
{
    for (; at < p->n_actions; at++) {
        const struct ring_action *a = &p->actions[at];

        if (a->request.head == 0) continue; /* it posts nothing */
        if (!is_for_all(&a->request) || is_same(r, a)) break;
        ring_counts.skipped++;
    }
    return at;
}

static void expect(const struct ch_ring_request *r)
{
    const uint32_t producer = producer_of(r);
    const struct ring_producer *p;
    uint32_t at;

    if (producer >= plan.ctas * plan.width)
        sim_fail("the consumer gets a request that nobody posts, head %llx",
                 (unsigned long long)r->head);
    p = &plan.producers[producer];
    at = next_post(p, host.done[producer], r);
    if (at == p->n_actions || !is_same(r, &p->actions[at]))
        sim_fail("the consumer gets another request than producer %u posts next, head %llx",
                 producer, (unsigned long long)r->head);
    host.done[producer] = at + 1;
}

/* Has the consumer taken the last request of each producer? It is a flush, which all post. */
static bool is_over(void)
{
    for (uint32_t i = 0; i < plan.ctas * plan.width; i++)
        if (host.done[i] != plan.producers[i].n_actions) return false;
    return true;
}

/* All operations to these PEs have taken effect, and what gets have read is stored. */
static void await_effects(uint32_t pe)
{
    const uint32_t lo = pe == CH_RING_ALL_PES ? plan.ctas + 1 : pe,
                   hi = pe == CH_RING_ALL_PES ? plan.ctas + 1 + plan.peers : pe + 1;

    for (uint32_t i = lo; i < hi; i++)
        (void)ch_link_flush(sim_link(plan.ctas, i));
}

static void complete_calls(void)
{
    for (uint32_t i = 0; i < host.n_calls; i++) {
        const struct ch_ring_request *r = &host.calls[i];

        if (ch_request_op(r) == CH_RING_QUIET || ch_request_op(r) == CH_RING_GET) {
            await_effects(ch_request_pe(r));
            ring_counts.quieted++;
        } else {
            sim_link_sent(sim_link(plan.ctas, ch_request_pe(r)));
            ring_counts.flushed++;
        }
        ch_ring_complete((uint64_t *)(uintptr_t)r->word, r->value);
    }
    host.n_calls = 0;
}

static void add_call(const struct ch_ring_request *r)
{
    host.calls[host.n_calls++] = *r;
    if (host.n_calls == CALLS_MAX) complete_calls();
}

/* A link reads inline data from a copy, which is not used again. */
static const void *copy_of_inline(const struct ch_ring_request *r, uint32_t number)
{
    char *const stage = sim_memory(plan.ctas) + (size_t)number * RING_STAGE_BYTES;

    ch_copy(stage, &r->source, ch_request_inline_bytes(r), alone);
    return stage;
}

static void post_signal(struct ch_link *link, const struct ch_ring_request *r, uint32_t number)
{
    const uint32_t inline_bytes = ch_request_inline_bytes(r);
    const void *source =
        inline_bytes != 0 ? copy_of_inline(r, number) : (const void *)(uintptr_t)r->source;

    ch_link_post_signal(link, (void *)(uintptr_t)r->there, source,
                        inline_bytes != 0 ? inline_bytes : r->bytes,
                        (uint64_t *)(uintptr_t)r->word, r->value, CH_DATA);
}

static void carry_out(const struct ch_ring_request *r, uint32_t number)
{
    struct ch_link *const link = is_for_all(r) ? NULL : sim_link(plan.ctas, ch_request_pe(r));
    void *const there = (void *)(uintptr_t)r->there;

    switch (ch_request_op(r)) {
    case CH_RING_PUT:
        ch_link_post(link, there, (const void *)(uintptr_t)r->source, r->bytes);
        if (r->word != 0) add_call(r);
        break;
    case CH_RING_PUT_INLINE:
        ch_link_post(link, there, copy_of_inline(r, number), ch_request_inline_bytes(r));
        break;
    case CH_RING_WORD:
        ch_link_post_word(link, there, r->value, CH_DATA);
        break;
    case CH_RING_PUT_SIGNAL:
        post_signal(link, r, number);
        break;
    case CH_RING_GET:
        sim_link_get(link, (void *)(uintptr_t)r->source, there, r->bytes);
        if (r->word != 0) add_call(r);
        break;
    case CH_RING_AMO: /* no plan has one */
        sim_fail("the consumer gets an atomic operation");
        break;
    case CH_RING_FLUSH:
    case CH_RING_QUIET:
        add_call(r);
    }
    host.ring.carried_out++;
}

/* What the start of a job does; the rest of the memory is 0. */
static void open_ring(void)
{
    uint64_t *const freed = word_at(sim_memory(0) + RING_FREED);

    ch_relaxed_store(&ring.shared->ticket, plan.start);
    ch_relaxed_store(&ring.shared->seen, plan.start);
    ch_relaxed_store(&ring.shared->quieted, plan.start);
    ch_word_store(freed, plan.start, CH_CREDIT);
    memset(&host, 0, sizeof(host));
    host.ring.slots = ring.slots;
    host.ring.freed = freed;
    host.ring.capacity_log2 = ring.capacity_log2;
    host.ring.next = plan.start;
    ch_word_store(word_at(sim_memory(0) + RING_READY), 1, CH_DATA);
}

/* Take some requests, then carry them out. Returns how many there were. */
static uint32_t take_batch(void)
{
    const uint32_t most = 1 + host.taken % BATCH_MAX;
    struct ch_ring_request batch[BATCH_MAX];
    uint32_t n = 0;

    while (n < most && ch_ring_take(&host.ring, &batch[n])) {
        if (!is_for_outbox(&batch[n])) expect(&batch[n]);
        n++;
    }
    for (uint32_t i = 0; i < n; i++)
        carry_out(&batch[i], host.taken + i);
    host.taken += n;
    return n;
}

/* Flushes and quiets stay open while there are requests, as on networks that are slow. */
static void consume(void)
{
    struct ch_wait w;

    memset(&w, 0, sizeof(w));
    open_ring();
    while (!is_over()) {
        if (take_batch() != 0) continue;
        complete_calls();
        if (take_batch() == 0) (void)ch_wait_slow(&policy, &w);
    }
    complete_calls();
    if (host.ring.next - plan.start != host.taken || host.ring.carried_out != host.taken)
        sim_fail("the consumer has counted %llu requests of %u",
                 (unsigned long long)host.ring.carried_out, host.taken);
    ring_counts.posted += host.taken;
    ring_counts.waited += host.ring.waited;
}

/* --- peers
 * ------------------------------------------------------------------------------------- */

static void check_message(uint32_t producer, const struct ring_message *m)
{
    unsigned char got[RING_MESSAGE_BYTES];

    ch_copy(got, m->there, m->bytes, alone);
    for (uint32_t i = 0; i < m->bytes; i++)
        if (got[i] != ring_byte(m->message, i))
            sim_fail("byte %u of message %u of producer %u is wrong", i, m->message, producer);
}

/* Each lane receives the streams of some producers, of which it waits for one after another. */
static void receive(uint32_t pe, uint32_t lane)
{
    const uint32_t peer = pe - plan.ctas - 1;

    for (uint32_t producer = lane; producer < plan.ctas * plan.width; producer += plan.width) {
        const struct ring_stream *s = &plan.streams[producer][peer];
        uint64_t *word = word_at(sim_memory(pe) + (size_t)producer * RING_STREAM_BYTES);

        for (uint32_t i = 0; i < s->n_messages; i++) {
            (void)ch_word_wait(&policy, word, s->messages[i].announced);
            check_message(producer, &s->messages[i]);
        }
    }
}

static void run_lane(uint32_t pe, uint32_t lane)
{
    if (pe < plan.ctas)
        produce(pe, lane);
    else if (pe > plan.ctas)
        receive(pe, lane);
    else if (lane == 0)
        consume();
}

const char *ring_run(uint64_t seed)
{
    struct sim_setup setup = {.pe_bytes = RING_PE_BYTES, .seed = seed, .describe = describe};

    ring_plan_shape(&plan, seed);
    setup.n = plan.ctas + 1 + plan.peers;
    setup.width = plan.width;
    setup.host = plan.host;
    setup.is_weak = plan.is_weak;
    setup.is_slow = true;
    sim_open(&setup);
    ring_plan_fill(&plan);
    ring.slots = (struct ch_ring_slot *)(void *)(sim_memory(0) + RING_SLOTS);
    ring.freed = word_at(sim_memory(0) + RING_FREED);
    ring.shared = (struct ch_ring_shared *)(void *)(sim_memory(0) + RING_SHARED);
    ring.capacity_log2 = plan.capacity_log2;
    ring.words_log2 = plan.words_log2;
    ring.words = word_at(sim_memory(0) + RING_WORDS);
    ring.outboxes = (unsigned char *)sim_memory(0) + RING_OUTBOXES;
    ring.inboxes = (struct ch_ring_inbox *)(void *)(sim_memory(0) + RING_INBOXES);
    return sim_run(run_lane) ? NULL : sim_message();
}
