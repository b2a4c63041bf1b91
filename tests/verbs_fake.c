/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs_fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { POOL_BYTES = 1 << 18, QUEUE_PAIR = 7 };

struct verbs_fake verbs_fake;

/* --- registered memory --- */

static struct ibv_mr *make_region(void)
{
    struct ibv_mr *mr = calloc(1, sizeof(*mr));
    static uint32_t last_key;

    mr->lkey = ++last_key;
    mr->rkey = FAKE_PEERS_KEY | last_key;
    verbs_fake.regions++;
    return mr;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    (void)pd, (void)addr, (void)length, (void)access;
    return make_region();
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned access)
{
    (void)pd, (void)addr, (void)length, (void)iova, (void)access;
    return make_region();
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
                                 uint64_t iova, int fd, int access)
{
    const bool is_relaxed = ((unsigned)access & IBV_ACCESS_RELAXED_ORDERING) != 0;

    (void)pd;
    errno = is_relaxed && verbs_fake.relaxed_error != 0 ? verbs_fake.relaxed_error
                                                        : verbs_fake.dma_buf_error;
    if (errno == 0 && fd < 0) errno = EBADF;
    if (errno != 0) return NULL;
    if (verbs_fake.n_dma_bufs < FAKE_DMA_BUFS_MAX)
        verbs_fake.dma_bufs[verbs_fake.n_dma_bufs++] =
            (struct fake_dma_buf){offset, iova, length, fd, (unsigned)access};
    return make_region();
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    verbs_fake.regions--;
    free(mr);
    return 0;
}

/* --- queues --- */

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    const bool has_data = wr->num_sge == 1;

    (void)qp, (void)bad;
    if (verbs_fake.n_posts == FAKE_POSTS_MAX) return ENOMEM;
    verbs_fake.posts[verbs_fake.n_posts++] =
        (struct fake_post){.opcode = wr->opcode,
                           .flags = wr->send_flags,
                           .addr = has_data ? wr->sg_list[0].addr : 0,
                           .bytes = has_data ? wr->sg_list[0].length : 0,
                           .lkey = has_data ? wr->sg_list[0].lkey : 0,
                           .there = wr->wr.rdma.remote_addr,
                           .rkey = wr->wr.rdma.rkey};
    return 0;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    (void)srq, (void)wr, (void)bad;
    return 0;
}

static char *pool;

/* What was posted never completes; only the mail arrives, in the first receive buffer. */
static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    (void)cq, (void)n;
    if (verbs_fake.mail == NULL) return 0;
    *wc = (struct ibv_wc){.wr_id = (uint64_t)CH_VERBS_ID_MAIL << 32,
                          .status = IBV_WC_SUCCESS,
                          .byte_len = sizeof(*verbs_fake.mail),
                          .qp_num = QUEUE_PAIR};
    memcpy(pool, verbs_fake.mail, sizeof(*verbs_fake.mail));
    verbs_fake.mail = NULL;
    return 1;
}

/* --- a link --- */

static struct ibv_context context = {
    .ops = {.post_send = post_send, .post_srq_recv = post_srq_recv, .poll_cq = poll_cq}};
static struct ibv_cq cq = {.context = &context};
static struct ibv_srq srq = {.context = &context};
static struct ibv_qp qp = {.context = &context, .qp_num = QUEUE_PAIR};

static void add_link(struct ch_endpoint *ep)
{
    struct ch_verbs_link *link = calloc(1, sizeof(*link));

    link->pe = 1;
    link->stage = CH_VERBS_UP;
    link->qp = &qp;
    ep->links = calloc(1, sizeof(*ep->links));
    ep->links[ep->n_links++] = link;
    ep->by_ctx = calloc(1, sizeof(*ep->by_ctx));
    ep->by_ctx[0] = calloc(ep->terms.n, sizeof(*ep->by_ctx[0]));
    ep->by_ctx[0][1] = link;
    ep->n_ctxs = 1;
}

struct ch_endpoint *verbs_fake_open(void)
{
    static const uint32_t nodes[] = {0, 1};
    static const char *const hosts[] = {"alpha", "beta"};
    static struct ch_door door;
    static struct ch_options options;
    struct ch_endpoint *ep = calloc(1, sizeof(*ep));

    ep->terms = (struct ch_link_terms){
        .options = &options, .n = 2, .nodes = nodes, .hosts = hosts, .door = &door};
    strcpy(ep->device.name, "fake0");
    strcpy(ep->device.where, "fake0:1, a fake");
    ep->device.context = &context;
    ep->device.port_attr.max_msg_sz = 1u << 20;
    ep->cq = &cq;
    ep->srq = &srq;
    ep->inline_bytes = FAKE_INLINE_BYTES;
    ep->is_in_order = true;
    ep->watch_fd = -1;
    ep->pool = pool = calloc(1, POOL_BYTES);
    ep->pool_mr = make_region();
    ep->peers = calloc(ep->terms.n, sizeof(*ep->peers));
    add_link(ep);
    return ep;
}

void verbs_fake_close(struct ch_endpoint *ep)
{
    while (ep->parts.n > 0)
        ch_verbs_detach(ep, (void *)ep->parts.all[0].base);
    (void)ibv_dereg_mr(ep->pool_mr);
    for (uint32_t pe = 0; pe < ep->terms.n; pe++)
        ch_parts_free(&ep->peers[pe].places);
    ch_parts_free(&ep->parts);
    free(ep->links[0]);
    free(ep->links);
    free(ep->by_ctx[0]);
    free(ep->by_ctx);
    free(ep->peers);
    free(ep->pool);
    free(ep);
}
