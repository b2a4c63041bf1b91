/* SPDX-License-Identifier: Apache-2.0 */
/* state_cuda.h: the state of a device; only for the files of this folder. */
#ifndef CH_DEVICE_STATE_CUDA_H
#define CH_DEVICE_STATE_CUDA_H

#include "device/device.h"
#include "device/driver_cuda.h"

#include <cuda_runtime_api.h>

struct ch_device {
    struct ch_device_id id;
    struct ch_driver driver;
    cudaStream_t
        stream;  /* does not synchronise with other streams, not even with the default one */
    int compute; /* of the kernels' image, see image_cuda.h */
};

/* Records the failure of a driver call, with its message. */
chorus_status ch_device_failed(const struct ch_device *device, const char *what, size_t bytes,
                               CUresult result);

#endif /* CH_DEVICE_STATE_CUDA_H */
