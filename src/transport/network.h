/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network.h: the endpoint of the network that a job uses, the lock around it, waits for
 * operations, and its progress; for the files of this folder.
 */
#ifndef CH_NETWORK_H
#define CH_NETWORK_H

#include "base/door.h"
#include "boot/boot.h"
#include "transport/link.h"

#include <pthread.h>

struct ch_network {
    struct ch_progress progress; /* first, so that a pointer to it is a pointer to this */
    const struct ch_link_ops *ops;
    struct ch_endpoint *ep;
    uint32_t caps;
    struct ch_boot *boot; /* borrowed, as is policy */
    struct ch_wait_policy *policy;
    uint32_t me, n;
    uint32_t *nodes;      /* [n] */
    const char **hosts;   /* [n], see link.h */
    ptrdiff_t *maps;      /* [n], see link.h */
    pthread_mutex_t lock; /* held in every call of ops except open and close */
    uint32_t n_queued;    /* threads that wait for the lock; atomic */
    char why_not[CH_KIND_COUNT]
                [256];   /* reasons of the kinds that were tried and are not used; or "" */
    char why[256];       /* of the failure */
    char why_doubt[256]; /* failure that the network found, while the control plane may find its
                            cause */
    uint64_t doubt_at_ns; /* since when; 0: there is none; atomic */
    uint64_t visits;      /* of the PE; atomic, though increments may be lost */
    /* The progress thread. */
    pthread_t thread;
    bool has_thread;
    int stop_fd;      /* an eventfd: end, or make progress now */
    bool has_posts;   /* since progress was last made; under the lock */
    bool is_asleep;   /* the next operation posted must wake the thread; under the lock */
    uint32_t is_idle; /* the thread waits for a short time and must be woken when the PE leaves;
                         atomic */
    uint32_t is_away; /* the PE sleeps, and has not called the network since; atomic */
    uint32_t is_ending; /* atomic */
};

/* Collective over the job; on all PEs or on none. Null in *network_out if no peer is left to a
 * network; see ch_links_open. */
CH_MUST_CHECK chorus_status ch_network_open(struct ch_boot *boot, struct ch_heap *heap,
                                            const struct ch_options *options,
                                            struct ch_wait_policy *policy,
                                            struct ch_network **network_out);
void ch_network_disconnect(struct ch_network *network); /* null is a no-op; not collective */
void ch_network_close(struct ch_network *network);      /* likewise */
const char *ch_network_why_not(const struct ch_network *network, uint32_t kind);

/* The lock. `posted` releases it after an operation was posted, and has that operation sent
 * even if the PE makes no further call. lock and posted are no-ops for null: a link of another
 * kind. */
void ch_network_lock(struct ch_network *network);
void ch_network_unlock(struct ch_network *network);
void ch_network_posted(struct ch_network *network);

/* `is_sent` or `is_done` of a kind. */
typedef bool (*ch_is_over_fn)(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe);

bool ch_network_is_over(struct ch_link *link, uint32_t ctx, ch_is_over_fn what);
/* After an operation was posted: wait until `what` holds for all that the context posted to the
 * peer; null: only return the failure of the network, if it has failed. A no-op for links of
 * other kinds. */
CH_MUST_CHECK chorus_status ch_network_finish(struct ch_link *link, uint32_t ctx,
                                              ch_is_over_fn what);
CH_MUST_CHECK chorus_status ch_network_fence(struct ch_network *network, uint32_t ctx);
CH_MUST_CHECK chorus_status ch_network_quiet(struct ch_network *network, uint32_t ctx,
                                             uint32_t pe);
/* The caller is told that its operations with pe have failed, and may use their memory for
 * something else. */
void ch_network_abandon(struct ch_network *network, uint32_t pe);

/* All waits of this PE end with this reason; the first one is kept. */
void ch_network_fail(struct ch_network *network, const char *why);
bool ch_network_has_failed(const struct ch_network *network);

/* Progress of a PE that waits and, by the progress thread, of one that does not. */
CH_MUST_CHECK chorus_status ch_progress_start(struct ch_network *network);
/* Make progress now. */
void ch_progress_wake(const struct ch_network *network);
void ch_progress_stop(struct ch_network *network); /* a no-op if it was not started */

#endif /* CH_NETWORK_H */
