/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/cuda/gpu.h"

#include "coll/cuda/queue.h"
#include "device/driver_cuda.h"
#include "team/routes.h"
#include "team/table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ch_gpu {
    const struct ch_heap *heap;  /* borrowed */
    struct ch_queue_terms terms; /* its faults, [CH_FAULTS], are owned and page-locked */
    pthread_mutex_t mutex;       /* calls are queued one at a time */
    struct ch_turn own;          /* the stream of blocking calls */
    const struct ch_wait_policy *policy; /* borrowed */
    struct ch_wait_report *wait;         /* owned and page-locked: of kernels that wait */
    struct ch_front *front;              /* owned */
};

/* May the job have teams whose calls routed kernels run? */
static bool has_routed_calls(const struct ch_heap *heap)
{
    return ch_heap_has_pool(heap) || ch_heap_n_pes(heap) > CH_DEVICE_PES_MAX;
}

/* Load the kernels, and determine how many CTAs of any of them run at the same time. PEs that
 * share the GPU may do so by time slices or by NVIDIA's MPS, of which only the latter divides
 * it: CUDA does not tell them apart, so each PE uses no more than its share. */
static chorus_status load_kernels(struct ch_gpu *gpu, bool is_early)
{
    uint32_t ctas = 0;
    int multiprocessors = 0;

    CH_TRY(ch_kernels_load(gpu->terms.device, has_routed_calls(gpu->heap), &ctas));
    CH_TRY_CUDA(gpu->terms.device, "reading the number of multiprocessors",
                cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                                       ch_device_id_of(gpu->terms.device)->ordinal));
    gpu->terms.share_ctas = (uint32_t)multiprocessors * ctas / ch_heap_n_sharing(gpu->heap);
    gpu->terms.is_early = is_early && ch_device_orders_kernels(gpu->terms.device);
    return CHORUS_OK;
}

/* Create the stream and the memory of reports, and load the kernels. The device is current. */
static chorus_status create_local_parts(struct ch_gpu *gpu, bool is_early)
{
    const size_t bytes = CH_FAULTS * sizeof(*gpu->terms.faults);
    void *stream = NULL;

    CH_TRY(ch_device_stream_create(gpu->terms.device, false, &stream));
    gpu->own.stream = stream;
    CH_TRY(ch_turn_of(gpu->heap, stream, &gpu->own));
    CH_TRY_CUDA(gpu->terms.device, "locking pages of the host",
                cudaHostAlloc((void **)&gpu->terms.faults, bytes, cudaHostAllocMapped));
    memset(gpu->terms.faults, 0, bytes);
    CH_TRY_CUDA(gpu->terms.device, "locking pages of the host",
                cudaHostAlloc((void **)&gpu->wait, sizeof(*gpu->wait), cudaHostAllocMapped));
    memset(gpu->wait, 0, sizeof(*gpu->wait));
    return load_kernels(gpu, is_early);
}

