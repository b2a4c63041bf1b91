/* SPDX-License-Identifier: Apache-2.0 */
/* A build without CUDA: no object is on a GPU, so nothing here is reached but the questions. */
#include "bench/gpu.h"

#include "chorus/status.h"

bool ch_gpu_holds(const void *address)
{
    (void)address;
    return false;
}

const char *ch_gpu_reason(void)
{
    return "built without CUDA";
}

int ch_gpu_open(const void *address, void **stream_out)
{
    (void)address;
    (void)stream_out;
    return CHORUS_ERR_SYSTEM;
}

void ch_gpu_close(void)
{
}

void *ch_gpu_allocate(size_t bytes)
{
    (void)bytes;
    return NULL;
}

void ch_gpu_release(void *area)
{
    (void)area;
}

void *ch_gpu_stage_allocate(size_t bytes)
{
    (void)bytes;
    return NULL;
}

void ch_gpu_stage_release(void *area)
{
    (void)area;
}

int ch_gpu_copy(void *to, const void *from, size_t bytes)
{
    (void)to;
    (void)from;
    (void)bytes;
    return CHORUS_ERR_SYSTEM;
}

int ch_gpu_fill(void *to, int byte, size_t bytes)
{
    (void)to;
    (void)byte;
    (void)bytes;
    return CHORUS_ERR_SYSTEM;
}

int ch_gpu_flush(void)
{
    return CHORUS_ERR_SYSTEM;
}

int ch_gpu_start(void)
{
    return CHORUS_ERR_SYSTEM;
}

int ch_gpu_stop(double *us_out)
{
    (void)us_out;
    return CHORUS_ERR_SYSTEM;
}

int ch_gpu_capture(void)
{
    return CHORUS_ERR_SYSTEM;
}

int ch_gpu_captured(struct ch_gpu_graph **graph_out)
{
    (void)graph_out;
    return CHORUS_ERR_SYSTEM;
}

int ch_gpu_replay(const struct ch_gpu_graph *graph)
{
    (void)graph;
    return CHORUS_ERR_SYSTEM;
}

void ch_gpu_forget(struct ch_gpu_graph *graph)
{
    (void)graph;
}

bool ch_gpu_describe(struct ch_gpu_facts *facts_out)
{
    (void)facts_out;
    return false;
}
