/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_cuda.c: address ranges and memory of a device, the two kinds of handles by which
 * processes share it, dma-bufs by which adapters access it, and multicast objects of the
 * driver.
 */
#include "device/driver_cuda.h"

#include "base/error.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* ---- addresses and mappings ---- */

/* Mappings of this process are made and undone one at a time: some drivers (for example
 * 580.159) free memory that is in use, and crash, when PEs that are threads unmap the same
 * memory from two GPUs at the same time. */
static pthread_mutex_t mapping = PTHREAD_MUTEX_INITIALIZER;

chorus_status ch_device_reserve(const struct ch_device *device, size_t bytes, char **base_out)
{
    CUdeviceptr base = 0;
    const int before = ch_device_enter(device);
    const CUresult result = device->driver.cuMemAddressReserve(&base, bytes, 0, 0, 0);

    ch_device_leave(device, before);
    if (result != CUDA_SUCCESS)
        return ch_device_fail_driver(device, "reserving addresses (lower CHORUS_HEAP_MAX)",
                                     bytes, result);
    *base_out = (char *)(uintptr_t)base;
    return CHORUS_OK;
}

void ch_device_unreserve(const struct ch_device *device, char *base, size_t bytes)
{
    const int before = ch_device_enter(device);

    (void)device->driver.cuMemAddressFree((CUdeviceptr)(uintptr_t)base, bytes);
    ch_device_leave(device, before);
}

chorus_status ch_device_map(const struct ch_device *device, char *at, size_t bytes,
                            uint64_t handle)
{
    const CUdeviceptr address = (CUdeviceptr)(uintptr_t)at;
    const CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->id.ordinal},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    const int before = ch_device_enter(device);
    const char *what = "mapping memory";
    CUresult result;

    (void)pthread_mutex_lock(&mapping);
    result = device->driver.cuMemMap(address, bytes, 0, handle, 0);
    if (result == CUDA_SUCCESS) {
        what = "access to mapped memory (peer access may be missing)";
        result = device->driver.cuMemSetAccess(address, bytes, &access, 1);
        if (result != CUDA_SUCCESS) (void)device->driver.cuMemUnmap(address, bytes);
    }
    (void)pthread_mutex_unlock(&mapping);
    ch_device_leave(device, before);
    return result == CUDA_SUCCESS ? CHORUS_OK
                                  : ch_device_fail_driver(device, what, bytes, result);
}

void ch_device_unmap(const struct ch_device *device, char *at, size_t bytes)
{
    const int before = ch_device_enter(device);

    (void)pthread_mutex_lock(&mapping);
    (void)device->driver.cuMemUnmap((CUdeviceptr)(uintptr_t)at, bytes);
    (void)pthread_mutex_unlock(&mapping);
    ch_device_leave(device, before);
}

/* ---- memory and its handles ---- */

