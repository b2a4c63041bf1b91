/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU in host memory, in place of bench/gpu_cuda.c: its stream executes work at once, and is
 * the one that fake_peers.c expects. */
#include "bench/gpu.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM = 4711 };

const char *ch_bench_gpu_reason(void)
{
    return "no memory";
}

int ch_bench_gpu_open(int device, void **stream_out)
{
    (void)device;
    *stream_out = (void *)(uintptr_t)STREAM;
    return 0;
}

void ch_bench_gpu_close(void)
{
}

void *ch_bench_gpu_allocate(size_t bytes)
{
    return malloc(bytes);
}

void ch_bench_gpu_release(void *area)
{
    free(area);
}

void *ch_bench_gpu_stage_allocate(size_t bytes)
{
    return malloc(bytes);
}

void ch_bench_gpu_stage_release(void *area)
{
    free(area);
}

int ch_bench_gpu_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return 0;
}

int ch_bench_gpu_fill(void *to, int byte, size_t bytes)
{
    memset(to, byte, bytes);
    return 0;
}

int ch_bench_gpu_flush(void)
{
    return 0;
}

int ch_bench_gpu_start(void)
{
    return 0;
}

int ch_bench_gpu_stop(double *us_out)
{
    *us_out = 1.0;
    return 0;
}

/* It captures nothing. */
int ch_bench_gpu_capture(void)
{
    return 1;
}

int ch_bench_gpu_captured(struct ch_bench_gpu_graph **graph_out)
{
    (void)graph_out;
    return 1;
}

int ch_bench_gpu_replay(const struct ch_bench_gpu_graph *graph)
{
    (void)graph;
    return 1;
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
