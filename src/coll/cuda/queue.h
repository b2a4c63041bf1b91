/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h: queues the kernels of a call on a stream of a GPU: how many lanes they have, their
 * arguments, and which are launched early.
 */
#ifndef CH_QUEUE_H
#define CH_QUEUE_H

#include "coll/cuda/kernel.h"
#include "coll/host/launch.h"
#include "coll/cuda/turn.h"

/* Properties that are the same for all calls of a PE. */
struct ch_queue_terms {
    const struct ch_device *device; /* borrowed */
    const uint32_t *aborted;        /* as kernels address it */
    uint64_t timeout_ns;
    uint32_t share_ctas; /* this PE's share of those that run at the same time on the GPU */
    bool is_early;       /* may kernels be launched early? */
    bool is_checked;     /* CHORUS_CHECK */
    struct ch_kernel_fault *faults; /* [CH_FAULTS]: reports of kernels, see fault.h */
};

/* Queue the kernels when it is the call's turn. *ctas_out: number of CTAs that are counted at
 * the call's end, unless it is captured. */
CH_MUST_CHECK chorus_status ch_queue_call(const struct ch_queue_terms *terms,
                                          const struct ch_call *call,
                                          const struct ch_turn *turn, uint32_t *ctas_out);

#endif /* CH_QUEUE_H */
