/* SPDX-License-Identifier: Apache-2.0 */
/* A build without CUDA: no object is on a GPU, so only the inquiry is ever called. */
#include "bench/gpu.h"

#include "chorus/status.h"

const char *ch_bench_gpu_reason(void)
{
    return "built without CUDA";
}

int ch_bench_gpu_open(int device, void **stream_out)
{
    (void)device;
    (void)stream_out;
    return CHORUS_ERR_SYSTEM;
}

void ch_bench_gpu_close(void)
{
}

void *ch_bench_gpu_allocate(size_t bytes)
{
    (void)bytes;
    return NULL;
}

void ch_bench_gpu_release(void *area)
{
    (void)area;
}

void *ch_bench_gpu_stage_allocate(size_t bytes)
{
    (void)bytes;
    return NULL;
}

void ch_bench_gpu_stage_release(void *area)
{
    (void)area;
}

int ch_bench_gpu_copy(void *to, const void *from, size_t bytes)
{
    (void)to;
    (void)from;
    (void)bytes;
    return CHORUS_ERR_SYSTEM;
}

int ch_bench_gpu_fill(void *to, int byte, size_t bytes)
{
    (void)to;
    (void)byte;
    (void)bytes;
    return CHORUS_ERR_SYSTEM;
}

int ch_bench_gpu_flush(void)
{
    return CHORUS_ERR_SYSTEM;
}

int ch_bench_gpu_start(void)
{
    return CHORUS_ERR_SYSTEM;
}

int ch_bench_gpu_stop(double *us_out)
{
    (void)us_out;
    return CHORUS_ERR_SYSTEM;
}

int ch_bench_gpu_capture(void)
{
    return CHORUS_ERR_SYSTEM;
}

int ch_bench_gpu_captured(struct ch_bench_gpu_graph **graph_out)
{
    (void)graph_out;
    return CHORUS_ERR_SYSTEM;
}

int ch_bench_gpu_replay(const struct ch_bench_gpu_graph *graph)
{
    (void)graph;
    return CHORUS_ERR_SYSTEM;
}

void ch_bench_gpu_forget(struct ch_bench_gpu_graph *graph)
{
    (void)graph;
}

bool ch_bench_gpu_describe(struct ch_bench_gpu_facts *facts_out)
{
    (void)facts_out;
    return false;
}
