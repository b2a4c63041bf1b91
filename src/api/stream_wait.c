/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_wait.c: waits for words of this PE that are queued on a stream. On a host, the
 * stream's thread waits as the blocking calls do. On a GPU, the front end waits for one signal,
 * which occupies no multiprocessor; a kernel of one thread performs the other waits.
 */
#include "api/coll.h"
#include "api/query.h"
#include "chorus/chorusx.h"
#include "coll/cuda/gpu.h"
#include "coll/host/stream.h"
#include "device/device.h"

#include <string.h>

/* A query that was checked. */
struct wait {
    struct ch_query query;
    uint64_t value; /* its first bytes: the other operand of all words, if values is null */
};

_Static_assert(sizeof(struct wait) <= CH_TASK_BYTES, "a wait must fit into a task");

static chorus_status run(const void *task)
{
    const struct wait *wait = task;
    struct ch_query query = wait->query;

    if (query.values == NULL) query.values = (const char *)&wait->value;
    return ch_query_wait_checked(&query);
}

/* --- GPUs --------------------------------------------------------------------------------- */
/* The front end compares 64 unsigned bits for "equal", or for "at least". */
static bool is_for_front_end(const struct wait *wait)
{
    const struct ch_query *q = &wait->query;

    if (q->type != CHORUS_TYPE_u64 || q->count != 1 || q->status != NULL || q->values != NULL)
        return false;
    return q->cmp == CHORUS_CMP_EQ || q->cmp == CHORUS_CMP_GE ||
           (q->cmp == CHORUS_CMP_GT && wait->value != UINT64_MAX);
}

static chorus_status check_reached(const struct ch_device *device, const struct ch_query *q,
                                   const char *name, const void *array)
{
    if (array == NULL || ch_device_reaches(device, array)) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s: %s %p is not memory that GPU %d reaches, where the wait reads it; "
                   "expected memory from cudaMalloc or cudaMallocManaged",
                   q->function, name, array, ch_device_id_of(device)->ordinal);
}

static chorus_status queue(const struct wait *wait, void *stream)
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

    CH_TRY(ch_error_in(q->function, ch_device_check_legacy(device, stream)));
    if (is_for_front_end(wait)) return ch_gpu_put_wait(q->context->gpu, stream, &front);
    if (q->count == 0) return CHORUS_OK;
    CH_TRY(check_reached(device, q, "status", q->status));
    CH_TRY(check_reached(device, q, "cmp_values", q->values));
    return ch_wait_launch(device, stream, &request);
}

/* --- calls -------------------------------------------------------------------------------- */
static chorus_status check_and_put(struct wait wait, chorus_stream_t stream)
{
    CH_TRY(ch_query_check(&wait.query));
    if (wait.query.context->gpu != NULL) return queue(&wait, stream);
    CH_TRY(ch_stream_check(wait.query.context, wait.query.function, stream));
    ch_stream_push_task(stream, run, &wait, sizeof(wait));
    return CHORUS_OK;
}

static int wait_on(struct wait wait, chorus_stream_t stream)
{
    return ch_give(wait.query.function, check_and_put(wait, stream));
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
        return wait_on(wait, stream);                                                         \
    }                                                                                         \
    int chorusx_##NAME##_wait_until_all_on_stream(T *ivars, size_t nelems, const int *status, \
                                                  int cmp, T cmp_value,                       \
                                                  chorus_stream_t stream)                     \
    {                                                                                         \
        struct wait wait = WAIT(kind, ivars, nelems, status, cmp);                            \
                                                                                              \
        memcpy(&wait.value, &cmp_value, sizeof(T));                                           \
        return wait_on(wait, stream);                                                         \
    }                                                                                         \
    int chorusx_##NAME##_wait_until_all_vector_on_stream(                                     \
        T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values,             \
        chorus_stream_t stream)                                                               \
    {                                                                                         \
        struct wait wait = WAIT(kind, ivars, nelems, status, cmp);                            \
                                                                                              \
        wait.query.values = (const char *)cmp_values;                                         \
        wait.query.values_step = sizeof(T);                                                   \
        return wait_on(wait, stream);                                                         \
    }
CHORUS_WAIT_TYPES(DEFINE)

int chorusx_signal_wait_until_on_stream(uint64_t *sig_addr, int cmp, uint64_t cmp_value,
                                        chorus_stream_t stream)
{
    struct wait wait = WAIT(CHORUS_TYPE_u64, sig_addr, 1, NULL, cmp);

    wait.value = cmp_value;
    return wait_on(wait, stream);
}
