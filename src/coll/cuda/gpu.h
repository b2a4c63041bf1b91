/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.h: calls of collectives on a PE's GPU, each a kernel on a stream; and the trial of the
 * links between GPUs. Files whose names end in _cuda.c are used in builds with CUDA; in others
 * gpu_none.c offers none, and no heap is on a GPU.
 */
#ifndef CH_GPU_H
#define CH_GPU_H

#include "base/door.h"
#include "base/error.h"
#include "base/option.h"
#include "boot/boot.h"
#include "coll/host/host.h"
#include "heap/heap.h"
#include "transport/amo.h"

#include <stdbool.h>
#include <stdint.h>

struct ch_gpu;
struct ch_links;

/* Open for a heap on a GPU. `policy` is borrowed: of the host's waits for the GPU. */
CH_MUST_CHECK chorus_status ch_gpu_open(const struct ch_heap *heap,
                                        const struct ch_options *options,
                                        const struct ch_wait_policy *policy,
                                        struct ch_gpu **gpu_out);
void ch_gpu_close(struct ch_gpu *gpu); /* null is a no-op */

/* Return how the program's own kernels wait and report. */
struct ch_device_terms ch_gpu_terms(const struct ch_gpu *gpu);

/* Number of CTAs of this PE that run at the same time on its GPU, which the PEs that use it
 * share equally; at least 1. A call of more could wait for CTAs of a peer that have no place.
 */
uint32_t ch_gpu_share_ctas(const struct ch_gpu *gpu);

/* Forget the reports about the team in this slot, which was destroyed. */
void ch_gpu_team_ended(struct ch_gpu *gpu, uint32_t slot);

/* OK if a kernel can perform the call. ERR_UNSUPPORTED for algorithms and element types that
 * only hosts support. */
CH_MUST_CHECK chorus_status ch_gpu_check(const struct ch_call *call);

/*
 * Queue a call on a cudaStream_t and return. If the team's last call is on another stream, the
 * call waits for it. ERR_ARG: the stream is of another device; ERR_SYSTEM: the driver refused.
 * If an earlier call of the team failed, this one fails with its code and message.
 */
CH_MUST_CHECK chorus_status ch_gpu_push(struct ch_gpu *gpu, const struct ch_call *call,
                                        void *stream);

/* Run a call on a stream of the library, and wait for its end. */
CH_MUST_CHECK chorus_status ch_gpu_run(struct ch_gpu *gpu, const struct ch_call *call);

/* Wait for all work of this process on the GPU, graphs included; it fails as other waits do. */
CH_MUST_CHECK chorus_status ch_gpu_drain(const struct ch_gpu *gpu);

/* A wait until the word is at least, or equal to, a value. */
struct ch_front_wait {
    const uint64_t *word;
    uint64_t value;
    bool is_exact;
    bool is_captured;
    uint64_t number; /* of the record in queue.h: larger than those of earlier waits */
};

/* Queue a wait for a word of this PE, which the front end of the GPU performs. */
CH_MUST_CHECK chorus_status ch_gpu_put_wait(struct ch_gpu *gpu, void *stream,
                                            const struct ch_front_wait *wait);

/* Return how kernels of the library that wait for words of the program end and report. */
struct ch_wait_limit ch_gpu_wait_limit(const struct ch_gpu *gpu);

/* CHORUS_OK, or the code of the first call on the team that failed. */
int ch_gpu_team_status(const struct ch_gpu *gpu, const struct ch_team *team);

/* Destroy a stream that the library created for the program, after its queued calls.
 * Synchronize takes any stream, and returns the failure of a call on any team that was not
 * reported yet, with its message. */
CH_MUST_CHECK chorus_status ch_gpu_stream_destroy(const struct ch_gpu *gpu, void *stream);
CH_MUST_CHECK chorus_status ch_gpu_stream_synchronize(const struct ch_gpu *gpu,
                                                      const struct ch_teams *teams,
                                                      void *stream);

/* Kernels that have ended may have failed, with posts on streams or calls without a team: if
 * one has reported that, and the program has not learned of it yet, the network no longer uses
 * the memory of what they posted on return. Before memory is freed. */
void ch_gpu_settle(const struct ch_gpu *gpu, struct ch_links *links);

/* --- links between GPUs ------------------------------------------------------------------- */
/*
 * Send some thousand lines to every peer, let peers read as many, and check whether any is seen
 * incomplete; takes a few milliseconds. Collective over the job, for a heap on GPUs; all PEs
 * get the same result, which is "no" if a PE has no room for the test, or if two of their GPUs
 * are not known to be linked by NVLink. If CUDA refuses the test on a PE, or the test fails
 * there, it ends at once on all PEs, and so does the job: the waits of all are aborted, and all
 * get that PE's failure.
 */
CH_MUST_CHECK chorus_status ch_lines_try(struct ch_boot *boot, struct ch_heap *heap,
                                         uint64_t timeout_ns, bool *are_whole_out);

#endif /* CH_GPU_H */
