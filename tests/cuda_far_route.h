/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_far_route.h: algorithms as routed kernels have them, compiled for the host: links are
 * routes, by which they post requests to the true ring. Included once in a file, before the
 * algorithms.
 *
 * A wait makes no progress of the network, as no kernel does; it yields, since many PEs share a
 * core.
 */
#ifndef CH_TEST_CUDA_FAR_ROUTE_H
#define CH_TEST_CUDA_FAR_ROUTE_H

#include "base/clock.h"
#include "base/door.h"
#include "base/link.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* route.h defines these for kernels; link.h has declared them for hosts. */
#define ch_link_post route_post
#define ch_link_post_word route_post_word
#define ch_link_post_signal route_post_signal
#define ch_link_flush route_flush
#define ch_link_post_receive route_post_receive
#define ch_link_end_receive route_end_receive
#pragma GCC diagnostic ignored "-Wunknown-pragmas" /* those of nvcc */

/* The CTA that runs on this thread. */
static _Thread_local struct {
    unsigned x;
} blockIdx;

/* The waits of kernels. */
struct kernel_policy {
    const uint32_t *aborted;
    uint64_t timeout_ns;
};

enum { YIELDS = 200, SLEEP_US = 50 };

static chorus_status kernel_wait_slow(const struct kernel_policy *policy, struct ch_wait *w)
{
    const uint64_t now = ch_clock_ns();

    if (__atomic_load_n(policy->aborted, __ATOMIC_RELAXED) != 0) return CHORUS_ERR_ABORTED;
    if (w->start_ns == 0) w->start_ns = now;
    if (policy->timeout_ns != 0 && now - w->start_ns > policy->timeout_ns)
        return CHORUS_ERR_TIMEOUT;
    if (++w->polls < YIELDS)
        (void)sched_yield();
    else
        (void)usleep(SLEEP_US);
    return CHORUS_OK;
}

static void kernel_wait_end(const struct kernel_policy *policy, struct ch_wait *w)
{
    (void)policy, (void)w;
}

#define ch_wait_policy kernel_policy
#define ch_wait_slow kernel_wait_slow
#define ch_wait_end kernel_wait_end
#define CH_ROUTED 1
#include "base/exec.h"
#undef CH_INLINE_BYTES
#define CH_INLINE_BYTES 16u
#undef CH_LENT_BYTES
#define CH_LENT_BYTES ((size_t)PTRDIFF_MAX) /* gcc warns of copies of SIZE_MAX bytes */
#undef CH_TAG_BITS
#define CH_TAG_BITS 0u
#include "base/route.h"

static int route_post_receive(struct ch_link *link, void *slot, void *dst, size_t bytes)
{
    (void)link, (void)slot, (void)dst, (void)bytes;
    return 0;
}

static int route_end_receive(struct ch_link *link)
{
    (void)link;
    return 0;
}

#endif /* CH_TEST_CUDA_FAR_ROUTE_H */
