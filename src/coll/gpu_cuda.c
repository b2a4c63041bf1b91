/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/gpu.h"

#include "coll/fault.h"
#include "coll/kernel.h"
#include "coll/kernels.h"
#include "coll/shape.h"
#include "coll/turn.h"
#include "heap/runtime_cuda.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Lanes of a CTA are a power of two. */
enum { LANES_MIN = 64, WARP_LANES = 32, PIECE_BYTES = 16 };

/* Teams that the GPU's room is shared out among at the least, see ctas_early_of. */
enum { TEAMS_AT_ONCE = 2 };

struct ch_gpu {
    const struct ch_heap *heap; /* borrowed, as is device */
    const struct ch_device *device;
    const uint32_t *aborted; /* as kernels address it */
    uint64_t timeout_ns;
    uint32_t room_ctas;    /* that run at once on the GPU; 0: nothing is launched early */
    bool is_checked;       /* CHORUS_CHECK */
    pthread_mutex_t mutex; /* calls are put on streams one at a time */
    struct ch_kernel_fault *faults; /* [CH_FAULTS] page-locked: kernels write there */
    struct ch_turn own;             /* of blocking calls */
};

/* Load the kernels, and find how many CTAs of any of them run at once. */
static chorus_status load_kernels(struct ch_gpu *gpu, bool is_early)
{
    uint32_t ctas = 0;
    int multiprocessors = 0;

    CH_TRY(ch_kernels_load(gpu->device, &ctas));
    CH_TRY_CUDA(gpu->device, "asking for the multiprocessors",
                cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                                       ch_device_id_of(gpu->device)->ordinal));
    gpu->room_ctas = is_early && ch_device_orders_kernels(gpu->device)
                         ? (uint32_t)multiprocessors * ctas
                         : 0;
    return CHORUS_OK;
}

