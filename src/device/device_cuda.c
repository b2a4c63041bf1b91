/* SPDX-License-Identifier: Apache-2.0 */
/* device_cuda.c: opens a device; its streams and events, copies, words and pinned memory. */
#include "device/driver_cuda.h"

#include "base/door.h"

#include <stdlib.h>

/* Larger than the number of capture modes, so that a device and a mode can be encoded in one
 * number. */
enum { MODES = 8 };

int ch_device_enter(const struct ch_device *device)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    int before = device->id.ordinal;

    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    (void)cudaGetDevice(&before);
    if (before != device->id.ordinal) (void)cudaSetDevice(device->id.ordinal);
    return before * MODES + (int)mode;
}

void ch_device_leave(const struct ch_device *device, int before)
{
    enum cudaStreamCaptureMode mode = (enum cudaStreamCaptureMode)(before % MODES);

    if (before / MODES != device->id.ordinal) (void)cudaSetDevice(before / MODES);
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
}

/* GPUs that compute_90 and later are compiled for support ch_kernel_wait_previous. */
enum { COMPUTE_ORDERS = 90 };

const char *ch_device_archs(void)
{
    return ch_image_archs();
}

bool ch_device_orders_kernels(const struct ch_device *device)
{
    return device->compute >= COMPUTE_ORDERS;
}

bool ch_device_reaches(const struct ch_device *device, const void *ptr)
{
    struct cudaPointerAttributes is;

    if (cudaPointerGetAttributes(&is, ptr) != cudaSuccess) {
        (void)cudaGetLastError(); /* clear the error, so that the program does not find it */
        return false;
    }
    switch (is.type) {
    case cudaMemoryTypeDevice:
        return is.device == device->id.ordinal;
    case cudaMemoryTypeManaged:
        return true;
    case cudaMemoryTypeHost:
        return is.devicePointer == ptr;
    default:
        return false;
    }
}

bool ch_device_is_on_gpu(const struct ch_device *device, const void *ptr)
{
    const int before = ch_device_enter(device);
    struct cudaPointerAttributes is;
    const cudaError_t error = cudaPointerGetAttributes(&is, ptr);

    ch_device_leave(device, before);
    if (error == cudaSuccess) return is.type == cudaMemoryTypeDevice;
    (void)cudaGetLastError(); /* clear the error, so that the program does not find it */
    return false;
}

/* Find the kernels' image for this device, which is current. */
static chorus_status find_image(struct ch_device *d)
{
    const cudaError_t error = (cudaError_t)ch_image_find(&d->compute);
    struct cudaDeviceProp is;

    if (error == cudaSuccess) return CHORUS_OK;
    (void)cudaGetLastError();
    CH_TRY_CUDA(d, "reading its properties", cudaGetDeviceProperties(&is, d->id.ordinal));
    return CH_FAIL(
        CHORUS_ERR_UNSUPPORTED,
        "GPU %d (%s, sm_%d%d) does not run this library's kernels, which are for %s: "
        "%s; build with -Dgpu_archs=sm_%d%d, or set CHORUS_HEAP=host",
        d->id.ordinal, d->id.name, is.major, is.minor, ch_image_archs(),
        cudaGetErrorString(error), is.major, is.minor);
}

/* Make the device current, and create its stream and find its image. */
static chorus_status open_stream(struct ch_device *d)
{
    chorus_status st;
    int lowest;

    CH_TRY_CUDA(d, "opening it", cudaSetDevice(d->id.ordinal));
    CH_TRY_CUDA(d, "reading the priorities of streams",
                cudaDeviceGetStreamPriorityRange(&lowest, &d->urgent));
    CH_TRY(ch_device_stream_create(d, false, &d->stream));
    st = find_image(d);
    if (st != CHORUS_OK) (void)cudaStreamDestroy((cudaStream_t)d->stream);
    return st;
}

