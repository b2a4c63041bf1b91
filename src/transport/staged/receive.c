/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive.c: what arrives from a peer: data and words are stored, requests are noted for
 * answers, and answers are passed to those who wait for them.
 *
 * A slot is begun in its turn, and freed when its copies have ended. What a peer sends is never
 * trusted: its head is copied, so that it cannot change any more, and checked before anything
 * is accessed.
 */
#include "transport/staged/inside.h"

#include <string.h>

static struct ch_staged_in *in_of(const struct ch_endpoint *ep, struct ch_staged_peer *peer,
                                  uint64_t i)
{
    return &peer->in[i % ep->layout.slots];
}

static char *slot_of(const struct ch_endpoint *ep, const struct ch_staged_peer *peer,
                     uint64_t i)
{
    return peer->inbound + i % ep->layout.slots * (CH_STAGED_HEAD + ep->layout.chunk);
}

/* ---- heads ---- */

/* The request to which this is an answer; null: there is none, or it has all its answers. */
static struct ch_staged_request *request_of(struct ch_staged_peer *peer,
                                            const struct ch_staged_head *head)
{
    struct ch_staged_request *request = &peer->requests[head->tag % CH_STAGED_REQUESTS];

    return request->dst != NULL && request->tag == head->tag && request->got < request->bytes
               ? request
               : NULL;
}

/* What is wrong with the data of the head; null: nothing. */
static const char *data_fault(struct ch_endpoint *ep, struct ch_staged_peer *peer,
                              const struct ch_staged_head *head)
{
    const struct ch_staged_request *request;

    switch (head->kind) {
    case CH_STAGED_PUT:
    case CH_STAGED_GET:
        if (head->kind == CH_STAGED_PUT && head->bytes > ep->layout.chunk)
            return "its data is longer than a slot";
        if (head->kind == CH_STAGED_GET && head->bytes == 0) return "it asks for no data";
        if (head->bytes != 0 &&
            ch_staged_place_of(ep, head->there, head->bytes) == CH_STAGED_NOWHERE)
            return "it names memory that is not attached";
        return NULL;
    case CH_STAGED_REPLY:
        request = request_of(peer, head);
        if (request == NULL) return "it answers nothing that was asked";
        if (request->is_word != (head->bytes == 0)) return "it answers something else";
        if (head->bytes > ep->layout.chunk || head->bytes > request->bytes - request->got)
            return "it is longer than what was asked for";
        return NULL;
    default:
        return "its kind is unknown";
    }
}

/* What is wrong with the word of the head; null: nothing. */
static const char *word_fault(struct ch_endpoint *ep, const struct ch_staged_head *head)
{
    if (head->width == 0) return head->wants_reply ? "it asks for the value of no word" : NULL;
    if (head->kind != CH_STAGED_PUT) return "it has a word, which only puts have";
    if (head->op > CH_AMO_COMPARE_SWAP) return "its operation on a word is unknown";
    if ((head->width != 4 && head->width != 8) || head->word % head->width != 0)
        return "its word is not an aligned one of 4 or 8 bytes";
    if (ch_staged_place_of(ep, head->word, head->width) == CH_STAGED_NOWHERE)
        return "its word is in memory that is not attached";
    return NULL;
}

/* ---- data ---- */

/* Store the data of a slot at dst. */
static void store_data(struct ch_endpoint *ep, struct ch_staged_peer *peer, char *dst,
                       bool is_on_gpu, const char *data, size_t bytes)
{
    if (!is_on_gpu) {
        ch_put_bytes(dst, data, bytes);
    } else {
        peer->in_mark = ch_staged_copy(ep, &ep->in, peer, dst, data, bytes);
    }
}

/* Add an answer to a request of the peer, which has no more of them under way than there are
 * entries. */
static void add_answer(struct ch_endpoint *ep, struct ch_staged_peer *peer,
                       const struct ch_staged_op *answer)
{
    if (peer->end_answer - peer->first_answer == CH_STAGED_REQUESTS) {
        ch_staged_fail(ep, peer, CHORUS_ERR_SYSTEM,
                       "it has more than %d requests without an answer", CH_STAGED_REQUESTS);
        return;
    }
    peer->answers[peer->end_answer++ % CH_STAGED_REQUESTS] = *answer;
}