static chorus_status make_own(struct ch_gpu *gpu, bool is_early)
{
    const size_t bytes = CH_FAULTS * sizeof(*gpu->faults);
    cudaStream_t stream;

    CH_TRY_CUDA(gpu->device, "making a stream",
                cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    gpu->own.stream = stream;
    CH_TRY(ch_turn_of(gpu->heap, stream, &gpu->own));
    CH_TRY_CUDA(gpu->device, "locking pages of the host",
                cudaHostAlloc((void **)&gpu->faults, bytes, cudaHostAllocMapped));
    memset(gpu->faults, 0, bytes);
    return load_kernels(gpu, is_early);
}

chorus_status ch_gpu_open(const struct ch_heap *heap, const struct ch_options *options,
                          struct ch_gpu **gpu_out)
{
    struct ch_gpu *gpu = calloc(1, sizeof(*gpu));
    chorus_status status;
    int before;

    if (gpu == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a GPU's bookkeeping");
    gpu->heap = heap;
    gpu->device = ch_heap_device(heap);
    gpu->aborted = &ch_heap_door_on_device(heap)->aborted;
    gpu->timeout_ns = options->timeout_ns;
    gpu->is_checked = options->check != 0;
    (void)pthread_mutex_init(&gpu->mutex, NULL);
    before = ch_device_enter(gpu->device);
    status = make_own(gpu, options->early && !gpu->is_checked);
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
    if (gpu->own.stream != NULL) (void)cudaStreamDestroy(gpu->own.stream);
    if (gpu->faults != NULL) (void)cudaFreeHost(gpu->faults);
    (void)pthread_mutex_destroy(&gpu->mutex);
    free(gpu);
}

struct ch_device_terms ch_gpu_terms(const struct ch_gpu *gpu)
{
    return (struct ch_device_terms){gpu->aborted, gpu->timeout_ns,
                                    &gpu->faults[CH_FAULT_INSIDE]};
}

void ch_gpu_drain(const struct ch_gpu *gpu)
{
    const int before = ch_device_enter(gpu->device);

    (void)cudaDeviceSynchronize();
    (void)cudaGetLastError();
    ch_device_leave(gpu->device, before);
}

chorus_status ch_gpu_check(const struct ch_call *call)
{
    if (ch_kernel_of(call) == NULL)
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

int ch_gpu_team_status(const struct ch_gpu *gpu, const struct ch_team *team)
{
    return ch_fault_status(gpu->faults, team);
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
        .share = ch_share_of(call->count, ch_type_bytes[call->type], call->ctas),
        .dst = call->dst,
        .src = call->src,
        .multicast = team->multicast,
        .is_sync_alike = team->is_sync_alike,
        .dups = ch_team_device_dups(team),
        .dup_bytes = (uint32_t)CH_DEVICE_DUP_BYTES(team->n),
        .aborted = gpu->aborted,
        .timeout_ns = gpu->timeout_ns,
        .team = team->id,
        .fault = &gpu->faults[team->slot],
        .layout = team->layout,
    };
    memcpy(a->peers, team->peers, team->n * sizeof(a->peers[0]));
}

static uint64_t power_of_two(uint64_t least)
{
    uint64_t power = 1;

    while (power < least)
        power *= 2;
    return power;
}

/* The most bytes of a message of a CTA: of its part of a block, or of a PE's slice of that. */
static uint64_t message_bytes(const struct ch_call *call)
{
    const uint64_t elem_bytes = ch_type_bytes[call->type];
    const struct ch_share s = ch_share_of(call->count, elem_bytes, call->ctas);
    const uint64_t part = ch_min(call->count, (s.base + (s.extra != 0)) * s.grain) * elem_bytes;

    return call->algo->is_sliced ? ch_divide_up(part, call->team->n) : part;
}

/* PEs that a CTA's lanes have messages for, or of: its own block is copied, or in registers. */
static uint64_t pes_at_once(const struct ch_call *call)
{
    const bool combines =
        call->algo->coll == CHORUS_COLL_reduce || call->algo->coll == CHORUS_COLL_reducescatter;

    return power_of_two(combines ? call->team->n - 1 : call->team->n);
}

/* A lane for each piece, and a warp for each PE; where messages are packets, and there are
 * lanes enough, one for each piece for each PE, as lanes are then shared out among them. */
static unsigned lanes_of(const struct ch_call *call)
{
    const uint64_t pes = pes_at_once(call), most = call->algo->lanes_max;
    const uint64_t pieces = power_of_two(ch_divide_up(message_bytes(call), PIECE_BYTES));
    const uint64_t apart = pes * ch_max(pieces, WARP_LANES);
    const uint64_t together = ch_max(pieces, pes * WARP_LANES);
    const bool is_apart = call->algo->proto == CH_PROTO_ll && apart <= most;

    return (unsigned)ch_min(ch_max(is_apart ? apart : together, LANES_MIN), most);
}

/*
 * CTAs of the largest kernel that is launched early and lets the next be (see
 * ch_kernel_order): before the one before it in the stream has ended, if that is as small, too.
 * So of a team one kernel runs and one waits, and together they hold no more than the team's
 * share of the GPU: the waiting kernels of some teams never take the room that another's needs.
 */
static uint32_t ctas_early_of(const struct ch_gpu *gpu, const struct ch_team *team)
{
    const uint32_t n =
        __atomic_load_n(team->n_in_use, __ATOMIC_RELAXED) + (ch_team_is_in_use(team) ? 0 : 1);

    return gpu->room_ctas / (2 * (n > TEAMS_AT_ONCE ? n : TEAMS_AT_ONCE));
}

/* A call on its way to a stream. */
struct launch {
    const struct ch_gpu *gpu;
    const struct ch_call *call;
    cudaStream_t stream;
    uint32_t ctas_early;
    uint64_t *ended;     /* where the call's last kernel counts its CTAs; null in a capture */
    uint32_t ctas_ended; /* what it counts */
    struct ch_kernel_args args;
};

static chorus_status put_kernel(struct launch *l, const void *kernel, uint32_t ctas,
                                unsigned lanes)
{
    void *list[] = {&l->args};
    const bool is_early = ctas <= l->ctas_early;
    cudaLaunchAttribute early = {.id = cudaLaunchAttributeProgrammaticStreamSerialization,
                                 .val.programmaticStreamSerializationAllowed = is_early};
    const cudaLaunchConfig_t config = {.gridDim = {ctas, 1, 1},
                                       .blockDim = {lanes, 1, 1},
                                       .stream = l->stream,
                                       .attrs = &early,
                                       .numAttrs = is_early ? 1 : 0};

    l->args.lets_next = is_early;
    CH_TRY_CUDA(l->gpu->device, "launching a collective",
                cudaLaunchKernelExC(&config, kernel, list));
    return CHORUS_OK;
}

/* The last one of the call. */
static chorus_status put_last(struct launch *l, const void *kernel, uint32_t ctas,
                              unsigned lanes)
{
    l->args.ended = l->ended;
    l->ctas_ended = ctas;
    return put_kernel(l, kernel, ctas, lanes);
}

/* This PE's blocks into everyone's dest, without a CTA, once everyone is in the call. */
static chorus_status put_copies(struct launch *l)
{
    const struct ch_call *call = l->call;
    const struct ch_team *team = call->team;
    const size_t bytes = call->count * ch_type_bytes[call->type];
    const size_t step = call->algo->coll == CHORUS_COLL_alltoall ? bytes : 0;

    CH_TRY(put_kernel(l, ch_kernel_engine_enter, 1, LANES_MIN));
    for (uint32_t k = 0; k < team->n; k++) {
        const uint32_t peer = (team->me + k) % team->n;
        char *to = (char *)call->dst + team->me * bytes + team->peers[peer].shift;
        const char *from = (const char *)call->src + peer * step;

        if (to != from)
            CH_TRY_CUDA(l->gpu->device, "copying",
                        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, l->stream));
    }
    return put_last(l, ch_kernel_engine_leave, 1, LANES_MIN);
}

static chorus_status put_call(struct launch *l)
{
    const struct ch_call *call = l->call;

    if (call->algo->needs & CH_NEED_copy_engine) return put_copies(l);
    return put_last(l, ch_kernel_of(call), call->ctas, lanes_of(call));
}

/* The same between two kernels that find out whether another call of the team runs meanwhile.
 * Those two do not wait for their turn, so with them nothing is launched early. */
static chorus_status put_checked(struct launch *l)
{
    uint64_t *const ended = l->ended;

    CH_TRY(put_kernel(l, ch_kernel_check_begin, 1, 1));
    l->ended = NULL;
    CH_TRY(put_call(l));
    l->ended = ended;
    return put_last(l, ch_kernel_check_end, 1, 1);
}

static chorus_status launch(const struct ch_gpu *gpu, const struct ch_call *call,
                            const struct ch_turn *turn)
{
    struct launch l;

    ch_fault_clear(gpu->faults, call->team);
    CH_TRY(ch_fault_tell(gpu->faults, gpu->timeout_ns, call->team));
    CH_TRY(ch_turn_begin(gpu->heap, call->team, turn));
    l.gpu = gpu;
    l.call = call;
    l.stream = turn->stream;
    l.ctas_early = ctas_early_of(gpu, call->team);
    l.ended = turn->capture == 0 ? ch_team_ended(call->team) : NULL;
    fill_args(gpu, call, &l.args);
    CH_TRY(gpu->is_checked ? put_checked(&l) : put_call(&l));
    return ch_turn_end(gpu->heap, call->team, turn, l.ctas_ended);
}

static chorus_status launch_in_turn(struct ch_gpu *gpu, const struct ch_call *call,
                                    const struct ch_turn *turn)
{
    const int before = ch_device_enter(gpu->device);
    chorus_status status;

    (void)pthread_mutex_lock(&gpu->mutex);
    status = launch(gpu, call, turn);
    (void)pthread_mutex_unlock(&gpu->mutex);
    ch_device_leave(gpu->device, before);
    return status;
}

chorus_status ch_gpu_push(struct ch_gpu *gpu, const struct ch_call *call, void *stream)
{
    struct ch_turn turn;

    CH_TRY(ch_turn_of(gpu->heap, stream, &turn));
    return launch_in_turn(gpu, call, &turn);
}

/* Also where another stream of this thread is in capture: the call is then not part of it. */
static cudaError_t wait_for(const struct ch_gpu *gpu, cudaStream_t stream)
{
    const int before = ch_device_enter(gpu->device);
    const cudaError_t error = cudaStreamSynchronize(stream);

    ch_device_leave(gpu->device, before);
    return error;
}

chorus_status ch_gpu_run(struct ch_gpu *gpu, const struct ch_call *call)
{
    CH_TRY(launch_in_turn(gpu, call, &gpu->own));
    CH_TRY_CUDA(gpu->device, "a collective", wait_for(gpu, gpu->own.stream));
    CH_TRY(ch_fault_tell(gpu->faults, gpu->timeout_ns, call->team));
    return ch_team_usable(call->team);
}

chorus_status ch_gpu_stream_create(const struct ch_gpu *gpu, void **stream_out)
{
    const int before = ch_device_enter(gpu->device);
    cudaStream_t stream = NULL;
    const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);

    ch_device_leave(gpu->device, before);
    if (error != cudaSuccess) return ch_runtime_failed(gpu->device, "making a stream", error);
    *stream_out = stream;
    return CHORUS_OK;
}

void ch_gpu_stream_destroy(const struct ch_gpu *gpu, void *stream)
{
    (void)wait_for(gpu, stream);
    (void)cudaStreamDestroy(stream);
}

chorus_status ch_gpu_stream_synchronize(const struct ch_gpu *gpu, const struct ch_teams *teams,
                                        void *stream)
{
    struct ch_turn turn;
    struct ch_team *team;

    CH_TRY(ch_turn_of(gpu->heap, stream, &turn));
    if (turn.capture != 0)
        return CH_FAIL(CHORUS_ERR_STATE,
                       "the stream is in a capture, where nothing runs; end that first");
    CH_TRY_CUDA(gpu->device, "what was on a stream", wait_for(gpu, stream));
    for (uint32_t slot = 0; (team = ch_teams_next(teams, &slot)) != NULL; slot++)
        CH_TRY(ch_fault_tell(gpu->faults, gpu->timeout_ns, team));
    return ch_fault_tell_wait(gpu->faults);
}
