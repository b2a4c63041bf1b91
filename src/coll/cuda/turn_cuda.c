/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn_cuda.c: orders the calls of a team on streams, so that they run one at a time, and waits
 * for work on the GPU.
 *
 * A call runs after the team's previous call. If both are on the same stream, the stream
 * orders them. Otherwise the new call's stream waits for a count, in the GPU's memory, of the
 * CTAs of the team's calls that have ended. An event after each call would also work, but it
 * costs host time at each call, and stands between a kernel and the next one, which then
 * cannot be launched early; an event that is recorded only when the other stream is used needs
 * the old stream, which the program may have destroyed. Within a capture events cost nothing
 * and are used. Captured calls are ordered among those of the same capture, other calls among
 * themselves: only the program knows when a graph runs. Of a team, up to CH_TEAM_CAPTURES
 * captures may be filled in turns.
 *
 * Waits of the host for the GPU end with the job and by CHORUS_TIMEOUT, without a cost to the
 * streams. CUDA's own waits end only with the work, and a wait on a stream for a word that no
 * PE stores to never ends: the front end of the GPU has no deadline, and a kernel in its place
 * would occupy a multiprocessor.
 */
#include "coll/cuda/queue.h"

#include "base/clock.h"
#include "boot/ways.h"
#include "device/driver_cuda.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

/* --- the order of calls ------------------------------------------------------------------- */
/* The number of a device's only legacy stream, which CUDA never captures. The numbers of CUDA
 * begin at 0. */
#define LEGACY_NUMBER UINT64_MAX

static bool is_legacy(cudaStream_t stream)
{
    return stream == NULL || stream == cudaStreamLegacy;
}

/* Is this a stream that programs do not create? */
static bool is_default(cudaStream_t stream)
{
    return is_legacy(stream) || stream == cudaStreamPerThread;
}

/* Fail with ERR_ARG: a default stream of GPU `current`, and the heap is on GPU `own`. */
static chorus_status refuse_default(int own, int current)
{
    return CH_FAIL(CHORUS_ERR_ARG,
                   "the stream is the default stream of GPU %d, which is current on this "
                   "thread; this PE's heap is on GPU %d: make that one current",
                   current, own);
}

/* Find the identifier of a stream's capture; 0: it is not being captured. */
static chorus_status capture_of(const struct ch_device *device, cudaStream_t stream,
                                uint64_t *capture_out)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;

    CH_TRY_CUDA(device, "reading a stream's capture",
                cudaStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL, NULL));
    if (status == cudaStreamCaptureStatusInvalidated)
        return CH_FAIL(CHORUS_ERR_STATE,
                       "the stream's capture was broken by an earlier error; end it with "
                       "cudaStreamEndCapture");
    *capture_out = status == cudaStreamCaptureStatusActive ? id : 0;
    return CHORUS_OK;
}

/* ERR_ARG if the stream is of another device. */
static chorus_status check_device(const struct ch_device *device, cudaStream_t stream)
{
    const int own = ch_device_id_of(device)->ordinal;
    int ordinal = own;

    CH_TRY_CUDA(device, "reading a stream's GPU", cudaStreamGetDevice(stream, &ordinal));
    if (ordinal == own) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "the stream is of GPU %d, this PE's heap is on GPU %d; create the stream "
                   "while that GPU is current",
                   ordinal, own);
}

/*
 * During a capture, only the capture of a stream is read: its handle identifies it there, and a
 * launch on a stream of another device fails. Outside captures a handle does not: it may be
 * reused after the stream's end, and each thread has its own cudaStreamPerThread.
 */
chorus_status ch_turn_of(const struct ch_heap *heap, void *stream, struct ch_turn *turn_out)
{
    const struct ch_device *device = ch_heap_device(heap);
    const int own = ch_device_id_of(device)->ordinal;
    unsigned long long id = 0;
    int current = own;

    CH_TRY_CUDA(device, "reading the current GPU", cudaGetDevice(&current));
    if (is_default(stream) && current != own) return refuse_default(own, current);
    turn_out->stream = stream;
    turn_out->is_current = current == own;
    if (is_legacy(stream)) {
        turn_out->number = LEGACY_NUMBER;
        turn_out->capture = 0;
        return ch_device_check_legacy(device, stream);
    }
    CH_TRY(capture_of(device, stream, &turn_out->capture));
    turn_out->number = (uint64_t)(uintptr_t)stream + 1;
    if (turn_out->capture != 0) return CHORUS_OK;
    if (!is_default(stream)) CH_TRY(check_device(device, stream));
    CH_TRY_CUDA(device, "reading a stream's number", cudaStreamGetId(stream, &id));
    turn_out->number = (uint64_t)id + 1;
    return CHORUS_OK;
}

