/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs.c: the network of RDMA devices, by libibverbs: reliable queue pairs, one for each
 * context and pair of PEs. docs/design/transport.md says how words are ordered after data, and
 * why CPUs perform atomics.
 */
#include "transport/verbs/state.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#define DRAIN_NS (250 * CH_NS_PER_MS)

enum {
    MAIL_BYTES = 64,
    CALLS_SENT = 64,
    INLINE_BYTES = 220, /* requested; perftest requests the same number */
    MAILS_AT = 0,
    RECEIVED_AT = MAILS_AT + CH_VERBS_MAILS * MAIL_BYTES,
    SENT_AT = RECEIVED_AT + CH_VERBS_CALLS * CH_VERBS_CALL_BYTES,
    PIECES_AT = SENT_AT + CALLS_SENT * CH_VERBS_CALL_BYTES,
    RXE_VENDOR = 0xffffff,
};
#define POOL_BYTES (PIECES_AT + CH_VERBS_PIECES * CH_VERBS_PIECE_BYTES)

_Static_assert(sizeof(struct ch_verbs_mail) <= MAIL_BYTES, "mail");

char *ch_verbs_mail_at(const struct ch_endpoint *ep, uint32_t i)
{
    return ep->pool + MAILS_AT + (size_t)i * MAIL_BYTES;
}

char *ch_verbs_received_at(const struct ch_endpoint *ep, uint32_t i)
{
    return ep->pool + RECEIVED_AT + (size_t)i * CH_VERBS_CALL_BYTES;
}

char *ch_verbs_sent_at(const struct ch_endpoint *ep, uint32_t i)
{
    return ep->pool + SENT_AT + (size_t)i * CH_VERBS_CALL_BYTES;
}

/* --- start and end --- */

/* Allocate and register the pool of buffers, in shared memory, so that after a fork the device
 * and the parent still use the same pages. */
static chorus_status make_pool(struct ch_endpoint *ep)
{
    const struct ch_memory_part part = {.bytes = POOL_BYTES};

    ep->pool =
        mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ep->pool == MAP_FAILED) {
        ep->pool = NULL;
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the buffers of verbs");
    }
    ep->pool_mr = ibv_reg_mr(ep->pd, ep->pool, POOL_BYTES, IBV_ACCESS_LOCAL_WRITE);
    if (ep->pool_mr == NULL) return ch_verbs_fail_registration(ep, &part, errno);
    for (uint32_t i = 0; i < CH_VERBS_PIECES; i++)
        ep->free_pieces[i] = ep->pool + PIECES_AT + i * CH_VERBS_PIECE_BYTES;
    ep->n_free_pieces = CH_VERBS_PIECES;
    return CHORUS_OK;
}

/* Fail with the message that the device cannot create a `what`; errno is the reason. */
static chorus_status fail_to_create(const struct ch_endpoint *ep, const char *what)
{
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "%s cannot create a %s: %s", ep->device.name, what,
                   strerror(errno));
}

/* Create the completion queue, the shared receive queue, and the queue pair for connection
 * requests. */
static chorus_status make_queues(struct ch_endpoint *ep)
{
    struct ibv_srq_init_attr init = {.attr = {.max_wr = CH_VERBS_MAILS, .max_sge = 1}};
    const int completions = CH_VERBS_SENDS + CH_VERBS_MAILS + 2 * CH_VERBS_CALLS;

    ep->channel = ibv_create_comp_channel(ep->device.context);
    if (ep->channel == NULL) return fail_to_create(ep, "completion channel");
    ep->cq = ibv_create_cq(ep->device.context, completions, NULL, ep->channel, 0);
    if (ep->cq == NULL) return fail_to_create(ep, "completion queue");
    ep->srq = ibv_create_srq(ep->pd, &init);
    if (ep->srq == NULL) return fail_to_create(ep, "shared receive queue");
    for (uint32_t i = 0; i < CH_VERBS_MAILS && ep->failed == CHORUS_OK; i++)
        ch_verbs_post_mail_receive(ep, i);
    return ch_verbs_make_call_qp(ep);
}

