/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_rma.c: puts, gets and signals that are queued on a stream. On a host, the stream's
 * thread executes them as the blocking calls do. On a GPU, the front end and the copy engines
 * execute them; for peers that are not near, a kernel of one thread has the host do it.
 */
#include "api/coll.h"
#include "api/rma.h"
#include "device/device.h"
#include "transport/amo.h"

/* A checked call. */
struct op {
    enum ch_stream_what what;
    const char *function;
    struct ch_context *context;
    void *dest;
    const void *source;
    size_t bytes;
    uint32_t pe;
    uint64_t *word;
    uint64_t value;
    int how; /* a CHORUS_SIGNAL_ constant */
};

_Static_assert(sizeof(struct op) <= CH_TASK_BYTES, "a call must fit into a task");

static enum ch_amo amo_of_signal_op(int how)
{
    return how == CHORUS_SIGNAL_ADD ? CH_AMO_ADD : CH_AMO_SET;
}

/* --- hosts -------------------------------------------------------------------------------- */
static chorus_status signal_peer(const struct op *op)
{
    struct ch_context *c = op->context;

    return ch_links_amo(c->links, CH_CTX_DEFAULT, amo_of_signal_op(op->how), op->word,
                        sizeof(*op->word), op->value, 0, op->pe, NULL);
}

static chorus_status put_signal(const struct op *op)
{
    struct ch_context *c = op->context;
    const struct ch_put_signal put = {
        op->dest, op->source, op->bytes, op->word, amo_of_signal_op(op->how), op->value};

    return ch_links_put_signal(c->links, CH_CTX_DEFAULT, &put, op->pe, false);
}

/* Runs on the thread of a host's stream: execute a struct op. */
static chorus_status run_op(const void *task)
{
    const struct op *op = task;
    struct ch_context *c = op->context;

    switch (op->what) {
    case CH_STREAM_PUT:
        return ch_links_put(c->links, CH_CTX_DEFAULT, op->dest, op->source, op->bytes, op->pe);
    case CH_STREAM_GET:
        return ch_links_get(c->links, CH_CTX_DEFAULT, op->dest, op->source, op->bytes, op->pe);
    case CH_STREAM_PUT_SIGNAL:
        return put_signal(op);
    case CH_STREAM_SIGNAL:
        return signal_peer(op);
    case CH_STREAM_QUIET:
        return ch_links_quiet(c->links, CH_CTX_DEFAULT, CH_LINK_ALL);
    }
    return CHORUS_OK;
}

/* --- GPUs --------------------------------------------------------------------------------- */
/* Returns the address at which the GPU of this PE accesses the peer's copy of an object. */
static void *peer_address(const struct op *op, const void *symmetric)
{
    return ch_links_peer_address(op->context->links, symmetric, op->pe);
}

/* Queue the signal on a stream of a GPU: an addition by a kernel, a store by the front end. */
static chorus_status queue_signal_on_gpu(const struct ch_device *device, const struct op *op,
                                         void *stream)
{
    const struct ch_amo_request add = {.op = CH_AMO_ADD,
                                       .bytes = sizeof(*op->word),
                                       .word = peer_address(op, op->word),
                                       .value = op->value};

    if (op->how == CHORUS_SIGNAL_ADD) return ch_amo_launch(device, stream, &add);
    return ch_device_put_store(device, stream, peer_address(op, op->word), op->value,
                               sizeof(*op->word));
}

/* Queue a checked call to a peer that is not near, or a quiet of all these. */
static chorus_status queue_far(const struct op *op, void *stream)
{
    const struct ch_stream_op far = {
        .what = op->what,
        .pe = op->pe,
        .dest = op->dest,
        .source = op->source,
        .bytes = op->bytes,
        .word = op->word,
        .value = op->value,
        .adds = amo_of_signal_op(op->how) == CH_AMO_ADD,
        .limit = ch_gpu_wait_limit(op->context->gpu),
    };

    return ch_links_queue(op->context->links, stream, &far);
}

