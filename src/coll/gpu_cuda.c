/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/gpu.h"

#include "base/clock.h"
#include "coll/kernel.h"
#include "coll/operators.h"
#include "coll/shape.h"
#include "heap/device.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdlib.h>

/* Lanes of a CTA: a multiple of a warp, enough for a piece each. */
enum { LANES_MIN = 64, LANES_GRAIN = 32, PIECE_BYTES = 16 };

struct ch_gpu {
    const struct ch_device *device; /* borrowed */
    const uint32_t *aborted;        /* as kernels address it */
    uint64_t timeout_ns;
    pthread_mutex_t mutex;         /* calls are put on streams one at a time */
    struct ch_kernel_fault *fault; /* page-locked, and kernels write there */
    cudaStream_t stream;           /* of blocking calls */
};

extern const ch_kernel_table ch_kernels_move;
extern const void *const ch_kernel_engine_enter;
extern const void *const ch_kernel_engine_leave;
#define X(T, ctype, CLASS, bytes) \
    CH_ON_GPU(CLASS, bytes, extern const ch_kernel_table ch_kernels_##T;)
CHORUS_TYPE_LIST(X)
#undef X

static const void *const *const combining[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, CLASS, bytes) CH_ON_GPU(CLASS, bytes, [CHORUS_TYPE_##T] = ch_kernels_##T, )
    CHORUS_TYPE_LIST(X)
#undef X
};

static bool combines(const struct ch_algo *algo)
{
    return algo->coll == CHORUS_COLL_reduce || algo->coll == CHORUS_COLL_reducescatter;
}

static const void *kernel_of(const struct ch_call *call)
{
    if (!combines(call->algo)) return ch_kernels_move[call->algo->id];
    return combining[call->type] == NULL ? NULL : combining[call->type][call->algo->id];
}

static chorus_status failed(const struct ch_gpu *gpu, const char *what, cudaError_t error)
{
    const struct ch_device_id *id = ch_device_id_of(gpu->device);

    (void)cudaGetLastError(); /* the program's own checks are not to find it */
    return CH_FAIL(CHORUS_ERR_SYSTEM, "%s on GPU %d (%s) failed: %s", what, id->ordinal,
                   id->name, cudaGetErrorString(error));
}

#define TRY_CUDA(gpu, what, call)                                              \
    do {                                                                       \
        const cudaError_t try_error = (call);                                  \
        if (try_error != cudaSuccess) return failed((gpu), (what), try_error); \
    } while (0)

static chorus_status make_own(struct ch_gpu *gpu)
{
    TRY_CUDA(gpu, "making a stream",
             cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking));
    TRY_CUDA(gpu, "locking a page of the host",
             cudaHostAlloc((void **)&gpu->fault, sizeof(*gpu->fault), cudaHostAllocMapped));
    *gpu->fault = (struct ch_kernel_fault){.status = CHORUS_OK};
    return CHORUS_OK;
}

chorus_status ch_gpu_open(const struct ch_heap *heap, uint64_t timeout_ns,
                          struct ch_gpu **gpu_out)
{
    struct ch_gpu *gpu = calloc(1, sizeof(*gpu));
    chorus_status status;
    int before;

    if (gpu == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a GPU's bookkeeping");
    gpu->device = ch_heap_device(heap);
    gpu->aborted = &ch_heap_door_on_device(heap)->aborted;
    gpu->timeout_ns = timeout_ns;
    (void)pthread_mutex_init(&gpu->mutex, NULL);
    before = ch_device_enter(gpu->device);
    status = make_own(gpu);
    ch_device_leave(gpu->device, before);
    if (status != CHORUS_OK) {
        ch_gpu_close(gpu);
        return status;
    }
    *gpu_out = gpu;
    return CHORUS_OK;
}

void ch_gpu_close(struct ch_gpu *gpu)
{
    if (gpu == NULL) return;
    if (gpu->stream != NULL) {
        (void)cudaStreamSynchronize(gpu->stream);
        (void)cudaStreamDestroy(gpu->stream);
    }
    (void)cudaFreeHost(gpu->fault);
    (void)pthread_mutex_destroy(&gpu->mutex);
    free(gpu);
}

struct ch_device_terms ch_gpu_terms(const struct ch_gpu *gpu)
{
    return (struct ch_device_terms){gpu->aborted, gpu->timeout_ns, gpu->fault};
}

chorus_status ch_gpu_check(const struct ch_call *call)
{
    if (kernel_of(call) == NULL)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "%s of %s is for heaps on hosts: GPUs do not combine this type; set "
                       "CHORUS_HEAP=host",
                       ch_coll_names[call->algo->coll], ch_type_names[call->type]);
    if (call->team->n > CH_KERNEL_PES_MAX)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "a team of %u PEs; collectives on GPUs serve up to %u", call->team->n,
                       CH_KERNEL_PES_MAX);
    return CHORUS_OK;
}