/* The record of the team's last call in this capture; null: there was none. */
static struct ch_last_captured *captured_in(struct ch_team *team, uint64_t capture)
{
    for (int i = 0; i < CH_TEAM_CAPTURES; i++)
        if (team->last_captured[i].stream != 0 && team->last_captured[i].capture == capture)
            return &team->last_captured[i];
    return NULL;
}

/* The place to note a call that was just captured: that of its capture, an unused one, or that
 * of the oldest capture, as CUDA counts them. */
static struct ch_last_captured *record_of_capture(struct ch_team *team, uint64_t capture)
{
    struct ch_last_captured *own = captured_in(team, capture), *records = team->last_captured;

    if (own != NULL) return own;
    own = &records[0];
    for (int i = 0; i < CH_TEAM_CAPTURES && own->stream != 0; i++)
        if (records[i].stream == 0 || records[i].capture < own->capture) own = &records[i];
    return own;
}

chorus_status ch_turn_begin(const struct ch_heap *heap, struct ch_team *team,
                            const struct ch_turn *turn)
{
    const struct ch_device *device = ch_heap_device(heap);
    const struct ch_last_captured *captured;

    if (turn->capture == 0) {
        if (team->last_run.stream == 0 || team->last_run.stream == turn->number)
            return CHORUS_OK;
        return ch_device_put_wait(device, turn->stream, ch_team_ended(team),
                                  team->last_run.ctas, false);
    }
    captured = captured_in(team, turn->capture);
    if (captured == NULL || captured->stream == turn->number) return CHORUS_OK;
    CH_TRY_CUDA(device, "waiting for a team's call on another stream",
                cudaStreamWaitEvent(turn->stream, captured->event, cudaEventWaitDefault));
    return CHORUS_OK;
}

chorus_status ch_turn_end(const struct ch_heap *heap, struct ch_team *team,
                          const struct ch_turn *turn, uint32_t ctas)
{
    const struct ch_device *device = ch_heap_device(heap);
    struct ch_last_captured *captured;

    if (!ch_team_is_in_use(team)) (void)__atomic_fetch_add(team->n_in_use, 1, __ATOMIC_RELAXED);
    if (turn->capture == 0) {
        team->last_run.stream = turn->number;
        team->last_run.ctas += ctas;
        return CHORUS_OK;
    }
    captured = record_of_capture(team, turn->capture);
    if (captured->event == NULL) CH_TRY(ch_device_event_create(device, &captured->event));
    CH_TRY_CUDA(device, "recording an event for a team's call",
                cudaEventRecord(captured->event, turn->stream));
    captured->stream = turn->number;
    captured->capture = turn->capture;
    return CHORUS_OK;
}

/* --- waits for the device ----------------------------------------------------------------- */
/* A thread waits for the device, since CUDA offers no query of all its work. If the wait of the
 * caller ends first, the thread frees this. */
struct drain {
    const struct ch_device *device;
    int is_over; /* the first to set it leaves the memory to the other one; atomic */
};

/* A thread of ch_drain_device: wait for the device; arg is a struct drain. */
static void *wait_for_device(void *arg)
{
    struct drain *drain = arg;

    (void)ch_device_enter(drain->device);
    (void)cudaDeviceSynchronize();
    (void)cudaGetLastError();
    if (__atomic_exchange_n(&drain->is_over, 1, __ATOMIC_ACQ_REL)) free(drain);
    return NULL;
}

/* Fail because the work on the device has not ended; status: ERR_ABORTED or ERR_TIMEOUT. */
static chorus_status fail_drain(const struct ch_device *device,
                                const struct ch_wait_policy *policy, chorus_status status)
{
    const struct ch_device_id *id = ch_device_id_of(device);
    const char *why = ch_wait_end_reason(policy);

    if (status == CHORUS_ERR_ABORTED)
        return CH_FAIL(
            status, "work of this PE on GPU %d (%s) has not ended, and the job is ending%s%s",
            id->ordinal, id->name, *why != '\0' ? ": " : "", why);
    return CH_FAIL(status,
                   "work of this PE on GPU %d (%s) has not ended in %.3g s; does a stream wait "
                   "for a word that no PE stores to, or for an event? CHORUS_TIMEOUT must be "
                   "longer if it is correct",
                   id->ordinal, id->name, (double)policy->timeout_ns / (double)CH_NS_PER_S);
}

