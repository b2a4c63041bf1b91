/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_cuda.h: what the kernels of this folder share: their start, and reports of failures.
 */
#ifndef CH_KERNEL_CUDA_H
#define CH_KERNEL_CUDA_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include "transport/amo.h"
}

/* Report a failure, unless the host has not yet read the previous report. word: of a wait;
 * null: it was an operation on PE pe. */
static inline __device__ void ch_kernel_report(struct ch_wait_report *report, chorus_status st,
                                               const void *word, uint32_t pe)
{
    if (atomicCAS_system(&report->claimed, 0u, 1u) != 0u) return;
    report->word = word;
    report->pe = pe;
    __threadfence_system(); /* the status last */
    *(volatile int *)&report->status = st;
}

static inline chorus_status ch_kernel_result(cudaError_t error)
{
    if (error == cudaSuccess) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_SYSTEM, "a kernel of the library does not start: %s",
                   cudaGetErrorString(error));
}

/* Load a kernel. */
template <typename Args>
static inline chorus_status ch_kernel_load(const struct ch_device *device,
                                           void (*kernel)(const Args))
{
    const int before = ch_device_enter(device);
    struct cudaFuncAttributes is;
    const cudaError_t error = cudaFuncGetAttributes(&is, (const void *)kernel);

    (void)cudaGetLastError();
    ch_device_leave(device, before);
    return ch_kernel_result(error);
}

/* Queue one thread of a kernel on a cudaStream_t. */
template <typename Args>
static inline chorus_status ch_kernel_launch(const struct ch_device *device, void *stream,
                                             void (*kernel)(const Args), const Args *args)
{
    const int before = ch_device_enter(device);
    cudaError_t error;

    kernel<<<1, 1, 0, (cudaStream_t)stream>>>(*args);
    error = cudaGetLastError();
    ch_device_leave(device, before);
    return ch_kernel_result(error);
}

#endif /* CH_KERNEL_CUDA_H */
