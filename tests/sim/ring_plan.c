/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_plan.c: makes the plan of a run of the ring.
 *
 * A producer has two sources of its own. Before it fills one again, it flushes the peers to
 * which it has posted the source, so a ring or a host that completes a flush too early makes it
 * overwrite what is still read.
 *
 * A quiet is followed by a look at the last message that the producer has put to each of its
 * peers, directly in their memory: the producer must know that it is there. A get is of such a
 * message, and is followed by a quiet, or is a call that waits.
 */
#include "sim/ring_plan.h"

#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

#define SOURCES 2u

static struct {
    struct ring_plan *plan;
    uint64_t seed, turn;
    uint32_t messages;
    /* Of each producer: the peers to which its sources were posted since their last flush, as
     * bits, and its flushes. */
    uint32_t unflushed[RING_PRODUCERS_MAX][SOURCES];
    uint64_t flushes[RING_PRODUCERS_MAX];
} making;

/* The finaliser of MurmurHash3. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

static uint32_t draw(uint32_t below)
{
    return (uint32_t)(mix(mix(making.seed + 1) + making.turn++) >> 32) % below;
}

unsigned char ring_byte(uint32_t message, uint32_t at)
{
    return (unsigned char)(mix((uint64_t)message << 8 | at / 8) >> 8 * (at % 8));
}

void ring_plan_shape(struct ring_plan *plan, uint64_t seed)
{
    memset(plan, 0, sizeof(*plan));
    memset(&making, 0, sizeof(making));
    making.plan = plan;
    making.seed = seed;
    plan->ctas = 1 + draw(RING_CTAS_MAX);
    plan->peers = 1 + draw(RING_PEERS_MAX);
    plan->width = 2 + draw(RING_LANES_MAX - 1);
    plan->capacity_log2 = 1 + draw(3);
    plan->words_log2 = draw(2);
    plan->is_weak = draw(2) != 0;
    for (uint32_t i = 0; i < plan->peers; i++)
        plan->host[plan->ctas + 1 + i] = 1 + i;
    /* From 0, or shortly before phases or tickets wrap around. */
    switch (draw(3)) {
    case 0:
        plan->start = 0;
        break;
    case 1:
        plan->start = (UINT64_C(0xffffffff) - 1) << plan->capacity_log2;
        break;
    default:
        plan->start = UINT64_C(0) - (UINT64_C(2) << plan->capacity_log2);
    }
}

/* --- actions
 * ----------------------------------------------------------------------------------- */

static uint32_t pe_of_peer(uint32_t peer)
{
    return making.plan->ctas + 1 + peer;
}

static char *stream_memory(uint32_t producer, uint32_t peer)
{
    return sim_memory(pe_of_peer(peer)) + (size_t)producer * RING_STREAM_BYTES;
}

static char *own_memory(uint32_t producer)
{
    return sim_memory(producer / making.plan->width) + RING_OWN +
           (size_t)(producer % making.plan->width) * RING_OWN_BYTES;
}

static struct ring_action *add(uint32_t producer)
{
    struct ring_producer *p = &making.plan->producers[producer];

    if (p->n_actions == RING_ACTIONS_MAX) abort(); /* 6 turns have at most 150 */
    return &p->actions[p->n_actions++];
}

static void add_fill(uint32_t producer, char *memory, uint32_t lo, uint32_t hi)
{
    *add(producer) = (struct ring_action){
        .kind = RING_FILL, .memory = memory, .message = making.messages, .lo = lo, .hi = hi};
}

/* Bytes [0, bytes) of the message are at `memory`. */
static void add_check(uint32_t producer, const struct ring_message *m, const char *memory)
{
    *add(producer) = (struct ring_action){.kind = RING_CHECK,
                                          .memory = (char *)(uintptr_t)memory,
                                          .message = m->message,
                                          .hi = m->bytes};
}

static void add_post(uint32_t producer, const struct ch_ring_request *request)
{
    *add(producer) = (struct ring_action){.kind = RING_POST, .request = *request};
}

