/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs.c: the network of RDMA devices, by libibverbs: reliable queue pairs, one for each
 * context and pair of PEs. docs/design/transport.md says how words are ordered after data, and
 * why CPUs perform atomics.
 */
#include "transport/verbs_state.h"

#include "base/clock.h"
#include "transport/verbs_order.h"

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

char *ch_verbs_mail_at(const struct ch_net *net, uint32_t i)
{
    return net->pool + MAILS_AT + (size_t)i * MAIL_BYTES;
}

char *ch_verbs_received_at(const struct ch_net *net, uint32_t i)
{
    return net->pool + RECEIVED_AT + (size_t)i * CH_VERBS_CALL_BYTES;
}

char *ch_verbs_sent_at(const struct ch_net *net, uint32_t i)
{
    return net->pool + SENT_AT + (size_t)i * CH_VERBS_CALL_BYTES;
}

/* --- start and end --- */

/* Shared memory, so that after a fork the device and the parent still use the same pages. */
static chorus_status make_pool(struct ch_net *net)
{
    net->pool =
        mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (net->pool == MAP_FAILED) {
        net->pool = NULL;
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the buffers of verbs");
    }
    net->pool_mr = ibv_reg_mr(net->pd, net->pool, POOL_BYTES, IBV_ACCESS_LOCAL_WRITE);
    if (net->pool_mr == NULL) return ch_verbs_refuse_memory(net, POOL_BYTES, errno);
    for (uint32_t i = 0; i < CH_VERBS_PIECES; i++)
        net->free_pieces[i] = net->pool + PIECES_AT + i * CH_VERBS_PIECE_BYTES;
    net->n_free_pieces = CH_VERBS_PIECES;
    return CHORUS_OK;
}

static chorus_status refuse(const struct ch_net *net, const char *what)
{
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "%s cannot create a %s: %s", net->device.name, what,
                   strerror(errno));
}

static chorus_status make_queues(struct ch_net *net)
{
    struct ibv_srq_init_attr init = {.attr = {.max_wr = CH_VERBS_MAILS, .max_sge = 1}};
    const int completions = CH_VERBS_SENDS + CH_VERBS_MAILS + 2 * CH_VERBS_CALLS;

    net->channel = ibv_create_comp_channel(net->device.context);
    if (net->channel == NULL) return refuse(net, "completion channel");
    net->cq = ibv_create_cq(net->device.context, completions, NULL, net->channel, 0);
    if (net->cq == NULL) return refuse(net, "completion queue");
    net->srq = ibv_create_srq(net->pd, &init);
    if (net->srq == NULL) return refuse(net, "shared receive queue");
    for (uint32_t i = 0; i < CH_VERBS_MAILS && net->failed == CHORUS_OK; i++)
        ch_verbs_mail(net, i);
    return ch_verbs_make_calls(net);
}

/* Create a queue pair to find the properties of those of links. */
static chorus_status try_queue_pair(struct ch_net *net)
{
    struct ibv_qp *qp = ch_verbs_qp(net, INLINE_BYTES, &net->inline_bytes);

    if (qp == NULL) qp = ch_verbs_qp(net, sizeof(struct ch_verbs_mail), &net->inline_bytes);
    if (qp == NULL) return refuse(net, "queue pair of the kind that Chorus needs");
    /* Soft-RoCE processes packets in order, and stores the data of one before the next. */
    net->is_in_order = net->device.attr.vendor_id == RXE_VENDOR || ch_verbs_writes_in_order(qp);
    (void)ibv_destroy_qp(qp);
    return CHORUS_OK;
}

