/* SPDX-License-Identifier: Apache-2.0 */
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include "transport/amo.h"
}
#include "transport/post.h"

/* Unless the host has not yet read the previous report. */
static __device__ void report_post(const struct ch_post *p, chorus_status st)
{
    struct ch_wait_report *report = p->limit.report;

    if (atomicCAS_system(&report->claimed, 0u, 1u) != 0u) return;
    report->word = NULL;
    report->pe = ch_request_pe(&p->call);
    __threadfence_system(); /* the status last */
    *(volatile int *)&report->status = st;
}

/* Work after the kernel sees what a get has stored: the wait acquires. */
extern "C" __global__ void __launch_bounds__(1)
    ch_k_post(const __grid_constant__ struct ch_post p)
{
    const struct ch_wait_policy policy = {p.limit.aborted, p.limit.timeout_ns};
    const chorus_status st = ch_post_run(&p, &policy);

    if (st != CHORUS_OK) report_post(&p, st);
}

static chorus_status checked(cudaError_t error)
{
    if (error == cudaSuccess) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_SYSTEM, "a kernel for PEs of other hosts does not start: %s",
                   cudaGetErrorString(error));
}

chorus_status ch_post_load(const struct ch_device *device)
{
    const int before = ch_device_enter(device);
    struct cudaFuncAttributes is;
    const cudaError_t error = cudaFuncGetAttributes(&is, (const void *)ch_k_post);

    (void)cudaGetLastError();
    ch_device_leave(device, before);
    return checked(error);
}

chorus_status ch_post_launch(const struct ch_device *device, void *stream,
                             const struct ch_post *post)
{
    const int before = ch_device_enter(device);
    cudaError_t error;

    ch_k_post<<<1, 1, 0, (cudaStream_t)stream>>>(*post);
    error = cudaGetLastError();
    ch_device_leave(device, before);
    return checked(error);
}
