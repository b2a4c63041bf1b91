/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.c: queue pairs, one for each context and peer, created at first use.
 *
 * Both ends must know the number of the other's queue pair. Each PE publishes one queue pair
 * for unreliable datagrams, over which the two ends of a connection exchange requests: each
 * names its own queue pair, and says whether it has connected that to the other's. The end
 * that has operations to post repeats its request until it knows that the other has connected;
 * the other end only answers. Lost requests are repeated. Requests have a MAC with the job's
 * secret.
 */
#include "transport/verbs/state.h"

#include "base/clock.h"
#include "base/limits.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define CALL_MAGIC 0x43485631u /* "CHV1" */
#define CALL_AGAIN_NS (20 * CH_NS_PER_MS)
#define CALL_QKEY \
    0x11223344u /* no secret: datagrams of other senders are detected by their MAC */

enum {
    GRH_BYTES = 40, /* precedes every datagram received */
    CALLS_SENT = 64,
    HOPS = 64,
    PSN_MASK = 0xffffff,
    /* A packet counts as lost after 4.096 us * 2^timeout, at least 67 ms and several times
     * that on some adapters, and is repeated 6 times until a peer counts as lost. For
     * Soft-RoCE, 7 would mean without limit. */
    ACK_TIMEOUT_UNIT_NS = 4096,
    ACK_TIMEOUT_MIN = 14,
    ACK_TIMEOUT_MAX = 31,
    RETRIES = 6,
    RNR_FOR_EVER = 7,
    RNR_TIMER = 1, /* 10 us until a message to a peer without a receive buffer is repeated */
};

_Static_assert(sizeof(struct ch_verbs_call) + GRH_BYTES <= CH_VERBS_CALL_BYTES, "call");

