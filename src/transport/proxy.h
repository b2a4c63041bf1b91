/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy.h: carries out the requests that this PE's kernels post to its ring (base/ring.h), by
 * the network of the job. Only for this folder, but for the ring.
 */
#ifndef CH_PROXY_H
#define CH_PROXY_H

#include "base/error.h"
#include "base/ring.h"
#include "heap/heap.h"

#include <stdbool.h>

struct ch_network;
struct ch_proxy;

/* Create the ring in the pool of the heap and in memory of the GPU. */
CH_MUST_CHECK chorus_status ch_proxy_open(struct ch_heap *heap, struct ch_network *network,
                                          struct ch_proxy **proxy_out);
void ch_proxy_close(struct ch_proxy *proxy); /* null is a no-op */

/* The ring, as kernels know it. */
const struct ch_ring *ch_proxy_ring(const struct ch_proxy *proxy);

/* Carry out the requests that are there, and complete the flushes and quiets that are over. The
 * caller holds the network's lock. Returns whether there was anything to do. */
bool ch_proxy_serve(struct ch_proxy *proxy);

/* Is there a request, or a flush or a quiet that is not over? From any thread, without the
 * lock. */
bool ch_proxy_has_work(const struct ch_proxy *proxy);
/* How many requests kernels that have ended have posted, all told; 0 if the ring is broken. And
 * how many the network has got, from any thread. */
CH_MUST_CHECK chorus_status ch_proxy_posted(const struct ch_proxy *proxy, uint64_t *n_out);
uint64_t ch_proxy_carried_out(const struct ch_proxy *proxy);

/* May kernels post soon, so that the progress thread must poll? */
bool ch_proxy_is_busy(const struct ch_proxy *proxy);
/* A call was queued whose kernels post. */
void ch_proxy_expect(struct ch_proxy *proxy);

#endif /* CH_PROXY_H */
