/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staged.h: a network over another one, for jobs whose heap is on GPUs of several hosts.
 *
 * The other network, the *inner* one, reaches memory of hosts, and memory of GPUs where it can
 * register that. Puts and gets between such memory at both ends are passed on to it. Other data
 * and words in GPU memory are carried in slots of pinned memory, which both ends copy by copy
 * engines.
 */
#ifndef CH_STAGED_H
#define CH_STAGED_H

#include "base/error.h"
#include "device/device.h"
#include "transport/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When a PE must flush what the inner network has stored in the memory of its GPU. */
enum ch_staged_flush {
    CH_STAGED_NO_FLUSH,
    CH_STAGED_FLUSH_QUIET, /* before puts count as done: the PE's GPU sees data before words
                              that follow it, and other GPUs do not */
    CH_STAGED_FLUSH_WORDS, /* and before words: the PE's GPU does not, either */
};

struct ch_staged_terms {
    /* For messages, the limit of waits, and the lock; its other members are not used. What it
     * points to must outlive the endpoint. */
    struct ch_link_terms link;
    const struct ch_link_ops *inner;
    struct ch_endpoint *inner_ep;   /* open, and has met the others */
    const struct ch_device *device; /* of this PE; borrowed */
    const bool *is_far;             /* [n]: the PEs that links of this endpoint reach */
    /* What this PE has attached to the inner network before, of which the peers have the key if
     * it has keys. `memory` is in it. */
    struct ch_memory_part attached;
    char *memory;    /* pinned; aligned to 64 bytes */
    char *on_device; /* the address of the same memory for work on the device */
    size_t bytes;    /* of that memory, equal on all PEs */
    /* Let the inner network access GPU memory, where it attaches that: on all PEs or on none.
     * Else why_staged is the reason, for users; borrowed; "": there is none to name. */
    bool is_direct;
    const char *why_staged;
    enum ch_staged_flush flush; /* what the most demanding GPU needs: the same on all PEs */
    bool has_flush;             /* this PE's GPU needs it, and so is flushed */
    /* Vote: `mine` is the status of this PE. Give the address of this PE's memory to all PEs of
     * the job, and get those of all in all_out[n]. */
    chorus_status (*exchange)(void *arg, chorus_status mine, uint64_t memory,
                              uint64_t *all_out);
    void *exchange_arg;
};

/* Queues of n PEs in `bytes` bytes of each: the number of slots, and the bytes of data that one
 * takes; 0: the memory is too small. */
struct ch_staged_layout {
    uint32_t slots;
    size_t chunk;
};
struct ch_staged_layout ch_staged_layout(uint32_t n, size_t bytes);

/* Open the network. Collective over the job. On success the endpoint owns the inner one, and
 * closes it. It keeps the memory until then. */
CH_MUST_CHECK chorus_status ch_staged_open(const struct ch_staged_terms *terms,
                                           struct ch_endpoint **ep_out);

/* Attach GPU memory to a network with CH_LINK_GPU. The status and message of a failure say why
 * the network, the kernel or the driver refuses; the network stays usable. */
CH_MUST_CHECK chorus_status ch_staged_attach_gpu(const struct ch_link_ops *inner,
                                                 struct ch_endpoint *inner_ep,
                                                 const struct ch_device *device,
                                                 const struct ch_memory_part *part,
                                                 uint64_t *key_out);

/* Without open: ch_staged_open is called instead. */
extern const struct ch_link_ops ch_link_staged;

#endif /* CH_STAGED_H */