chorus_status ch_device_open(const struct ch_device_id *id, struct ch_device **device_out)
{
    struct ch_device *d = calloc(1, sizeof(*d));
    chorus_status st;

    if (d == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the data of a GPU");
    d->id = *id;
    st = ch_driver_load(&d->driver);
    if (st == CHORUS_OK) st = open_stream(d);
    if (st != CHORUS_OK) {
        free(d);
        return st;
    }
    *device_out = d;
    return CHORUS_OK;
}

void ch_device_close(struct ch_device *device)
{
    if (device == NULL) return;
    (void)cudaStreamDestroy((cudaStream_t)device->stream);
    free(device);
}

const struct ch_device_id *ch_device_id_of(const struct ch_device *device)
{
    return &device->id;
}

void *ch_device_stream(const struct ch_device *device)
{
    return device->stream;
}

/* The peer's device may be invisible to this process, and cannot be queried then; mapping will
 * fail if it is not accessible. */
chorus_status ch_device_check_peer(const struct ch_device *device, uint32_t me,
                                   const struct ch_device_id *peer, uint32_t pe)
{
    int ordinal = 0, can = 0;

    if (cudaDeviceGetByPCIBusId(&ordinal, peer->bus) != cudaSuccess) {
        (void)cudaGetLastError();
        return CHORUS_OK;
    }
    if (ordinal == device->id.ordinal) return CHORUS_OK;
    if (cudaDeviceCanAccessPeer(&can, device->id.ordinal, ordinal) != cudaSuccess) {
        (void)cudaGetLastError();
        can = 0;
    }
    if (can) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                   "PE %u's GPU (%s at %s) cannot reach the memory of PE %u's (%s at %s); give "
                   "the job GPUs with peer access (NVLink, or one PCI Express switch), or set "
                   "CHORUS_HEAP=host",
                   me, device->id.name, device->id.bus, pe, peer->name, peer->bus);
}

/* Native atomics tell NVLink from PCI Express, which has none between GPUs; the other
 * attribute, a rank among links, does not name the kind of link. A GPU that
 * CUDA_VISIBLE_DEVICES hides is unknown to CUDA. */
enum ch_device_path ch_device_path_to(const struct ch_device *device, const char *bus)
{
    int ordinal = 0, has_atomics = 0;
    cudaError_t error = cudaDeviceGetByPCIBusId(&ordinal, bus);

    if (error == cudaSuccess && ordinal == device->id.ordinal) return CH_PATH_SAME;
    if (error == cudaSuccess)
        error = cudaDeviceGetP2PAttribute(&has_atomics, cudaDevP2PAttrNativeAtomicSupported,
                                          device->id.ordinal, ordinal);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return CH_PATH_UNKNOWN;
    }
    return has_atomics ? CH_PATH_NVLINK : CH_PATH_PCI;
}

chorus_status ch_device_free_bytes(const struct ch_device *device, size_t *bytes_out)
{
    const int before = ch_device_enter(device);
    size_t free_bytes = 0, total = 0;
    const cudaError_t error = cudaMemGetInfo(&free_bytes, &total);

    ch_device_leave(device, before);
    if (error != cudaSuccess)
        return ch_device_fail_runtime(device, "reading how much memory is free", error);
    *bytes_out = free_bytes;
    return CHORUS_OK;
}

/* Wait for the work that was queued on the device's stream, and undo ch_device_enter, which
 * returned `before`. error: the result of queuing the work. */
static chorus_status wait_and_leave(const struct ch_device *d, const char *what,
                                    cudaError_t error, int before)
{
    if (error == cudaSuccess) error = cudaStreamSynchronize((cudaStream_t)d->stream);
    ch_device_leave(d, before);
    return error == cudaSuccess ? CHORUS_OK : ch_device_fail_runtime(d, what, error);
}

chorus_status ch_device_copy(const struct ch_device *device, void *dst, const void *src,
                             size_t bytes)
{
    const int before = ch_device_enter(device);

    return wait_and_leave(
        device, "a copy",
        cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, (cudaStream_t)device->stream),
        before);
}

chorus_status ch_device_zero(const struct ch_device *device, void *dst, size_t bytes)
{
    const int before = ch_device_enter(device);

    return wait_and_leave(device, "zeroing memory",
                          cudaMemsetAsync(dst, 0, bytes, (cudaStream_t)device->stream), before);
}

/* Copy these bytes, an even number, as two rows of half of them. */
static cudaError_t put_rows(cudaStream_t stream, void *dst, const void *src, size_t bytes)
{
    return cudaMemcpy2DAsync(dst, bytes / 2, src, bytes / 2, bytes / 2, 2, cudaMemcpyDefault,
                             stream);
}

/* Copies of several rows are performed by copy engines, however short, and so are those of 32
 * KiB; on H200, with CUDA 13.0, linear ones of up to 16 KiB to the GPU are not. Of an odd
 * number of bytes, the last but one is copied twice; one byte alone is a linear copy. */
