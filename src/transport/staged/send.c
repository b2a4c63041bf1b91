/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send.c: the way of operations and answers to a peer: they are divided among slots of the
 * mirror, and a slot is sent once the copy to it has ended. While one chunk is sent, the next
 * ones are copied.
 */
#include "transport/staged/inside.h"

#include <string.h>

/* ---- filling slots ---- */

/* Returns what the next slot is for: operations and answers in turn, if there are both. Null:
 * there is neither. */
static struct ch_staged_op *next_op(struct ch_staged_peer *peer)
{
    const bool has_op = peer->first_op != peer->end_op;
    const bool has_answer = peer->first_answer != peer->end_answer;

    if (!has_op && !has_answer) return NULL;
    peer->is_answering = has_answer && (!has_op || !peer->is_answering);
    return peer->is_answering ? &peer->answers[peer->first_answer % CH_STAGED_REQUESTS]
                              : &peer->ops[peer->first_op % CH_STAGED_OPS];
}

static void remove_op(struct ch_staged_peer *peer, const struct ch_staged_op *op)
{
    if (op->serial == 0)
        peer->first_answer++;
    else
        peer->first_op++;
}

/* Write the head for the next `bytes` bytes of the operation's data. */
static void write_head(struct ch_staged_head *head, const struct ch_staged_op *op, size_t bytes,
                       bool is_last)
{
    *head = op->head;
    if (op->head.kind == CH_STAGED_GET) return;
    head->there += op->at;
    head->bytes = bytes;
    if (is_last || op->head.kind != CH_STAGED_PUT) return;
    head->op = head->width = head->wants_reply = 0;
    head->word = head->value = head->compare = head->flushes = 0;
}

/* Copy data into a slot. Returns the mark of the copy, 0 if there was none on the stream. */
static uint64_t copy_data(struct ch_endpoint *ep, struct ch_staged_peer *peer, char *data,
                          const struct ch_staged_op *op, size_t bytes)
{
    const char *source;

    if (bytes == 0) return 0; /* there may be no source */
    source = op->source + op->at;
    if (op->is_on_gpu) return ch_staged_copy(ep, &ep->out, peer, data, source, bytes);
    ch_get_bytes(data, source, bytes);
    return 0;
}

/* Fill the next slot of the mirror. */
static void fill_slot(struct ch_endpoint *ep, struct ch_staged_peer *peer,
                      struct ch_staged_op *op)
{
    const size_t i = peer->taken % ep->layout.slots;
    char *slot = peer->mirror + i * (CH_STAGED_HEAD + ep->layout.chunk);
    struct ch_staged_out *out = &peer->out[i];
    const size_t data = op->head.kind == CH_STAGED_GET ? 0 : op->head.bytes;
    const size_t left = data - op->at;
    /* One byte alone would be no work for a copy engine (ch_device_put_engine_copy). */
    const size_t most = ep->layout.chunk - (left == ep->layout.chunk + 1);
    const size_t bytes = left < most ? left : most;
    struct ch_staged_head head;

    write_head(&head, op, bytes, bytes == left);
    memcpy(slot, &head, sizeof(head));
    *out = (struct ch_staged_out){.bytes = sizeof(head) + bytes, .ctx = op->ctx};
    out->mark = copy_data(ep, peer, slot + sizeof(head), op, bytes);
    if (peer->has_failed) return;
    peer->taken++;
    op->at += bytes;
    if (bytes != left) return;
    out->serial = op->serial;
    remove_op(peer, op);
}

/* ---- sending slots ---- */

chorus_status ch_staged_put_inner(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                  const struct ch_put_signal *put)
{
    if (ep->inner->put_signal != NULL) return ep->inner->put_signal(ep->inner_ep, ctx, pe, put);
    if (put->bytes != 0)
        CH_TRY(ep->inner->put(ep->inner_ep, ctx, pe, put->dest, put->source, put->bytes));
    return ep->inner->amo(ep->inner_ep, ctx, pe, put->op, put->word, sizeof(*put->word),
                          put->value, 0, NULL);
}

/* Send slot i and its word. */
static chorus_status put_slot(struct ch_endpoint *ep, struct ch_staged_peer *peer, uint64_t i)
{
    const size_t at = i % ep->layout.slots;
    const size_t offset = at * (CH_STAGED_HEAD + ep->layout.chunk);
    const struct ch_staged_out *out = &peer->out[at];
    const struct ch_put_signal put = {.dest = peer->inbound_there + offset,
                                      .source = peer->mirror + offset,
                                      .bytes = out->bytes,
                                      .word = &peer->words_there->filled[at],
                                      .op = CH_AMO_SET,
                                      .value = i + 1};

    return ch_staged_put_inner(ep, out->ctx, peer->pe, &put);
}

/* Send the slots whose copies have ended; the sources of operations that are wholly in such
 * slots may change. */
static void send_slots(struct ch_endpoint *ep, struct ch_staged_peer *peer)
{
    while (!peer->has_failed && peer->posted != peer->taken) {
        const struct ch_staged_out *out = &peer->out[peer->posted % ep->layout.slots];
        chorus_status status;

        if (!ch_staged_has_ended(&ep->out, out->mark)) return;
        if (out->serial != 0) peer->read = out->serial;
        peer->posted++;
        ep->has_moved = true;
        status = put_slot(ep, peer, peer->posted - 1);
        if (status != CHORUS_OK) ch_staged_fail(ep, peer, status, "%s", ch_error_message());
    }
}

/* Note which slots the peer has freed: what was in them has taken effect. A number in the range
 * of those that it may have stored is one that it has stored, since of two numbers that differ
 * by so few slots, bytes of both make a number that is out of the range. */
static void take_credit(struct ch_endpoint *ep, struct ch_staged_peer *peer)
{
    const uint64_t freed = __atomic_load_n(&peer->words->freed, __ATOMIC_ACQUIRE);

    if (freed == peer->freed) return;
    if (freed - peer->freed > peer->posted - peer->freed) {
        if (ch_staged_may_be_torn(freed, peer->freed, 1, peer->posted)) return;
        ch_staged_fail(ep, peer, CHORUS_ERR_SYSTEM,
                       "it has freed %llu slots, and %llu were sent", (unsigned long long)freed,
                       (unsigned long long)peer->posted);
        return;
    }
    for (; peer->freed != freed; peer->freed++) {
        const uint64_t serial = peer->out[peer->freed % ep->layout.slots].serial;

        if (serial != 0) peer->done = serial;
    }
    ep->has_moved = true;
}

void ch_staged_send(struct ch_endpoint *ep, struct ch_staged_peer *peer)
{
    take_credit(ep, peer);
    while (!peer->has_failed && peer->taken - peer->freed < ep->layout.slots) {
        struct ch_staged_op *op = next_op(peer);

        if (op == NULL) break;
        fill_slot(ep, peer, op);
    }
    send_slots(ep, peer);
}