static void add_flush(uint32_t producer, uint32_t peer)
{
    const struct ch_ring_request request = {
        .head = ch_request_head(CH_RING_FLUSH, pe_of_peer(peer), 0),
        .word = (uint64_t)(uintptr_t)own_memory(producer),
        .value = ++making.flushes[producer]};

    add_post(producer, &request);
    for (uint32_t i = 0; i < SOURCES; i++)
        making.unflushed[producer][i] &= ~(1u << peer);
}

static struct ring_message *last_message(uint32_t producer, uint32_t peer)
{
    struct ring_stream *s = &making.plan->streams[producer][peer];

    return s->n_messages == 0 ? NULL : &s->messages[s->n_messages - 1];
}

/* Of a peer or of all. */
static void add_quiet(uint32_t producer, uint32_t peer, bool is_for_all)
{
    const struct ch_ring_request request = {
        .head =
            ch_request_head(CH_RING_QUIET, is_for_all ? CH_RING_ALL_PES : pe_of_peer(peer), 0),
        .there = (uint64_t)(uintptr_t)own_memory(producer)};

    add_post(producer, &request);
    for (uint32_t i = 0; i < making.plan->peers; i++) {
        const struct ring_message *m = last_message(producer, i);

        if (i != peer && !is_for_all) continue;
        for (uint32_t source = 0; source < SOURCES; source++)
            making.unflushed[producer][source] &= ~(1u << i);
        if (m != NULL) add_check(producer, m, m->there);
    }
}

/* Get the last message that was put to a peer, whose put is over. */
static void add_get(uint32_t producer, uint32_t peer, bool is_for_all)
{
    const struct ring_message *m = last_message(producer, peer);
    char *const memory = own_memory(producer) + RING_OWN_GET;
    const struct ch_ring_request request = {
        .head = ch_request_head(CH_RING_GET, pe_of_peer(peer), 0),
        .there = (uint64_t)(uintptr_t)m->there,
        .source = (uint64_t)(uintptr_t)memory,
        .bytes = m->bytes};

    add_post(producer, &request);
    add_quiet(producer, peer, is_for_all);
    add_check(producer, m, memory);
}

/* The next message, `bytes` long, and a request that puts it, inline or from a source. */
static struct ch_ring_request next_put(uint32_t producer, uint32_t peer, enum ch_ring_op op,
                                       uint32_t bytes, bool is_inline)
{
    struct ring_stream *s = &making.plan->streams[producer][peer];
    struct ring_message *m = &s->messages[s->n_messages];
    struct ch_ring_request r = {
        .head = ch_request_head(op, pe_of_peer(peer), is_inline ? bytes : 0)};

    if (s->n_messages++ == RING_MESSAGES_MAX) abort(); /* 6 turns have at most 24 */
    m->there = stream_memory(producer, peer) + (size_t)s->n_messages * RING_MESSAGE_BYTES;
    m->message = ++making.messages;
    m->bytes = bytes;
    m->announced = s->announced + 1;
    r.there = (uint64_t)(uintptr_t)m->there;
    for (uint32_t i = 0; is_inline && i < bytes; i++)
        ((unsigned char *)&r)[offsetof(struct ch_ring_request, source) + i] =
            ring_byte(m->message, i);
    return r;
}

static void announce(uint32_t producer, uint32_t peer, uint64_t *word_out, uint64_t *value_out)
{
    *word_out = (uint64_t)(uintptr_t)stream_memory(producer, peer);
    *value_out = ++making.plan->streams[producer][peer].announced;
}

static void add_word(uint32_t producer, uint32_t peer)
{
    struct ch_ring_request r = {.head = ch_request_head(CH_RING_WORD, pe_of_peer(peer), 0)};

    announce(producer, peer, &r.there, &r.value);
    add_post(producer, &r);
}