chorus_status ch_gpu_open(const struct ch_heap *heap, const struct ch_options *options,
                          const struct ch_wait_policy *policy, struct ch_gpu **gpu_out)
{
    struct ch_gpu *gpu = calloc(1, sizeof(*gpu));
    chorus_status status;
    int before;

    if (gpu == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the data of a GPU");
    gpu->heap = heap;
    gpu->policy = policy;
    gpu->terms.device = ch_heap_device(heap);
    gpu->terms.aborted = &ch_heap_door_on_device(heap)->aborted;
    gpu->terms.timeout_ns = options->timeout_ns;
    gpu->terms.is_checked = options->check != 0;
    (void)pthread_mutex_init(&gpu->mutex, NULL);
    before = ch_device_enter(gpu->terms.device);
    status = ch_front_open(&gpu->front);
    if (status == CHORUS_OK)
        status = create_local_parts(gpu, options->early && !gpu->terms.is_checked);
    ch_device_leave(gpu->terms.device, before);
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
    if (gpu->wait != NULL) (void)cudaFreeHost(gpu->wait);
    if (gpu->terms.faults != NULL) (void)cudaFreeHost(gpu->terms.faults);
    ch_front_close(gpu->front);
    (void)pthread_mutex_destroy(&gpu->mutex);
    free(gpu);
}

struct ch_device_terms ch_gpu_terms(const struct ch_gpu *gpu)
{
    return (struct ch_device_terms){gpu->terms.aborted, gpu->terms.timeout_ns,
                                    &gpu->terms.faults[CH_FAULT_INSIDE]};
}

uint32_t ch_gpu_share_ctas(const struct ch_gpu *gpu)
{
    return gpu->terms.share_ctas > 0 ? gpu->terms.share_ctas : 1;
}

void ch_gpu_team_ended(struct ch_gpu *gpu, uint32_t slot)
{
    ch_fault_clear(gpu->terms.faults, slot);
}

chorus_status ch_gpu_drain(const struct ch_gpu *gpu)
{
    const uint64_t now = ch_front_next_number(gpu->front);

    CH_TRY(ch_drain_device(gpu->terms.device, gpu->policy));
    ch_front_remove_before(gpu->front, now);
    return CHORUS_OK;
}

/* Queue a wait on a stream, and list it. The device is current. */
static chorus_status put_wait(struct ch_gpu *gpu, void *stream, struct ch_front_wait wait)
{
    struct ch_turn turn;

    CH_TRY(ch_turn_of(gpu->heap, stream, &turn));
    CH_TRY(ch_device_put_wait(gpu->terms.device, stream, wait.word, wait.value, wait.is_exact));
    wait.is_captured = turn.capture != 0;
    ch_front_add_wait(gpu->front, turn.number, &wait);
    return CHORUS_OK;
}

chorus_status ch_gpu_put_wait(struct ch_gpu *gpu, void *stream,
                              const struct ch_front_wait *wait)
{
    const int before = ch_device_enter(gpu->terms.device);
    const chorus_status status = put_wait(gpu, stream, *wait);

    ch_device_leave(gpu->terms.device, before);
    return status;
}

struct ch_wait_limit ch_gpu_wait_limit(const struct ch_gpu *gpu)
{
    return (struct ch_wait_limit){gpu->terms.aborted, gpu->terms.timeout_ns, gpu->wait};
}

chorus_status ch_gpu_check(const struct ch_call *call)
{
    if (!ch_kernel_is_there(call))
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "%s: algorithm %s:%s cannot serve this call: it needs a heap in host "
                       "memory; set CHORUS_HEAP=host",
                       ch_coll_names[call->algo->coll], call->algo->name,
                       ch_proto_names[call->algo->proto]);
    if (ch_kernel_of(call) == NULL)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "%s of %s needs a heap in host memory: GPUs do not combine this type; "
                       "set CHORUS_HEAP=host",
                       ch_coll_names[call->algo->coll], ch_type_names[call->asked->type]);
    return CHORUS_OK;
}

int ch_gpu_team_status(const struct ch_gpu *gpu, const struct ch_team *team)
{
    return ch_fault_status(gpu->terms.faults, team);
}

/* Queue a call after the team's last call, unless a report shows that one has failed. The
 * caller holds the mutex. */
static chorus_status launch(const struct ch_gpu *gpu, const struct ch_call *call,
                            const struct ch_turn *turn)
{
    const uint64_t last = call->team->last_run.stream;
    uint32_t ctas = 0;

    CH_TRY(ch_fault_report(gpu->terms.faults, gpu->terms.timeout_ns, call->team));
    CH_TRY(ch_turn_begin(gpu->heap, call->team, turn));
    if (turn->capture == 0 && last != 0 && last != turn->number)
        ch_front_inherit_waits(gpu->front, turn->number, last);
    CH_TRY(ch_queue_call(&gpu->terms, call, turn, &ctas));
    if (ch_kernel_is_routed(call) && ch_team_has_posts(call->team))
        ch_links_expect_posts(call->team->teams->links);
    return ch_turn_end(gpu->heap, call->team, turn, ctas);
}