/* What a kernel of this PE reported since the last look, if anything. */
static chorus_status check_fault(struct ch_gpu *gpu, struct ch_team *team)
{
    const struct ch_kernel_fault *fault = gpu->fault;
    const int status = __atomic_load_n(&fault->status, __ATOMIC_ACQUIRE);

    if (status == CHORUS_OK || fault->team != team->id) return CHORUS_OK;
    if (team->status == CHORUS_OK) __atomic_store_n(&team->status, status, __ATOMIC_RELEASE);
    if (status == CHORUS_ERR_ABORTED)
        return CH_FAIL(CHORUS_ERR_ABORTED,
                       "a collective stopped waiting for PE %u: the job is ending",
                       team->peers[fault->late_pe].world);
    return CH_FAIL(
        (chorus_status)status,
        "a collective waited %.3g s for PE %u, which did not come; all PEs of the team must "
        "make the same calls in the same order, or CHORUS_TIMEOUT must be longer",
        (double)gpu->timeout_ns / (double)CH_NS_PER_S, team->peers[fault->late_pe].world);
}

static void fill_args(const struct ch_gpu *gpu, const struct ch_call *call,
                      struct ch_kernel_args *a)
{
    const struct ch_team *team = call->team;

    *a = (struct ch_kernel_args){
        .me = team->me,
        .n = team->n,
        .root = call->root,
        .radix = call->radix,
        .op = call->op,
        .elem_bytes = (uint32_t)ch_type_bytes[call->type],
        .count = call->count,
        .dst = call->dst,
        .src = call->src,
        .dups = (char *)team->sync + (size_t)team->n_dups * team->layout.dup_bytes,
        .aborted = gpu->aborted,
        .timeout_ns = gpu->timeout_ns,
        .team = team->id,
        .fault = gpu->fault,
        .layout = team->layout,
    };
    for (uint32_t pe = 0; pe < team->n; pe++)
        a->peers[pe] = (struct ch_kernel_peer){team->peers[pe].shift, team->peers[pe].sync};
}

static unsigned lanes_of(const struct ch_call *call)
{
    const uint64_t bytes = call->count * ch_type_bytes[call->type];
    const uint64_t pieces = ch_divide_up(bytes, (uint64_t)PIECE_BYTES * call->ctas);
    const uint64_t lanes = ch_divide_up(pieces, LANES_GRAIN) * LANES_GRAIN;
    const uint64_t most = CH_KERNEL_LANES(call->algo->id);

    return (unsigned)(lanes < LANES_MIN ? LANES_MIN : ch_min(lanes, most));
}

/* Which capture a stream is in; 0: none. */
static chorus_status capture_of(const struct ch_gpu *gpu, cudaStream_t stream,
                                uint64_t *capture_out)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;

    TRY_CUDA(gpu, "asking a stream whether it is captured",
             cudaStreamIsCapturing(stream, &status));
    if (status == cudaStreamCaptureStatusActive)
        TRY_CUDA(gpu, "asking a stream for its capture",
                 cudaStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL, NULL));
    *capture_out = id;
    return CHORUS_OK;
}

/*
 * A team's calls come one after another whatever their streams. Between a graph and what is not
 * in it, the program orders the graph's launches.
 */
