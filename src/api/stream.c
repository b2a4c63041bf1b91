/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c: streams that the library creates, and their owners. */
#include "coll/host/stream.h"

#include "api/context.h"
#include "api/coll.h"
#include "chorus/chorusx.h"

#include <stdlib.h>

/* A stream of this PE. The list is short and guarded by the threading rules of the calls. */
struct ch_stream_entry {
    struct chorus_stream *stream; /* where the heap is on a GPU, a cudaStream_t */
    struct ch_stream_entry *next;
};

static struct ch_stream_entry **find(struct ch_context *context,
                                     const struct chorus_stream *stream)
{
    struct ch_stream_entry **at = &context->streams;

    while (*at != NULL && (*at)->stream != stream)
        at = &(*at)->next;
    return at;
}

chorus_status ch_stream_check(struct ch_context *context, const char *function,
                              const struct chorus_stream *stream)
{
    if (stream == NULL)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: stream is null; create one with chorusx_stream_create", function);
    if (*find(context, stream) == NULL)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: stream %p is not a stream of this PE; it was destroyed, or was not "
                       "created by chorusx_stream_create",
                       function, (const void *)stream);
    return CHORUS_OK;
}

static chorus_status remove_entry(const struct ch_context *context, struct ch_stream_entry **at)
{
    struct ch_stream_entry *entry = *at;
    chorus_status status = CHORUS_OK;

    *at = entry->next;
    if (context->gpu != NULL)
        status = ch_gpu_stream_destroy(context->gpu, entry->stream);
    else
        ch_stream_destroy(entry->stream);
    free(entry);
    return status;
}

void ch_streams_close(struct ch_context *context)
{
    while (context->streams != NULL)
        if (remove_entry(context, &context->streams) != CHORUS_OK) ch_error_forget();
}

static chorus_status make_stream(const struct ch_context *context,
                                 struct chorus_stream **stream_out)
{
    void *stream = NULL;

    if (context->gpu == NULL)
        return ch_stream_create((uint32_t)context->options.ctas, (int)context->boot->me,
                                stream_out);
    CH_TRY(ch_gpu_stream_create(context->gpu, &stream));
    *stream_out = stream;
    return CHORUS_OK;
}

static chorus_status create(const char *function, chorus_stream_t *stream_out)
{
    struct ch_stream_entry *entry;
    struct ch_context *context;
    chorus_status status;

    CH_TRY(ch_context_require(function, &context));
    if (stream_out == NULL)
        return CH_FAIL(
            CHORUS_ERR_ARG,
            "%s: stream_out is null; expected the address of a variable for the stream",
            function);
    entry = calloc(1, sizeof(*entry));
    if (entry == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a stream");
    status = make_stream(context, &entry->stream);
    if (status != CHORUS_OK) {
        free(entry);
        return status;
    }
    entry->next = context->streams;
    context->streams = entry;
    *stream_out = entry->stream;
    return CHORUS_OK;
}

int chorusx_stream_create(chorus_stream_t *stream_out)
{
    return ch_give(__func__, create(__func__, stream_out));
}

static chorus_status destroy(const char *function, chorus_stream_t stream)
{
    struct ch_context *context;

    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_stream_check(context, function, stream));
    return remove_entry(context, find(context, stream));
}

int chorusx_stream_destroy(chorus_stream_t stream)
{
    return ch_give(__func__, destroy(__func__, stream));
}

static chorus_status synchronize(const char *function, chorus_stream_t stream)
{
    struct ch_context *context;

    CH_TRY(ch_context_require(function, &context));
    if (context->gpu != NULL)
        return ch_gpu_stream_synchronize(context->gpu, context->teams, stream);
    CH_TRY(ch_stream_check(context, function, stream));
    return ch_stream_synchronize(stream);
}

int chorusx_stream_synchronize(chorus_stream_t stream)
{
    return ch_give(__func__, synchronize(__func__, stream));
}