chorus_status ch_drain_device(const struct ch_device *device,
                              const struct ch_wait_policy *policy)
{
    struct drain *drain = calloc(1, sizeof(*drain));
    chorus_status status = CHORUS_OK;
    struct ch_wait w = {0};
    pthread_t thread;

    if (drain == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to wait for the GPU");
    drain->device = device;
    status = ch_thread_start(wait_for_device, drain, &thread);
    if (status != CHORUS_OK) {
        free(drain);
        return status;
    }
    (void)pthread_detach(thread);
    while (status == CHORUS_OK && !__atomic_load_n(&drain->is_over, __ATOMIC_ACQUIRE))
        status = ch_wait_slow(policy, &w);
    ch_wait_end(policy, &w);
    if (__atomic_exchange_n(&drain->is_over, 1, __ATOMIC_ACQ_REL)) {
        free(drain);
        return CHORUS_OK;
    }
    return fail_drain(device, policy, status);
}

/* --- waits for a stream ------------------------------------------------------------------- */
struct stream_drain {
    const struct ch_device *device;
    const struct ch_wait_policy *given;
    const struct ch_front_view *waits;
    struct ch_wait_policy policy; /* as given, but it warns only of waits that are not over */
};

/* Find a wait that is not over, or whose word has changed since; the word has *value_out. Null:
 * all are over. */
static const struct ch_front_wait *find_unmet(const struct stream_drain *drain,
                                              uint64_t *value_out)
{
    for (uint32_t i = 0; i < drain->waits->n; i++) {
        const struct ch_front_wait *wait = &drain->waits->waits[i];

        if (ch_device_copy(drain->device, value_out, wait->word, sizeof(*value_out)) !=
            CHORUS_OK) {
            ch_error_forget();
            continue;
        }
        if (wait->is_exact ? *value_out != wait->value : *value_out < wait->value) return wait;
    }
    return NULL;
}

/* For ch_wait_policy.warn: warn as the given policy does, if a wait is not over. */
static void warn_of_unmet(void *arg, uint64_t waited_ns)
{
    const struct stream_drain *drain = arg;
    uint64_t value = 0;

    if (find_unmet(drain, &value) != NULL)
        drain->given->warn(drain->given->warn_arg, waited_ns);
}

/* Wait before the next poll; an error ends the polling. A wait that was too long begins anew if
 * no wait on the stream is the reason. */
static chorus_status wait_between_polls(const struct stream_drain *drain, struct ch_wait *w)
{
    const struct ch_wait_policy *policy = &drain->policy;
    const chorus_status status = ch_wait_slow(policy, w);
    const struct ch_front_wait *unmet = NULL;
    uint64_t value = 0;

    if (status == CHORUS_OK) return CHORUS_OK;
    if (status == CHORUS_ERR_ABORTED) {
        const char *why = ch_wait_end_reason(policy);

        return CH_FAIL(status, "work on the stream has not ended, and the job is ending%s%s",
                       *why != '\0' ? ": " : "", why);
    }
    unmet = find_unmet(drain, &value);
    if (unmet == NULL) {
        ch_wait_end(policy, w);
        *w = (struct ch_wait){0};
        return CHORUS_OK;
    }
    return CH_FAIL(
        status,
        "the stream has not ended in %.3g s: a wait on a stream is for the word at %p "
        "to be %s %" PRIu64 ", and it is %" PRIu64 "; does a PE store it, or must "
        "CHORUS_TIMEOUT be longer?",
        (double)policy->timeout_ns / (double)CH_NS_PER_S, (const void *)unmet->word,
        unmet->is_exact ? "equal to" : "at least", unmet->value, value);
}

/* Poll a stream until its work has ended. The device is current. */
static chorus_status poll_stream(const struct stream_drain *drain, cudaStream_t stream)
{
    chorus_status status = CHORUS_OK;
    struct ch_wait w = {0};
    cudaError_t error;

    while ((error = cudaStreamQuery(stream)) == cudaErrorNotReady && status == CHORUS_OK)
        status = wait_between_polls(drain, &w);
    ch_wait_end(&drain->policy, &w);
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError();
        return status;
    }
    CH_TRY_CUDA(drain->device, "an earlier call on a stream", error);
    return CHORUS_OK;
}

/* A stream may also be waited for while another stream of this thread is being captured: the
 * wait is then not part of the capture. */
chorus_status ch_drain_stream(const struct ch_device *device,
                              const struct ch_wait_policy *policy,
                              const struct ch_front_view *waits, void *stream)
{
    struct stream_drain drain = {device, policy, waits, *policy};
    const int before = ch_device_enter(device);
    cudaError_t error = cudaSuccess;
    chorus_status status = CHORUS_OK;

    drain.policy.warn = warn_of_unmet;
    drain.policy.warn_arg = &drain;
    if (waits->n != 0)
        status = poll_stream(&drain, stream);
    else
        error = cudaStreamSynchronize(stream);
    ch_device_leave(device, before);
    CH_TRY_CUDA(device, "an earlier call on a stream", error);
    return status;
}