/* Lock the mutex, and queue a call. The PE's GPU is current. What is queued may be queued
 * during any capture, so this thread's capture mode does not matter. */
static chorus_status launch_in_turn(struct ch_gpu *gpu, const struct ch_call *call,
                                    const struct ch_turn *turn)
{
    chorus_status status;

    (void)pthread_mutex_lock(&gpu->mutex);
    status = launch(gpu, call, turn);
    (void)pthread_mutex_unlock(&gpu->mutex);
    return status;
}

/* As launch_in_turn, whichever GPU is current. */
static chorus_status enter_and_launch(struct ch_gpu *gpu, const struct ch_call *call,
                                      const struct ch_turn *turn)
{
    const int before = ch_device_enter(gpu->terms.device);
    const chorus_status status = launch_in_turn(gpu, call, turn);

    ch_device_leave(gpu->terms.device, before);
    return status;
}

chorus_status ch_gpu_push(struct ch_gpu *gpu, const struct ch_call *call, void *stream)
{
    struct ch_turn turn;

    CH_TRY(ch_turn_of(gpu->heap, stream, &turn));
    return turn.is_current ? launch_in_turn(gpu, call, &turn)
                           : enter_and_launch(gpu, call, &turn);
}

/* Wait for a stream's work, and forget the waits that held it up. */
static chorus_status wait_for_stream(const struct ch_gpu *gpu, const struct ch_turn *turn)
{
    struct ch_front_view waits;

    ch_front_list_waits(gpu->front, turn->number, &waits);
    CH_TRY(ch_drain_stream(gpu->terms.device, gpu->policy, &waits, turn->stream));
    ch_front_remove_waits(gpu->front, &waits);
    return CHORUS_OK;
}

/* If a call on the team has failed, its memory is no longer used by the network on return. The
 * kernels of the call have ended. */
static void settle_if_failed(const struct ch_gpu *gpu, const struct ch_team *team)
{
    const int why = ch_fault_status(gpu->terms.faults, team);

    if (ch_team_has_posts(team) && why != CHORUS_OK) ch_routes_settle(team, (chorus_status)why);
}

chorus_status ch_gpu_run(struct ch_gpu *gpu, const struct ch_call *call)
{
    CH_TRY(enter_and_launch(gpu, call, &gpu->own));
    CH_TRY(wait_for_stream(gpu, &gpu->own));
    settle_if_failed(gpu, call->team);
    CH_TRY(ch_fault_report(gpu->terms.faults, gpu->terms.timeout_ns, call->team));
    if (ch_coll_is_listed(call->algo->coll))
        CH_TRY(ch_fault_report_block(gpu->terms.faults, call->team));
    return ch_team_check_usable(call->team);
}

chorus_status ch_gpu_stream_destroy(const struct ch_gpu *gpu, void *stream)
{
    struct ch_turn turn;
    chorus_status status = ch_turn_of(gpu->heap, stream, &turn);

    if (status == CHORUS_OK) status = wait_for_stream(gpu, &turn);
    (void)cudaStreamDestroy(stream);
    return status;
}

/* Fail, as an operation on a stream for a peer that is not near was not completed. The wait of
 * a quiet was for all of them: name one that is still late. */
static chorus_status fail_post(const struct ch_gpu *gpu, const struct ch_teams *teams,
                               uint32_t pe, chorus_status status)
{
    char peers[32] = "PEs of other hosts";

    if (pe != UINT32_MAX || ch_links_find_late(teams->links, CH_CTX_DEFAULT, &pe))
        (void)snprintf(peers, sizeof(peers), "PE %u", pe);
    return CH_FAIL(status,
                   "a put, get, signal or quiet on a stream, for %s, was not completed: %s; "
                   "later work of the stream was executed as if it had been",
                   peers, ch_wait_why(gpu->policy, status));
}