/* Is this for a kernel that posts to the ring? */
static bool is_far(const struct op *op)
{
    struct ch_links *links = op->context->links;

    return op->what == CH_STREAM_QUIET ? ch_links_ring(links) != NULL
                                       : ch_links_network_link(links, op->pe) != NULL;
}

/* Queue a checked call on a stream of a GPU. Work there begins when all earlier work is
 * complete, so a quiet of near peers does nothing. */
static chorus_status queue_on_gpu(const struct op *op, void *stream)
{
    const struct ch_device *device = ch_heap_device(op->context->heap);

    CH_TRY(ch_error_prefix_if_failed(op->function, ch_device_check_legacy(device, stream)));
    if (is_far(op)) return queue_far(op, stream);
    switch (op->what) {
    case CH_STREAM_PUT_SIGNAL:
    case CH_STREAM_PUT:
        if (op->bytes != 0)
            CH_TRY(ch_device_put_copy(device, stream, peer_address(op, op->dest), op->source,
                                      op->bytes));
        return op->what == CH_STREAM_PUT ? CHORUS_OK : queue_signal_on_gpu(device, op, stream);
    case CH_STREAM_GET:
        return ch_device_put_copy(device, stream, op->dest, peer_address(op, op->source),
                                  op->bytes);
    case CH_STREAM_SIGNAL:
        return queue_signal_on_gpu(device, op, stream);
    case CH_STREAM_QUIET:
        break;
    }
    return CHORUS_OK;
}

/* --- calls -------------------------------------------------------------------------------- */
/* Queue a checked call on a stream of a host or a GPU; *op may change after the return. */
static chorus_status queue_op(struct op *op, chorus_stream_t stream)
{
    if (op->context->gpu != NULL) return queue_on_gpu(op, stream);
    CH_TRY(ch_stream_check(op->context, op->function, stream));
    ch_stream_push_task(stream, run_op, op, sizeof(*op));
    return CHORUS_OK;
}

static chorus_status check_signal_word(struct op *op)
{
    CH_TRY(
        ch_check_symmetric(op->context, op->function, "sig_addr", op->word, sizeof(*op->word)));
    CH_TRY(ch_check_owner(op->context, op->function, "sig_addr", op->word, op->pe));
    return ch_check_aligned(op->function, "sig_addr", op->word, sizeof(*op->word));
}

static chorus_status check_signal_op(const struct op *op)
{
    if (op->how == CHORUS_SIGNAL_SET || op->how == CHORUS_SIGNAL_ADD) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s: sig_op is %d; expected CHORUS_SIGNAL_SET or CHORUS_SIGNAL_ADD",
                   op->function, op->how);
}

/* `symmetric` is dest of a put, source of a get; `name` is that argument's name. A put or get
 * of 0 bytes is checked, but not queued. */
static chorus_status check_and_queue_op(struct op op, const char *name, const void *symmetric,
                                        size_t count, size_t element_bytes, int pe,
                                        chorus_stream_t stream)
{
    struct ch_target target;

    CH_TRY(ch_resolve_target(op.function, CHORUS_CTX_DEFAULT, name, symmetric, count,
                             element_bytes, pe, &target));
    op.context = target.context;
    op.bytes = target.bytes;
    op.pe = target.pe;
    if (op.what == CH_STREAM_PUT_SIGNAL) CH_TRY(check_signal_word(&op));
    if (op.what == CH_STREAM_PUT_SIGNAL) CH_TRY(check_signal_op(&op));
    return op.bytes != 0 || op.what == CH_STREAM_PUT_SIGNAL ? queue_op(&op, stream) : CHORUS_OK;
}

/* Queue a put or get on the stream; returns a code after reporting a failure. */
static int queue_move(struct op op, const char *name, const void *symmetric, size_t count,
                      size_t element_bytes, int pe, chorus_stream_t stream)
{
    return ch_handle_status(
        op.function, check_and_queue_op(op, name, symmetric, count, element_bytes, pe, stream));
}

