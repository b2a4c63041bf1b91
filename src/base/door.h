/* SPDX-License-Identifier: Apache-2.0 */
/*
 * door.h: the doorbell of a PE, on which it sleeps and by which peers wake it. Each PE has
 * one, in its shared memory.
 *
 * A PE that waits polls a word that a peer stores to. From time to time it yields its core,
 * and after a long time it sleeps on the futex word of its doorbell. A PE that stores to a
 * peer's memory reads the peer's doorbell afterwards, and wakes the threads that sleep on it.
 * No fence orders the store and this load, so the store may not be visible yet when the peer
 * polls for the last time before it sleeps. The peer therefore continues to poll for longer
 * than a store takes, and a sleep ends after a millisecond in any case.
 *
 * A put or an atomic of the program may be what a PE waits for in a wait on its own memory, but
 * not in a collective, which waits only for the library's words. To wake a PE that goes to
 * sleep again costs a system call, a fifth of a put of 64 KiB, so puts look at the listeners.
 */
#ifndef CH_DOOR_H
#define CH_DOOR_H

#include "base/error.h"
#include "base/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CH_CACHE_LINE_BYTES 64u /* a cache line of the hosts we know */

struct ch_door {
    uint32_t wakes;            /* futex word: grows with each waking */
    uint32_t sleepers;         /* threads asleep, or about to be */
    uint32_t listeners;        /* those of them that wait for memory of the program */
    uint32_t aborted;          /* not 0: the job is ending; set by anyone, never cleared */
    uint64_t crowded_until_ns; /* until then another program is taken to want the PE's core;
                                  only the PE itself uses this and the next */
    uint32_t slow_yields;      /* in a row */
    uint32_t rest[CH_CACHE_LINE_BYTES / 4 - 7];
};

/* A network of this PE, for whoever waits: what a wait is for arrives while someone makes
 * progress. */
struct ch_progress {
    /* Without waiting. CHORUS_OK, or ERR_ABORTED once the network or the job has failed. Sets
     * *moved_out if anything came or went. */
    chorus_status (*make)(struct ch_progress *self, bool *moved_out);
    /* The caller is about to sleep: someone else is to make progress meanwhile. */
    void (*leave)(struct ch_progress *self);
    const char *why; /* it has failed; null while it has not; atomic */
};

/* How a PE waits. Made at start from PEs and cores of the node; read-only afterwards. */
struct ch_patience {
    struct ch_door *door;         /* this PE's own */
    struct ch_progress *progress; /* null: nothing arrives by a network */
    struct ch_record *record;     /* this PE's own: of calls that wait until a yield it gets the
                                     time; may be null */
    const char *const *over; /* why the job is over; null while it is not; atomic. Or null */
    uint32_t spins;          /* polls with a pause between them, before the first yield */
    uint32_t gap;            /* then, every so many polls, one is followed by a yield; 2^i */
    uint32_t polls;          /* of both kinds, before sleeping */
    uint64_t timeout_ns;     /* 0: for ever */
    uint64_t warn_ns;        /* a wait that lasts so long is reported once; 0: none is */
    void (*warn)(void *arg, uint64_t waited_ns);
    void *warn_arg;
    const uint64_t *refused; /* not 0: what this PE waits for is refused, see team/check.h; may
                                be null */
};

/* pes and cores of this node. */
void ch_patience_init(struct ch_patience *p, struct ch_door *own, uint32_t pes, uint32_t cores,
                      uint64_t timeout_ns);

/* What the PE waits for may arrive by a network from now on; `progress` is borrowed. */
void ch_patience_add(struct ch_patience *p, struct ch_progress *progress);

/* Why the job is over, or the network of this PE has failed; "" while it has not, or if nobody
 * knows. */
static inline const char *ch_patience_why(const struct ch_patience *p)
{
    const char *why = NULL;

    if (p->progress != NULL) why = __atomic_load_n(&p->progress->why, __ATOMIC_ACQUIRE);
    if (why == NULL && p->over != NULL) why = __atomic_load_n(p->over, __ATOMIC_ACQUIRE);
    return why != NULL ? why : "";
}

/* A wait in progress. */
struct ch_wait {
    uint64_t start_ns; /* of its first yield; 0 before */
    uint32_t polls;    /* that failed; fewer again after it was woken */
    uint32_t wakes;    /* as read before the last poll */
    uint32_t drowsy;   /* polls since it is counted in the door's sleepers; 0: it is not */
    uint32_t warned;   /* not 0: warn was called */
    bool is_listening; /* set by who waits for memory of the program */
};

/*
 * After a failed poll: pass time, a little or a lot, then CHORUS_OK to poll again;
 * CHORUS_ERR_TIMEOUT, CHORUS_ERR_ABORTED or, if refused, CHORUS_ERR_ARG to give up (no message
 * set). Call ch_wait_end after the last poll in any case.
 */
chorus_status ch_wait_slow(const struct ch_patience *p, struct ch_wait *w);
void ch_wait_end(const struct ch_patience *p, struct ch_wait *w);

/* Wake everyone who sleeps at the door. */
void ch_door_wake(struct ch_door *door);

/* After stores for the program to memory of the door's PE: wake it if it may wait for them. The
 * fence is the compiler's. */
static inline void ch_door_tell(struct ch_door *door)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&door->listeners, __ATOMIC_RELAXED) != 0) ch_door_wake(door);
}

/* Mark the door's PE as ending and wake it: its waits return CHORUS_ERR_ABORTED. */
void ch_door_abort(struct ch_door *door);

#endif /* CH_DOOR_H */
