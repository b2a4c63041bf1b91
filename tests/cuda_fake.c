/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_fake.c: the runtime: devices, streams, events, captures, launches. */
#include "cuda_fake.h"

#include "base/clock.h"
#include "coll/cuda/kernels.h"
#include "coll/cuda/kernels_routed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cuda_fake cuda_fake;

/* A handle is one of these, or a default stream, which are entries too. */
struct CUstream_st {
    uint64_t number; /* 0: ended */
    uint64_t capture;
    int device;
    int is_broken;
    int priority;
    int is_blocking;           /* it waits for the legacy stream, and that for it */
    const uint64_t *waits_for; /* its work has ended but for this wait; null: for none */
    uint64_t least;
    uint64_t works_until_ns; /* atomic */
};

/* Known by its address alone. */
struct CUevent_st {
    int nothing;
};

enum { STREAMS_MAX = 128, KERNELS_MAX = 4096, PER_THREAD_MAX = 16 };

/* Of a CTA of any kernel, by its launch bound. */
enum { LANES_MAX = 512 };

enum { POLL_US = 100 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUstream_st streams[STREAMS_MAX], legacy[FAKE_DEVICES_MAX],
    per_thread[PER_THREAD_MAX];
static int n_per_thread;
static uint64_t last_number, last_capture;
static const void *kernels[KERNELS_MAX];
static const void *last_kernel; /* that was launched, with its arguments */
static struct ch_kernel_args last_args;

static _Thread_local int current;     /* device */
static _Thread_local int has_current; /* was it set on this thread? */
static _Thread_local int n_captures;  /* that this thread began */
static _Thread_local struct CUstream_st *own_per_thread;
static _Thread_local enum cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;

void cuda_fake_reset(void)
{
    memset(&cuda_fake, 0, sizeof(cuda_fake));
    cuda_fake.n_devices = 2;
    cuda_fake.bad_device = -1;
    cuda_fake.full_device = -1;
    cuda_fake.bad_trial = -1;
    cuda_fake.bad_memory = -1;
    cuda_fake.bad_multicast = -1;
    cuda_fake.major = 9;
    cuda_fake.multiprocessors = 132;
    cuda_fake.ctas = 1;
    cuda_fake.free_bytes = SIZE_MAX;
    cuda_fake.memory_bytes = (size_t)1 << 30;
    cuda_fake.granule_bytes = (size_t)2 << 20;
    cuda_fake.pinned_bytes_max = SIZE_MAX;
    cuda_fake.rdma_order = CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER;
    cuda_fake.rdma_flush = CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST;
    for (int i = 0; i < FAKE_DEVICES_MAX; i++)
        (void)snprintf(cuda_fake.bus[i], sizeof(cuda_fake.bus[i]), "0000:%02x:00.0", 16 + i);
}

static struct CUstream_st *stream_of(cudaStream_t handle)
{
    if (handle == NULL || handle == cudaStreamLegacy) {
        legacy[current].device = current;
        legacy[current].number = 1 + (uint64_t)current;
        return &legacy[current];
    }
    if (handle != cudaStreamPerThread) return handle;
    if (own_per_thread == NULL) {
        (void)pthread_mutex_lock(&lock);
        own_per_thread = &per_thread[n_per_thread++];
        own_per_thread->number = 100 + ++last_number;
        (void)pthread_mutex_unlock(&lock);
    }
    own_per_thread->device = current;
    return own_per_thread;
}

void cuda_fake_note(enum fake_kind kind, cudaStream_t stream, const void *subject)
{
    (void)pthread_mutex_lock(&lock);
    if (cuda_fake.n_notes < FAKE_NOTES_MAX)
        cuda_fake.notes[cuda_fake.n_notes++] =
            (struct fake_note){kind, stream_of(stream)->number, subject};
    (void)pthread_mutex_unlock(&lock);
}

int cuda_fake_find(enum fake_kind kind, cudaStream_t stream, int after)
{
    for (int i = after + 1; i < cuda_fake.n_notes; i++)
        if (cuda_fake.notes[i].kind == kind &&
            cuda_fake.notes[i].stream == stream_of(stream)->number)
            return i;
    return -1;
}

static void count(int *what, int by)
{
    (void)__atomic_fetch_add(what, by, __ATOMIC_RELAXED);
}

/* --- waits for words --------------------------------------------------------------------- */
void cuda_fake_wait(cudaStream_t stream, const uint64_t *word, uint64_t least)
{
    struct CUstream_st *s = stream_of(stream);

    s->least = least;
    __atomic_store_n(&s->waits_for, word, __ATOMIC_RELEASE);
}

void cuda_fake_work(cudaStream_t stream, unsigned ms)
{
    __atomic_store_n(&stream_of(stream)->works_until_ns, ch_clock_ns() + ms * CH_NS_PER_MS,
                     __ATOMIC_RELEASE);
}

/* A wait that was met once is over. */
static int is_waiting(struct CUstream_st *s)
{
    const uint64_t *word = __atomic_load_n(&s->waits_for, __ATOMIC_ACQUIRE);

    if (word != NULL && __atomic_load_n(word, __ATOMIC_ACQUIRE) < s->least) return 1;
    __atomic_store_n(&s->waits_for, NULL, __ATOMIC_RELEASE);
    return ch_clock_ns() < __atomic_load_n(&s->works_until_ns, __ATOMIC_ACQUIRE);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    count(&cuda_fake.stream_waits, 1);
    if (cuda_fake.broken_stream == stream) return cudaErrorLaunchFailure;
    return is_waiting(stream_of(stream)) ? cudaErrorNotReady : cudaSuccess;
}

/* As CUDA's waits do, this ends only with the work. */
static void wait_for(struct CUstream_st *s)
{
    while (is_waiting(s))
        (void)usleep(POLL_US);
}

/* --- captures ---------------------------------------------------------------------------- */
void cuda_fake_begin_capture(cudaStream_t stream)
{
    stream->capture = ++last_capture;
    n_captures++;
}

void cuda_fake_join_capture(cudaStream_t stream, cudaStream_t other)
{
    stream->capture = other->capture;
}

void cuda_fake_break_capture(cudaStream_t stream)
{
    stream->is_broken = 1;
}

int cuda_fake_end_capture(cudaStream_t stream)
{
    const int is_sound = !stream->is_broken;

    stream->capture = 0;
    stream->is_broken = 0;
    n_captures--;
    return is_sound && mode == cudaStreamCaptureModeGlobal;
}

/* A call that a capture on this thread forbids, and that breaks all of its captures. */
static cudaError_t unsafe(void)
{
    if (n_captures == 0 || mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
    for (int i = 0; i < STREAMS_MAX; i++)
        if (streams[i].capture != 0) streams[i].is_broken = 1;
    return cudaErrorStreamCaptureUnsupported;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *other)
{
    const enum cudaStreamCaptureMode before = mode;

    mode = *other;
    *other = before;
    return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **nodes,
                                     const cudaGraphEdgeData **edges, size_t *n)
{
    const struct CUstream_st *s = stream_of(stream);

    (void)graph, (void)nodes, (void)edges, (void)n;
    count(&cuda_fake.capture_queries, 1);
    *id = s->capture;
    *status = s->is_broken      ? cudaStreamCaptureStatusInvalidated
              : s->capture != 0 ? cudaStreamCaptureStatusActive
                                : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

/* The capture of a stream that waits for the legacy stream, on whose device work for that
 * stream is thus refused; null: there is none. */
static struct CUstream_st *find_implicit(cudaStream_t stream)
{
    if (stream != NULL && stream != cudaStreamLegacy) return NULL;
    for (int i = 0; i < STREAMS_MAX; i++)
        if (streams[i].capture != 0 && streams[i].is_blocking && streams[i].device == current)
            return &streams[i];
    return NULL;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    const struct CUstream_st *s = stream_of(stream);

    if (find_implicit(stream) != NULL) return cudaErrorStreamCaptureImplicit;
    *status = s->is_broken      ? cudaStreamCaptureStatusInvalidated
              : s->capture != 0 ? cudaStreamCaptureStatusActive
                                : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

/* Work for a stream, which breaks such a capture. */
cudaError_t cuda_fake_put(cudaStream_t stream)
{
    struct CUstream_st *captured = find_implicit(stream);

    if (captured == NULL) return cudaSuccess;
    captured->is_broken = 1;
    return cudaErrorStreamCaptureImplicit;
}

/* --- devices ----------------------------------------------------------------------------- */
cudaError_t cudaGetDeviceCount(int *n)
{
    *n = cuda_fake.n_devices;
    return cuda_fake.start_error;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = current;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= cuda_fake.n_devices) return cudaErrorInvalidDevice;
    current = device;
    has_current = 1;
    return cudaSuccess;
}

/* Of the driver: the context of the thread's device. */
CUresult cuda_fake_context(CUcontext *context)
{
    *context = has_current ? (CUcontext)&cuda_fake : NULL;
    return CUDA_SUCCESS;
}

CUresult cuda_fake_context_device(CUdevice *device)
{
    *device = current;
    return CUDA_SUCCESS;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *is, int device)
{
    memset(is, 0, sizeof(*is));
    (void)snprintf(is->name, sizeof(is->name), "fake %d", device);
    is->major = cuda_fake.major;
    is->totalGlobalMem = cuda_fake.memory_bytes;
    memcpy(&is->uuid, cuda_fake.bus[device], strlen(cuda_fake.bus[device]));
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    (void)device;
    if (attribute != cudaDevAttrMultiProcessorCount) return cudaErrorInvalidValue;
    *value = cuda_fake.multiprocessors;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *bus, int bytes, int device)
{
    (void)snprintf(bus, (size_t)bytes, "%s", cuda_fake.bus[device]);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *bus)
{
    for (*device = 0; *device < cuda_fake.n_devices; (*device)++)
        if (strcmp(bus, cuda_fake.bus[*device]) == 0) return cudaSuccess;
    return cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    (void)device, (void)peer;
    *can = !cuda_fake.has_no_peer_access;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int device,
                                      int peer)
{
    if (attribute != cudaDevP2PAttrNativeAtomicSupported || device == peer)
        return cudaErrorInvalidValue;
    *value = !cuda_fake.is_without_nvlink;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    count(&cuda_fake.device_waits, 1);
    for (int i = 0; i < STREAMS_MAX; i++)
        if (streams[i].device == current) wait_for(&streams[i]);
    return unsafe();
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    *free_bytes = cuda_fake.free_bytes;
    *total = cuda_fake.memory_bytes;
    return cuda_fake.free_error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorStreamCaptureUnsupported ? "not in a capture" : "the test says no";
}

/* --- streams and events ------------------------------------------------------------------ */
/* The lowest free place, so that a handle comes again at once. */
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    if (current == cuda_fake.full_device) return cudaErrorMemoryAllocation;
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < STREAMS_MAX; i++) {
        if (streams[i].number != 0) continue;
        streams[i] = (struct CUstream_st){.number = 100 + ++last_number,
                                          .device = current,
                                          .priority = priority,
                                          .is_blocking = flags == cudaStreamDefault};
        *stream = &streams[i];
        cuda_fake.streams++;
        (void)pthread_mutex_unlock(&lock);
        return cudaSuccess;
    }
    (void)pthread_mutex_unlock(&lock);
    return cudaErrorMemoryAllocation;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *lowest, int *highest)
{
    *lowest = 0;
    *highest = FAKE_PRIORITY_HIGHEST;
    return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    *priority = stream->priority;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    stream->number = 0;
    stream->waits_for = NULL;
    count(&cuda_fake.streams, -1);
    return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device)
{
    *device = stream_of(stream)->device;
    return stream_of(stream)->capture == 0 ? cudaSuccess : cudaErrorStreamCaptureUnsupported;
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    *id = stream_of(stream)->number;
    return stream_of(stream)->capture == 0 ? cudaSuccess : cudaErrorStreamCaptureUnsupported;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    struct CUstream_st *s = stream_of(stream);

    count(&cuda_fake.stream_waits, 1);
    wait_for(s);
    if (s->capture == 0) {
        const cudaError_t error = unsafe();

        return error != cudaSuccess ? error : cuda_fake_run_to_end(s->device);
    }
    s->is_broken = 1;
    return cudaErrorStreamCaptureUnsupported;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    if (current == cuda_fake.full_device) return cudaErrorMemoryAllocation;
    *event = calloc(1, sizeof(struct CUevent_st));
    count(&cuda_fake.events, 1);
    return *event == NULL ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    count(&cuda_fake.events, -1);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    if (stream_of(stream)->device != current) return cudaErrorInvalidResourceHandle;
    cuda_fake_note(FAKE_RECORD, stream, event);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    cuda_fake_note(FAKE_WAIT, stream, event);
    return cudaSuccess;
}

/* --- kernels ----------------------------------------------------------------------------- */
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *is, const void *kernel)
{
    memset(is, 0, sizeof(*is));
    is->ptxVersion = 10 * cuda_fake.major;
    if (cuda_fake.image_error != cudaSuccess) return cuda_fake.image_error;
    is->maxThreadsPerBlock = LANES_MAX;
    (void)pthread_mutex_lock(&lock);
    if (cuda_fake.loaded < KERNELS_MAX) kernels[cuda_fake.loaded++] = kernel;
    (void)pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ctas, const void *kernel,
                                                          int lanes, size_t shared_bytes)
{
    (void)kernel, (void)shared_bytes;
    if (lanes != LANES_MAX) return cudaErrorInvalidValue;
    *ctas = cuda_fake.ctas;
    return cudaSuccess;
}

