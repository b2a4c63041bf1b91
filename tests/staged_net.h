/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staged_net.h: the network staged over another one as a kind like the others, with a device of
 * late_gpu.h for each PE, which works while the PE makes progress.
 */
#ifndef CH_TEST_STAGED_NET_H
#define CH_TEST_STAGED_NET_H

#include "transport/link.h"

#include <pthread.h>

enum { STAGED_NET_PES = 8 };

struct staged_net {
    bool is_all_on_gpu; /* all memory that is attached; else that of late_gpu_alloc */
    bool is_over_loop;  /* else over tcp */
    bool is_nested; /* over loop: each put there makes progress first, as other threads may */
    bool is_direct; /* over loop as gpu_loop.h makes it, which accesses GPU memory */
    size_t bytes;   /* of the pinned memory of a PE; 0: 512 KiB */
    uint64_t seed;  /* of what devices do when */
    bool is_locked; /* callers hold locks[PE], which is released while they wait for room */
    pthread_mutex_t locks[STAGED_NET_PES];
};
extern struct staged_net staged_net;

extern const struct ch_link_ops staged_net_ops;

/* The endpoint of ch_link_staged in one of staged_net_ops. */
struct ch_endpoint *staged_net_inside(struct ch_endpoint *ep);

#endif /* CH_TEST_STAGED_NET_H */
