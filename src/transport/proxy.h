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
/* How many requests kernels that have ended have posted, all told, and whether the ring is
 * broken, so that some of them cannot be taken. And how many the network has got, or were
 * dropped, from any thread. */
CH_MUST_CHECK chorus_status ch_proxy_posted(const struct ch_proxy *proxy, uint64_t *n_out,
                                            bool *is_broken_out);
uint64_t ch_proxy_carried_out(const struct ch_proxy *proxy);

/* From now on requests are dropped, and no word of kernels is stored. The caller holds the
 * network's lock. */
void ch_proxy_drop(struct ch_proxy *proxy);
/* The memory of these words is about to be freed: drop flushes and quiets that would store one
 * of them. Requests that name them have been taken before. The caller holds the network's lock.
 * False: a thread that serves the ring has released it; call again. */
CH_MUST_CHECK bool ch_proxy_forget(struct ch_proxy *proxy, const uint64_t *words, uint32_t n);

/* May kernels post soon, so that the progress thread must poll? */
bool ch_proxy_is_busy(const struct ch_proxy *proxy);
/* A call was queued whose kernels post. */
void ch_proxy_expect(struct ch_proxy *proxy);
/* Something has arrived for this PE, whose kernels may wait for more, and for the copy engines.
 */
void ch_proxy_expect_more(struct ch_proxy *proxy);

#endif /* CH_PROXY_H */
