/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/cuda/drain.h"

#include "base/clock.h"
#include "boot/ways.h"
#include "device/driver_cuda.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

/* --- the device --------------------------------------------------------------------------- */
/* A thread waits for the device, since CUDA offers no query of all its work. If the wait of the
 * caller ends first, the thread frees this. */
struct drain {
    const struct ch_device *device;
    int is_over; /* the first to set it leaves the memory to the other one; atomic */
};

static void *wait_for_device(void *arg)
{
    struct drain *drain = arg;

    (void)ch_device_enter(drain->device);
    (void)cudaDeviceSynchronize();
    (void)cudaGetLastError();
    if (__atomic_exchange_n(&drain->is_over, 1, __ATOMIC_ACQ_REL)) free(drain);
    return NULL;
}

static chorus_status describe_device(const struct ch_device *device,
                                     const struct ch_patience *patience, chorus_status status)
{
    const struct ch_device_id *id = ch_device_id_of(device);

    if (status == CHORUS_ERR_ABORTED)
        return CH_FAIL(status,
                       "work of this PE on GPU %d (%s) has not ended, and the job is ending",
                       id->ordinal, id->name);
    return CH_FAIL(status,
                   "work of this PE on GPU %d (%s) has not ended in %.3g s; does a stream wait "
                   "for a word that no PE stores to, or for an event? CHORUS_TIMEOUT must be "
                   "longer if it is correct",
                   id->ordinal, id->name, (double)patience->timeout_ns / (double)CH_NS_PER_S);
}

chorus_status ch_drain_device(const struct ch_device *device,
                              const struct ch_patience *patience)
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
        status = ch_wait_slow(patience, &w);
    ch_wait_end(patience, &w);
    if (__atomic_exchange_n(&drain->is_over, 1, __ATOMIC_ACQ_REL)) {
        free(drain);
        return CHORUS_OK;
    }
    return describe_device(device, patience, status);
}

/* --- a stream ----------------------------------------------------------------------------- */
struct stream_drain {
    const struct ch_device *device;
    const struct ch_patience *given;
    const struct ch_front_view *waits;
    struct ch_patience patience; /* as given, but it warns only of waits that are not over */
};

/* A wait that is not over, or whose word has changed since; the word has *value_out. Null: all
 * are over. */
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

static void warn_of_unmet(void *arg, uint64_t waited_ns)
{
    const struct stream_drain *drain = arg;
    uint64_t value = 0;

    if (find_unmet(drain, &value) != NULL)
        drain->given->warn(drain->given->warn_arg, waited_ns);
}

/* After a poll: CHORUS_OK to poll again. */
static chorus_status go_on(const struct stream_drain *drain, struct ch_wait *w)
{
    const struct ch_patience *patience = &drain->patience;
    const chorus_status status = ch_wait_slow(patience, w);
    const struct ch_front_wait *unmet = NULL;
    uint64_t value = 0;

    if (status == CHORUS_OK) return CHORUS_OK;
    if (status == CHORUS_ERR_ABORTED)
        return CH_FAIL(status, "work on the stream has not ended, and the job is ending");
    unmet = find_unmet(drain, &value);
    if (unmet == NULL) {
        ch_wait_end(patience, w);
        *w = (struct ch_wait){0};
        return CHORUS_OK;
    }
    return CH_FAIL(
        status,
        "the stream has not ended in %.3g s: a wait on a stream is for the word at %p "
        "to be %s %" PRIu64 ", and it is %" PRIu64 "; does a PE store it, or must "
        "CHORUS_TIMEOUT be longer?",
        (double)patience->timeout_ns / (double)CH_NS_PER_S, (const void *)unmet->word,
        unmet->is_exact ? "equal to" : "at least", unmet->value, value);
}

/* With the device current. */
static chorus_status poll_stream(const struct stream_drain *drain, cudaStream_t stream)
{
    chorus_status status = CHORUS_OK;
    struct ch_wait w = {0};
    cudaError_t error;

    while ((error = cudaStreamQuery(stream)) == cudaErrorNotReady && status == CHORUS_OK)
        status = go_on(drain, &w);
    ch_wait_end(&drain->patience, &w);
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
                              const struct ch_patience *patience,
                              const struct ch_front_view *waits, void *stream)
{
    struct stream_drain drain = {device, patience, waits, *patience};
    const int before = ch_device_enter(device);
    cudaError_t error = cudaSuccess;
    chorus_status status = CHORUS_OK;

    drain.patience.warn = warn_of_unmet;
    drain.patience.warn_arg = &drain;
    if (waits->n != 0)
        status = poll_stream(&drain, stream);
    else
        error = cudaStreamSynchronize(stream);
    ch_device_leave(device, before);
    CH_TRY_CUDA(device, "an earlier call on a stream", error);
    return status;
}
