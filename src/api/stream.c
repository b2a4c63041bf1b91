/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c: streams that the library creates, their owners, and waits for words of this PE that
 * are queued on a stream. On a host, the stream's thread waits as the blocking calls do. On a
 * GPU, the front end waits for one signal, which occupies no multiprocessor; a kernel of one
 * thread performs the other waits.
 */
#include "api/coll.h"
#include "api/rma.h"
#include "chorus/chorusx.h"
#include "coll/cuda/gpu.h"
#include "coll/host/host.h"
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

/* --- streams ------------------------------------------------------------------------------ */

/* A stream of this PE. The list is short and guarded by the threading rules of the calls. */
struct ch_stream_entry {
    struct chorus_stream *stream; /* where the heap is on a GPU, a cudaStream_t */
    struct ch_stream_entry *next;
};

/* Returns the pointer to the stream's entry in the list; the pointer at the list's end, which
 * is null, if there is none. */
static struct ch_stream_entry **find_stream(struct ch_context *context,
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
    if (*find_stream(context, stream) == NULL)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: stream %p is not a stream of this PE; it was destroyed, or was not "
                       "created by chorusx_stream_create",
                       function, (const void *)stream);
    return CHORUS_OK;
}

/* Destroy the stream of the entry *at, and remove the entry from the list. */
static chorus_status destroy_entry(const struct ch_context *context,
                                   struct ch_stream_entry **at)
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
        if (destroy_entry(context, &context->streams) != CHORUS_OK) ch_error_forget();
}

/* Create a stream of a host or, if the heap is on a GPU, of CUDA. */
static chorus_status make_stream(const struct ch_context *context,
                                 struct chorus_stream **stream_out)
{
    void *stream = NULL;

    if (context->gpu == NULL)
        return ch_stream_create((uint32_t)context->options.ctas, (int)context->boot->me,
                                stream_out);
    CH_TRY(ch_device_stream_create(ch_heap_device(context->heap), false, &stream));
    *stream_out = stream;
    return CHORUS_OK;
}

static chorus_status create_stream(const char *function, chorus_stream_t *stream_out)
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
    return ch_handle_status(__func__, create_stream(__func__, stream_out));
}

static chorus_status destroy_stream(const char *function, chorus_stream_t stream)
{
    struct ch_context *context;

    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_stream_check(context, function, stream));
    return destroy_entry(context, find_stream(context, stream));
}

int chorusx_stream_destroy(chorus_stream_t stream)
{
    return ch_handle_status(__func__, destroy_stream(__func__, stream));
}

/* Wait until all calls on the stream are complete. */
static chorus_status synchronize_stream(const char *function, chorus_stream_t stream)
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
    return ch_handle_status(__func__, synchronize_stream(__func__, stream));
}

/* --- waits -------------------------------------------------------------------------------- */

/* A query that was checked. */
struct wait {
    struct ch_query query;
    uint64_t value; /* its first bytes: the other operand of all words, if values is null */
};

_Static_assert(sizeof(struct wait) <= CH_TASK_BYTES, "a wait must fit into a task");

/* Runs on the thread of a host's stream: wait for the words of a struct wait. */
static chorus_status run_wait(const void *task)
{
    const struct wait *wait = task;
    struct ch_query query = wait->query;

    if (query.values == NULL) query.values = (const char *)&wait->value;
    return ch_query_wait_checked(&query);
}

/* --- waits on GPUs ------------------------------------------------------------------------ */
/* Can the front end of a GPU perform the wait? It compares 64 unsigned bits for "equal", or for
 * "at least". */
static bool is_for_front_end(const struct wait *wait)
{
    const struct ch_query *q = &wait->query;

    if (q->type != CHORUS_TYPE_u64 || q->count != 1 || q->status != NULL || q->values != NULL)
        return false;
    return q->cmp == CHORUS_CMP_EQ || q->cmp == CHORUS_CMP_GE ||
           (q->cmp == CHORUS_CMP_GT && wait->value != UINT64_MAX);
}

/* Fails if the GPU cannot access the array, an optional argument `name` of the wait. */
static chorus_status check_reached(const struct ch_device *device, const struct ch_query *q,
                                   const char *name, const void *array)
{
    if (array == NULL || ch_device_reaches(device, array)) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s: %s %p is not memory that GPU %d reaches, where the wait reads it; "
                   "expected memory from cudaMalloc or cudaMallocManaged",
                   q->function, name, array, ch_device_id_of(device)->ordinal);
}