static int is_loaded(const void *kernel)
{
    for (int i = 0; i < cuda_fake.loaded; i++)
        if (kernels[i] == kernel) return 1;
    return 0;
}

void cuda_fake_expect_loaded(const void *kernel)
{
    if (!is_loaded(kernel)) count(&cuda_fake.not_loaded, 1);
}

static void report(const struct ch_kernel_args *a, enum ch_fault_kind kind, int status)
{
    if (a->fault->claimed) return;
    *a->fault =
        (struct ch_kernel_fault){.status = status, .claimed = 1, .kind = kind, .team = a->team};
}

/* What a kernel says of calls that fail, and that it has ended. */
static void run(const void *kernel, const struct ch_kernel_args *a, unsigned ctas)
{
    struct ch_dup *dup = (struct ch_dup *)(void *)a->dups;

    if (a->ended != NULL) *a->ended += ctas;
    if (kernel == ch_kernel_check_end) {
        dup->running = (uint64_t)cuda_fake.keeps_calls;
    } else if (kernel == ch_kernel_check_begin) {
        if (dup->failed == 0 && dup->running != 0) {
            report(a, CH_FAULT_OVERLAP, CHORUS_ERR_STATE);
            dup->failed = 1;
        }
        dup->running = 1;
    } else if (dup->failed != 0) {
        report(a, CH_FAULT_SKIPPED, CHORUS_ERR_STATE);
    } else if (cuda_fake.fails_kernels) {
        report(a, CH_FAULT_LATE, CHORUS_ERR_TIMEOUT);
        dup->failed = 1;
    }
}

void cuda_fake_replay(void)
{
    run(last_kernel, &last_args, 1);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                void **args)
{
    const struct ch_kernel_args *a = args[0];
    const cudaStream_t stream = config->stream;
    const int is_of_lists = kernel == ch_kernel_lists;

    if (stream_of(stream)->device != current) return cudaErrorInvalidResourceHandle;
    if (cuda_fake_put(stream) != cudaSuccess) return cudaErrorStreamCaptureImplicit;
    cuda_fake_expect_loaded(kernel);
    cuda_fake_note(FAKE_LAUNCH, stream, kernel);
    if (config->numAttrs > 0 && config->attrs[0].val.programmaticStreamSerializationAllowed)
        cuda_fake_note(FAKE_EARLY, stream, kernel);
    if (cuda_fake.run_call != NULL) cuda_fake.run_call(kernel, config->gridDim.x, args);
    if (is_of_lists) return cudaSuccess;
    if (a->lets_next) cuda_fake_note(FAKE_LETS, stream, kernel);
    last_kernel = kernel;
    last_args = *a;
    memcpy(&cuda_fake.pattern, args[1], sizeof(cuda_fake.pattern));
    run(kernel, a, config->gridDim.x);
    return cudaSuccess;
}
