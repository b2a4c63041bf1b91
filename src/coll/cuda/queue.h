/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h: a call on a stream of a GPU, from the order of calls to the reports of its kernels;
 * only for this folder.
 */
#ifndef CH_QUEUE_H
#define CH_QUEUE_H

#include "base/door.h"
#include "base/error.h"
#include "coll/cuda/gpu.h"
#include "coll/cuda/kernel.h"
#include "coll/host/host.h"
#include "device/device.h"
#include "heap/heap.h"
#include "team/team.h"

#include <stdbool.h>
#include <stdint.h>

/* --- the order of calls, see turn_cuda.c -------------------------------------------------- */
/* A stream for calls. */
struct ch_turn {
    void *stream;     /* a cudaStream_t */
    uint64_t number;  /* an identifier that no other stream has; never 0 */
    uint64_t capture; /* the identifier of its capture; 0: it is not being captured */
    bool is_current;  /* the PE's GPU is current on the thread that makes the call */
};

/*
 * Identify a stream that the program passed. ERR_ARG: it is of another device, or a default
 * stream of one; ERR_STATE: its capture has failed, or it is the legacy stream during the
 * capture of a stream that waits for it.
 */
CH_MUST_CHECK chorus_status ch_turn_of(const struct ch_heap *heap, void *stream,
                                       struct ch_turn *turn_out);

/* Before a call is queued: make its stream wait for the team's last call, if that is on another
 * stream. The caller holds the lock. */
CH_MUST_CHECK chorus_status ch_turn_begin(const struct ch_heap *heap, struct ch_team *team,
                                          const struct ch_turn *turn);
/* After it was queued: note it as the team's last call. ctas: the number of CTAs that its
 * kernels count, unless it is captured. The caller holds the lock. */
CH_MUST_CHECK chorus_status ch_turn_end(const struct ch_heap *heap, struct ch_team *team,
                                        const struct ch_turn *turn, uint32_t ctas);

/* --- the kernels of a call, see queue_cuda.c ---------------------------------------------- */
/* Does its kernel post requests for some peers? */
bool ch_kernel_is_routed(const struct ch_call *call);
/* Do GPUs run the algorithm of a call on its team? */
bool ch_kernel_is_there(const struct ch_call *call);
/* The kernel of a call; null: no GPU combines this type. */
const void *ch_kernel_of(const struct ch_call *call);

/*
 * Load all kernels, with the device current. A kernel that is loaded at its first launch waits
 * for all running kernels, which may wait for a peer that waits for this launch. *room_out: the
 * smallest number, over all kernels, of CTAs for which a multiprocessor has room. is_routed:
 * load also those of teams whose PEs are not all near, which do not count for this.
 */
CH_MUST_CHECK chorus_status ch_kernels_load(const struct ch_device *device, bool is_routed,
                                            uint32_t *room_out);

/* Properties that are the same for all calls of a PE. */
struct ch_queue_terms {
    const struct ch_device *device; /* borrowed */
    const uint32_t *aborted;        /* as kernels address it */
    uint64_t timeout_ns;
    uint32_t share_ctas; /* this PE's share of those that run at the same time on the GPU */
    bool is_early;       /* may kernels be launched early? */
    bool is_checked;     /* CHORUS_CHECK */
    struct ch_kernel_fault *faults; /* [CH_FAULTS]: reports of kernels, see front.c */
};

/* Queue the kernels when it is the call's turn. *ctas_out: number of CTAs that are counted at
 * the call's end, unless it is captured. */
CH_MUST_CHECK chorus_status ch_queue_call(const struct ch_queue_terms *terms,
                                          const struct ch_call *call,
                                          const struct ch_turn *turn, uint32_t *ctas_out);

/* --- waits on streams, see front.c -------------------------------------------------------- */
/* The last ones that were queued, on all streams. */
enum { CH_FRONT_WAITS = 256 };

struct ch_front;

/* Those that hold up a stream, in their order. */
struct ch_front_view {
    uint32_t n;
    struct ch_front_wait waits[CH_FRONT_WAITS];
};

