/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_cuda.h: turns errors of the CUDA runtime into errors of the library. */
#ifndef CH_RUNTIME_CUDA_H
#define CH_RUNTIME_CUDA_H

#include "device/device.h"

#include <cuda_runtime_api.h>

/* Records "WHAT on GPU 0 (its name) failed: why", and clears the error of the runtime, so that
 * the program's own checks do not find it. Returns ERR_SYSTEM, or ERR_NOMEM if the GPU is out
 * of memory. */
chorus_status ch_runtime_failed(const struct ch_device *device, const char *what,
                                cudaError_t error);

#define CH_TRY_CUDA(device, what, call)                                                      \
    do {                                                                                     \
        const cudaError_t try_error = (call);                                                \
        if (try_error != cudaSuccess) return ch_runtime_failed((device), (what), try_error); \
    } while (0)

#endif /* CH_RUNTIME_CUDA_H */
