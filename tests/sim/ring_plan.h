/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_plan.h: what the lanes of a run of the ring do, made from a seed before they start.
 *
 * The first PEs are CTAs of one GPU, whose lanes are producers; then comes the PE whose lane 0
 * is the consumer, a thread of the host; then the peers, each on a host of its own. A producer
 * and a peer make a stream: messages, and a word that announces them. Each message has memory
 * of its own at the peer.
 */
#ifndef SIM_RING_PLAN_H
#define SIM_RING_PLAN_H

#include "base/far.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_CTAS_MAX 2u
#define RING_LANES_MAX 4u
#define RING_PRODUCERS_MAX (RING_CTAS_MAX * RING_LANES_MAX)
#define RING_PEERS_MAX 2u
#define RING_ACTIONS_MAX 160u
#define RING_MESSAGES_MAX 32u
#define RING_MESSAGE_BYTES 64u

/* What a producer does next. */
struct ring_action {
    /* SEND, FETCH: calls by boxes (base/far.h), alone or by all lanes of the CTA together. */
    enum { RING_FILL, RING_MEET, RING_POST, RING_CHECK, RING_SEND, RING_FETCH } kind;
    bool is_together;
    /* POST: FLUSH and QUIET wait for their completion, too. SEND, FETCH: what the consumer
     * gets, but for the box and the completion word; head 0: another lane posts it. */
    struct ch_ring_request request;
    /* FILL: bytes [lo, hi) of the message that is put from `memory`. CHECK: they are there.
     * FETCH: they come there; null: to a variable of the lane, which looks at them. */
    char *memory;
    uint32_t message, lo, hi;
};

/* A message that a peer gets. */
struct ring_message {
    const char *there;
    uint32_t message, bytes;
    uint64_t announced; /* the value of the stream's word after which it is there */
};

struct ring_producer {
    struct ring_action actions[RING_ACTIONS_MAX];
    uint32_t n_actions;
};

struct ring_stream {
    struct ring_message messages[RING_MESSAGES_MAX];
    uint32_t n_messages;
    uint64_t announced; /* the last value of its word */
};

struct ring_plan {
    uint32_t ctas, peers, width; /* lanes of each PE */
    uint32_t capacity_log2, words_log2;
    uint64_t start;                                    /* the first ticket */
    uint32_t host[RING_CTAS_MAX + 1 + RING_PEERS_MAX]; /* of each PE */
    bool is_weak;                                      /* links let words overtake puts */
    struct ring_producer producers[RING_PRODUCERS_MAX];
    struct ring_stream streams[RING_PRODUCERS_MAX][RING_PEERS_MAX];
};

/* The first part of the plan, by which the simulated memory is opened; then, once it has
 * addresses, the rest. */
void ring_plan_shape(struct ring_plan *plan, uint64_t seed);
void ring_plan_fill(struct ring_plan *plan);

/* Byte `at` of a message. */
unsigned char ring_byte(uint32_t message, uint32_t at);

/* Where things lie in the memory of a PE. */
enum {
    /* Of CTA 0: the ring. Each CTA: a source that its lanes share, and those of each lane. */
    RING_SLOTS = 0,
    RING_FREED = 512,
    RING_SHARED = 576,
    RING_READY = 640,
    RING_TOGETHER = 704,
    RING_WORDS = 768,
    RING_OUTBOXES = 832,
    RING_INBOXES = 1024,
    RING_OWN = 1536,
    RING_OWN_BYTES = 256,
    RING_OWN_SOURCE = 64, /* behind the completion word */
    RING_OWN_GET = 192,   /* where gets store, behind the sources */
    /* Of the host: copies of inline data. */
    RING_STAGE_BYTES = 64,
    /* Of a peer: streams, each with its word and the messages. */
    RING_STREAM_BYTES = RING_MESSAGE_BYTES * (RING_MESSAGES_MAX + 1),
    RING_PE_BYTES = 65536
};

#endif /* SIM_RING_PLAN_H */