/* Why a post on a stream has failed, or a call without a team inside a kernel of the program;
 * CHORUS_OK: none has. */
static int failure_of_posts(const struct ch_gpu *gpu)
{
    const int why = __atomic_load_n(&gpu->wait->status, __ATOMIC_ACQUIRE);
    uint32_t pe;

    return why != CHORUS_OK ? why : ch_fault_status_wait(gpu->terms.faults, &pe);
}

/* The PE that a call inside a kernel, which has reported a timeout, waited for: that for which
 * it was, unless another one keeps the requests to it in the ring. UINT32_MAX: none is known.
 */
static uint32_t find_late_pe(const struct ch_gpu *gpu, struct ch_links *links)
{
    uint32_t pe = links->me, late = UINT32_MAX;

    if (ch_fault_status_wait(gpu->terms.faults, &pe) != CHORUS_ERR_TIMEOUT) return UINT32_MAX;
    if (ch_links_is_late(links, CH_CTX_DEFAULT, pe)) return pe;
    if (ch_links_find_late(links, CH_CTX_DEFAULT, &late)) return late;
    return pe != links->me ? pe : UINT32_MAX;
}

void ch_gpu_settle(const struct ch_gpu *gpu, struct ch_links *links)
{
    const int why = failure_of_posts(gpu);
    uint64_t until_ns;

    if (why == CHORUS_OK) return;
    until_ns = ch_links_begin_settle(links, (chorus_status)why);
    for (uint32_t pe = 0; pe < links->n; pe++)
        if (ch_links_network_link(links, pe) != NULL)
            ch_link_settle(ch_links_network_link(links, pe), CH_CTX_DEFAULT, until_ns);
}

/* If a kernel that waited on a stream has reported a failure, take the report and fail with it;
 * else OK. */
static chorus_status take_wait_report(const struct ch_gpu *gpu, const struct ch_teams *teams)
{
    struct ch_wait_report *report = gpu->wait;
    const chorus_status status =
        (chorus_status)__atomic_load_n(&report->status, __ATOMIC_ACQUIRE);
    const void *word = report->word;
    const uint32_t pe = report->pe;

    if (status == CHORUS_OK) return CHORUS_OK;
    report->status = CHORUS_OK;
    __atomic_store_n(&report->claimed, 0, __ATOMIC_RELEASE); /* for the next one */
    if (word == NULL) return fail_post(gpu, teams, pe, status);
    return CH_FAIL(status,
                   "a wait on a stream for the word at %p ended without it: %s; later work of "
                   "the stream was executed as if it had been met",
                   word, ch_wait_why(gpu->policy, status));
}

chorus_status ch_gpu_stream_synchronize(const struct ch_gpu *gpu, const struct ch_teams *teams,
                                        void *stream)
{
    struct ch_turn turn;
    struct ch_team *team;
    uint32_t late_pe;

    CH_TRY(ch_turn_of(gpu->heap, stream, &turn));
    if (turn.capture != 0)
        return CH_FAIL(CHORUS_ERR_STATE,
                       "the stream is in a capture, where nothing runs; end that first");
    CH_TRY(wait_for_stream(gpu, &turn));
    for (uint32_t slot = 0; (team = ch_teams_next(teams, &slot)) != NULL; slot++)
        settle_if_failed(gpu, team);
    late_pe = find_late_pe(gpu, teams->links);
    ch_gpu_settle(gpu, teams->links);
    for (uint32_t slot = 0; (team = ch_teams_next(teams, &slot)) != NULL; slot++) {
        CH_TRY(ch_fault_report(gpu->terms.faults, gpu->terms.timeout_ns, team));
        CH_TRY(ch_fault_report_block(gpu->terms.faults, team));
    }
    CH_TRY(ch_fault_report_wait(gpu->terms.faults, gpu->policy, late_pe));
    return take_wait_report(gpu, teams);
}