/* Queue a wait on a stream of a GPU: for the front end or, else, a kernel. */
static chorus_status queue_wait_on_gpu(const struct wait *wait, void *stream)
{
    const struct ch_query *q = &wait->query;
    const struct ch_device *device = ch_heap_device(q->context->heap);
    const struct ch_wait_request request = {
        .bytes = (unsigned)ch_type_bytes[q->type],
        .is_signed = ch_type_is_signed(q->type),
        .cmp = q->cmp,
        .words = q->ivars,
        .count = q->count,
        .status = q->status,
        .values = q->values,
        .value = wait->value,
        .limit = ch_gpu_wait_limit(q->context->gpu),
    };
    const struct ch_front_wait front = {
        .word = (const uint64_t *)(const void *)q->ivars,
        .value = wait->value + (q->cmp == CHORUS_CMP_GT),
        .is_exact = q->cmp == CHORUS_CMP_EQ,
    };

    CH_TRY(ch_error_prefix_if_failed(q->function, ch_device_check_legacy(device, stream)));
    if (is_for_front_end(wait)) return ch_gpu_put_wait(q->context->gpu, stream, &front);
    if (q->count == 0) return CHORUS_OK;
    CH_TRY(check_reached(device, q, "status", q->status));
    CH_TRY(check_reached(device, q, "cmp_values", q->values));
    return ch_wait_launch(device, stream, &request);
}

/* --- calls of waits ----------------------------------------------------------------------- */
static chorus_status check_and_queue_wait(struct wait wait, chorus_stream_t stream)
{
    CH_TRY(ch_query_check(&wait.query));
    if (wait.query.context->gpu != NULL) return queue_wait_on_gpu(&wait, stream);
    CH_TRY(ch_stream_check(wait.query.context, wait.query.function, stream));
    ch_stream_push_task(stream, run_wait, &wait, sizeof(wait));
    return CHORUS_OK;
}

/* Queue a wait on the stream; returns a code after reporting a failure. */
static int queue_wait_on(struct wait wait, chorus_stream_t stream)
{
    return ch_handle_status(wait.query.function, check_and_queue_wait(wait, stream));
}

#define WAIT(KIND, WORDS, COUNT, STATUS, CMP)     \
    (struct wait)                                 \
    {                                             \
        .query = {.function = __func__,           \
                  .name = #WORDS,                 \
                  .type = (KIND),                 \
                  .ivars = (const char *)(WORDS), \
                  .count = (COUNT),               \
                  .status = (STATUS),             \
                  .cmp = (CMP)},                  \
    }

#define DEFINE(NAME, T, kind)                                                                 \
    int chorusx_##NAME##_wait_until_on_stream(T *ivar, int cmp, T cmp_value,                  \
                                              chorus_stream_t stream)                         \
    {                                                                                         \
        struct wait wait = WAIT(kind, ivar, 1, NULL, cmp);                                    \
                                                                                              \
        memcpy(&wait.value, &cmp_value, sizeof(T));                                           \
        return queue_wait_on(wait, stream);                                                   \
    }                                                                                         \
    int chorusx_##NAME##_wait_until_all_on_stream(T *ivars, size_t nelems, const int *status, \
                                                  int cmp, T cmp_value,                       \
                                                  chorus_stream_t stream)                     \
    {                                                                                         \
        struct wait wait = WAIT(kind, ivars, nelems, status, cmp);                            \
                                                                                              \
        memcpy(&wait.value, &cmp_value, sizeof(T));                                           \
        return queue_wait_on(wait, stream);                                                   \
    }                                                                                         \
    int chorusx_##NAME##_wait_until_all_vector_on_stream(                                     \
        T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values,             \
        chorus_stream_t stream)                                                               \
    {                                                                                         \
        struct wait wait = WAIT(kind, ivars, nelems, status, cmp);                            \
                                                                                              \
        wait.query.values = (const char *)cmp_values;                                         \
        wait.query.values_step = sizeof(T);                                                   \
        return queue_wait_on(wait, stream);                                                   \
    }
CHORUS_WAIT_TYPES(DEFINE)

int chorusx_signal_wait_until_on_stream(uint64_t *sig_addr, int cmp, uint64_t cmp_value,
                                        chorus_stream_t stream)
{
    struct wait wait = WAIT(CHORUS_TYPE_u64, sig_addr, 1, NULL, cmp);

    wait.value = cmp_value;
    return queue_wait_on(wait, stream);
}
