/* SPDX-License-Identifier: Apache-2.0 */
/*
 * door.h: where a PE sleeps and others wake it. One door per PE, in its shared memory.
 *
 * A PE that waits polls a word that a peer stores to. After some polls it may sleep on its
 * door; whoever stores to a PE's memory looks at the door afterwards and rings it if someone
 * sleeps there. A ring that is missed costs a millisecond, never the wait.
 */
#ifndef CH_DOOR_H
#define CH_DOOR_H

#include "base/error.h"

#include <stdint.h>

#define CH_LINE_BYTES 64u /* a cache line of the hosts we know */

struct ch_door {
    uint32_t bell;     /* futex word: grows with each ring */
    uint32_t sleepers; /* threads asleep, or about to be */
    uint32_t aborted;  /* not 0: the job is ending; set by anyone, never cleared */
    uint32_t pad[CH_LINE_BYTES / 4 - 3];
};

/* How a PE waits. Made at start from PEs and cores of the node; read-only afterwards. */
struct ch_patience {
    struct ch_door *door; /* this PE's own */
    uint32_t spins;       /* polls with a pause between them, before yielding */
    uint32_t yields;      /* polls with a sched_yield between them, before sleeping */
    /* Where PEs share cores, rings must not be missed: a sleeper puts a barrier into all who
     * may ring, or, on a system that has no such call, who may ring passes a fence. */
    uint32_t has_barrier, needs_fence;
    uint64_t timeout_ns; /* 0: for ever */
};

/* pes and cores of this node. */
void ch_patience_init(struct ch_patience *p, struct ch_door *own, uint32_t pes, uint32_t cores,
                      uint64_t timeout_ns);

/* A wait in progress. */
struct ch_wait {
    uint64_t start_ns; /* 0 until the slow phase begins */
    uint32_t polls;
    uint32_t bell;      /* as read before the last poll */
    uint32_t is_asleep; /* counted in the door's sleepers */
};

/*
 * After a failed poll: pass time, a little or a lot, then CHORUS_OK to poll again;
 * CHORUS_ERR_TIMEOUT or CHORUS_ERR_ABORTED to give up (no message set). Call ch_wait_end
 * after the last poll in any case.
 */
chorus_status ch_wait_slow(const struct ch_patience *p, struct ch_wait *w);
void ch_wait_end(const struct ch_patience *p, struct ch_wait *w);

/* Wake everyone who sleeps at the door. */
void ch_door_ring(struct ch_door *door);

/* Mark the door's PE as ending and wake it: its waits return CHORUS_ERR_ABORTED. */
void ch_door_abort(struct ch_door *door);

#endif /* CH_DOOR_H */
