/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c: the stream of a host, an in-order queue of calls with a thread that runs them. */
#include "coll/host/host.h"

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = 1024 };

/* A collective or, if `run` is not null, a function. */
struct item {
    chorus_status (*run)(const void *task);
    union {
        struct {
            struct ch_call call;
            chorusx_call asked; /* a copy, which call.asked points to */
            uint64_t ticket;    /* the call's, on its team */
        };
        _Alignas(8) char task[CH_TASK_BYTES];
    };
};

struct chorus_stream {
    pthread_t thread;
    pthread_mutex_t mutex;   /* guards all below but workers */
    pthread_cond_t queued;   /* signalled when a call was queued, or at the end */
    pthread_cond_t finished; /* signalled when a call has ended */
    uint64_t pushed, done;   /* numbers of calls since the beginning */
    bool is_closing;
    chorus_status status; /* the first failure since the last synchronize */
    char message[MESSAGE_BYTES];
    struct ch_workers *workers; /* used only by the thread */
    int pe;
    struct item items[CH_STREAM_DEPTH]; /* call i at i % CH_STREAM_DEPTH */
};

/* Keep a failure if it is the first since the last synchronize. The caller holds the mutex. */
static void note_failure(struct chorus_stream *stream, chorus_status status)
{
    if (status == CHORUS_OK || stream->status != CHORUS_OK) return;
    stream->status = status;
    (void)snprintf(stream->message, sizeof(stream->message), "%s", ch_error_message());
}

static chorus_status run_item(const struct chorus_stream *stream, struct item *item)
{
    if (item->run != NULL) return item->run(item->task);
    ch_record_mark(item->call.team->record, item->call.index, CH_ENTRY_RUNNING);
    return ch_call_run(&item->call, item->ticket, stream->workers);
}

/* The thread of a stream: run what is queued, in order, until the stream is closing. */
static void *stream_main(void *arg)
{
    struct chorus_stream *stream = arg;

    ch_log_name_pe(stream->pe);
    (void)pthread_mutex_lock(&stream->mutex);
    for (;;) {
        struct item *item;
        chorus_status status;

        while (stream->done == stream->pushed && !stream->is_closing)
            (void)pthread_cond_wait(&stream->queued, &stream->mutex);
        if (stream->done == stream->pushed) break;
        item = &stream->items[stream->done %
                              CH_STREAM_DEPTH]; /* the entry is kept until the call is done */
        (void)pthread_mutex_unlock(&stream->mutex);
        status = run_item(stream, item);
        (void)pthread_mutex_lock(&stream->mutex);
        note_failure(stream, status);
        stream->done++;
        (void)pthread_cond_broadcast(&stream->finished);
    }
    (void)pthread_mutex_unlock(&stream->mutex);
    return NULL;
}

static void free_stream(struct chorus_stream *stream)
{
    ch_workers_destroy(stream->workers);
    (void)pthread_cond_destroy(&stream->finished);
    (void)pthread_cond_destroy(&stream->queued);
    (void)pthread_mutex_destroy(&stream->mutex);
    free(stream);
}

chorus_status ch_stream_create(uint32_t ctas, int pe, struct chorus_stream **stream_out)
{
    struct chorus_stream *stream = calloc(1, sizeof(*stream));
    chorus_status status;

    if (stream == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a stream");
    stream->pe = pe;
    (void)pthread_mutex_init(&stream->mutex, NULL);
    (void)pthread_cond_init(&stream->queued, NULL);
    (void)pthread_cond_init(&stream->finished, NULL);
    status = ch_workers_create(ctas, pe, &stream->workers);
    if (status == CHORUS_OK && pthread_create(&stream->thread, NULL, stream_main, stream) != 0)
        status = CH_FAIL(CHORUS_ERR_SYSTEM, "cannot start a stream's thread");
    if (status != CHORUS_OK) {
        free_stream(stream);
        return status;
    }
    *stream_out = stream;
    return CHORUS_OK;
}

void ch_stream_destroy(struct chorus_stream *stream)
{
    if (stream == NULL) return;
    (void)pthread_mutex_lock(&stream->mutex);
    stream->is_closing = true;
    (void)pthread_cond_signal(&stream->queued);
    (void)pthread_mutex_unlock(&stream->mutex);
    (void)pthread_join(stream->thread, NULL);
    free_stream(stream);
}

/* Lock the mutex, until push_end, and return a free entry, for which it waits. */
static struct item *push_begin(struct chorus_stream *stream)
{
    (void)pthread_mutex_lock(&stream->mutex);
    while (stream->pushed - stream->done == CH_STREAM_DEPTH)
        (void)pthread_cond_wait(&stream->finished, &stream->mutex);
    return &stream->items[stream->pushed % CH_STREAM_DEPTH];
}

/* Queue the entry that push_begin returned, and unlock the mutex. */
static void push_end(struct chorus_stream *stream)
{
    stream->pushed++;
    (void)pthread_cond_signal(&stream->queued);
    (void)pthread_mutex_unlock(&stream->mutex);
}

void ch_stream_push(struct chorus_stream *stream, const struct ch_call *call)
{
    struct item *item = push_begin(stream);
    const bool is_next = stream->pushed == stream->done && ch_team_is_idle(call->team);

    item->run = NULL;
    item->asked = *call->asked;
    item->call = *call;
    item->call.asked = &item->asked;
    if (call->source_bytes != 0 && is_next) ch_call_hash_source(&item->call);
    item->ticket = ch_team_draw_ticket(call->team, false);
    push_end(stream);
}

void ch_stream_push_task(struct chorus_stream *stream, chorus_status (*run)(const void *task),
                         const void *task, size_t bytes)
{
    struct item *item = push_begin(stream);

    item->run = run;
    memcpy(item->task, task, bytes);
    push_end(stream);
}

chorus_status ch_stream_synchronize(struct chorus_stream *stream)
{
    chorus_status status;
    uint64_t upto;

    (void)pthread_mutex_lock(&stream->mutex);
    upto = stream->pushed;
    while (stream->done < upto)
        (void)pthread_cond_wait(&stream->finished, &stream->mutex);
    status = stream->status;
    stream->status = CHORUS_OK;
    if (status != CHORUS_OK) status = CH_FAIL(status, "%s", stream->message);
    (void)pthread_mutex_unlock(&stream->mutex);
    return status;
}
