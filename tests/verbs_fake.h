/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs_fake.h: the calls of libibverbs that register memory, and a link whose device keeps
 * what is posted: what verbs does with memory of GPUs is tried without an RDMA device.
 */
#ifndef CH_TEST_VERBS_FAKE_H
#define CH_TEST_VERBS_FAKE_H

#include "transport/verbs/state.h"

enum { FAKE_POSTS_MAX = 64, FAKE_DMA_BUFS_MAX = 4, FAKE_INLINE_BYTES = 220 };
#define FAKE_PEERS_KEY 0x1000u /* a bit of keys that peers get */

/* A registration by a dma-buf, as it was asked for. */
struct fake_dma_buf {
    uint64_t offset, iova;
    size_t bytes;
    int fd;
    unsigned access;
};

/* A work request, as it was posted. */
struct fake_post {
    enum ibv_wr_opcode opcode;
    unsigned flags; /* of sending */
    uint64_t addr, there;
    uint32_t bytes, lkey, rkey;
};

/* Of this process. */
struct verbs_fake {
    int dma_buf_error; /* errno of registering a dma-buf; 0: it succeeds */
    int relaxed_error; /* likewise, of doing so under a relaxed key */

    int regions;                                     /* registered, and not given back */
    struct fake_dma_buf dma_bufs[FAKE_DMA_BUFS_MAX]; /* the first registrations */
    int n_dma_bufs;
    struct fake_post posts[FAKE_POSTS_MAX];
    int n_posts;

    const struct ch_verbs_mail *mail; /* that arrives next; null: none */
};
extern struct verbs_fake verbs_fake;

/* Returns PE 0 of two, on a device that stores writes in their order, with a link to PE 1 for
 * context 0, which is up. */
struct ch_endpoint *verbs_fake_open(void);
void verbs_fake_close(struct ch_endpoint *ep);

#endif /* CH_TEST_VERBS_FAKE_H */