static chorus_status make_watch(struct ch_net *net)
{
    struct epoll_event event = {.events = EPOLLIN};

    net->watch_fd = epoll_create1(EPOLL_CLOEXEC);
    if (net->watch_fd < 0 ||
        epoll_ctl(net->watch_fd, EPOLL_CTL_ADD, net->channel->fd, &event) != 0 ||
        epoll_ctl(net->watch_fd, EPOLL_CTL_ADD, net->device.context->async_fd, &event) != 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot poll for events: %s", strerror(errno));
    return CHORUS_OK;
}

/* The number of this PE among those of its host, to distribute them over ports. */
static uint32_t place(const struct ch_net_terms *terms)
{
    uint32_t before = 0;

    for (uint32_t pe = 0; pe < terms->me; pe++)
        before += terms->nodes[pe] == terms->nodes[terms->me];
    return before;
}

static chorus_status start(struct ch_net *net)
{
    struct ch_verbs_wish wish;

    if (sodium_init() < 0) return CH_FAIL(CHORUS_ERR_SYSTEM, "libsodium does not start");
    CH_TRY(ch_verbs_wish_read(net->terms.options->verbs, &wish));
    CH_TRY(ch_verbs_device_open(&wish, place(&net->terms), &net->device));
    net->pd = ibv_alloc_pd(net->device.context);
    if (net->pd == NULL) return refuse(net, "protection domain");
    CH_TRY(make_pool(net));
    CH_TRY(make_queues(net));
    CH_TRY(try_queue_pair(net));
    return make_watch(net);
}

/* Posted operations arrive even if no thread waits for them; this waits for a moment. */
static void drain(struct ch_net *net)
{
    const uint64_t start_ns = ch_clock_ns();
    bool moved;

    while (net->failed == CHORUS_OK && ch_clock_ns() - start_ns < DRAIN_NS) {
        bool is_empty = true;

        for (uint32_t i = 0; i < net->n_links; i++) {
            if (net->links[i]->stage != CH_VERBS_UP) continue;
            ch_verbs_flush(net, net->links[i]);
            is_empty = is_empty && net->links[i]->posted == net->links[i]->retired;
        }
        if (is_empty || ch_verbs_progress(net, &moved) != CHORUS_OK) return;
        (void)sched_yield();
    }
}

static void verbs_close(struct ch_net *net)
{
    if (net == NULL) return;
    drain(net);
    for (uint32_t i = 0; i < net->n_links; i++)
        ch_verbs_link_free(net->links[i]);
    for (uint32_t i = 0; i < net->n_ctxs; i++)
        free(net->by_ctx[i]);
    for (uint32_t i = 0; net->peers != NULL && i < net->terms.n; i++)
        ch_parts_free(&net->peers[i].places);
    while (net->parts.n > 0)
        ch_verbs_detach(net, (void *)net->parts.all[net->parts.n - 1].base);
    if (net->calls != NULL) (void)ibv_destroy_qp(net->calls);
    if (net->srq != NULL) (void)ibv_destroy_srq(net->srq);
    if (net->cq != NULL) (void)ibv_destroy_cq(net->cq);
    if (net->channel != NULL) (void)ibv_destroy_comp_channel(net->channel);
    if (net->pool_mr != NULL) (void)ibv_dereg_mr(net->pool_mr);
    if (net->pool != NULL) (void)munmap(net->pool, POOL_BYTES);
    if (net->pd != NULL) (void)ibv_dealloc_pd(net->pd);
    if (net->watch_fd >= 0) (void)close(net->watch_fd);
    ch_verbs_device_close(&net->device);
    sodium_memzero(net->terms.secret, sizeof(net->terms.secret));
    free(net->links);
    free(net->by_ctx);
    free(net->peers);
    ch_parts_free(&net->parts);
    free(net);
}

static chorus_status verbs_open(const struct ch_net_terms *terms, struct ch_net **net_out)
{
    struct ch_net *net = calloc(1, sizeof(*net));
    chorus_status st;

    if (net == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a network");
    net->terms = *terms;
    net->watch_fd = -1;
    /* On kernels before 5.12, a fork would take pages of libibverbs' queues away from the
     * device. The call fails if the program has used libibverbs before, and has then chosen
     * itself. The heap is shared memory, which a fork does not move, so children keep it
     * (MADV_DOFORK). */
    (void)ibv_fork_init();
    st = start(net);
    if (st == CHORUS_OK)
        *net_out = net;
    else
        verbs_close(net);
    return st;
}

static uint32_t verbs_caps(const struct ch_net *net)
{
    if (!net->is_in_order) return CH_NET_KEYS; /* the peer's CPU stores words */
    /* Only a device in software has no key under which writes may pass each other. */
    return CH_NET_KEYS | CH_NET_PASSIVE | (net->device.is_software ? CH_NET_IN_ORDER : 0);
}

/* --- operations --- */

static void submit(struct ch_net *net, uint32_t ctx, uint32_t pe, const struct ch_verbs_op *op)
{
    struct ch_verbs_link *link = ch_verbs_link(net, ctx, pe);

    if (link != NULL) ch_verbs_post(net, link, op);
}

static void verbs_put(struct ch_net *net, uint32_t ctx, uint32_t pe, char *there,
                      const void *src, size_t bytes)
{
    submit(net, ctx, pe,
           &(struct ch_verbs_op){
               .kind = CH_VERBS_PUT, .there = there, .src = src, .bytes = bytes});
}

static void verbs_say(struct ch_net *net, uint32_t ctx, uint32_t pe, uint64_t *there,
                      uint64_t value)
{
    submit(net, ctx, pe,
           &(struct ch_verbs_op){.kind = CH_VERBS_SAY, .there = (char *)there, .value = value});
}

static void verbs_get(struct ch_net *net, uint32_t ctx, uint32_t pe, void *dst,
                      const char *there, size_t bytes)
{
    submit(net, ctx, pe,
           &(struct ch_verbs_op){.kind = CH_VERBS_GET,
                                 .there = (char *)(uintptr_t)there,
                                 .dst = dst,
                                 .bytes = bytes});
}

static void verbs_amo(struct ch_net *net, uint32_t ctx, uint32_t pe, enum ch_amo op,
                      void *there, size_t bytes, uint64_t value, uint64_t compare,
                      uint64_t *fetched_out)
{
    submit(net, ctx, pe,
           &(struct ch_verbs_op){.kind = CH_VERBS_AMO,
                                 .amo = op,
                                 .there = there,
                                 .dst = fetched_out,
                                 .bytes = bytes,
                                 .value = value,
                                 .compare = compare});
}

static bool link_is_sent(struct ch_net *net, struct ch_verbs_link *link)
{
    (void)net;
    return link->n_held == 0 && link->retired >= link->lent;
}

static bool link_is_done(struct ch_net *net, struct ch_verbs_link *link)
{
    if (link->n_held > 0) return false;
    ch_verbs_flush(net, link);
    return link->posted == link->retired && link->asked == link->answered;
}

static bool all_are(struct ch_net *net, uint32_t ctx, uint32_t pe,
                    bool (*what)(struct ch_net *, struct ch_verbs_link *))
{
    if (net->failed != CHORUS_OK) return false;
    if (pe != CH_NET_ALL) {
        struct ch_verbs_link *link = ch_verbs_link_known(net, ctx, pe);

        return link == NULL || what(net, link);
    }
    for (uint32_t i = 0; i < net->n_links; i++)
        if (net->links[i]->ctx == ctx && !what(net, net->links[i])) return false;
    return true;
}

static bool verbs_is_sent(struct ch_net *net, uint32_t ctx, uint32_t pe)
{
    return all_are(net, ctx, pe, link_is_sent);
}

static bool verbs_is_done(struct ch_net *net, uint32_t ctx, uint32_t pe)
{
    return all_are(net, ctx, pe, link_is_done);
}

static void verbs_describe(const struct ch_net *net, uint32_t pe,
                           char why_out[CH_NET_WHY_BYTES])
{
    const struct ch_verbs_link *link = ch_verbs_link_known(net, 0, pe);

    (void)snprintf(why_out, CH_NET_WHY_BYTES, "verbs: from %.65s (%s) to %.65s%s",
                   net->device.where, net->device.why,
                   net->peers != NULL ? net->peers[pe].card.where : "?",
                   link != NULL && link->stage == CH_VERBS_UP ? ", connected" : "");
}

const struct ch_net_ops ch_net_verbs = {
    .name = "verbs",
    .open = verbs_open,
    .close = verbs_close,
    .caps = verbs_caps,
    .card = ch_verbs_card,
    .meet = ch_verbs_meet,
    .attach = ch_verbs_attach,
    .detach = ch_verbs_detach,
    .learn = ch_verbs_learn,
    .forget = ch_verbs_forget,
    .put = verbs_put,
    .say = verbs_say,
    .get = verbs_get,
    .amo = verbs_amo,
    .is_sent = verbs_is_sent,
    .is_done = verbs_is_done,
    .abandon = ch_verbs_abandon,
    .progress = ch_verbs_progress,
    .watch = ch_verbs_watch,
    .doze = ch_verbs_doze,
    .describe = verbs_describe,
};
