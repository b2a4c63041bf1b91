/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.h: what a sweep asks of the GPU that this PE's objects are on. gpu_cuda.c does it by the
 * CUDA runtime; gpu_none.c, of builds without CUDA, says that no memory is a GPU's.
 *
 * Functions that return int give 0, or CHORUS_ERR_SYSTEM with a message in ch_gpu_reason().
 */
#ifndef CH_GPU_H
#define CH_GPU_H

#include <stdbool.h>
#include <stddef.h>

/* Is it memory of a GPU, which the host reaches by copies alone? */
bool ch_gpu_holds(const void *address);

/* Use the GPU of `address`, with a stream of our own (a cudaStream_t). Once, before all that
 * follows; closing gives everything back. */
int ch_gpu_open(const void *address, void **stream_out);
void ch_gpu_close(void);
const char *ch_gpu_reason(void);

/* Memory of the GPU, and memory of the host that is quick to copy. Null: see ch_gpu_reason. */
void *ch_gpu_allocate(size_t bytes);
void ch_gpu_release(void *area);
void *ch_gpu_stage_allocate(size_t bytes);
void ch_gpu_stage_release(void *area);

/* Between any memories; complete on return. */
int ch_gpu_copy(void *to, const void *from, size_t bytes);
int ch_gpu_fill(void *to, int byte, size_t bytes);

/* Wait for the stream. */
int ch_gpu_flush(void);

/* What is put on the stream between the two, in microseconds; ch_gpu_stop waits for it. */
int ch_gpu_start(void);
int ch_gpu_stop(double *us_out);

/* A graph of what is put on the stream between the two. After a failed capture there is none.
 */
struct ch_gpu_graph;
int ch_gpu_capture(void);
int ch_gpu_captured(struct ch_gpu_graph **graph_out);
/* Put it on the stream. */
int ch_gpu_replay(const struct ch_gpu_graph *graph);
void ch_gpu_forget(struct ch_gpu_graph *graph);

/* In words; false while no GPU is in use. */
struct ch_gpu_facts {
    char gpu[300], driver[128], cuda[32];
};
bool ch_gpu_describe(struct ch_gpu_facts *facts_out);

#endif /* CH_GPU_H */
