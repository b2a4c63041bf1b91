/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_cuda.h: what the files that call CUDA share: functions of its driver, its errors as
 * errors of the library, the state of a device, and the image of the kernels.
 *
 * The library is not linked with libcuda, which does not exist on machines without a driver;
 * the CUDA runtime finds libcuda and each function in it.
 */
#ifndef CH_DRIVER_CUDA_H
#define CH_DRIVER_CUDA_H

#include "base/error.h"
#include "device/device.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

/* ---- the driver ---- */

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
    X(cuMemGetHandleForAddressRange, 11070) \
    X(cuFlushGPUDirectRDMAWrites, 11030) \
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

/* Look up all these functions. ERR_SYSTEM names the one that is missing. */
CH_MUST_CHECK chorus_status ch_driver_load(struct ch_driver *driver_out);

/* The value of an attribute of a device; 0 if the driver does not know the attribute, so that a
 * feature which it describes counts as absent. */
int ch_driver_attribute(const struct ch_driver *driver, int ordinal,
                        CUdevice_attribute attribute);

/* The properties for ch_device_create: memory of one device, to be shared by handles of this
 * kind. */
CUmemAllocationProp ch_driver_memory_of(int ordinal, CUmemAllocationHandleType kind);

/* ---- a device, for the files of this folder ---- */

struct ch_device {
    struct ch_device_id id;
    struct ch_driver driver;
    void *stream; /* a cudaStream_t that does not synchronise with other streams, not even with
                     the default one */
    int urgent;   /* the highest priority of its streams */
    int compute;  /* of the kernels' image; see ch_image_find */
};

/* Fail because a driver call returned `result`: "WHAT of so many bytes on GPU 0 (its name)
 * failed: why". Returns ERR_SYSTEM, or ERR_NOMEM if the GPU is out of memory. */
chorus_status ch_device_fail_driver(const struct ch_device *device, const char *what,
                                    size_t bytes, CUresult result);

/* ---- errors of the runtime ---- */

/* Fail because the runtime returned `error`: "WHAT on GPU 0 (its name) failed: why"; and clear
 * that error, so that the program's own checks do not find it. Returns ERR_SYSTEM, or ERR_NOMEM
 * if the GPU is out of memory. */
chorus_status ch_device_fail_runtime(const struct ch_device *device, const char *what,
                                     cudaError_t error);

#define CH_TRY_CUDA(device, what, call)                                 \
    do {                                                                \
        const cudaError_t try_error = (call);                           \
        if (try_error != cudaSuccess)                                   \
            return ch_device_fail_runtime((device), (what), try_error); \
    } while (0)

/* ---- the image of the kernels (image_cuda.cu) ---- */

/* The architectures that the kernels of this library are compiled for. All are compiled for the
 * same ones, so one kernel represents all. */

#ifdef __cplusplus
extern "C" {
#endif

/* The architectures in nvcc's notation: "sm_80 sm_90 compute_90". */
const char *ch_image_archs(void);

/*
 * The kernels' image for the current device: *compute_out is the virtual architecture that it
 * was compiled for, 80 for compute_80, whatever it was translated to. Returns a cudaError_t,
 * which is an error if there is no image for the device.
 */
int ch_image_find(int *compute_out);

#ifdef __cplusplus
}
#endif

#endif /* CH_DRIVER_CUDA_H */
