/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post.h: the kernel that performs an operation of the program on a stream, for a peer that is
 * not near: one thread, which posts to the ring of the PE. Only for this folder.
 */
#ifndef CH_POST_H
#define CH_POST_H

#include "base/error.h"
#include "base/ring.h"
#include "device/device.h"
#include "transport/amo.h"

/* The arguments of the kernel, which a graph keeps. All that differs between two runs of a
 * graph is in memory: tickets, and the number of the call. */
struct ch_post {
    struct ch_ring ring;
    struct ch_ring_request request; /* head 0: none */
    struct ch_ring_request call;    /* a FLUSH or a QUIET, for which the kernel waits */
    struct ch_wait_limit limit;
};

/*
 * Post the request, and wait for the call: for operations that later work of the stream relies
 * on, or, if there are none, until the network has the operation, so that a quiet of the host
 * after the kernel completes it, too. A word may announce what earlier work of the stream has
 * stored.
 */
CH_FN chorus_status ch_post_run(const struct ch_post *p, const struct ch_wait_policy *policy)
{
    chorus_status st = CHORUS_OK;

    if (ch_request_op(&p->request) == CH_RING_WORD) ch_release_fence();
    if (p->request.head != 0) st = ch_ring_post(&p->ring, policy, &p->request);
    return st == CHORUS_OK ? ch_ring_call(&p->ring, policy, &p->call) : st;
}

#ifdef __cplusplus
extern "C" {
#endif

/* Load the kernel before others run, since loading would wait for them. */
CH_MUST_CHECK chorus_status ch_post_load(const struct ch_device *device);

/* Queue the kernel on a cudaStream_t. Later work there also runs after a failure, which is
 * reported in limit.report. */
CH_MUST_CHECK chorus_status ch_post_launch(const struct ch_device *device, void *stream,
                                           const struct ch_post *post);

#ifdef __cplusplus
}
#endif

#endif /* CH_POST_H */
