/* SPDX-License-Identifier: Apache-2.0 */
/*
 * poll.c: handles completions, requests of peers to this CPU, and events of the device.
 */
#include "transport/verbs/state.h"

#include "base/clock.h"
#include "base/limits.h"

#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 16,             /* completions read in a call */
    LOOKS_AT_EVENTS = 1024, /* number of such calls between checks of the device's events, */
    LOOKS_AT_CALLS = 16,    /* and of links that are being made */
};

void ch_verbs_fail(struct ch_endpoint *ep, struct ch_verbs_link *link, chorus_status code,
                   const char *format, ...)
{
    size_t used = 0;
    va_list args;

    if (link != NULL && link->stage != CH_VERBS_FAILED) {
        if (link->n_held > 0) ep->n_calling--;
        link->n_held = 0;
        ep->n_owing -= (uint32_t)(link->made - link->sent);
        link->sent = link->made;
        link->stage = CH_VERBS_FAILED;
        if (link->is_connected)
            ch_verbs_send_call(ep, link); /* the peer may wait for this PE */
    }
    if (ep->failed != CHORUS_OK) return;
    ep->failed = code;
    if (link != NULL)
        used = (size_t)snprintf(
            ep->why, sizeof(ep->why), "verbs: PE %u on host %.48s, by %s: ", link->pe,
            ep->terms.hosts != NULL ? ep->terms.hosts[link->pe] : "?", ep->device.where);
    else
        used = (size_t)snprintf(ep->why, sizeof(ep->why), "verbs on %s: ", ep->device.where);
    va_start(args, format);
    if (used < sizeof(ep->why))
        (void)vsnprintf(ep->why + used, sizeof(ep->why) - used, format, args);
    va_end(args);
}

/* Returns what a failed completion means, to follow libibverbs' name of it; "" if that says it.
 */
static const char *failure_text(enum ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
        return "; it does not answer: it or its host has ended, or the network is down";
    case IBV_WC_REM_ACCESS_ERR:
        return "; the memory key, or the address in that memory, is not valid there";
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
        return "; its device cannot do this";
    case IBV_WC_LOC_PROT_ERR:
        return "; memory of this PE is no longer registered";
    case IBV_WC_WR_FLUSH_ERR:
        return "; the link has failed before";
    default:
        return "";
    }
}

/* --- messages for the peer's CPU --- */

void ch_verbs_post_mail_receive(struct ch_endpoint *ep, uint32_t i)
{
    struct ibv_sge sge = {.addr = (uintptr_t)ch_verbs_mail_at(ep, i),
                          .length = sizeof(struct ch_verbs_mail),
                          .lkey = ep->pool_mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = (uint64_t)CH_VERBS_ID_MAIL << 32 | i,
                             .sg_list = &sge,
                             .num_sge = 1},
                       *bad;
    const int error = ibv_post_srq_recv(ep->srq, &wr, &bad);

    if (error != 0)
        ch_verbs_fail(ep, NULL, CHORUS_ERR_SYSTEM, "no requests can be received: %s",
                      strerror(error));
}

/* Execute a peer's atomic operation on this CPU, so that PEs of this host may use the same
 * words. */
static void serve_amo(struct ch_endpoint *ep, struct ch_verbs_link *link,
                      const struct ch_verbs_mail *mail)
{
    void *const word = (void *)(uintptr_t)mail->there;

    if ((mail->bytes != 4 && mail->bytes != 8) || mail->there % mail->bytes != 0 ||
        !ch_parts_hold(&ep->parts, mail->there, mail->bytes) ||
        mail->op > CH_AMO_COMPARE_SWAP || link->made - link->sent == CH_VERBS_AMOS) {
        ch_verbs_fail(ep, link, CHORUS_ERR_SYSTEM,
                      "it asked for atomic %u of %u bytes at %p, which is not in attached host "
                      "memory of this PE",
                      mail->op, mail->bytes, word);
        return;
    }
    link->answers[link->made++ % CH_VERBS_AMOS] =
        ch_amo_apply((enum ch_amo)mail->op, word, mail->bytes, mail->value, mail->compare);
    ep->n_owing++;
    ch_door_wake(ep->terms.door);
    ch_verbs_send_answers(ep, link);
}

