/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c: handles completions, and the messages of peers. */
#include "transport/ofi/ofi.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { COMPLETIONS = 16 };

void ch_ofi_receive(struct ch_net *net, struct ch_ofi_op *op)
{
    ssize_t error = -FI_EAGAIN;

    /* All of them fit, but a fabric may require that its queue is read first. */
    for (int i = 0; i < COMPLETIONS && error == -FI_EAGAIN; i++)
        error = fi_recv(net->ep, op->buffer, CH_OFI_MESSAGE,
                        net->buffers_mr != NULL ? fi_mr_desc(net->buffers_mr) : NULL,
                        FI_ADDR_UNSPEC, &op->context);
    if (error != 0) ch_ofi_fail(net, net->terms.me, (int)-error, "cannot receive");
}

/* Bytes of the first frame, of `bytes`; 0: it is incomplete, or not allowed. */
static size_t do_frame(struct ch_net *net, uint32_t from, const char *at, size_t bytes)
{
    struct ch_frame head, reply = {.kind = CH_FRAME_REPLY};
    struct ch_ofi_peer *peer = &net->peers[from];
    struct ch_frame_operands operands;
    uint64_t body[CH_OFI_SMALL / sizeof(uint64_t)], before;

    if (bytes < sizeof(head)) return 0;
    memcpy(&head, at, sizeof(head));
    at += sizeof(head);
    bytes -= sizeof(head);
    switch (head.kind) {
    case CH_FRAME_PUT:
        if (head.value > sizeof(body) || head.value > bytes ||
            !ch_parts_hold(&net->parts, head.there, head.value))
            return 0;
        memcpy(body, at, head.value); /* aligned */
        ch_put_bytes((void *)(uintptr_t)head.there, body, head.value);
        return sizeof(head) + head.value;
    case CH_FRAME_SAY:
        return ch_frame_say(&net->parts, &head) ? sizeof(head) : 0;
    case CH_FRAME_AMO:
        if (bytes < sizeof(operands)) return 0;
        memcpy(&operands, at, sizeof(operands));
        if (!ch_frame_amo(&net->parts, &head, &operands, &before)) return 0;
        reply.value = sizeof(before);
        if (head.wants_reply && !ch_ofi_append(peer, &reply, &before, sizeof(before), true))
            return 0;
        return sizeof(head) + sizeof(operands);
    case CH_FRAME_ASK:
        reply.value = sizeof(before);
        before = 0;
        return ch_ofi_append(peer, &reply, &before, sizeof(before), true) ? sizeof(head) : 0;
    case CH_FRAME_REPLY:
        if (bytes < sizeof(before) || peer->first_pending == peer->end_pending) return 0;
        memcpy(&before, at, sizeof(before));
        const struct ch_ofi_pending *request =
            &peer->pending[peer->first_pending++ % CH_OFI_PENDING];
        if (request->dst != NULL) memcpy(request->dst, &before, sizeof(before));
        peer->done = request->covers;
        return sizeof(head) + sizeof(before);
    default:
        return 0;
    }
}

/* Messages of unknown senders are ignored; after an invalid message, a PE of the job
 * counts as failed. */
static void do_message(struct ch_net *net, const char *message, size_t bytes)
{
    struct ch_ofi_envelope envelope;

    if (bytes < sizeof(envelope)) return;
    memcpy(&envelope, message, sizeof(envelope));
    if (envelope.from >= net->terms.n || envelope.bytes != bytes ||
        sodium_memcmp(envelope.token, net->peers[envelope.from].token_in,
                      sizeof(envelope.token)) != 0)
        return;
    net->has_arrived = true;
    for (size_t at = sizeof(envelope); at < bytes;) {
        const size_t done = do_frame(net, envelope.from, message + at, bytes - at);

        if (done == 0) {
            ch_ofi_fail(net, envelope.from, FI_EINVAL,
                        "it sent an invalid message, or one about memory that is not attached");
            return;
        }
        at += done;
    }
    ch_ofi_flush(net, envelope.from); /* replies */
}

void ch_ofi_release(struct ch_net *net, struct ch_ofi_op *op)
{
    if (op->mr != NULL) (void)fi_close(&op->mr->fid);
    free(op->copy);
    op->mr = NULL;
    op->copy = NULL;
    op->dst = NULL;
    op->is_read = false;
    op->next = net->free_bulks;
    net->free_bulks = op;
}

static void complete(struct ch_net *net, struct ch_ofi_op *op, size_t bytes)
{
    net->has_moved = true;
    if (op->kind == CH_OFI_RECEIVE) {
        do_message(net, op->buffer, bytes);
        ch_ofi_receive(net, op);
    } else if (op->kind == CH_OFI_SEND) {
        net->n_sends--;
        op->next = net->free_sends;
        net->free_sends = op;
    } else {
        if (op->dst != NULL) memcpy(op->dst, op->copy, op->bytes);
        net->peers[op->pe].bulks--;
        net->peers[op->pe].bulks_of[op->is_read][op->ctx]--;
        ch_ofi_release(net, op);
    }
}

static void complete_failed(struct ch_net *net)
{
    struct fi_cq_err_entry entry = {0};
    struct ch_ofi_op *op;

    if (fi_cq_readerr(net->cq, &entry, 0) < 1) return;
    op = entry.op_context;
    if (op == NULL) return;
    if (entry.err == FI_ECANCELED &&
        (op->kind != CH_OFI_BULK || !net->peers[op->pe].has_failed))
        return;
    if (op->kind == CH_OFI_RECEIVE) { /* a message of an unknown sender that is too long */
        ch_ofi_receive(net, op);
        return;
    }
    ch_ofi_fail(net, op->pe, entry.err,
                op->kind == CH_OFI_SEND ? "a message was not delivered" : "a transfer failed");
    op->dst = NULL;
    complete(net, op, 0);
}

void ch_ofi_step(struct ch_net *net)
{
    struct fi_cq_msg_entry entries[COMPLETIONS];
    ssize_t n;

    if (net->ep == NULL) return;
    n = fi_cq_read(net->cq, entries, COMPLETIONS);
    if (n == -FI_EAVAIL) complete_failed(net);
    for (ssize_t i = 0; i < n; i++)
        complete(net, entries[i].op_context, entries[i].len);
    for (uint32_t pe = 0; pe < net->terms.n; pe++)
        ch_ofi_flush(net, pe);
}
