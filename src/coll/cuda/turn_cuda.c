/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/cuda/turn.h"

#include "device/driver_cuda.h"

/* The number of a device's only legacy stream, which CUDA never captures. The numbers of CUDA
 * begin at 0. */
#define LEGACY_NUMBER UINT64_MAX

static bool is_legacy(cudaStream_t stream)
{
    return stream == NULL || stream == cudaStreamLegacy;
}

/* Streams that are not created. */
static bool is_default(cudaStream_t stream)
{
    return is_legacy(stream) || stream == cudaStreamPerThread;
}

static chorus_status refuse_default(int own, int current)
{
    return CH_FAIL(CHORUS_ERR_ARG,
                   "the stream is the default stream of GPU %d, which is current on this "
                   "thread; this PE's heap is on GPU %d: make that one current",
                   current, own);
}

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

/* The same for a call that was just captured: its own record, an unused one, or that of the
 * oldest capture, as CUDA counts them. */
static struct ch_last_captured *record_for(struct ch_team *team, uint64_t capture)
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
    captured = record_for(team, turn->capture);
    if (captured->event == NULL) CH_TRY(ch_device_event_create(device, &captured->event));
    CH_TRY_CUDA(device, "recording an event for a team's call",
                cudaEventRecord(captured->event, turn->stream));
    captured->stream = turn->number;
    captured->capture = turn->capture;
    return CHORUS_OK;
}