/* The driver's kind of handle for a pass. */
static CUmemAllocationHandleType kind_of(bool by_fabric)
{
    return by_fabric ? CU_MEM_HANDLE_TYPE_FABRIC : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

/* Allocate memory, and make its pass. Needs a context; a failure leaves nothing allocated, and
 * *what_out names the step that failed. */
static CUresult create_memory(const struct ch_device *d, size_t bytes, bool by_fabric,
                              CUmemGenericAllocationHandle *handle_out,
                              struct ch_pass *pass_out, const char **what_out)
{
    const CUmemAllocationHandleType kind = kind_of(by_fabric);
    CUmemAllocationProp memory = ch_driver_memory_of(d->id.ordinal, kind);
    struct ch_pass pass = {.fd = -1};
    void *to = by_fabric ? (void *)pass.fabric : (void *)&pass.fd;
    CUmemGenericAllocationHandle handle = 0;
    CUresult result;

    _Static_assert(sizeof(CUmemFabricHandle) == CH_FABRIC_BYTES, "a fabric handle must fit");
    memory.allocFlags.gpuDirectRDMACapable =
        ch_driver_attribute(&d->driver, d->id.ordinal,
                            CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED) != 0;
    *what_out = "an allocation";
    result = d->driver.cuMemCreate(&handle, bytes, &memory, 0);
    if (result != CUDA_SUCCESS) return result;
    *what_out = "sharing an allocation";
    result = d->driver.cuMemExportToShareableHandle(to, handle, kind, 0);
    if (result != CUDA_SUCCESS) {
        (void)d->driver.cuMemRelease(handle);
        return result;
    }
    *handle_out = handle;
    *pass_out = pass;
    return CUDA_SUCCESS;
}

/* Can a fabric handle be made for memory of this size? Without an IMEX channel that the user
 * may open, the driver permits none. */
static bool can_make_fabric(const struct ch_device *d, size_t bytes)
{
    CUmemGenericAllocationHandle handle = 0;
    struct ch_pass pass;
    const char *what = NULL, *why = NULL;
    const CUresult result = create_memory(d, bytes, true, &handle, &pass, &what);

    if (result == CUDA_SUCCESS) {
        (void)d->driver.cuMemRelease(handle);
        return true;
    }
    (void)d->driver.cuGetErrorString(result, &why);
    CH_LOG(DEBUG, "no fabric handles: %s on GPU %d (%s) is refused: %s%s", what, d->id.ordinal,
           d->id.name, why != NULL ? why : "unknown error",
           result == CUDA_ERROR_NOT_PERMITTED ? "; is there an IMEX channel?" : "");
    return false;
}

bool ch_device_offers_fabric(const struct ch_device *device, size_t bytes)
{
    const int before = ch_device_enter(device);
    const bool claims =
        ch_driver_attribute(&device->driver, device->id.ordinal,
                            CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED) != 0;
    const bool offers = claims && can_make_fabric(device, bytes);

    ch_device_leave(device, before);
    if (!claims)
        CH_LOG(DEBUG, "no fabric handles: GPU %d (%s) has none", device->id.ordinal,
               device->id.name);
    return offers;
}

chorus_status ch_device_create(const struct ch_device *device, size_t bytes, bool by_fabric,
                               uint64_t *handle_out, struct ch_pass *pass_out)
{
    const int before = ch_device_enter(device);
    CUmemGenericAllocationHandle handle = 0;
    const char *what = NULL;
    const CUresult result = create_memory(device, bytes, by_fabric, &handle, pass_out, &what);

    ch_device_leave(device, before);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        what = "an allocation (end other work on the GPU, or raise the limit that MPS sets)";
    if (result != CUDA_SUCCESS) return ch_device_fail_driver(device, what, bytes, result);
    *handle_out = handle;
    return CHORUS_OK;
}

static chorus_status fail_import(const struct ch_device *d, bool by_fabric, CUresult result)
{
    const char *why = NULL;

    (void)d->driver.cuGetErrorString(result, &why);
    return CH_FAIL(CHORUS_ERR_SYSTEM, "GPU %d (%s) cannot import a peer's memory by %s: %s%s",
                   d->id.ordinal, d->id.name, by_fabric ? "fabric handle" : "descriptor",
                   why != NULL ? why : "unknown error",
                   by_fabric ? "; give all PEs one IMEX channel, or set CHORUS_FABRIC=0" : "");
}

chorus_status ch_device_import(const struct ch_device *device, const struct ch_pass *pass,
                               uint64_t *handle_out)
{
    const bool by_fabric = pass->fd < 0;
    struct ch_pass copy = *pass; /* the driver's parameter is not const */
    void *from = by_fabric ? (void *)copy.fabric : (void *)(intptr_t)pass->fd;
    const int before = ch_device_enter(device);
    CUmemGenericAllocationHandle handle = 0;
    const CUresult result =
        device->driver.cuMemImportFromShareableHandle(&handle, from, kind_of(by_fabric));

    ch_device_leave(device, before);
    if (result != CUDA_SUCCESS) return fail_import(device, by_fabric, result);
    *handle_out = handle;
    return CHORUS_OK;
}

/* An error unless the mapping at `at` has `bytes`, and is memory of this device that handles of
 * this kind share; is: its properties. */
static chorus_status check_mapping(const struct ch_device *d, void *at, size_t bytes,
                                   CUmemAllocationHandleType kind,
                                   const CUmemAllocationProp *is)
{
    const bool by_fabric = kind == CU_MEM_HANDLE_TYPE_FABRIC;
    const CUdeviceptr address = (CUdeviceptr)(uintptr_t)at;
    CUdeviceptr base = 0;
    size_t mapped = 0;

    if ((is->requestedHandleTypes & kind) == 0)
        return CH_FAIL(
            CHORUS_ERR_UNSUPPORTED,
            "%p is memory that was made to be shared by no %s; ask cuMemCreate for "
            "CU_MEM_HANDLE_TYPE_%s",
            at, by_fabric ? "fabric handle, as peers of other hosts need" : "file descriptor",
            by_fabric ? "FABRIC" : "POSIX_FILE_DESCRIPTOR");
    if (is->location.type != CU_MEM_LOCATION_TYPE_DEVICE || is->location.id != d->id.ordinal)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "%p is memory of another device than GPU %d (%s), where the heap is", at,
                       d->id.ordinal, d->id.name);
    if (d->driver.cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
                                        address) != CUDA_SUCCESS ||
        d->driver.cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, address) !=
            CUDA_SUCCESS)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "the driver does not say what is mapped at %p",
                       at);
    if (base == address && mapped == bytes) return CHORUS_OK;
    return CH_FAIL(
        CHORUS_ERR_ARG,
        "%zu bytes at %p are not all that was mapped there at once; expected the %zu "
        "bytes at %p",
        bytes, at, mapped, (void *)(uintptr_t)base);
}