/* Create an empty list of waits, with a mutex of its own. */
CH_MUST_CHECK chorus_status ch_front_open(struct ch_front **front_out);
void ch_front_close(struct ch_front *front); /* null is a no-op */

/* Add a wait that was queued on `stream`, a ch_turn.number. If there are too many, forget the
 * oldest. */
void ch_front_add_wait(struct ch_front *front, uint64_t stream,
                       const struct ch_front_wait *wait);

/* Let the waits that hold up `earlier` hold up `stream`, too: what is queued there from now on
 * runs after what was queued on `earlier`. */
void ch_front_inherit_waits(struct ch_front *front, uint64_t stream, uint64_t earlier);

/* List the waits that hold up a stream. */
void ch_front_list_waits(struct ch_front *front, uint64_t stream,
                         struct ch_front_view *view_out);

/* Forget the waits of a view, as the stream's work has ended that was queued before the view
 * was listed. Captured waits stay. */
void ch_front_remove_waits(struct ch_front *front, const struct ch_front_view *view);

/* The number that the next wait will have. */
uint64_t ch_front_next_number(struct ch_front *front);
/* Forget all waits with lower numbers, as the work of the whole GPU has ended that was queued
 * before ch_front_next_number returned this one. Captured waits stay. */
void ch_front_remove_before(struct ch_front *front, uint64_t number);

/* --- waits of the host for streams, see turn_cuda.c --------------------------------------- */
/* Wait for all work of this process on the device, graphs included. ERR_TIMEOUT, ERR_ABORTED:
 * it has not ended. */
CH_MUST_CHECK chorus_status ch_drain_device(const struct ch_device *device,
                                            const struct ch_wait_policy *policy);

/*
 * Wait for the work of a cudaStream_t, which these waits hold up. ERR_ABORTED: the job is
 * ending; ERR_TIMEOUT: it has taken longer than the limit, and one of the waits is not over.
 * Other work of the program may take any time, and is not reported as a wait for other PEs.
 */
CH_MUST_CHECK chorus_status ch_drain_stream(const struct ch_device *device,
                                            const struct ch_wait_policy *policy,
                                            const struct ch_front_view *waits, void *stream);

/* --- reports of kernels, see front.c ------------------------------------------------------ */
/* Reports by slot; behind them, from CH_FAULT_INSIDE on, those of ch_fault_inside_at. */
enum { CH_FAULT_INSIDE = CH_TEAM_SLOTS, CH_FAULTS = CH_FAULT_INSIDE + CH_FAULTS_INSIDE };

/* Forget the reports about the team in this slot, which was destroyed. */
void ch_fault_clear(struct ch_kernel_fault *faults, uint32_t slot);

/* CHORUS_OK, or the code of the first call on the team that failed; sets no message. */
int ch_fault_status(struct ch_kernel_fault *faults, const struct ch_team *team);

/* If there is a new report about the team, take it, and fail with its message and the code of
 * the team's first failure; else OK. */
CH_MUST_CHECK chorus_status ch_fault_report(struct ch_kernel_fault *faults, uint64_t timeout_ns,
                                            struct ch_team *team);
/* The same for reports of kernels of the program without a team: of a wait for one of its
 * words, or a call that returns nothing. status: its code, or CHORUS_OK; *pe_out: the PE that
 * the call was for, or this PE, if it was for several or for none. late_pe, for the message:
 * the PE that was waited for; UINT32_MAX: it is not known. */
int ch_fault_status_wait(struct ch_kernel_fault *faults, uint32_t *pe_out);
CH_MUST_CHECK chorus_status ch_fault_report_wait(struct ch_kernel_fault *faults,
                                                 const struct ch_wait_policy *policy,
                                                 uint32_t late_pe);
/* If an alltoallv on the team was completed with a block of two lengths, take this report, and
 * fail with ERR_ARG; else OK. The team can be used further. */
CH_MUST_CHECK chorus_status ch_fault_report_block(struct ch_kernel_fault *faults,
                                                  const struct ch_team *team);

#endif /* CH_QUEUE_H */
