/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h: the stream of a host, an in-order queue of calls with a thread that runs them. */
#ifndef CH_STREAM_H
#define CH_STREAM_H

#include "coll/host/launch.h"

struct chorus_stream;

/* ctas: the largest number of CTAs of a call on it; pe is that of its threads' log lines. */
CH_MUST_CHECK chorus_status ch_stream_create(uint32_t ctas, int pe,
                                             struct chorus_stream **stream_out);
/* Runs the queued calls, then frees; null is a no-op. */
void ch_stream_destroy(struct chorus_stream *stream);

/* Queue a call and return; waits only while CH_STREAM_DEPTH calls are queued. Draws the call's
 * ticket, so that calls of one team run in the order in which they were made, on whatever
 * streams. The hash of a watched source is computed now if no earlier call must still run. */
#define CH_STREAM_DEPTH 1024u
void ch_stream_push(struct chorus_stream *stream, const struct ch_call *call);

/* The same for a function, which gets a copy of `bytes` bytes, at most CH_TASK_BYTES. */
#define CH_TASK_BYTES 144u
void ch_stream_push_task(struct chorus_stream *stream, chorus_status (*run)(const void *task),
                         const void *task, size_t bytes);

/* Wait for all calls queued so far. Returns the first failure since the last time, with its
 * message. */
CH_MUST_CHECK chorus_status ch_stream_synchronize(struct chorus_stream *stream);

#endif /* CH_STREAM_H */