static void answer_get(struct ch_endpoint *ep, struct ch_staged_peer *peer,
                       const struct ch_staged_head *head)
{
    const struct ch_staged_op answer = {
        .head = {.kind = CH_STAGED_REPLY, .tag = head->tag, .bytes = head->bytes},
        .source = (const char *)(uintptr_t)head->there,
        .ctx = CH_CTX_STAGED,
        .is_on_gpu = ch_staged_place_of(ep, head->there, head->bytes) == CH_STAGED_GPU};

    add_answer(ep, peer, &answer);
}

/* Take an answer: data, or the old value of a word. */
static void take_reply(struct ch_endpoint *ep, struct ch_staged_peer *peer,
                       struct ch_staged_in *in, const char *data)
{
    struct ch_staged_request *request = request_of(peer, &in->head);

    if (in->head.bytes == 0) {
        memcpy(request->dst, &in->head.value, sizeof(in->head.value));
        request->got = request->bytes;
    } else {
        store_data(ep, peer, request->dst + request->got, request->is_on_gpu, data,
                   in->head.bytes);
        request->got += in->head.bytes;
    }
    if (request->got == request->bytes) in->request = request;
}

/* Does the GPU store data of this place and length as one access? */
static bool is_word(uint64_t there, uint64_t bytes)
{
    return (bytes == 4 || bytes == 8) && there % bytes == 0;
}

/* Store an element as one access. Its memory in the slot is scratch once it was read. */
static void store_single(struct ch_endpoint *ep, struct ch_staged_peer *peer, char *there,
                         char *data, size_t bytes)
{
    uint64_t value = 0;

    if (!is_word((uintptr_t)there, bytes)) {
        peer->in_mark = ch_staged_copy_linear(ep, &ep->in, peer, there, data, bytes);
        return;
    }
    memcpy(&value, data, bytes);
    peer->in_mark =
        ch_staged_store(ep, &ep->in, peer, there, value, bytes, (uint64_t *)(void *)data);
}

static void store_put(struct ch_endpoint *ep, struct ch_staged_peer *peer,
                      const struct ch_staged_head *head, char *data)
{
    char *there = (char *)(uintptr_t)head->there;
    const bool is_on_gpu = ch_staged_place_of(ep, head->there, head->bytes) == CH_STAGED_GPU;

    if (is_on_gpu && head->is_single != 0)
        store_single(ep, peer, there, data, head->bytes);
    else
        store_data(ep, peer, there, is_on_gpu, data, head->bytes);
}

/* Begin what a slot is for, but for its word, after its head was checked. */
static void begin_data(struct ch_endpoint *ep, struct ch_staged_peer *peer,
                       struct ch_staged_in *in, char *data)
{
    const struct ch_staged_head *head = &in->head;

    if (head->kind == CH_STAGED_GET)
        answer_get(ep, peer, head);
    else if (head->kind == CH_STAGED_REPLY)
        take_reply(ep, peer, in, data);
    else if (head->bytes != 0)
        store_put(ep, peer, head, data);
    in->has_data = true;
}

/* ---- words ---- */

/* Change the word of a slot. False: it is in host memory, and earlier work has not ended. */
static bool change_word(struct ch_endpoint *ep, struct ch_staged_peer *peer,
                        struct ch_staged_in *in, uint64_t *fetched)
{
    const struct ch_staged_head *head = &in->head;
    void *word = (void *)(uintptr_t)head->word;
    struct ch_amo_request request = {.op = (enum ch_amo)head->op,
                                     .bytes = head->width,
                                     .word = word,
                                     .value = head->value,
                                     .compare = head->compare};

    if (ch_staged_place_of(ep, head->word, head->width) == CH_STAGED_GPU) {
        peer->in_mark = ch_staged_change(ep, &ep->in, peer, &request, fetched);
        in->is_fetched = true;
        return true;
    }
    if (!ch_staged_has_ended(&ep->in, peer->in_mark)) return false;
    in->value = ch_amo_apply(request.op, word, request.bytes, request.value, request.compare);
    return true;
}