/* Check memory whose handle was retained, and make its pass. Needs a context. */
static chorus_status export_retained(const struct ch_device *d, void *at, size_t bytes,
                                     bool by_fabric, CUmemGenericAllocationHandle handle,
                                     struct ch_pass *pass_out)
{
    CUmemAllocationProp is;
    CUresult result = d->driver.cuMemGetAllocationPropertiesFromHandle(&is, handle);
    struct ch_pass pass = {.fd = -1};
    void *to = by_fabric ? (void *)pass.fabric : (void *)&pass.fd;

    if (result != CUDA_SUCCESS)
        return ch_device_fail_driver(d, "asking about memory", bytes, result);
    CH_TRY(check_mapping(d, at, bytes, kind_of(by_fabric), &is));
    result = d->driver.cuMemExportToShareableHandle(to, handle, kind_of(by_fabric), 0);
    if (result != CUDA_SUCCESS)
        return ch_device_fail_driver(d, "sharing memory", bytes, result);
    *pass_out = pass;
    return CHORUS_OK;
}

/* As ch_device_retain. Needs a context; a failure retains nothing. */
static chorus_status retain_handle(const struct ch_device *d, void *at, size_t bytes,
                                   bool by_fabric, CUmemGenericAllocationHandle *handle_out,
                                   struct ch_pass *pass_out)
{
    chorus_status st;

    if (d->driver.cuMemRetainAllocationHandle(handle_out, at) != CUDA_SUCCESS)
        return CH_FAIL(
            CHORUS_ERR_UNSUPPORTED,
            "%p is no memory of cuMemCreate and cuMemMap, and no other can be mapped "
            "to peers (cudaMalloc's cannot); allocate it so, or by chorus_malloc",
            at);
    st = export_retained(d, at, bytes, by_fabric, *handle_out, pass_out);
    if (st != CHORUS_OK) (void)d->driver.cuMemRelease(*handle_out);
    return st;
}

chorus_status ch_device_retain(const struct ch_device *device, void *at, size_t bytes,
                               bool by_fabric, uint64_t *handle_out, struct ch_pass *pass_out)
{
    const int before = ch_device_enter(device);
    CUmemGenericAllocationHandle handle = 0;
    const chorus_status st = retain_handle(device, at, bytes, by_fabric, &handle, pass_out);

    ch_device_leave(device, before);
    if (st == CHORUS_OK) *handle_out = handle;
    return st;
}

