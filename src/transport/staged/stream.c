/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c: copies and stores that this PE's GPU performs for the network, and their ends.
 *
 * There are two streams, one for each direction, of the highest priority: peers wait for this
 * work, and it must not wait behind that of the program. Streams share the few queues of the
 * GPU's front end, in which work waits for that of other streams, and kernels of the program
 * may wait there for what this network brings. Data and marks are therefore copied by copy
 * engines, without that front end. No copy engine stores a word of the GPU as one access, so
 * words that programs poll, and atomics, do use it.
 *
 * A mark is a copy of its number, from a list of numbers in memory of the GPU to pinned memory,
 * where the CPU loads it: to ask CUDA for the end of an event would be a call of its driver in
 * each poll. The list holds the numbers modulo its length. Short copies that are queued
 * together share a mark.
 */
#include "transport/staged/inside.h"

#include "base/clock.h"

#include <sched.h>

/* A copy of so many bytes takes longer than its mark; and the polls of work that has not ended
 * between two looks for a failure. */
enum { OWN_MARK = 16 << 10, LOOK = 1024 };

#define DRAIN_NS CH_NS_PER_S

/* The address for the device of something in the pinned memory. */
static char *on_device(const struct ch_endpoint *ep, const char *pinned)
{
    return ep->terms.on_device + (pinned - ep->terms.memory);
}

chorus_status ch_staged_stream_open(struct ch_endpoint *ep, struct ch_staged_stream *stream,
                                    char *ended)
{
    stream->ended = (uint64_t *)(void *)ended;
    stream->ended_on_device = (uint64_t *)(void *)on_device(ep, ended);
    *stream->ended = 0;
    return ch_device_stream_create(ep->terms.device, true, &stream->stream);
}

chorus_status ch_staged_make_numbers(const struct ch_endpoint *ep)
{
    uint64_t numbers[CH_STAGED_NUMBERS];

    for (uint64_t i = 0; i < CH_STAGED_NUMBERS; i++)
        numbers[i] = i;
    return ch_device_copy(ep->terms.device, ep->terms.numbers, numbers, sizeof(numbers));
}

void ch_staged_stream_close(struct ch_endpoint *ep, struct ch_staged_stream *stream)
{
    ch_device_stream_destroy(ep->terms.device, stream->stream);
}

/* Work was queued, with this result: returns its mark, or 0. */
static uint64_t note_work(struct ch_endpoint *ep, struct ch_staged_stream *stream,
                          struct ch_staged_peer *peer, chorus_status status)
{
    if (status != CHORUS_OK) {
        ch_staged_fail_device(ep, peer, status);
        return 0;
    }
    stream->has_unmarked = true;
    return stream->marks + 1;
}

uint64_t ch_staged_copy(struct ch_endpoint *ep, struct ch_staged_stream *stream,
                        struct ch_staged_peer *peer, void *dst, const void *src, size_t bytes)
{
    const struct ch_device *device = ep->terms.device;
    const chorus_status status =
        stream == &ep->out ? ch_device_put_copy(device, stream->stream, dst, src, bytes)
                           : ch_device_put_engine_copy(device, stream->stream, dst, src, bytes);
    const uint64_t mark = note_work(ep, stream, peer, status);

    if (bytes >= OWN_MARK) ch_staged_mark(ep, stream);
    return mark;
}

uint64_t ch_staged_copy_word(struct ch_endpoint *ep, struct ch_staged_stream *stream,
                             struct ch_staged_peer *peer, void *dst, const void *src,
                             size_t bytes)
{
    return note_work(ep, stream, peer,
                     ch_device_put_copy(ep->terms.device, stream->stream, dst, src, bytes));
}

/* Queue the operation: by a copy, if that performs it. A copy of an aligned word of 4 or 8
 * bytes is one access. */
static chorus_status queue_change(const struct ch_device *device, void *stream,
                                  struct ch_amo_request *request)
{
    switch (request->op) {
    case CH_AMO_SET:
        return ch_device_put_copy(device, stream, request->word, request->fetched,
                                  request->bytes);
    case CH_AMO_FETCH:
        return ch_device_put_copy(device, stream, request->fetched, request->word,
                                  request->bytes);
    default:
        return ch_amo_launch(device, stream, request);
    }
}

uint64_t ch_staged_change(struct ch_endpoint *ep, struct ch_staged_stream *stream,
                          struct ch_staged_peer *peer, struct ch_amo_request *request,
                          uint64_t *fetched)
{
    /* What is set; and of a word of 4 bytes, only the lower half is fetched. */
    *fetched = request->op == CH_AMO_SET ? request->value : 0;
    request->fetched = (uint64_t *)(void *)on_device(ep, (char *)(void *)fetched);
    return note_work(ep, stream, peer, queue_change(ep->terms.device, stream->stream, request));
}

/* How many marks of the stream have ended: the last number that it stored, which is among the
 * last CH_STAGED_NUMBERS. */
static uint64_t ended_marks(const struct ch_staged_stream *stream)
{
    const uint64_t number = __atomic_load_n(stream->ended, __ATOMIC_ACQUIRE);

    return stream->marks - (stream->marks - number) % CH_STAGED_NUMBERS;
}

bool ch_staged_has_ended(const struct ch_staged_stream *stream, uint64_t mark)
{
    return ended_marks(stream) >= mark;
}

/* If so many marks are under way that their numbers would repeat, the next call queues it. */
void ch_staged_mark(struct ch_endpoint *ep, struct ch_staged_stream *stream)
{
    const uint64_t next = stream->marks + 1;
    chorus_status status;

    if (!stream->has_unmarked || next - ended_marks(stream) == CH_STAGED_NUMBERS) return;
    status = ch_device_put_copy(ep->terms.device, stream->stream, stream->ended_on_device,
                                &ep->terms.numbers[next % CH_STAGED_NUMBERS],
                                sizeof(*stream->ended));
    stream->has_unmarked = false;
    stream->marks = next;
    if (status != CHORUS_OK) ch_staged_fail_device(ep, NULL, status);
}

void ch_staged_stream_check(struct ch_endpoint *ep, struct ch_staged_stream *stream)
{
    chorus_status status;

    if (!ch_staged_is_busy(stream) || ++stream->polls % LOOK != 0) return;
    status = ch_device_stream_check(ep->terms.device, stream->stream);
    if (status != CHORUS_OK) ch_staged_fail_device(ep, NULL, status);
}

/* Has all work of both streams ended, or failed, so that it never will? */
static bool is_over(const struct ch_endpoint *ep)
{
    return (!ch_staged_is_busy(&ep->in) && !ch_staged_is_busy(&ep->out)) ||
           ch_device_stream_check(ep->terms.device, ep->in.stream) != CHORUS_OK ||
           ch_device_stream_check(ep->terms.device, ep->out.stream) != CHORUS_OK;
}

void ch_staged_drain(struct ch_endpoint *ep)
{
    const uint64_t start_ns = ch_clock_ns();

    while (!ep->is_stuck) {
        ch_staged_mark(ep, &ep->in);
        ch_staged_mark(ep, &ep->out);
        if (is_over(ep)) return;
        ep->is_stuck = ch_clock_ns() - start_ns > DRAIN_NS;
        (void)sched_yield();
    }
}