/* Store the answer to the link's first atomic operation that has none. */
static void store_answer(struct ch_endpoint *ep, struct ch_verbs_link *link,
                         const struct ch_verbs_mail *mail)
{
    uint64_t *to;

    if (link->answered == link->asked) {
        ch_verbs_fail(ep, link, CHORUS_ERR_SYSTEM, "it answered a request that was not made");
        return;
    }
    to = link->fetched[link->answered++ % CH_VERBS_AMOS];
    if (to != NULL) *to = mail->value;
}

/* Handle a received mail, and post its buffer again. */
static void read_mail(struct ch_endpoint *ep, const struct ibv_wc *wc)
{
    const uint32_t i = (uint32_t)wc->wr_id;
    struct ch_verbs_mail mail;

    memcpy(&mail, ch_verbs_mail_at(ep, i), sizeof(mail));
    ch_verbs_post_mail_receive(ep, i);
    if (wc->status != IBV_WC_SUCCESS || wc->byte_len != sizeof(mail)) return;
    if (mail.link >= ep->n_links || ep->links[mail.link]->qp == NULL ||
        ep->links[mail.link]->qp->qp_num != wc->qp_num)
        return;
    ch_verbs_set_up(ep, ep->links[mail.link]); /* it has sent, so it has connected */
    if (ep->links[mail.link]->stage != CH_VERBS_UP) return;
    switch ((enum ch_verbs_mail_kind)mail.kind) {
    case CH_VERBS_MAIL_AMO:
        serve_amo(ep, ep->links[mail.link], &mail);
        return;
    case CH_VERBS_MAIL_ANSWER:
        store_answer(ep, ep->links[mail.link], &mail);
        return;
    case CH_VERBS_MAIL_DOZES:
        ep->links[mail.link]->peer_dozes = true;
        return;
    case CH_VERBS_MAIL_KNOCK:
        ep->links[mail.link]->is_told = false;
        ch_door_wake(ep->terms.door);
        return;
    }
}

/* Handle a received connection request, and post its buffer again. */
static void read_call(struct ch_endpoint *ep, const struct ibv_wc *wc)
{
    enum { GRH_BYTES = 40 };
    const uint32_t i = (uint32_t)wc->wr_id;
    struct ch_verbs_call call;

    memcpy(&call, ch_verbs_received_at(ep, i) + GRH_BYTES, sizeof(call));
    ch_verbs_post_call_receive(ep, i);
    if (wc->status == IBV_WC_SUCCESS && wc->byte_len == sizeof(call) + GRH_BYTES)
        ch_verbs_handle_call(ep, &call);
}

/* --- completions --- */

/* Complete the work requests up to this number: those of a queue pair complete in order. */
static void complete_up_to(struct ch_endpoint *ep, struct ch_verbs_link *link, uint32_t number)
{
    while ((uint32_t)link->retired != number) {
        struct ch_verbs_slot *slot = &link->slots[++link->retired % CH_VERBS_DEPTH];

        ep->n_unread -= slot->is_signaled;
        if (slot->piece == NULL) continue;
        if (slot->dst != NULL && link->stage == CH_VERBS_UP)
            memcpy(slot->dst, slot->piece, slot->bytes);
        ep->free_pieces[ep->n_free_pieces++] = slot->piece;
        slot->piece = NULL;
    }
}

/* Handle a completion: of a received mail or connection request, or of a work request. */
static void handle_completion(struct ch_endpoint *ep, const struct ibv_wc *wc)
{
    const uint32_t which = (uint32_t)(wc->wr_id >> 32);

    if (which == CH_VERBS_ID_MAIL) {
        read_mail(ep, wc);
    } else if (which == CH_VERBS_ID_RECEIVED) {
        read_call(ep, wc);
    } else if (which == CH_VERBS_ID_SENT) {
        ep->calls_done++;
    } else {
        struct ch_verbs_link *link = ep->links[which];

        if (wc->status != IBV_WC_SUCCESS)
            ch_verbs_fail(ep, link, CHORUS_ERR_ABORTED, "%s%s", ibv_wc_status_str(wc->status),
                          failure_text(wc->status));
        complete_up_to(ep, link, (uint32_t)wc->wr_id);
    }
}

