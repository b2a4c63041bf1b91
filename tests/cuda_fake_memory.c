/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_fake_memory.c: memory of the runtime, and the driver's calls. */
#include "cuda_fake.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

CUresult cuda_fake_context(CUcontext *context);
CUresult cuda_fake_context_device(CUdevice *device);

static void count(int *what, int by)
{
    (void)__atomic_fetch_add(what, by, __ATOMIC_RELAXED);
}

/* Does an operation on memory that is to come now fail? */
static int is_bad(void)
{
    int device = 0;

    (void)cudaGetDevice(&device);
    return device == cuda_fake.bad_memory &&
           __atomic_fetch_sub(&cuda_fake.sound_operations, 1, __ATOMIC_RELAXED) <= 0;
}

/* What is copied so far can be seen now, also where threads share a core. Which copies do so is
 * no pattern that what a test repeats could follow. */
static void give_way(void)
{
    static unsigned copies;
    unsigned number;

    if (cuda_fake.yields == 0) return;
    number = __atomic_fetch_add(&copies, 1, __ATOMIC_RELAXED) * 0x9e3779b9u;
    if ((number >> 16) % cuda_fake.yields == 0) (void)sched_yield();
}

/* --- the runtime ------------------------------------------------------------------------- */
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)kind;
    if (is_bad()) return cudaErrorLaunchFailure;
    if (cuda_fake_put(stream) != cudaSuccess) return cudaErrorStreamCaptureImplicit;
    cuda_fake_note(FAKE_COPY, stream, dst);
    memmove(dst, src, bytes);
    give_way();
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    for (size_t row = 0; row < height; row++) {
        const cudaError_t error =
            cudaMemcpyAsync((char *)dst + row * dst_pitch, (const char *)src + row * src_pitch,
                            width, kind, stream);

        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    if (is_bad()) return cudaErrorLaunchFailure;
    memset(dst, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **ptr, size_t bytes, unsigned flags)
{
    int device = 0;

    (void)flags;
    (void)cudaGetDevice(&device);
    if (device == cuda_fake.bad_device) return cudaErrorMemoryAllocation;
    *ptr = calloc(1, bytes);
    count(&cuda_fake.pinned, 1);
    return *ptr == NULL ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaFreeHost(void *ptr)
{
    if (ptr != NULL) count(&cuda_fake.pinned, -1);
    free(ptr);
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *ptr, size_t bytes, unsigned flags)
{
    (void)ptr, (void)flags;
    if (bytes > cuda_fake.pinned_bytes_max) return cudaErrorMemoryAllocation;
    count(&cuda_fake.pinned, 1);
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *ptr)
{
    (void)ptr;
    count(&cuda_fake.pinned, -1);
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *is, const void *ptr)
{
    const int is_host = ptr != NULL && ptr == cuda_fake.registered;

    count(&cuda_fake.address_queries, 1);
    *is = (struct cudaPointerAttributes){
        .type = is_host                                  ? cudaMemoryTypeHost
                : ptr != NULL && ptr == cuda_fake.on_gpu ? cudaMemoryTypeDevice
                                                         : cudaMemoryTypeUnregistered,
        .devicePointer = is_host ? cuda_fake.registered : NULL};
    return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    (void)flags;
    *device = host;
    return cudaSuccess;
}

/* --- the driver -------------------------------------------------------------------------- */
static CUresult error_string(CUresult error, const char **text)
{
    *text = error == CUDA_ERROR_OUT_OF_MEMORY   ? "out of memory"
            : error == CUDA_ERROR_NOT_PERMITTED ? "not permitted"
                                                : "the test says no";
    return CUDA_SUCCESS;
}

static CUresult attribute(int *has, CUdevice_attribute which, CUdevice device)
{
    (void)device;
    *has = which != cuda_fake.lacks;
    if (which == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING)
        *has = cuda_fake.rdma_order;
    if (which == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS)
        *has = cuda_fake.rdma_flush;
    return CUDA_SUCCESS;
}

static CUresult granularity(size_t *bytes, const CUmemAllocationProp *memory,
                            CUmemAllocationGranularity_flags flags)
{
    (void)memory, (void)flags;
    *bytes = cuda_fake.granule_bytes;
    return CUDA_SUCCESS;
}

static CUresult reserve(CUdeviceptr *base, size_t bytes, size_t align, CUdeviceptr at,
                        unsigned long long flags)
{
    void *range =
        mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    (void)align, (void)at, (void)flags;
    if (cuda_fake.has_no_addresses || range == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    *base = (CUdeviceptr)(uintptr_t)range;
    count(&cuda_fake.ranges, 1);
    return CUDA_SUCCESS;
}

static CUresult unreserve(CUdeviceptr base, size_t bytes)
{
    count(&cuda_fake.ranges, -1);
    return munmap((void *)(uintptr_t)base, bytes) == 0 ? CUDA_SUCCESS
                                                       : CUDA_ERROR_INVALID_VALUE;
}

static int is_fabric(CUmemAllocationHandleType type)
{
    return type == CU_MEM_HANDLE_TYPE_FABRIC;
}

/* A handle is a descriptor; a fabric handle names it to other processes. */
static CUresult create(CUmemGenericAllocationHandle *handle, size_t bytes,
                       const CUmemAllocationProp *memory, unsigned long long flags)
{
    int fd;

    (void)flags;
    if (is_fabric(memory->requestedHandleTypes) && cuda_fake.fabric_error != CUDA_SUCCESS)
        return cuda_fake.fabric_error;
    if (cuda_fake.is_full) return CUDA_ERROR_OUT_OF_MEMORY;
    fd = memfd_create("fake", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) return CUDA_ERROR_OPERATING_SYSTEM;
    *handle = (CUmemGenericAllocationHandle)fd;
    count(&cuda_fake.handles, 1);
    count(&cuda_fake.rdma_capable, memory->allocFlags.gpuDirectRDMACapable);
    return CUDA_SUCCESS;
}

static CUresult release(CUmemGenericAllocationHandle handle)
{
    count(&cuda_fake.handles, -1);
    return close((int)handle) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Long enough for another thread to come in. */
static void begin_mapping(void)
{
    const struct timespec pause = {.tv_nsec = 200000};
    const int now = __atomic_add_fetch(&cuda_fake.mapping, 1, __ATOMIC_SEQ_CST);
    int most = __atomic_load_n(&cuda_fake.mapping_at_once, __ATOMIC_SEQ_CST);

    while (now > most && !__atomic_compare_exchange_n(&cuda_fake.mapping_at_once, &most, now, 0,
                                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    (void)nanosleep(&pause, NULL);
}

static void end_mapping(void)
{
    (void)__atomic_sub_fetch(&cuda_fake.mapping, 1, __ATOMIC_SEQ_CST);
}

static CUresult map(CUdeviceptr at, size_t bytes, size_t offset,
                    CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    void *const here = (void *)(uintptr_t)at;
    void *mapped;

    (void)offset, (void)flags;
    count(&cuda_fake.mappings, 1);
    begin_mapping();
    mapped = mmap(here, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, (int)handle, 0);
    end_mapping();
    return mapped == here ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult unmap(CUdeviceptr at, size_t bytes)
{
    void *unmapped;

    count(&cuda_fake.mappings, -1);
    begin_mapping();
    unmapped = mmap((void *)(uintptr_t)at, bytes, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    end_mapping();
    return unmapped != MAP_FAILED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult set_access(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *access,
                           size_t n)
{
    (void)at, (void)bytes, (void)access, (void)n;
    return cuda_fake.access_error;
}

static CUresult export_handle(void *to, CUmemGenericAllocationHandle handle,
                              CUmemAllocationHandleType type, unsigned long long flags)
{
    (void)flags;
    count(is_fabric(type) ? &cuda_fake.fabric_handles : &cuda_fake.descriptors, 1);
    if (is_fabric(type)) {
        (void)snprintf(to, sizeof(CUmemFabricHandle), "/proc/%d/fd/%d", (int)getpid(),
                       (int)handle);
        return CUDA_SUCCESS;
    }
    *(int *)to = fcntl((int)handle, F_DUPFD_CLOEXEC, 0);
    return *(int *)to >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

static CUresult import_handle(CUmemGenericAllocationHandle *handle, void *from,
                              CUmemAllocationHandleType type)
{
    int copy;

    if (is_fabric(type) && cuda_fake.import_error != CUDA_SUCCESS)
        return cuda_fake.import_error;
    copy = is_fabric(type) ? open(from, O_RDWR | O_CLOEXEC)
                           : fcntl((int)(intptr_t)from, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    *handle = (CUmemGenericAllocationHandle)copy;
    count(&cuda_fake.handles, 1);
    return CUDA_SUCCESS;
}

/* A file of that length; as the driver, only of whole pages. */
static CUresult get_range_handle(void *to, CUdeviceptr at, size_t bytes,
                                 CUmemRangeHandleType type, unsigned long long flags)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int fd;

    if (cuda_fake.dma_buf_error != CUDA_SUCCESS) return cuda_fake.dma_buf_error;
    if (type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags != 0 || at % page != 0 ||
        bytes % page != 0)
        return CUDA_ERROR_INVALID_VALUE;
    fd = memfd_create("fake dma-buf", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) return CUDA_ERROR_OPERATING_SYSTEM;
    cuda_fake.dma_buf_lo = (uintptr_t)at;
    cuda_fake.dma_buf_hi = (uintptr_t)at + bytes;
    *(int *)to = fd;
    return CUDA_SUCCESS;
}

static CUresult flush_rdma(CUflushGPUDirectRDMAWritesTarget target,
                           CUflushGPUDirectRDMAWritesScope scope)
{
    if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
        scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES ||
        cuda_fake.rdma_flush != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    count(&cuda_fake.rdma_flushes, 1);
    return CUDA_SUCCESS;
}

static int is_program(const char *at)
{
    return cuda_fake.program != NULL && at >= cuda_fake.program &&
           at < cuda_fake.program + cuda_fake.program_bytes;
}

static CUresult retain(CUmemGenericAllocationHandle *handle, void *at)
{
    if (!is_program(at)) return CUDA_ERROR_INVALID_VALUE;
    return import_handle(handle, (void *)(intptr_t)cuda_fake.program_fd,
                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

static CUresult properties(CUmemAllocationProp *is, CUmemGenericAllocationHandle handle)
{
    (void)handle;
    *is = cuda_fake.program_is;
    return CUDA_SUCCESS;
}

static CUresult pointer_attribute(void *to, CUpointer_attribute which, CUdeviceptr at)
{
    if (!is_program((const char *)(uintptr_t)at)) return CUDA_ERROR_INVALID_VALUE;
    if (which == CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR)
        *(CUdeviceptr *)to = (CUdeviceptr)(uintptr_t)cuda_fake.program;
    else
        *(size_t *)to = cuda_fake.program_bytes;
    return CUDA_SUCCESS;
}

static CUresult write_32(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags)
{
    (void)stream, (void)flags;
    if (is_bad()) return CUDA_ERROR_LAUNCH_FAILED;
    __atomic_store_n((uint32_t *)(uintptr_t)at, value, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
}

static CUresult write_64(CUstream stream, CUdeviceptr at, cuuint64_t value, unsigned flags)
{
    (void)stream, (void)flags;
    if (is_bad()) return CUDA_ERROR_LAUNCH_FAILED;
    __atomic_store_n((uint64_t *)(uintptr_t)at, value, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
}

/* What a stream waits for has come about here: kernels run when they are launched. */
static CUresult wait_64(CUstream stream, CUdeviceptr at, cuuint64_t value, unsigned flags)
{
    const uint64_t *word = (const uint64_t *)(uintptr_t)at;

    if (flags != CU_STREAM_WAIT_VALUE_GEQ || (*word != value && !cuda_fake.may_wait))
        return CUDA_ERROR_INVALID_VALUE;
    cuda_fake_wait(stream, word, value);
    return cudaStreamWaitEvent(stream, NULL, 0) == cudaSuccess ? CUDA_SUCCESS
                                                               : CUDA_ERROR_LAUNCH_FAILED;
}

/* A multicast object, which has no memory of its own: all devices are added before one binds.
 */
static CUresult multicast_create(CUmemGenericAllocationHandle *handle,
                                 const CUmulticastObjectProp *is)
{
    const CUmemAllocationProp memory = {.requestedHandleTypes =
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};

    if ((int)is->numDevices != cuda_fake.n_devices) return CUDA_ERROR_INVALID_VALUE;
    count(&cuda_fake.multicasts, 1);
    return create(handle, is->size, &memory, 0);
}

static CUresult multicast_add(CUmemGenericAllocationHandle handle, CUdevice device)
{
    (void)handle;
    if (device == cuda_fake.bad_multicast) return CUDA_ERROR_NOT_SUPPORTED;
    count(&cuda_fake.joined, 1);
    return CUDA_SUCCESS;
}

static CUresult multicast_bind(CUmemGenericAllocationHandle handle, size_t at,
                               CUmemGenericAllocationHandle memory, size_t memory_at,
                               size_t bytes, unsigned long long flags)
{
    (void)handle, (void)at, (void)memory, (void)memory_at, (void)bytes, (void)flags;
    if (cuda_fake.joined != cuda_fake.multicasts * cuda_fake.n_devices)
        return CUDA_ERROR_INVALID_VALUE;
    count(&cuda_fake.bound, 1);
    return CUDA_SUCCESS;
}

static CUresult multicast_unbind(CUmemGenericAllocationHandle handle, CUdevice device,
                                 size_t at, size_t bytes)
{
    (void)handle, (void)device, (void)at, (void)bytes;
    count(&cuda_fake.bound, -1);
    return CUDA_SUCCESS;
}

#define CALL(name, function)                 \
    {                                        \
#name, (void *)(uintptr_t)(function) \
    }
static const struct {
    const char *name;
    void *address;
} calls[] = {
    CALL(cuGetErrorString, error_string),
    CALL(cuCtxGetCurrent, cuda_fake_context),
    CALL(cuCtxGetDevice, cuda_fake_context_device),
    CALL(cuDeviceGetAttribute, attribute),
    CALL(cuMemGetAllocationGranularity, granularity),
    CALL(cuMemAddressReserve, reserve),
    CALL(cuMemAddressFree, unreserve),
    CALL(cuMemCreate, create),
    CALL(cuMemRelease, release),
    CALL(cuMemMap, map),
    CALL(cuMemUnmap, unmap),
    CALL(cuMemSetAccess, set_access),
    CALL(cuMemExportToShareableHandle, export_handle),
    CALL(cuMemImportFromShareableHandle, import_handle),
    CALL(cuMemRetainAllocationHandle, retain),
    CALL(cuMemGetAllocationPropertiesFromHandle, properties),
    CALL(cuMemGetHandleForAddressRange, get_range_handle),
    CALL(cuFlushGPUDirectRDMAWrites, flush_rdma),
    CALL(cuPointerGetAttribute, pointer_attribute),
    CALL(cuMulticastCreate, multicast_create),
    CALL(cuMulticastAddDevice, multicast_add),
    CALL(cuMulticastBindMem, multicast_bind),
    CALL(cuMulticastUnbind, multicast_unbind),
    CALL(cuStreamWriteValue32, write_32),
    CALL(cuStreamWriteValue64, write_64),
    CALL(cuStreamWaitValue64, wait_64),
};

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **address, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found)
{
    (void)version, (void)flags;
    *found = cudaDriverEntryPointSuccess;
    *address = NULL;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (strcmp(calls[i].name, name) == 0) *address = calls[i].address;
    if (cuda_fake.lacks_call == NULL || strcmp(cuda_fake.lacks_call, name) != 0)
        return cudaSuccess;
    *found = cudaDriverEntryPointVersionNotSufficent;
    *address = NULL;
    return cudaSuccess;
}
