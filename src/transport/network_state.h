/* SPDX-License-Identifier: Apache-2.0 */
/* network_state.h: the state of a network; only for network.c and pump.c. */
#ifndef CH_NETWORK_STATE_H
#define CH_NETWORK_STATE_H

#include "transport/kinds.h"
#include "transport/network.h"

#include <pthread.h>

struct ch_remote_pe {
    struct ch_route route; /* first, so that a pointer to it is a pointer to this */
    struct ch_network *network;
    uint32_t pe;
};

struct ch_network {
    struct ch_progress progress; /* first, for the same reason */
    const struct ch_net_ops *ops;
    struct ch_net *net;
    uint32_t caps;
    struct ch_boot *boot; /* borrowed, as is patience */
    struct ch_patience *patience;
    uint32_t me, n;
    uint32_t *nodes;              /* [n] */
    const char **hosts;           /* [n], see net.h */
    ptrdiff_t *maps;              /* [n], see net.h */
    struct ch_remote_pe *remotes; /* [n] */
    pthread_mutex_t lock;         /* held in every call of ops except open and close */
    uint32_t n_queued;            /* threads that wait for the lock; atomic */
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

/* Make progress once; *moved_out: something was sent or received. False: another thread is
 * making progress. */
bool ch_network_step(struct ch_network *network, bool *moved_out);

/* All waits of this PE end with this reason; the first one is kept. */
void ch_network_fail(struct ch_network *network, const char *why);

/* The control plane did not report the first lost PE in time: use the network's failure. */
void ch_network_settle(struct ch_network *network);

/* The progress thread. */
CH_MUST_CHECK chorus_status ch_pump_start(struct ch_network *network);
void ch_pump_stop(struct ch_network *network); /* a no-op if it was not started */
/* The PE is about to sleep: the thread makes progress. */
void ch_pump_leave(struct ch_network *network);
/* Make progress now. */
void ch_pump_wake(const struct ch_network *network);

#endif /* CH_NETWORK_STATE_H */