/* Create a queue pair to find the properties of those of links. */
static chorus_status try_queue_pair(struct ch_endpoint *ep)
{
    struct ibv_qp *qp = ch_verbs_create_qp(ep, INLINE_BYTES, &ep->inline_bytes);

    if (qp == NULL)
        qp = ch_verbs_create_qp(ep, sizeof(struct ch_verbs_mail), &ep->inline_bytes);
    if (qp == NULL) return fail_to_create(ep, "queue pair of the kind that Chorus needs");
    /* Does a CPU that polls memory see the writes of this queue pair in their order, if none of
     * them is under a relaxed key? libibverbs reports it, if it is not too old (meson.build).
     * Soft-RoCE processes packets in order, and stores the data of one before the next. */
    ep->is_in_order = ep->device.attr.vendor_id == RXE_VENDOR ||
                      CH_VERBS_IN_ORDER(qp, IBV_WR_RDMA_WRITE, 0) == 1;
    (void)ibv_destroy_qp(qp);
    return CHORUS_OK;
}

/* Create the descriptor that `watch` returns, for completions and events of the device. */
static chorus_status make_watch(struct ch_endpoint *ep)
{
    struct epoll_event event = {.events = EPOLLIN};

    ep->watch_fd = epoll_create1(EPOLL_CLOEXEC);
    if (ep->watch_fd < 0 ||
        epoll_ctl(ep->watch_fd, EPOLL_CTL_ADD, ep->channel->fd, &event) != 0 ||
        epoll_ctl(ep->watch_fd, EPOLL_CTL_ADD, ep->device.context->async_fd, &event) != 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot poll for events: %s", strerror(errno));
    return CHORUS_OK;
}

/* Returns the number of this PE among those of its host, to distribute them over ports. */
static uint32_t number_on_host(const struct ch_link_terms *terms)
{
    uint32_t before = 0;

    for (uint32_t pe = 0; pe < terms->me; pe++)
        before += terms->nodes[pe] == terms->nodes[terms->me];
    return before;
}

/* Open the device that CHORUS_VERBS or the cores of this PE select, with all that links share.
 */
static chorus_status open_device(struct ch_endpoint *ep)
{
    struct ch_verbs_choice choice;

    if (sodium_init() < 0) return CH_FAIL(CHORUS_ERR_SYSTEM, "libsodium does not start");
    CH_TRY(ch_verbs_choice_read(ep->terms.options->verbs, &choice));
    CH_TRY(ch_verbs_device_open(&choice, number_on_host(&ep->terms), &ep->device));
    ep->pd = ibv_alloc_pd(ep->device.context);
    if (ep->pd == NULL) return fail_to_create(ep, "protection domain");
    CH_TRY(make_pool(ep));
    CH_TRY(make_queues(ep));
    CH_TRY(try_queue_pair(ep));
    ep->takes_gpu = ep->terms.gpu != NULL && ch_verbs_takes_dma_buf(ep);
    return make_watch(ep);
}

/* Wait for a moment until posted operations are complete; they arrive even if no thread waits
 * for them. */
static void wait_for_posted(struct ch_endpoint *ep)
{
    const uint64_t start_ns = ch_clock_ns();
    bool moved;

    while (ep->failed == CHORUS_OK && ch_clock_ns() - start_ns < DRAIN_NS) {
        bool is_empty = true;

        for (uint32_t i = 0; i < ep->n_links; i++) {
            if (ep->links[i]->stage != CH_VERBS_UP) continue;
            ch_verbs_flush(ep, ep->links[i]);
            is_empty = is_empty && ep->links[i]->posted == ep->links[i]->retired;
        }
        if (is_empty || ch_verbs_progress(ep, &moved) != CHORUS_OK) return;
        (void)sched_yield();
    }
}

static void verbs_close(struct ch_endpoint *ep)
{
    if (ep == NULL) return;
    wait_for_posted(ep);
    for (uint32_t i = 0; i < ep->n_links; i++)
        ch_verbs_link_free(ep->links[i]);
    for (uint32_t i = 0; i < ep->n_ctxs; i++)
        free(ep->by_ctx[i]);
    for (uint32_t i = 0; ep->peers != NULL && i < ep->terms.n; i++)
        ch_parts_free(&ep->peers[i].places);
    while (ep->parts.n > 0)
        ch_verbs_detach(ep, (void *)ep->parts.all[ep->parts.n - 1].base);
    if (ep->calls != NULL) (void)ibv_destroy_qp(ep->calls);
    if (ep->srq != NULL) (void)ibv_destroy_srq(ep->srq);
    if (ep->cq != NULL) (void)ibv_destroy_cq(ep->cq);
    if (ep->channel != NULL) (void)ibv_destroy_comp_channel(ep->channel);
    if (ep->pool_mr != NULL) (void)ibv_dereg_mr(ep->pool_mr);
    if (ep->pool != NULL) (void)munmap(ep->pool, POOL_BYTES);
    if (ep->pd != NULL) (void)ibv_dealloc_pd(ep->pd);
    if (ep->watch_fd >= 0) (void)close(ep->watch_fd);
    ch_verbs_device_close(&ep->device);
    sodium_memzero(ep->terms.secret, sizeof(ep->terms.secret));
    free(ep->links);
    free(ep->by_ctx);
    free(ep->peers);
    ch_parts_free(&ep->parts);
    free(ep);
}

static chorus_status verbs_open(const struct ch_link_terms *terms, struct ch_endpoint **ep_out)
{
    struct ch_endpoint *ep = calloc(1, sizeof(*ep));
    chorus_status st;

    if (ep == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a network");
    ep->terms = *terms;
    ep->watch_fd = -1;
    /* On kernels before 5.12, a fork would take pages of libibverbs' queues away from the
     * device. The call fails if the program has used libibverbs before, and has then chosen
     * itself. The heap is shared memory, which a fork does not move, so children keep it
     * (MADV_DOFORK). */
    (void)ibv_fork_init();
    st = open_device(ep);
    if (st == CHORUS_OK)
        *ep_out = ep;
    else
        verbs_close(ep);
    return st;
}

static uint32_t verbs_caps(const struct ch_endpoint *ep)
{
    const uint32_t caps = CH_LINK_KEYS | (ep->takes_gpu ? CH_LINK_GPU : 0);

    if (!ep->is_in_order) return caps; /* the peer's CPU stores words */
    /* Only a device in software has no key under which writes may pass each other. */
    return caps | CH_LINK_PASSIVE | (ep->device.is_software ? CH_LINK_IN_ORDER : 0);
}

/* --- operations --- */

/* Post an operation on the link of ctx to pe, which is created if there is none. */
static void post_op(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                    const struct ch_verbs_op *op)
{
    struct ch_verbs_link *link = ch_verbs_link(ep, ctx, pe);

    if (link != NULL) ch_verbs_post_or_hold(ep, link, op);
}

static chorus_status verbs_put(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, char *there,
                               const void *src, size_t bytes)
{
    post_op(ep, ctx, pe,
            &(struct ch_verbs_op){
                .kind = CH_VERBS_PUT, .there = there, .src = src, .bytes = bytes});
    return CHORUS_OK;
}

static chorus_status verbs_get(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, void *dst,
                               const char *there, size_t bytes)
{
    post_op(ep, ctx, pe,
            &(struct ch_verbs_op){.kind = CH_VERBS_GET,
                                  .there = (char *)(uintptr_t)there,
                                  .dst = dst,
                                  .bytes = bytes});
    return CHORUS_OK;
}

static chorus_status verbs_amo(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                               enum ch_amo op, void *there, size_t bytes, uint64_t value,
                               uint64_t compare, uint64_t *fetched_out)
{
    post_op(ep, ctx, pe,
            &(struct ch_verbs_op){.kind = CH_VERBS_AMO,
                                  .amo = op,
                                  .there = there,
                                  .dst = fetched_out,
                                  .bytes = bytes,
                                  .value = value,
                                  .compare = compare});
    return CHORUS_OK;
}

static chorus_status verbs_put_signal(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                      const struct ch_put_signal *put)
{
    if (put->bytes != 0) CH_TRY(verbs_put(ep, ctx, pe, put->dest, put->source, put->bytes));
    if (put->op != CH_AMO_SET)
        return verbs_amo(ep, ctx, pe, put->op, put->word, sizeof(*put->word), put->value, 0,
                         NULL);
    post_op(ep, ctx, pe,
            &(struct ch_verbs_op){
                .kind = CH_VERBS_WORD, .there = (char *)put->word, .value = put->value});
    return CHORUS_OK;
}

/* May the sources of all operations on the link change? */
static bool link_is_sent(struct ch_endpoint *ep, struct ch_verbs_link *link)
{
    (void)ep;
    return link->n_held == 0 && link->retired >= link->lent;
}

/* Have all operations on the link taken effect? If not, requests a completion. */
static bool link_is_done(struct ch_endpoint *ep, struct ch_verbs_link *link)
{
    if (link->n_held > 0) return false;
    ch_verbs_flush(ep, link);
    return link->posted == link->retired && link->asked == link->answered;
}

/* Does is_over hold for the link of ctx to pe, or for all links of ctx (CH_LINK_ALL)? Never
 * after a failure. */
static bool holds_for_links(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                            bool (*is_over)(struct ch_endpoint *, struct ch_verbs_link *))
{
    if (ep->failed != CHORUS_OK) return false;
    if (pe != CH_LINK_ALL) {
        struct ch_verbs_link *link = ch_verbs_link_find(ep, ctx, pe);

        return link == NULL || is_over(ep, link);
    }
    for (uint32_t i = 0; i < ep->n_links; i++)
        if (ep->links[i]->ctx == ctx && !is_over(ep, ep->links[i])) return false;
    return true;
}

/* May the sources of all operations of ctx to pe change? */
static bool verbs_is_sent(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return holds_for_links(ep, ctx, pe, link_is_sent);
}

static bool verbs_is_done(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return holds_for_links(ep, ctx, pe, link_is_done);
}

static void verbs_describe(const struct ch_endpoint *ep, uint32_t pe,
                           char why_out[CH_LINK_WHY_BYTES])
{
    const struct ch_verbs_link *link = ch_verbs_link_find(ep, 0, pe);

    (void)snprintf(why_out, CH_LINK_WHY_BYTES, "verbs: from %.65s (%s) to %.65s%s",
                   ep->device.where, ep->device.why,
                   ep->peers != NULL ? ep->peers[pe].card.where : "?",
                   link != NULL && link->stage == CH_VERBS_UP ? ", connected" : "");
}

const struct ch_link_ops ch_link_verbs = {
    .name = "verbs",
    .open = verbs_open,
    .close = verbs_close,
    .caps = verbs_caps,
    .address = ch_verbs_card,
    .meet = ch_verbs_meet,
    .attach = ch_verbs_attach,
    .detach = ch_verbs_detach,
    .add_peer_key = ch_verbs_add_peer_key,
    .drop_peer_key = ch_verbs_drop_peer_key,
    .put = verbs_put,
    .put_signal = verbs_put_signal,
    .get = verbs_get,
    .amo = verbs_amo,
    .is_sent = verbs_is_sent,
    .is_done = verbs_is_done,
    .abandon = ch_verbs_abandon,
    .progress = ch_verbs_progress,
    .watch = ch_verbs_watch,
    .sleep = ch_verbs_announce_sleep,
    .describe = verbs_describe,
};
