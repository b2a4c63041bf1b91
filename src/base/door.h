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
 * A put or an atomic operation of the program can end a wait on the PE's own memory, but not a
 * collective, which waits only for the library's words. To wake a PE that then sleeps again
 * costs a system call, a fifth of a put of 64 KiB, so a put wakes a PE only if `listeners` is
 * not 0.
 */
#ifndef CH_DOOR_H
#define CH_DOOR_H

#include "base/error.h"
#include "base/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CH_CACHE_LINE_BYTES 64u /* the size of a cache line on all supported hosts */

struct ch_door {
    uint32_t wakes;            /* futex word: incremented at each wake-up */
    uint32_t sleepers;         /* threads that sleep, or are about to sleep */
    uint32_t listeners;        /* those of them that wait for memory of the program */
    uint32_t aborted;          /* not 0: the job is ending; any PE may set it; never cleared */
    uint64_t crowded_until_ns; /* until this time, another program is assumed to need the PE's
                                  core; only the PE itself uses this and the next fields */
    uint64_t slow_ns;          /* when the last slow yield ended */
    uint32_t slow_yields;      /* number of slow yields, as far as they count, see door.c */
    uint32_t rest[CH_CACHE_LINE_BYTES / 4 - 9];
};

/* A network of this PE, as waits see it: messages arrive only while a thread makes progress. */
struct ch_progress {
    /* Make progress without waiting. CHORUS_OK, or ERR_ABORTED once the network or the job has
     * failed. Sets *moved_out if a message was sent or received. */
    chorus_status (*make)(struct ch_progress *self, bool *moved_out);
    /* The caller is about to sleep: another thread must make progress in the meantime. */
    void (*leave)(struct ch_progress *self);
    const char *why; /* its reason once it has failed, else null; atomic */
};

/* The parameters of a PE's waits. They depend on the numbers of PEs and cores of the host, and
 * are read-only after the start. */
struct ch_wait_policy {
    struct ch_door *door;         /* this PE's own */
    struct ch_progress *progress; /* null: no network */
    struct ch_record *record; /* this PE's own: calls that wait until a yield get their time in
                                 it; may be null */
    const char *const
        *over;      /* the reason once the job is over, else null; atomic. May itself be null */
    uint32_t spins; /* polls with a pause between them, before the first yield */
    uint32_t gap;   /* then, one of 2^i polls is followed by a yield */
    uint32_t polls; /* polls of both kinds before sleeping */
    uint64_t timeout_ns; /* 0: wait without limit */
    uint64_t warn_ns;    /* a longer wait is reported once; 0: waits are not reported */
    void (*warn)(void *arg, uint64_t waited_ns);
    void *warn_arg;
    const uint64_t *refused; /* not 0: a call of the team is refused, see team/differ.h; may be
                                null */
    /* Is the call that this PE waits in refused, or a later one than the refused one? */
    bool (*is_concerned)(void *arg, uint64_t refused);
    /* Called during a long wait, from 1 ms on, each time that its length has doubled, and later
     * every 64 ms; may refuse the call. May be null. */
    void (*look)(void *arg, uint64_t waited_ns);
    void *look_arg; /* for is_concerned, too */
};

/* Set how this PE waits; there is no network yet. own: its doorbell. pes, cores: of this host;
 * if there are more PEs than cores, a waiting PE yields after each poll and sleeps earlier. */
void ch_wait_policy_init(struct ch_wait_policy *p, struct ch_door *own, uint32_t pes,
                         uint32_t cores, uint64_t timeout_ns);

/* From now on, waits of this PE also make progress on its network; `progress` is borrowed. */
void ch_wait_policy_set_progress(struct ch_wait_policy *p, struct ch_progress *progress);

/* Returns why the job is over, or why the network of this PE has failed; "" if neither, or if
 * the reason is not known. */
static inline const char *ch_wait_end_reason(const struct ch_wait_policy *p)
{
    const char *why = NULL;

    if (p->progress != NULL) why = __atomic_load_n(&p->progress->why, __ATOMIC_ACQUIRE);
    if (why == NULL && p->over != NULL) why = __atomic_load_n(p->over, __ATOMIC_ACQUIRE);
    return why != NULL ? why : "";
}

/* Returns, for messages, why a wait has failed with `status`: if the job is ending, the reason
 * of that, if it is known. */
static inline const char *ch_wait_why(const struct ch_wait_policy *p, chorus_status status)
{
    const char *why = status == CHORUS_ERR_ABORTED ? ch_wait_end_reason(p) : "";

    return *why != '\0' ? why : ch_status_text(status);
}

/* A wait in progress. */
struct ch_wait {
    uint64_t start_ns; /* time of its first yield; 0 before */
    uint32_t polls;    /* failed polls; reset to a smaller number after a wake-up */
    uint32_t wakes;    /* the doorbell's value before the last poll */
    uint32_t drowsy;   /* polls since this wait is counted in the doorbell's sleepers; 0: it is
                          not counted */
    uint32_t warned;   /* not 0: the wait was reported */
    uint64_t look_ns;  /* the wait's length at the next call of look */
    uint64_t told_ns;  /* when it found that a later call is refused; 0: it has not */
    bool is_listening; /* set by waits for memory of the program */
};

/*
 * After a failed poll: pass time, from a pause to a sleep, then return CHORUS_OK to poll again,
 * or give up with CHORUS_ERR_TIMEOUT, CHORUS_ERR_ABORTED or, if the call is refused,
 * CHORUS_ERR_ARG (no message is set). Call ch_wait_end after the last poll in any case.
 */
chorus_status ch_wait_slow(const struct ch_wait_policy *p, struct ch_wait *w);

/* No longer count this wait among the sleepers of the doorbell, if it is counted. */
void ch_wait_end(const struct ch_wait_policy *p, struct ch_wait *w);

/* Wake all threads that sleep on the doorbell. */
void ch_door_wake(struct ch_door *door);

/* After stores for the program to memory of the doorbell's PE: wake it if it may wait for them.
 * The fence only stops the compiler from moving stores. */
static inline void ch_door_ring(struct ch_door *door)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&door->listeners, __ATOMIC_RELAXED) != 0) ch_door_wake(door);
}

/* Mark the job of the doorbell's PE as ending and wake it: its waits return
 * CHORUS_ERR_ABORTED. */
void ch_door_abort(struct ch_door *door);

#endif /* CH_DOOR_H */