chorus_status ch_device_put_engine_copy(const struct ch_device *device, void *stream, void *dst,
                                        const void *src, size_t bytes)
{
    enum { ENGINE_LEAST = 32 << 10 };
    const size_t even = bytes / 2 * 2;
    int before;
    cudaError_t error;

    if (bytes >= ENGINE_LEAST || bytes < 2)
        return ch_device_put_copy(device, stream, dst, src, bytes);
    before = ch_device_enter(device);
    error = put_rows((cudaStream_t)stream, dst, src, even);
    if (error == cudaSuccess && even != bytes)
        error = put_rows((cudaStream_t)stream, (char *)dst + bytes - 2,
                         (const char *)src + bytes - 2, 2);
    ch_device_leave(device, before);
    return error == cudaSuccess ? CHORUS_OK : ch_device_fail_runtime(device, "a copy", error);
}

/* No kernel, so that it works while kernels occupy all multiprocessors. */
chorus_status ch_device_put_store(const struct ch_device *device, void *stream, void *word,
                                  uint64_t value, size_t bytes)
{
    const CUdeviceptr address = (CUdeviceptr)(uintptr_t)word;
    const int before = ch_device_enter(device);
    const CUresult result =
        bytes == sizeof(uint32_t)
            ? device->driver.cuStreamWriteValue32((CUstream)stream, address, (cuuint32_t)value,
                                                  CU_STREAM_WRITE_VALUE_DEFAULT)
            : device->driver.cuStreamWriteValue64((CUstream)stream, address, value,
                                                  CU_STREAM_WRITE_VALUE_DEFAULT);

    ch_device_leave(device, before);
    return result == CUDA_SUCCESS ? CHORUS_OK
                                  : ch_device_fail_driver(device, "a store", bytes, result);
}

chorus_status ch_device_store(const struct ch_device *device, void *dst, uint64_t value,
                              size_t bytes)
{
    CH_TRY(ch_device_put_store(device, device->stream, dst, value, bytes));
    return wait_and_leave(device, "a store", cudaSuccess, ch_device_enter(device));
}

chorus_status ch_device_wait(const struct ch_device *device)
{
    return wait_and_leave(device, "queued work", cudaSuccess, ch_device_enter(device));
}

chorus_status ch_device_pinned_alloc(const struct ch_device *device, size_t bytes,
                                     void **ptr_out)
{
    const int before = ch_device_enter(device);
    const cudaError_t error =
        cudaHostAlloc(ptr_out, bytes, cudaHostAllocMapped | cudaHostAllocPortable);

    ch_device_leave(device, before);
    return error == cudaSuccess ? CHORUS_OK
                                : ch_device_fail_runtime(device, "pinning memory", error);
}

void ch_device_pinned_free(const struct ch_device *device, void *ptr)
{
    const int before = ch_device_enter(device);

    (void)cudaFreeHost(ptr);
    ch_device_leave(device, before);
}

chorus_status ch_device_register(const struct ch_device *device, void *host, size_t bytes,
                                 void **device_out)
{
    const int before = ch_device_enter(device);
    cudaError_t error =
        cudaHostRegister(host, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable);

    if (error == cudaSuccess) {
        error = cudaHostGetDevicePointer(device_out, host, 0);
        if (error != cudaSuccess) (void)cudaHostUnregister(host);
    }
    ch_device_leave(device, before);
    if (error == cudaSuccess) return CHORUS_OK;
    (void)cudaGetLastError();
    return CH_FAIL(
        error == cudaErrorMemoryAllocation ? CHORUS_ERR_NOMEM : CHORUS_ERR_SYSTEM,
        "locking %zu KiB of memory of this host for GPU %d (%s) failed: %s; raise the limit of "
        "locked memory (ulimit -l, or that of the container), or set CHORUS_HEAP=host",
        bytes >> 10, device->id.ordinal, device->id.name, cudaGetErrorString(error));
}

void ch_device_unregister(const struct ch_device *device, void *host)
{
    const int before = ch_device_enter(device);

    (void)cudaHostUnregister(host);
    ch_device_leave(device, before);
}

chorus_status ch_device_check_legacy(const struct ch_device *device, const void *stream)
{
    enum cudaStreamCaptureStatus status;
    cudaError_t error;
    int before;

    if (stream != NULL && stream != cudaStreamLegacy) return CHORUS_OK;
    before = ch_device_enter(device);
    error = cudaStreamIsCapturing(cudaStreamLegacy, &status);
    ch_device_leave(device, before);
    if (error == cudaSuccess) return CHORUS_OK;
    if (error != cudaErrorStreamCaptureImplicit)
        return ch_device_fail_runtime(device, "reading the default stream's capture", error);
    (void)cudaGetLastError();
    return CH_FAIL(CHORUS_ERR_STATE,
                   "the stream is the default stream of GPU %d (%s), on which nothing can be "
                   "queued while a stream that waits for it is being captured; end the capture "
                   "first, or pass a stream of cudaStreamNonBlocking",
                   device->id.ordinal, device->id.name);
}