#define MOVE(kind, ...)                                                                   \
    (struct op)                                                                           \
    {                                                                                     \
        .what = (kind), .function = __func__, .dest = dest, .source = source, __VA_ARGS__ \
    }

int chorusx_putmem_on_stream(void *dest, const void *source, size_t bytes, int pe,
                             chorus_stream_t stream)
{
    return queue_move(MOVE(CH_STREAM_PUT, .pe = 0), "dest", dest, bytes, 1, pe, stream);
}

int chorusx_getmem_on_stream(void *dest, const void *source, size_t bytes, int pe,
                             chorus_stream_t stream)
{
    return queue_move(MOVE(CH_STREAM_GET, .pe = 0), "source", source, bytes, 1, pe, stream);
}

int chorusx_putmem_signal_on_stream(void *dest, const void *source, size_t bytes,
                                    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                    chorus_stream_t stream)
{
    return queue_move(
        MOVE(CH_STREAM_PUT_SIGNAL, .word = sig_addr, .value = signal, .how = sig_op), "dest",
        dest, bytes, 1, pe, stream);
}

#define DEFINE_TYPED(NAME, T, kind)                                                            \
    int chorusx_##NAME##_put_on_stream(T *dest, const T *source, size_t nelems, int pe,        \
                                       chorus_stream_t stream)                                 \
    {                                                                                          \
        return queue_move(MOVE(CH_STREAM_PUT, .pe = 0), "dest", dest, nelems, sizeof(T), pe,   \
                          stream);                                                             \
    }                                                                                          \
    int chorusx_##NAME##_get_on_stream(T *dest, const T *source, size_t nelems, int pe,        \
                                       chorus_stream_t stream)                                 \
    {                                                                                          \
        return queue_move(MOVE(CH_STREAM_GET, .pe = 0), "source", source, nelems, sizeof(T),   \
                          pe, stream);                                                         \
    }                                                                                          \
    int chorusx_##NAME##_put_signal_on_stream(T *dest, const T *source, size_t nelems,         \
                                              uint64_t *sig_addr, uint64_t signal, int sig_op, \
                                              int pe, chorus_stream_t stream)                  \
    {                                                                                          \
        return queue_move(                                                                     \
            MOVE(CH_STREAM_PUT_SIGNAL, .word = sig_addr, .value = signal, .how = sig_op),      \
            "dest", dest, nelems, sizeof(T), pe, stream);                                      \
    }
CHORUS_RMA_TYPES(DEFINE_TYPED)

/* Check the update of a signal, without data, and queue it on the stream. */
static chorus_status queue_signal(const char *function, uint64_t *sig_addr, uint64_t signal,
                                  int sig_op, int pe, chorus_stream_t stream)
{
    struct op op = {
        .what = CH_STREAM_SIGNAL, .function = function, .word = sig_addr, .value = signal};

    CH_TRY(ch_context_require(function, &op.context));
    CH_TRY(ch_check_pe(op.context, function, pe));
    op.pe = (uint32_t)pe;
    op.how = sig_op;
    CH_TRY(check_signal_op(&op));
    CH_TRY(check_signal_word(&op));
    return queue_op(&op, stream);
}

int chorusx_signal_op_on_stream(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                chorus_stream_t stream)
{
    return ch_handle_status(__func__,
                            queue_signal(__func__, sig_addr, signal, sig_op, pe, stream));
}

static chorus_status queue_quiet(const char *function, chorus_stream_t stream)
{
    struct op op = {.what = CH_STREAM_QUIET, .function = function};

    CH_TRY(ch_context_require(function, &op.context));
    return queue_op(&op, stream);
}

chorus_status ch_stream_quiet(const char *function, chorus_stream_t stream)
{
    const struct ch_context *context = ch_context_get();

    if (context == NULL || ch_links_ring(context->links) == NULL) return CHORUS_OK;
    return queue_quiet(function, stream);
}

int chorusx_quiet_on_stream(chorus_stream_t stream)
{
    return ch_handle_status(__func__, queue_quiet(__func__, stream));
}