/* ---- slots ---- */

/* Begin slot i, which has arrived. False: it has to wait, or the peer has failed. */
static bool begin_slot(struct ch_endpoint *ep, struct ch_staged_peer *peer, uint64_t i)
{
    struct ch_staged_in *in = in_of(ep, peer, i);
    const char *fault;

    if (!in->has_data) {
        memcpy(&in->head, slot_of(ep, peer, i), sizeof(in->head));
        fault = data_fault(ep, peer, &in->head);
        if (fault == NULL) fault = word_fault(ep, &in->head);
        if (fault != NULL) {
            ch_staged_fail(ep, peer, CHORUS_ERR_SYSTEM, "it sent a wrong message: %s", fault);
            return false;
        }
        if (in->head.flushes != 0 && !ch_staged_flush(ep, peer)) return false;
        begin_data(ep, peer, in, slot_of(ep, peer, i) + CH_STAGED_HEAD);
    }
    if (!peer->has_failed && in->head.width != 0 &&
        !change_word(ep, peer, in, &peer->words->fetched[i % ep->layout.slots]))
        return false;
    in->mark = peer->in_mark;
    return !peer->has_failed;
}

/* Has slot i arrived? Its word has the number of this slot, or still that of the one before in
 * its place. */
static bool has_arrived(struct ch_endpoint *ep, struct ch_staged_peer *peer, uint64_t i)
{
    const uint64_t filled =
        __atomic_load_n(&peer->words->filled[i % ep->layout.slots], __ATOMIC_ACQUIRE);
    const uint64_t before = i < ep->layout.slots ? 0 : i + 1 - ep->layout.slots;

    if (filled == i + 1) return true;
    if (filled != before && !ch_staged_may_be_torn(filled, before, i + 1 - before, i + 1))
        ch_staged_fail(ep, peer, CHORUS_ERR_SYSTEM, "it sent slot %llu where slot %llu belongs",
                       (unsigned long long)filled, (unsigned long long)i + 1);
    return false;
}

/* The work of a slot has ended: answer with the old value of its word, or complete the request
 * that it answers. */
static void end_slot(struct ch_endpoint *ep, struct ch_staged_peer *peer, uint64_t i)
{
    struct ch_staged_in *in = in_of(ep, peer, i);

    if (in->head.wants_reply) {
        const struct ch_staged_op answer = {
            .head = {.kind = CH_STAGED_REPLY,
                     .tag = in->head.tag,
                     .value = in->is_fetched ? peer->words->fetched[i % ep->layout.slots]
                                             : in->value},
            .ctx = CH_CTX_STAGED};

        add_answer(ep, peer, &answer);
    }
    if (in->request != NULL) in->request->dst = NULL;
    *in = (struct ch_staged_in){.mark = 0};
}

/* Give the peer credit for the slots that were freed. */
static void send_credit(struct ch_endpoint *ep, struct ch_staged_peer *peer)
{
    const struct ch_put_signal put = {
        .word = &peer->words_there->freed, .op = CH_AMO_SET, .value = peer->ended};
    chorus_status status;

    if (peer->has_failed || peer->credited == peer->ended) return;
    peer->credited = peer->ended;
    status = ch_staged_put_inner(ep, CH_CTX_STAGED, peer->pe, &put);
    if (status != CHORUS_OK) ch_staged_fail(ep, peer, status, "%s", ch_error_message());
}

void ch_staged_receive(struct ch_endpoint *ep, struct ch_staged_peer *peer)
{
    while (!peer->has_failed && peer->begun - peer->ended < ep->layout.slots &&
           has_arrived(ep, peer, peer->begun) && begin_slot(ep, peer, peer->begun)) {
        peer->begun++;
        ep->has_moved = true;
    }
    while (!peer->has_failed && peer->ended != peer->begun &&
           ch_staged_has_ended(&ep->in, in_of(ep, peer, peer->ended)->mark)) {
        end_slot(ep, peer, peer->ended++);
        ep->has_moved = true;
    }
    send_credit(ep, peer);
}