/* Ask the driver for a dma-buf of whole pages, if it says that it makes any. */
static CUresult make_dma_buf(const struct ch_device *d, uintptr_t lo, uintptr_t hi, int *fd_out)
{
    if (ch_driver_attribute(&d->driver, d->id.ordinal, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) ==
        0)
        return CUDA_ERROR_NOT_SUPPORTED;
    return d->driver.cuMemGetHandleForAddressRange(fd_out, (CUdeviceptr)lo, hi - lo,
                                                   CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
}

chorus_status ch_device_dma_buf(const struct ch_device *device, const void *at, size_t bytes,
                                int *fd_out, uint64_t *offset_out)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), lo = (uintptr_t)at / page * page,
                    hi = ((uintptr_t)at + bytes + page - 1) / page * page;
    const int before = ch_device_enter(device);
    const char *why = NULL;
    int fd = -1;
    const CUresult result = make_dma_buf(device, lo, hi, &fd);

    ch_device_leave(device, before);
    if (result == CUDA_SUCCESS) {
        *fd_out = fd;
        *offset_out = (uintptr_t)at - lo;
        return CHORUS_OK;
    }
    (void)device->driver.cuGetErrorString(result, &why);
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                   "no dma-buf of %zu bytes at %p on GPU %d (%s), by which adapters access its "
                   "memory: %s; %s",
                   bytes, at, device->id.ordinal, device->id.name,
                   why != NULL ? why : "unknown error",
                   result == CUDA_ERROR_NOT_SUPPORTED
                       ? "this needs NVIDIA's open kernel modules, and Linux 5.12"
                       : "all of its pages must be mapped memory of this GPU");
}

chorus_status ch_device_flush_rdma(const struct ch_device *device)
{
    const int before = ch_device_enter(device);
    const CUresult result = device->driver.cuFlushGPUDirectRDMAWrites(
        CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
        CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES);

    ch_device_leave(device, before);
    return result == CUDA_SUCCESS
               ? CHORUS_OK
               : ch_device_fail_driver(device, "flushing writes of adapters", 0, result);
}

void ch_device_release(const struct ch_device *device, uint64_t handle)
{
    const int before = ch_device_enter(device);

    (void)device->driver.cuMemRelease(handle);
    ch_device_leave(device, before);
}

/* ---- multicast objects ---- */

/* These functions are called only with CHORUS_NVLS=1; they have been compiled and reviewed,
 * never run. */

static chorus_status fail_multicast(const struct ch_device *d, const char *what, size_t bytes,
                                    CUresult result)
{
    char text[80];

    (void)snprintf(text, sizeof(text), "%s (CHORUS_NVLS=0 disables multicast)", what);
    return ch_device_fail_driver(d, text, bytes, result);
}

/* As ch_device_multicast_create, with a context; a failure leaves no object. */
static chorus_status create_multicast(const struct ch_device *d,
                                      const CUmulticastObjectProp *is, uint64_t *handle_out,
                                      int *fd_out)
{
    CUmemGenericAllocationHandle handle = 0;
    CUresult result = d->driver.cuMulticastCreate(&handle, is);
    int fd = -1;

    if (result != CUDA_SUCCESS)
        return fail_multicast(d, "creating a multicast object", is->size, result);
    result = d->driver.cuMemExportToShareableHandle(
        &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result != CUDA_SUCCESS) {
        (void)d->driver.cuMemRelease(handle);
        return fail_multicast(d, "sharing a multicast object", is->size, result);
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
    const chorus_status status = create_multicast(device, &is, handle_out, fd_out);

    ch_device_leave(device, before);
    return status;
}

chorus_status ch_device_multicast_join(const struct ch_device *device, uint64_t multicast)
{
    const int before = ch_device_enter(device);
    const CUresult result =
        device->driver.cuMulticastAddDevice(multicast, (CUdevice)device->id.ordinal);

    ch_device_leave(device, before);
    return result == CUDA_SUCCESS
               ? CHORUS_OK
               : fail_multicast(device, "joining a multicast object", 0, result);
}

chorus_status ch_device_multicast_bind(const struct ch_device *device, uint64_t multicast,
                                       uint64_t memory, size_t bytes)
{
    const int before = ch_device_enter(device);
    const CUresult result =
        device->driver.cuMulticastBindMem(multicast, 0, memory, 0, bytes, 0);

    ch_device_leave(device, before);
    return result == CUDA_SUCCESS
               ? CHORUS_OK
               : fail_multicast(device, "binding to multicast", bytes, result);
}

void ch_device_multicast_unbind(const struct ch_device *device, uint64_t multicast,
                                size_t bytes)
{
    const int before = ch_device_enter(device);

    (void)device->driver.cuMulticastUnbind(multicast, (CUdevice)device->id.ordinal, 0, bytes);
    ch_device_leave(device, before);
}
