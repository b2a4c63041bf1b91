/* SPDX-License-Identifier: Apache-2.0 */
/* multicast_cuda.c: multicast objects of the driver. These functions are called only with
 * CHORUS_NVLS=1; they have been compiled and reviewed, never run. */
#include "device/state_cuda.h"

#include <stdio.h>

static chorus_status failed(const struct ch_device *d, const char *what, size_t bytes,
                            CUresult result)
{
    char text[80];

    (void)snprintf(text, sizeof(text), "%s (CHORUS_NVLS=0 disables multicast)", what);
    return ch_device_failed(d, text, bytes, result);
}

static chorus_status create(const struct ch_device *d, const CUmulticastObjectProp *is,
                            uint64_t *handle_out, int *fd_out)
{
    CUmemGenericAllocationHandle handle = 0;
    CUresult result = d->driver.cuMulticastCreate(&handle, is);
    int fd = -1;

    if (result != CUDA_SUCCESS)
        return failed(d, "creating a multicast object", is->size, result);
    result = d->driver.cuMemExportToShareableHandle(
        &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result != CUDA_SUCCESS) {
        (void)d->driver.cuMemRelease(handle);
        return failed(d, "sharing a multicast object", is->size, result);
    }
    *handle_out = handle;
    *fd_out = fd;
    return CHORUS_OK;
}

chorus_status ch_device_multicast_create(const struct ch_device *device, uint32_t n,
                                         size_t bytes, uint64_t *handle_out, int *fd_out)
{
    const CUmulticastObjectProp is = {
        .numDevices = n,
        .size = bytes,
        .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    };
    const int before = ch_device_enter(device);
    const chorus_status status = create(device, &is, handle_out, fd_out);

    ch_device_leave(device, before);
    return status;
}

chorus_status ch_device_multicast_join(const struct ch_device *device, uint64_t multicast)
{
    const int before = ch_device_enter(device);
    const CUresult result =
        device->driver.cuMulticastAddDevice(multicast, (CUdevice)device->id.ordinal);

    ch_device_leave(device, before);
    return result == CUDA_SUCCESS ? CHORUS_OK
                                  : failed(device, "joining a multicast object", 0, result);
}

chorus_status ch_device_multicast_bind(const struct ch_device *device, uint64_t multicast,
                                       uint64_t memory, size_t bytes)
{
    const int before = ch_device_enter(device);
    const CUresult result =
        device->driver.cuMulticastBindMem(multicast, 0, memory, 0, bytes, 0);

    ch_device_leave(device, before);
    return result == CUDA_SUCCESS ? CHORUS_OK
                                  : failed(device, "binding to multicast", bytes, result);
}

void ch_device_multicast_unbind(const struct ch_device *device, uint64_t multicast,
                                size_t bytes)
{
    const int before = ch_device_enter(device);

    (void)device->driver.cuMulticastUnbind(multicast, (CUdevice)device->id.ordinal, 0, bytes);
    ch_device_leave(device, before);
}