static void add_inline(uint32_t producer, uint32_t peer)
{
    const struct ch_ring_request r =
        next_put(producer, peer, CH_RING_PUT_INLINE, 1 + draw(CH_RING_INLINE_BYTES), true);

    add_post(producer, &r);
}

static void add_inline_signal(uint32_t producer, uint32_t peer)
{
    struct ch_ring_request r = next_put(producer, peer, CH_RING_PUT_SIGNAL,
                                        1 + draw(CH_RING_INLINE_SIGNAL_BYTES), true);

    announce(producer, peer, &r.word, &r.value);
    add_post(producer, &r);
}

/* A put from a source, with or without a signal. */
static void add_put(uint32_t producer, uint32_t peer, enum ch_ring_op op)
{
    const uint32_t bytes = 1 + draw(RING_MESSAGE_BYTES), source = draw(SOURCES);
    char *const memory =
        own_memory(producer) + RING_OWN_SOURCE + (size_t)source * RING_MESSAGE_BYTES;
    struct ch_ring_request r;

    for (uint32_t i = 0; i < making.plan->peers; i++)
        if (making.unflushed[producer][source] & 1u << i) add_flush(producer, i);
    r = next_put(producer, peer, op, bytes, false);
    add_fill(producer, memory, 0, bytes);
    r.source = (uint64_t)(uintptr_t)memory;
    r.bytes = bytes;
    if (op == CH_RING_PUT_SIGNAL) announce(producer, peer, &r.word, &r.value);
    add_post(producer, &r);
    making.unflushed[producer][source] |= 1u << peer;
}

/* --- calls by boxes ---------------------------------------------------------------------- */

/* A message that is too long for a request, with or without a signal. */
static struct ch_ring_request next_send(uint32_t producer, uint32_t peer, bool signals)
{
    const uint32_t bytes =
        CH_RING_INLINE_BYTES + 1 + draw(CH_RING_BOX_BYTES - CH_RING_INLINE_BYTES);
    struct ch_ring_request r =
        next_put(producer, peer, signals ? CH_RING_PUT_SIGNAL : CH_RING_PUT, bytes, false);

    r.bytes = bytes;
    if (signals) announce(producer, peer, &r.word, &r.value);
    return r;
}

static struct ch_ring_request fetch_of(uint32_t peer, const struct ring_message *m)
{
    return (struct ch_ring_request){.head = ch_request_head(CH_RING_GET, pe_of_peer(peer), 0),
                                    .there = (uint64_t)(uintptr_t)m->there,
                                    .bytes = m->bytes};
}

static struct ring_action send_of(const struct ch_ring_request *r)
{
    return (struct ring_action){
        .kind = RING_SEND, .request = *r, .message = making.messages, .hi = (uint32_t)r->bytes};
}

static void add_send(uint32_t producer, uint32_t peer)
{
    const bool signals = draw(2) == 0;
    const struct ch_ring_request r = next_send(producer, peer, signals);

    *add(producer) = send_of(&r);
    if (!signals) add_word(producer, peer);
}

/* Get the last message that was put to a peer, whose put is over. */
static void add_fetch(uint32_t producer, uint32_t peer)
{
    const struct ring_message *m = last_message(producer, peer);

    *add(producer) = (struct ring_action){.kind = RING_FETCH,
                                          .request = fetch_of(peer, m),
                                          .message = m->message,
                                          .hi = m->bytes};
}

/* --- what producers do
 * ------------------------------------------------------------------------- */