chorus_status ch_device_event_create(const struct ch_device *device, void **event_out)
{
    const int before = ch_device_enter(device);
    cudaEvent_t event = NULL;
    const cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);

    ch_device_leave(device, before);
    if (error != cudaSuccess) return ch_device_fail_runtime(device, "making an event", error);
    *event_out = event;
    return CHORUS_OK;
}

void ch_device_event_destroy(const struct ch_device *device, void *event)
{
    (void)device;
    if (event != NULL) (void)cudaEventDestroy(event);
}

chorus_status ch_device_stream_create(const struct ch_device *device, bool is_urgent,
                                      void **stream_out)
{
    const int before = ch_device_enter(device);
    cudaStream_t stream = NULL;
    const cudaError_t error =
        is_urgent ? cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, device->urgent)
                  : cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);

    ch_device_leave(device, before);
    if (error != cudaSuccess) return ch_device_fail_runtime(device, "creating a stream", error);
    *stream_out = stream;
    return CHORUS_OK;
}

void ch_device_stream_destroy(const struct ch_device *device, void *stream)
{
    (void)device;
    if (stream != NULL) (void)cudaStreamDestroy((cudaStream_t)stream);
}

chorus_status ch_device_stream_check(const struct ch_device *device, void *stream)
{
    const int before = ch_device_enter(device);
    const cudaError_t error = cudaStreamQuery((cudaStream_t)stream);

    if (error == cudaErrorNotReady) (void)cudaGetLastError();
    ch_device_leave(device, before);
    return error == cudaSuccess || error == cudaErrorNotReady
               ? CHORUS_OK
               : ch_device_fail_runtime(device, "queued work", error);
}

chorus_status ch_device_put_copy(const struct ch_device *device, void *stream, void *dst,
                                 const void *src, size_t bytes)
{
    const int before = ch_device_enter(device);
    const cudaError_t error =
        cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, (cudaStream_t)stream);

    ch_device_leave(device, before);
    return error == cudaSuccess ? CHORUS_OK : ch_device_fail_runtime(device, "a copy", error);
}

/* Executed by the front end of the device, so that the wait occupies no multiprocessor. CUDA
 * does not know which work the wait depends on; but that work was queued on the device earlier,
 * so if two streams share a hardware queue, it precedes the wait. */
chorus_status ch_device_put_wait(const struct ch_device *device, void *stream,
                                 const uint64_t *word, uint64_t value, bool is_exact)
{
    const int before = ch_device_enter(device);
    const CUresult result = device->driver.cuStreamWaitValue64(
        (CUstream)stream, (CUdeviceptr)(uintptr_t)word, value,
        is_exact ? CU_STREAM_WAIT_VALUE_EQ : CU_STREAM_WAIT_VALUE_GEQ);

    ch_device_leave(device, before);
    return result == CUDA_SUCCESS
               ? CHORUS_OK
               : ch_device_fail_driver(device, "a wait", sizeof(*word), result);
}

/* By copies: a wait that is queued on a stream of its own may be stuck behind that of another
 * stream, with which it shares a hardware queue. Under MPS a process has two of these, and
 * chorus_team_destroy did not return. */
chorus_status ch_device_word_wait(const struct ch_device *device,
                                  const struct ch_wait_policy *policy, const uint64_t *word,
                                  uint64_t least)
{
    chorus_status copied = CHORUS_OK, status = CHORUS_OK;
    struct ch_wait w = {0};
    uint64_t value = 0;

    while ((copied = ch_device_copy(device, &value, word, sizeof(value))) == CHORUS_OK &&
           value < least && status == CHORUS_OK)
        status = ch_wait_slow(policy, &w);
    ch_wait_end(policy, &w);
    if (copied != CHORUS_OK || value >= least) return copied;
    return CH_FAIL(status,
                   "calls on streams of GPU %d (%s) have not ended: %s; does a stream wait for "
                   "a word that no PE stores to, or for an event?",
                   device->id.ordinal, device->id.name, ch_wait_why(policy, status));
}