/* --- events of the device --- */

/* Returns the link with this queue pair; null: it is of none. */
static const struct ch_verbs_link *find_link_of_qp(const struct ch_endpoint *ep,
                                                   const struct ibv_qp *qp)
{
    for (uint32_t i = 0; i < ep->n_links; i++)
        if (ep->links[i]->qp == qp) return ep->links[i];
    return NULL;
}

static void handle_event(struct ch_endpoint *ep, const struct ibv_async_event *event)
{
    struct ch_verbs_link *link = NULL;

    switch (event->event_type) {
    case IBV_EVENT_PORT_ERR:
        if (event->element.port_num == ep->device.port) ep->port_down_ns = ch_clock_ns();
        return;
    case IBV_EVENT_PORT_ACTIVE:
        if (event->element.port_num == ep->device.port) ep->port_down_ns = 0;
        return;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
        link = (struct ch_verbs_link *)(uintptr_t)find_link_of_qp(ep, event->element.qp);
        break;
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_DEVICE_FATAL:
        break;
    default:
        return;
    }
    ch_verbs_fail(ep, link, CHORUS_ERR_SYSTEM, "%s", ibv_event_type_str(event->event_type));
}

/* Handle the events of the device, and fail if its port is down for too long. */
static void read_events(struct ch_endpoint *ep)
{
    struct pollfd fd = {ep->device.context->async_fd, POLLIN, 0};
    struct ibv_async_event event;

    while (poll(&fd, 1, 0) > 0 && ibv_get_async_event(ep->device.context, &event) == 0) {
        handle_event(ep, &event);
        ibv_ack_async_event(&event);
    }
    if (ep->port_down_ns != 0 &&
        ch_clock_ns() - ep->port_down_ns > ch_silence_limit_ns(ep->terms.options->link_ns))
        ch_verbs_fail(ep, NULL, CHORUS_ERR_SYSTEM, "the port is down");
}

/* --- progress --- */

/* Read the completion event, if it has arrived; the next sleep requests another. */
static void disarm(struct ch_endpoint *ep)
{
    struct pollfd fd = {ep->channel->fd, POLLIN, 0};
    struct ibv_cq *cq;
    void *unused;

    while (poll(&fd, 1, 0) > 0 && ibv_get_cq_event(ep->channel, &cq, &unused) == 0)
        ibv_ack_cq_events(cq, 1);
    ep->is_armed = false;
}

chorus_status ch_verbs_progress(struct ch_endpoint *ep, bool *moved_out)
{
    struct ibv_wc wc;
    int n = 1;

    if (ep->is_armed) disarm(ep);
    /* One at a time, since handling a completion may make progress to wait for room. */
    for (int i = 0; i < BATCH && (n = ibv_poll_cq(ep->cq, 1, &wc)) > 0; i++) {
        handle_completion(ep, &wc);
        *moved_out = true;
    }
    if (n < 0) ch_verbs_fail(ep, NULL, CHORUS_ERR_SYSTEM, "its completions cannot be read");
    ep->looks++;
    if (ep->n_calling > 0 && ep->looks % LOOKS_AT_CALLS == 0) ch_verbs_repeat_calls(ep);
    for (uint32_t i = 0; ep->n_owing > 0 && i < ep->n_links; i++)
        ch_verbs_send_answers(ep, ep->links[i]);
    if (ep->looks % LOOKS_AT_EVENTS == 0) read_events(ep);
    return ep->failed == CHORUS_OK ? CHORUS_OK : CH_FAIL(ep->failed, "%s", ep->why);
}

/* Request an event for the next completion. A completion between the last poll and the request
 * causes no event, so poll again. */
int ch_verbs_watch(struct ch_endpoint *ep)
{
    bool moved = false;

    read_events(ep);
    if (ep->n_calling > 0 || ep->n_owing > 0 || ep->port_down_ns != 0) return -1;
    if (!ep->is_armed) {
        if (ibv_req_notify_cq(ep->cq, 0) != 0) return -1;
        if (ch_verbs_progress(ep, &moved) != CHORUS_OK || moved) return -1;
        ep->is_armed = true;
    }
    return ep->watch_fd;
}