struct ibv_qp *ch_verbs_create_qp(const struct ch_endpoint *ep, uint32_t inline_bytes,
                                  uint32_t *inline_bytes_out)
{
    struct ibv_qp_init_attr init = {.send_cq = ep->cq,
                                    .recv_cq = ep->cq,
                                    .srq = ep->srq,
                                    .cap = {.max_send_wr = CH_VERBS_DEPTH,
                                            .max_send_sge = 1,
                                            .max_inline_data = inline_bytes},
                                    .qp_type = IBV_QPT_RC};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = ep->device.port,
                               .qp_access_flags =
                                   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
    struct ibv_qp *qp = ibv_create_qp(ep->pd, &init);
    int error;

    if (qp == NULL) return NULL;
    error = ibv_modify_qp(qp, &attr,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (error != 0) {
        (void)ibv_destroy_qp(qp);
        errno = error;
        return NULL;
    }
    if (inline_bytes_out != NULL) *inline_bytes_out = init.cap.max_inline_data;
    return qp;
}

/* Returns the address of a peer's port, for address handles and queue pairs. */
static struct ibv_ah_attr address_of_port(const struct ch_endpoint *ep,
                                          const struct ch_verbs_card *card)
{
    struct ibv_ah_attr ah = {.dlid = card->lid, .port_num = ep->device.port};

    /* Within an InfiniBand subnet the LID is sufficient. */
    ah.is_global = card->is_ethernet || memcmp(card->gid, ep->device.gid.gid.raw, 8) != 0;
    memcpy(ah.grh.dgid.raw, card->gid, sizeof(card->gid));
    ah.grh.sgid_index = (uint8_t)ep->device.gid.gid_index;
    ah.grh.hop_limit = HOPS;
    return ah;
}

static uint8_t min_u8(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* Returns the shortest timeout with which all repetitions of a packet together take longer than
 * an interruption of the network that is to be survived. */
static uint8_t ack_timeout(const struct ch_endpoint *ep)
{
    const uint64_t all_ns = ch_silence_limit_ns(ep->terms.options->link_ns);
    uint8_t t = ACK_TIMEOUT_MIN;

    while (t < ACK_TIMEOUT_MAX && ((uint64_t)ACK_TIMEOUT_UNIT_NS << t) * (RETRIES + 1) < all_ns)
        t++;
    return t;
}

/* Connect this PE's queue pair to that in the request. Returns 0, or the errno of a failure. */
static int connect_qp(const struct ch_endpoint *ep, const struct ch_verbs_link *link,
                      const struct ch_verbs_call *call)
{
    const struct ch_verbs_card *card = &ep->peers[link->pe].card;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu =
                                   min_u8(card->mtu, (uint8_t)ep->device.port_attr.active_mtu),
                               .dest_qp_num = call->qpn,
                               .rq_psn = call->psn,
                               .min_rnr_timer = RNR_TIMER,
                               .ah_attr = address_of_port(ep, card)};
    int error;

    attr.max_dest_rd_atomic = min_u8(CH_VERBS_READS, (uint8_t)ep->device.attr.max_qp_rd_atom);
    error = ibv_modify_qp(link->qp, &attr,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (error != 0) return error;
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                .sq_psn = link->psn,
                                .timeout = ack_timeout(ep),
                                .retry_cnt = RETRIES,
                                .rnr_retry = RNR_FOR_EVER,
                                .max_rd_atomic = card->reads};
    if (ep->device.attr.max_qp_init_rd_atom < attr.max_rd_atomic)
        attr.max_rd_atomic = (uint8_t)ep->device.attr.max_qp_init_rd_atom;
    return ibv_modify_qp(link->qp, &attr,
                         IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                             IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* --- connection requests --- */

/* Set the MAC of a connection request. */
static void compute_mac(const struct ch_endpoint *ep, struct ch_verbs_call *call)
{
    (void)crypto_generichash(call->mac, sizeof(call->mac), (const unsigned char *)call,
                             offsetof(struct ch_verbs_call, mac), ep->terms.secret,
                             sizeof(ep->terms.secret));
}

/* Is the request for this PE, from a PE of the job, and does it have a valid MAC? */
static bool is_call_valid(const struct ch_endpoint *ep, const struct ch_verbs_call *call)
{
    struct ch_verbs_call own = *call;

    if (call->magic != CALL_MAGIC || call->to != ep->terms.me || call->from >= ep->terms.n)
        return false;
    compute_mac(ep, &own);
    return sodium_memcmp(own.mac, call->mac, sizeof(own.mac)) == 0;
}

void ch_verbs_post_call_receive(struct ch_endpoint *ep, uint32_t i)
{
    struct ibv_sge sge = {.addr = (uintptr_t)ch_verbs_received_at(ep, i),
                          .length = CH_VERBS_CALL_BYTES,
                          .lkey = ep->pool_mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = (uint64_t)CH_VERBS_ID_RECEIVED << 32 | i,
                             .sg_list = &sge,
                             .num_sge = 1},
                       *bad;
    const int error = ibv_post_recv(ep->calls, &wr, &bad);

    if (error != 0)
        ch_verbs_fail(ep, NULL, CHORUS_ERR_SYSTEM, "no datagrams can be received: %s",
                      strerror(error));
}

chorus_status ch_verbs_make_call_qp(struct ch_endpoint *ep)
{
    struct ibv_qp_init_attr init = {.send_cq = ep->cq,
                                    .recv_cq = ep->cq,
                                    .cap = {.max_send_wr = CALLS_SENT,
                                            .max_recv_wr = CH_VERBS_CALLS,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_UD};
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = ep->device.port, .qkey = CALL_QKEY};
    int error;

    ep->calls = ibv_create_qp(ep->pd, &init);
    if (ep->calls == NULL)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "%s cannot create a datagram queue pair: %s",
                       ep->device.name, strerror(errno));
    error = ibv_modify_qp(ep->calls, &attr,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    for (uint32_t i = 0; error == 0 && i < CH_VERBS_CALLS; i++)
        ch_verbs_post_call_receive(ep, i);
    attr.qp_state = IBV_QPS_RTR;
    if (error == 0) error = ibv_modify_qp(ep->calls, &attr, IBV_QP_STATE);
    attr.qp_state = IBV_QPS_RTS;
    if (error == 0) error = ibv_modify_qp(ep->calls, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
    if (error != 0)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "%s cannot prepare a datagram queue pair: %s",
                       ep->device.name, strerror(error));
    return ep->failed == CHORUS_OK ? CHORUS_OK : CH_FAIL(ep->failed, "%s", ep->why);
}

void ch_verbs_send_call(struct ch_endpoint *ep, struct ch_verbs_link *link)
{
    struct ch_verbs_call *call = (struct ch_verbs_call *)(void *)ch_verbs_sent_at(
        ep, (uint32_t)(ep->calls_sent % CALLS_SENT));
    struct ibv_sge sge = {
        .addr = (uintptr_t)call, .length = sizeof(*call), .lkey = ep->pool_mr->lkey};
    struct ibv_send_wr wr = {.wr_id = (uint64_t)CH_VERBS_ID_SENT << 32,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED},
                       *bad;

    if (ep->calls_sent - ep->calls_done == CALLS_SENT) return;
    if (link->ah == NULL) {
        struct ibv_ah_attr attr = address_of_port(ep, &ep->peers[link->pe].card);

        link->ah = ibv_create_ah(ep->pd, &attr);
        if (link->ah == NULL) {
            ch_verbs_fail(ep, link, CHORUS_ERR_SYSTEM, "there is no route to its GID: %s",
                          strerror(errno));
            return;
        }
    }
    *call = (struct ch_verbs_call){.magic = CALL_MAGIC,
                                   .from = ep->terms.me,
                                   .to = link->pe,
                                   .ctx = link->ctx,
                                   .qpn = link->qp->qp_num,
                                   .psn = link->psn,
                                   .link = link->index,
                                   .connected = link->is_connected,
                                   .up = link->stage == CH_VERBS_UP,
                                   .failed = link->stage == CH_VERBS_FAILED};
    compute_mac(ep, call);
    wr.wr.ud.ah = link->ah;
    wr.wr.ud.remote_qpn = ep->peers[link->pe].card.qpn;
    wr.wr.ud.remote_qkey = CALL_QKEY;
    if (ibv_post_send(ep->calls, &wr, &bad) == 0) ep->calls_sent++;
    link->call_ns = ch_clock_ns() + CALL_AGAIN_NS;
}

void ch_verbs_handle_call(struct ch_endpoint *ep, const struct ch_verbs_call *call)
{
    struct ch_verbs_link *link;
    int error;

    if (ep->peers == NULL || !is_call_valid(ep, call)) return;
    link = ch_verbs_link(ep, call->ctx, call->from);
    if (link == NULL || link->stage == CH_VERBS_FAILED) return;
    if (call->failed) {
        ch_verbs_fail(ep, link, CHORUS_ERR_ABORTED, "it has ended the link, after a failure");
        return;
    }
    if (!link->is_connected) {
        error = connect_qp(ep, link, call);
        if (error != 0) {
            ch_verbs_fail(ep, link, CHORUS_ERR_SYSTEM, "no connection: %s", strerror(error));
            return;
        }
        link->is_connected = true;
        link->peer_qpn = call->qpn;
        link->peer_link = call->link;
    }
    if (call->qpn != link->peer_qpn) return;
    if (call->connected) ch_verbs_set_up(ep, link);
    if (!call->up) ch_verbs_send_call(ep, link);
}

void ch_verbs_repeat_calls(struct ch_endpoint *ep)
{
    const uint64_t now = ch_clock_ns(), limit = ep->terms.options->timeout_ns;

    for (uint32_t i = 0; i < ep->n_links; i++) {
        struct ch_verbs_link *link = ep->links[i];

        if (link->stage != CH_VERBS_CALLING || link->n_held == 0) continue;
        if (limit != 0 && now - link->since_ns > limit)
            ch_verbs_fail(ep, link, CHORUS_ERR_TIMEOUT, "it does not answer; is it stopped?");
        else if (now >= link->call_ns)
            ch_verbs_send_call(ep, link);
    }
}

void ch_verbs_hold_op(struct ch_endpoint *ep, struct ch_verbs_link *link,
                      const struct ch_verbs_op *op)
{
    if (link->held == NULL) link->held = calloc(CH_VERBS_HELD, sizeof(*link->held));
    if (link->held == NULL) {
        ch_verbs_fail(ep, link, CHORUS_ERR_SYSTEM, "no memory for its first operations");
        return;
    }
    link->held[link->n_held++] = *op;
    if (link->n_held > 1) return;
    ep->n_calling++;
    link->since_ns = ch_clock_ns();
    ch_verbs_send_call(ep, link);
}

void ch_verbs_set_up(struct ch_endpoint *ep, struct ch_verbs_link *link)
{
    struct ch_verbs_op *held = link->held;
    const uint32_t n = link->n_held;
    bool was_replaying;

    if (link->stage != CH_VERBS_CALLING) return;
    link->stage = CH_VERBS_UP;
    link->held = NULL;
    link->n_held = 0;
    if (n > 0) ep->n_calling--;
    was_replaying = ep->is_replaying;
    ep->is_replaying = true;
    for (uint32_t i = 0; i < n; i++)
        ch_verbs_perform_op(ep, link, &held[i]);
    ep->is_replaying = was_replaying;
    free(held);
    ch_verbs_send_answers(ep, link);
}

/* --- links --- */

struct ch_verbs_link *ch_verbs_link_find(const struct ch_endpoint *ep, uint32_t ctx,
                                         uint32_t pe)
{
    return ctx < ep->n_ctxs ? ep->by_ctx[ctx][pe] : NULL;
}

/* Make room in the tables for one more link, of this context. */
static bool grow_tables(struct ch_endpoint *ep, uint32_t ctx)
{
    struct ch_verbs_link **links, ***by_ctx;

    if ((ep->n_links & (ep->n_links - 1)) == 0) { /* a power of two, or 0: it is full */
        links = realloc(ep->links, (ep->n_links == 0 ? 1 : 2 * ep->n_links) * sizeof(*links));
        if (links == NULL) return false;
        ep->links = links;
    }
    if (ctx < ep->n_ctxs) return true;
    by_ctx = realloc(ep->by_ctx, (ctx + 1) * sizeof(*by_ctx));
    if (by_ctx == NULL) return false;
    ep->by_ctx = by_ctx;
    for (; ep->n_ctxs <= ctx; ep->n_ctxs++) {
        by_ctx[ep->n_ctxs] = calloc(ep->terms.n, sizeof(**by_ctx));
        if (by_ctx[ep->n_ctxs] == NULL) return false;
    }
    return true;
}

struct ch_verbs_link *ch_verbs_link(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    struct ch_verbs_link *link = ch_verbs_link_find(ep, ctx, pe);

    if (link != NULL) return link;
    link = grow_tables(ep, ctx) ? calloc(1, sizeof(*link)) : NULL;
    if (link == NULL) {
        ch_verbs_fail(ep, NULL, CHORUS_ERR_SYSTEM, "no memory for a link to PE %u", pe);
        return NULL;
    }
    link->pe = pe;
    link->ctx = ctx;
    link->index = ep->n_links;
    if (getrandom(&link->psn, sizeof(link->psn), 0) < 0) link->psn = (uint32_t)ch_clock_ns();
    link->psn &= PSN_MASK;
    ep->links[ep->n_links++] = link;
    ep->by_ctx[ctx][pe] = link;
    link->qp = ch_verbs_create_qp(ep, ep->inline_bytes, NULL);
    if (link->qp == NULL)
        ch_verbs_fail(ep, link, CHORUS_ERR_SYSTEM, "queue pair %u cannot be created: %s",
                      link->index + 1, strerror(errno));
    return link;
}

void ch_verbs_link_free(struct ch_verbs_link *link)
{
    if (link->qp != NULL) (void)ibv_destroy_qp(link->qp);
    if (link->ah != NULL) (void)ibv_destroy_ah(link->ah);
    free(link->held);
    free(link);
}