static void add_turn(uint32_t producer)
{
    const uint32_t peer = draw(making.plan->peers);

    switch (draw(7)) {
    case 6:
        add_send(producer, peer);
        if (draw(2) == 0) add_send(producer, peer);
        break;
    case 5:
        add_inline_signal(producer, peer);
        break;
    case 0:
        add_put(producer, peer, CH_RING_PUT);
        add_word(producer, peer);
        break;
    case 1:
        add_inline(producer, peer);
        add_word(producer, peer);
        break;
    case 2:
        add_put(producer, peer, CH_RING_PUT_SIGNAL);
        break;
    case 3:
        add_put(producer, peer, CH_RING_PUT_SIGNAL);
        add_quiet(producer, peer, draw(3) == 0);
        add_get(producer, peer, draw(3) == 0);
        if (draw(2) == 0) add_get(producer, peer, draw(3) == 0);
        if (draw(2) == 0) add_fetch(producer, peer);
        if (draw(2) == 0) add_fetch(producer, peer);
        break;
    default:
        add_inline(producer, peer);
        add_put(producer, peer, CH_RING_PUT);
        add_inline(producer, peer);
        add_word(producer, peer);
    }
    if (draw(3) == 0) add_flush(producer, peer);
}

/* Quiets of all PEs by all lanes at about the same time, of which few are needed. A flush is
 * last, as the consumer expects. */
static void add_end(uint32_t producer)
{
    add_quiet(producer, 0, true);
    if (last_message(producer, 0) != NULL) add_get(producer, 0, true);
    add_flush(producer, 0);
}

static void add_meetings(uint32_t cta)
{
    for (uint32_t lane = 0; lane < making.plan->width; lane++)
        add(cta * making.plan->width + lane)->kind = RING_MEET;
}

/* The lanes of a CTA fill a source together; then a lane puts it, and a lane flushes it. */
static void add_turn_together(uint32_t cta)
{
    const uint32_t width = making.plan->width, first = cta * width, leader = draw(width);
    const uint32_t peer = draw(making.plan->peers), part = RING_MESSAGE_BYTES / RING_LANES_MAX;
    char *const memory = sim_memory(cta) + RING_TOGETHER;
    struct ch_ring_request r =
        next_put(first + leader, peer, CH_RING_PUT_SIGNAL, part * width, false);

    r.source = (uint64_t)(uintptr_t)memory;
    r.bytes = part * width;
    announce(first + leader, peer, &r.word, &r.value);
    for (uint32_t lane = 0; lane < width; lane++)
        add_fill(first + lane, memory, lane * part, (lane + 1) * part);
    add_meetings(cta);
    add_post(first + leader, &r);
    add_meetings(cta);
    add_flush(first + draw(width), peer);
    add_meetings(cta);
}

/* The lanes of a CTA make a call together, which lane 0 posts. */
static void add_together(uint32_t cta, const struct ring_action *a)
{
    for (uint32_t lane = 0; lane < making.plan->width; lane++) {
        struct ring_action *own = add(cta * making.plan->width + lane);

        *own = *a;
        own->is_together = true;
        if (lane != 0) own->request.head = 0;
    }
}

/* They send a message, and then get it; a lane looks at it. */
static void add_boxes_together(uint32_t cta)
{
    const uint32_t width = making.plan->width, first = cta * width;
    const uint32_t peer = draw(making.plan->peers);
    char *const memory = sim_memory(cta) + RING_TOGETHER;
    const struct ch_ring_request r = next_send(first, peer, true);
    const struct ring_message *m = last_message(first, peer);
    struct ring_action a = send_of(&r);

    add_meetings(cta);
    add_together(cta, &a);
    add_quiet(first, peer, false);
    a = (struct ring_action){
        .kind = RING_FETCH, .request = fetch_of(peer, m), .memory = memory, .hi = m->bytes};
    add_together(cta, &a);
    add_check(first + draw(width), m, memory);
    add_meetings(cta);
}

void ring_plan_fill(struct ring_plan *plan)
{
    const uint32_t turns = 3 + draw(4);

    for (uint32_t cta = 0; cta < plan->ctas; cta++) {
        for (uint32_t turn = 0; turn < turns; turn++) {
            if (draw(4) == 0) add_turn_together(cta);
            if (draw(4) == 0) add_boxes_together(cta);
            for (uint32_t lane = 0; lane < plan->width; lane++)
                add_turn(cta * plan->width + lane);
        }
        for (uint32_t lane = 0; lane < plan->width; lane++)
            add_end(cta * plan->width + lane);
    }
}
