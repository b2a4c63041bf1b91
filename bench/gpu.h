/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.h: what a sweep asks of the GPU that this PE's objects are on. gpu_cuda.c does it by the
 * CUDA runtime; gpu_none.c, of builds without CUDA, is never asked, as no object is on a GPU.
 *
 * Functions that return int give 0, or CHORUS_ERR_SYSTEM with a message in
 * ch_bench_gpu_reason().
 */
#ifndef CH_BENCH_GPU_H
#define CH_BENCH_GPU_H

#include <stdbool.h>
#include <stddef.h>

/* Use a GPU by its number in this process, with a stream of our own (a cudaStream_t). Once,
 * before all that follows; closing gives everything back. */
int ch_bench_gpu_open(int device, void **stream_out);
void ch_bench_gpu_close(void);
const char *ch_bench_gpu_reason(void);

/* Memory of the GPU, and memory of the host that is quick to copy. Null: see
 * ch_bench_gpu_reason. */
void *ch_bench_gpu_allocate(size_t bytes);
void ch_bench_gpu_release(void *area);
void *ch_bench_gpu_stage_allocate(size_t bytes);
void ch_bench_gpu_stage_release(void *area);

/* Between any memories; complete on return. */
int ch_bench_gpu_copy(void *to, const void *from, size_t bytes);
int ch_bench_gpu_fill(void *to, int byte, size_t bytes);

/* Wait for the stream. */
int ch_bench_gpu_flush(void);

/* What is put on the stream between the two, in microseconds; ch_bench_gpu_stop waits for it.
 */
int ch_bench_gpu_start(void);
int ch_bench_gpu_stop(double *us_out);

/* A graph of what is put on the stream between the two. After a failed capture there is none.
 */
struct ch_bench_gpu_graph;
int ch_bench_gpu_capture(void);
int ch_bench_gpu_captured(struct ch_bench_gpu_graph **graph_out);
/* Put it on the stream. */
int ch_bench_gpu_replay(const struct ch_bench_gpu_graph *graph);
void ch_bench_gpu_forget(struct ch_bench_gpu_graph *graph);

/* In words; false while no GPU is in use. */
struct ch_bench_gpu_facts {
    char gpu[300], driver[128], cuda[32];
};
bool ch_bench_gpu_describe(struct ch_bench_gpu_facts *facts_out);

#endif /* CH_BENCH_GPU_H */
