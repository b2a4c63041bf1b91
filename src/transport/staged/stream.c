/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c: copies and stores that this PE's GPU performs for the network, and their ends.
 *
 * There are two streams, one for each direction, of the highest priority: peers wait for this
 * work, and it must not wait behind that of the program. Streams share the few queues of the
 * GPU's front end, in which work waits for that of other streams, and kernels of the program
 * may wait there for what this network brings. Copy engines need no place in these queues, and
 * neither do stores of words that follow their work in a stream. Atomics that compute do, as
 * do the copy of one byte alone to the GPU, and that of an element of two bytes.
 *
 * A mark is a store of its number to pinned memory, where the CPU loads it: to ask CUDA for the
 * end of an event would be a call of its driver in each poll. Short copies that are queued
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

void ch_staged_stream_close(struct ch_endpoint *ep, struct ch_staged_stream *stream)
{
    ch_device_stream_destroy(ep->terms.device, stream->stream);
}

/* Work was queued, by a copy engine or not, with this result: returns its mark, or 0. */
static uint64_t note_work(struct ch_endpoint *ep, struct ch_staged_stream *stream,
                          struct ch_staged_peer *peer, bool is_by_engine, chorus_status status)
{
    if (status != CHORUS_OK) {
        ch_staged_fail_device(ep, peer, status);
        return 0;
    }
    stream->is_by_engine = is_by_engine;
    stream->has_unmarked = true;
    return stream->marks + 1;
}

uint64_t ch_staged_copy(struct ch_endpoint *ep, struct ch_staged_stream *stream,
                        struct ch_staged_peer *peer, void *dst, const void *src, size_t bytes)
{
    const struct ch_device *device = ep->terms.device;
    const bool is_out = stream == &ep->out;
    const chorus_status status =
        is_out ? ch_device_put_copy(device, stream->stream, dst, src, bytes)
               : ch_device_put_engine_copy(device, stream->stream, dst, src, bytes);
    const uint64_t mark = note_work(ep, stream, peer, is_out || bytes > 1, status);

    if (bytes >= OWN_MARK) ch_staged_mark(ep, stream);
    return mark;
}

uint64_t ch_staged_copy_linear(struct ch_endpoint *ep, struct ch_staged_stream *stream,
                               struct ch_staged_peer *peer, void *dst, const void *src,
                               size_t bytes)
{
    return note_work(ep, stream, peer, false,
                     ch_device_put_copy(ep->terms.device, stream->stream, dst, src, bytes));
}

/* Queue a copy of a word to `fetched`, in pinned memory. */
static chorus_status queue_fetch(const struct ch_endpoint *ep, void *stream, const void *word,
                                 size_t bytes, uint64_t *fetched)
{
    return ch_device_put_copy(ep->terms.device, stream, on_device(ep, (char *)(void *)fetched),
                              word, bytes);
}

uint64_t ch_staged_store(struct ch_endpoint *ep, struct ch_staged_stream *stream,
                         struct ch_staged_peer *peer, void *word, uint64_t value, size_t bytes,
                         uint64_t *scratch)
{
    chorus_status status = CHORUS_OK;

    if (!stream->is_by_engine) status = queue_fetch(ep, stream->stream, word, bytes, scratch);
    if (status == CHORUS_OK)
        status = ch_device_put_store(ep->terms.device, stream->stream, word, value, bytes);
    return note_work(ep, stream, peer, true, status);
}

uint64_t ch_staged_change(struct ch_endpoint *ep, struct ch_staged_stream *stream,
                          struct ch_staged_peer *peer, struct ch_amo_request *request,
                          uint64_t *fetched)
{
    *fetched = 0; /* of a word of 4 bytes, only the lower half is stored */
    if (request->op == CH_AMO_SET)
        return ch_staged_store(ep, stream, peer, request->word, request->value, request->bytes,
                               fetched);
    if (request->op == CH_AMO_FETCH)
        return note_work(
            ep, stream, peer, true,
            queue_fetch(ep, stream->stream, request->word, request->bytes, fetched));
    request->fetched = (uint64_t *)(void *)on_device(ep, (char *)(void *)fetched);
    return note_work(ep, stream, peer, false,
                     ch_amo_launch(ep->terms.device, stream->stream, request));
}

void ch_staged_mark(struct ch_endpoint *ep, struct ch_staged_stream *stream)
{
    chorus_status status;

    if (!stream->has_unmarked) return;
    status = ch_device_put_store(ep->terms.device, stream->stream, stream->ended_on_device,
                                 stream->marks + 1, sizeof(*stream->ended));
    stream->has_unmarked = false;
    stream->marks++;
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
