/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.h: calls of collectives on a PE's GPU, each a kernel on a stream. gpu_cuda.c is used in
 * builds with CUDA; in others gpu_none.c offers none, and no heap is on a GPU.
 */
#ifndef CH_GPU_H
#define CH_GPU_H

#include "base/option.h"
#include "coll/host/launch.h"
#include "heap/heap.h"

#include <stdbool.h>

struct ch_gpu;

/* For a heap on a GPU. */
CH_MUST_CHECK chorus_status ch_gpu_open(const struct ch_heap *heap,
                                        const struct ch_options *options,
                                        struct ch_gpu **gpu_out);
void ch_gpu_close(struct ch_gpu *gpu); /* null is a no-op */

/* How the program's own kernels wait and report. */
struct ch_device_terms ch_gpu_terms(const struct ch_gpu *gpu);

/* Does this kernel exist: ERR_UNSUPPORTED for algorithms that hosts alone run, and for element
 * types that hosts alone combine. */
CH_MUST_CHECK chorus_status ch_gpu_check(const struct ch_call *call);

/*
 * Put a call on a cudaStream_t and return. A call on a team whose last call is on another
 * stream comes after that one. ERR_ARG: the stream is of another device; ERR_SYSTEM: the driver
 * refused. An earlier call of the team that failed fails this one, with its code and message.
 */
CH_MUST_CHECK chorus_status ch_gpu_push(struct ch_gpu *gpu, const struct ch_call *call,
                                        void *stream);

/* The same on a stream of the library's own, to its end. */
CH_MUST_CHECK chorus_status ch_gpu_run(struct ch_gpu *gpu, const struct ch_call *call);

/* Wait for all that this process put on the GPU, graphs too. */
void ch_gpu_drain(const struct ch_gpu *gpu);

/* CHORUS_OK, or the code of the first call on the team that failed. */
int ch_gpu_team_status(const struct ch_gpu *gpu, const struct ch_team *team);

/* Streams for programs that make none of their own; destroy runs what is queued. Synchronize
 * takes any stream, and gives the failure of a call on any team that nobody was told of yet,
 * with its message. */
CH_MUST_CHECK chorus_status ch_gpu_stream_create(const struct ch_gpu *gpu, void **stream_out);
void ch_gpu_stream_destroy(const struct ch_gpu *gpu, void *stream);
CH_MUST_CHECK chorus_status ch_gpu_stream_synchronize(const struct ch_gpu *gpu,
                                                      const struct ch_teams *teams,
                                                      void *stream);

#endif /* CH_GPU_H */
