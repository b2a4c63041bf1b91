/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c: handles completions, and the messages of peers. */
#include "transport/ofi/ofi.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { COMPLETIONS = 16 };

void ch_ofi_post_receive(struct ch_endpoint *ep, struct ch_ofi_op *op)
{
    ssize_t error = -FI_EAGAIN;

    /* All of them fit, but a fabric may require that its queue is read first. */
    for (int i = 0; i < COMPLETIONS && error == -FI_EAGAIN; i++)
        error = fi_recv(ep->endpoint, op->buffer, CH_OFI_MESSAGE,
                        ep->buffers_mr != NULL ? fi_mr_desc(ep->buffers_mr) : NULL,
                        FI_ADDR_UNSPEC, &op->context);
    if (error != 0) ch_ofi_fail(ep, ep->terms.me, (int)-error, "cannot receive");
}

/* Execute the first frame at `at`, where there are `bytes`. Returns its bytes; 0: it is
 * incomplete, or not allowed. */
static size_t serve_frame(struct ch_endpoint *ep, uint32_t from, const char *at, size_t bytes)
{
    struct ch_frame head, reply = {.kind = CH_FRAME_REPLY};
    struct ch_ofi_peer *peer = &ep->peers[from];
    struct ch_frame_operands operands;
    uint64_t body[CH_OFI_SMALL / sizeof(uint64_t)], before;

    if (bytes < sizeof(head)) return 0;
    memcpy(&head, at, sizeof(head));
    at += sizeof(head);
    bytes -= sizeof(head);
    switch (head.kind) {
    case CH_FRAME_PUT:
        if (head.value > sizeof(body) || head.value > bytes ||
            !ch_parts_hold(&ep->parts, head.there, head.value))
            return 0;
        memcpy(body, at, head.value); /* aligned */
        ch_put_bytes((void *)(uintptr_t)head.there, body, head.value);
        return sizeof(head) + head.value;
    case CH_FRAME_WORD:
        return ch_frame_execute_word(&ep->parts, &head) ? sizeof(head) : 0;
    case CH_FRAME_AMO:
        if (bytes < sizeof(operands)) return 0;
        memcpy(&operands, at, sizeof(operands));
        if (!ch_frame_execute_amo(&ep->parts, &head, &operands, &before)) return 0;
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

/* Execute the frames of a message. Messages of unknown senders are ignored; after an invalid
 * message, a PE of the job counts as failed. */
static void serve_message(struct ch_endpoint *ep, const char *message, size_t bytes)
{
    struct ch_ofi_header header;

    if (bytes < sizeof(header)) return;
    memcpy(&header, message, sizeof(header));
    if (header.from >= ep->terms.n || header.bytes != bytes ||
        sodium_memcmp(header.token, ep->peers[header.from].token_in, sizeof(header.token)) != 0)
        return;
    ep->has_arrived = true;
    for (size_t at = sizeof(header); at < bytes;) {
        const size_t done = serve_frame(ep, header.from, message + at, bytes - at);

        if (done == 0) {
            ch_ofi_fail(ep, header.from, FI_EINVAL,
                        "it sent an invalid message, or one about memory that is not attached");
            return;
        }
        at += done;
    }
    ch_ofi_flush(ep, header.from); /* replies */
}

void ch_ofi_release(struct ch_endpoint *ep, struct ch_ofi_op *op)
{
    if (op->mr != NULL) (void)fi_close(&op->mr->fid);
    free(op->copy);
    op->mr = NULL;
    op->copy = NULL;
    op->dst = NULL;
    op->is_read = false;
    op->next = ep->free_bulks;
    ep->free_bulks = op;
}

/* Handle the completion of an operation; bytes: of a received message. */
static void handle_completion(struct ch_endpoint *ep, struct ch_ofi_op *op, size_t bytes)
{
    ep->has_moved = true;
    if (op->kind == CH_OFI_RECEIVE) {
        serve_message(ep, op->buffer, bytes);
        ch_ofi_post_receive(ep, op);
    } else if (op->kind == CH_OFI_SEND) {
        ep->n_sends--;
        op->next = ep->free_sends;
        ep->free_sends = op;
    } else {
        if (op->dst != NULL) memcpy(op->dst, op->copy, op->bytes);
        ep->peers[op->pe].bulks--;
        ep->peers[op->pe].bulks_of[op->is_read][op->ctx]--;
        ch_ofi_release(ep, op);
    }
}

/* Handle the completion of an operation that has failed: so has its peer, unless a received
 * message was too long. */
static void handle_failed_completion(struct ch_endpoint *ep)
{
    struct fi_cq_err_entry entry = {0};
    struct ch_ofi_op *op;

    if (fi_cq_readerr(ep->cq, &entry, 0) < 1) return;
    op = entry.op_context;
    if (op == NULL) return;
    if (entry.err == FI_ECANCELED && (op->kind != CH_OFI_BULK || !ep->peers[op->pe].has_failed))
        return;
    if (op->kind == CH_OFI_RECEIVE) { /* a message of an unknown sender that is too long */
        ch_ofi_post_receive(ep, op);
        return;
    }
    ch_ofi_fail(ep, op->pe, entry.err,
                op->kind == CH_OFI_SEND ? "a message was not delivered" : "a transfer failed");
    op->dst = NULL;
    handle_completion(ep, op, 0);
}

void ch_ofi_step(struct ch_endpoint *ep)
{
    struct fi_cq_msg_entry entries[COMPLETIONS];
    ssize_t n;

    if (ep->endpoint == NULL) return;
    n = fi_cq_read(ep->cq, entries, COMPLETIONS);
    if (n == -FI_EAVAIL) handle_failed_completion(ep);
    for (ssize_t i = 0; i < n; i++)
        handle_completion(ep, entries[i].op_context, entries[i].len);
    for (uint32_t pe = 0; pe < ep->terms.n; pe++)
        ch_ofi_flush(ep, pe);
}