static chorus_status come_after_last(struct ch_gpu *gpu, struct ch_team *team,
                                     cudaStream_t stream, uint64_t capture)
{
    if (team->last_event == NULL) {
        cudaEvent_t event;

        if (capture != 0) return CHORUS_OK; /* no allocation: nothing came before */
        TRY_CUDA(gpu, "making an event",
                 cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        team->last_event = event;
    } else if (team->last_stream != stream && team->last_capture == capture) {
        TRY_CUDA(gpu, "waiting for a team's call on another stream",
                 cudaStreamWaitEvent(stream, team->last_event, cudaEventWaitDefault));
    }
    return CHORUS_OK;
}

static chorus_status note_last(struct ch_gpu *gpu, struct ch_team *team, cudaStream_t stream,
                               uint64_t capture)
{
    team->last_stream = stream;
    team->last_capture = capture;
    if (team->last_event != NULL)
        TRY_CUDA(gpu, "marking a team's call", cudaEventRecord(team->last_event, stream));
    return CHORUS_OK;
}

/* A stream in capture cannot be asked; a launch on it fails if it is of another device. */
static chorus_status check_stream(const struct ch_gpu *gpu, cudaStream_t stream,
                                  uint64_t capture)
{
    const int own = ch_device_id_of(gpu->device)->ordinal;
    int ordinal = own;

    if (capture != 0) return CHORUS_OK;
    TRY_CUDA(gpu, "asking a stream for its device", cudaStreamGetDevice(stream, &ordinal));
    if (ordinal == own) return CHORUS_OK;
    return CH_FAIL(
        CHORUS_ERR_ARG,
        "the stream is of GPU %d, this PE's heap is on GPU %d; make the stream while "
        "that one is current",
        ordinal, own);
}

static chorus_status put_kernel(const struct ch_gpu *gpu, const void *kernel, uint32_t ctas,
                                unsigned lanes, struct ch_kernel_args *args,
                                cudaStream_t stream)
{
    void *list[] = {args};
    const dim3 grid = {ctas, 1, 1}, block = {lanes, 1, 1};

    TRY_CUDA(gpu, "launching a collective",
             cudaLaunchKernel(kernel, grid, block, list, 0, stream));
    return CHORUS_OK;
}

/* This PE's blocks into everyone's dest, without a CTA, once everyone is in the call. */
static chorus_status put_copies(const struct ch_gpu *gpu, const struct ch_call *call,
                                struct ch_kernel_args *args, cudaStream_t stream)
{
    const struct ch_team *team = call->team;
    const size_t bytes = call->count * ch_type_bytes[call->type];
    const size_t step = call->algo->coll == CHORUS_COLL_alltoall ? bytes : 0;

    CH_TRY(put_kernel(gpu, ch_kernel_engine_enter, 1, LANES_MIN, args, stream));
    for (uint32_t k = 0; k < team->n; k++) {
        const uint32_t peer = (team->me + k) % team->n;
        char *to = (char *)call->dst + team->me * bytes + team->peers[peer].shift;
        const char *from = (const char *)call->src + peer * step;

        if (to != from)
            TRY_CUDA(gpu, "copying",
                     cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
    }
    return put_kernel(gpu, ch_kernel_engine_leave, 1, LANES_MIN, args, stream);
}

static chorus_status launch(struct ch_gpu *gpu, const struct ch_call *call, cudaStream_t stream)
{
    struct ch_kernel_args args;
    uint64_t capture;

    CH_TRY(check_fault(gpu, call->team));
    CH_TRY(capture_of(gpu, stream, &capture));
    CH_TRY(check_stream(gpu, stream, capture));
    CH_TRY(come_after_last(gpu, call->team, stream, capture));
    fill_args(gpu, call, &args);
    if (call->algo->needs & CH_NEED_copy_engine)
        CH_TRY(put_copies(gpu, call, &args, stream));
    else
        CH_TRY(put_kernel(gpu, kernel_of(call), call->ctas, lanes_of(call), &args, stream));
    return note_last(gpu, call->team, stream, capture);
}

chorus_status ch_gpu_push(struct ch_gpu *gpu, const struct ch_call *call, void *stream)
{
    const int before = ch_device_enter(gpu->device);
    chorus_status status;

    (void)pthread_mutex_lock(&gpu->mutex);
    status = launch(gpu, call, stream);
    (void)pthread_mutex_unlock(&gpu->mutex);
    ch_device_leave(gpu->device, before);
    return status;
}

chorus_status ch_gpu_run(struct ch_gpu *gpu, const struct ch_call *call)
{
    CH_TRY(ch_gpu_push(gpu, call, gpu->stream));
    TRY_CUDA(gpu, "a collective", cudaStreamSynchronize(gpu->stream));
    return check_fault(gpu, call->team);
}

chorus_status ch_gpu_stream_create(struct ch_gpu *gpu, void **stream_out)
{
    const int before = ch_device_enter(gpu->device);
    cudaStream_t stream = NULL;
    const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);

    ch_device_leave(gpu->device, before);
    if (error != cudaSuccess) return failed(gpu, "making a stream", error);
    *stream_out = stream;
    return CHORUS_OK;
}

chorus_status ch_gpu_stream_destroy(struct ch_gpu *gpu, void *stream)
{
    TRY_CUDA(gpu, "ending a stream", cudaStreamDestroy(stream));
    return CHORUS_OK;
}

chorus_status ch_gpu_stream_synchronize(struct ch_gpu *gpu, void *stream)
{
    TRY_CUDA(gpu, "a stream", cudaStreamSynchronize(stream));
    if (gpu->fault->status == CHORUS_OK) return CHORUS_OK;
    return CH_FAIL((chorus_status)gpu->fault->status,
                   "a collective on this PE's GPU failed: %s",
                   ch_status_text(gpu->fault->status));
}
