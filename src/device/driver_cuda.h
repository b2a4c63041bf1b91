/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_cuda.h: functions of the CUDA driver. The library is not linked with libcuda, which
 * does not exist on machines without a driver; the CUDA runtime finds libcuda and each
 * function in it.
 */
#ifndef CH_DRIVER_CUDA_H
#define CH_DRIVER_CUDA_H

#include "base/error.h"

#include <cuda.h>
#include <cudaTypedefs.h>

/* clang-format off */
/* Name of the function, and the version of CUDA whose form of it is used. */
#define CH_DRIVER_LIST(X)             \
    X(cuGetErrorString, 6000)               \
    X(cuCtxGetCurrent, 4000)          \
    X(cuCtxGetDevice, 2000)           \
    X(cuDeviceGetAttribute, 2000)     \
    X(cuMemGetAllocationGranularity, 10020) \
    X(cuMemAddressReserve, 10020)     \
    X(cuMemAddressFree, 10020)        \
    X(cuMemCreate, 10020)             \
    X(cuMemRelease, 10020)            \
    X(cuMemMap, 10020)                \
    X(cuMemUnmap, 10020)              \
    X(cuMemSetAccess, 10020)          \
    X(cuMemExportToShareableHandle, 10020) \
    X(cuMemImportFromShareableHandle, 10020) \
    X(cuMemRetainAllocationHandle, 11000) \
    X(cuMemGetAllocationPropertiesFromHandle, 10020) \
    X(cuPointerGetAttribute, 4000) \
    X(cuMulticastCreate, 12010)       \
    X(cuMulticastAddDevice, 12010)    \
    X(cuMulticastBindMem, 12010)      \
    X(cuMulticastUnbind, 12010)       \
    X(cuStreamWriteValue32, 11070)    \
    X(cuStreamWriteValue64, 11070)    \
    X(cuStreamWaitValue64, 11070)
/* clang-format on */

struct ch_driver {
#define X(call, version) PFN_##call##_v##version call;
    CH_DRIVER_LIST(X)
#undef X
};

/* Look up all of them. ERR_SYSTEM names the one that is missing. */
CH_MUST_CHECK chorus_status ch_driver_load(struct ch_driver *driver_out);

/* The properties for ch_device_create: memory of one device, to be shared by handles of this
 * kind. */
CUmemAllocationProp ch_driver_memory_of(int ordinal, CUmemAllocationHandleType kind);

#endif /* CH_DRIVER_CUDA_H */
