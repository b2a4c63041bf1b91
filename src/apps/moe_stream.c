/* SPDX-License-Identifier: Apache-2.0 */
/* moe_stream.c: dispatch and combine on streams, where the heap is on GPUs. */
#include "apps/moe.h"

#include "apps/gather.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINE = 64 };

/* Calls that have begun; how they go on is in kernels. */
static const struct ch_moe_kind dispatch_kind, combine_kind;

/* --- the object --------------------------------------------------------------------------- */
static size_t entries_of_pe(const chorusx_moe_config_t *c)
{
    return c->tokens_max * (size_t)c->topk;
}

int ch_moe_check_gpu(uint32_t n_pes, const chorusx_moe_config_t *c, char *message, size_t bytes)
{
    const size_t each = (size_t)c->experts / n_pes;

    if (c->experts > CH_MOE_GPU_EXPERTS_MAX)
        (void)snprintf(message, bytes, "experts is %d; where the heap is on GPUs, at most %d",
                       c->experts, CH_MOE_GPU_EXPERTS_MAX);
    else if (c->topk > CH_MOE_GPU_TOPK_MAX)
        (void)snprintf(message, bytes, "topk is %d; where the heap is on GPUs, at most %d",
                       c->topk, CH_MOE_GPU_TOPK_MAX);
    else if (c->overflow != CHORUSX_MOE_DROP)
        (void)snprintf(message, bytes,
                       "a call on a stream cannot fail where rows are beyond a capacity; pass "
                       "CHORUSX_MOE_DROP, and ask chorusx_moe_dropped");
    else if (entries_of_pe(c) > UINT32_MAX / n_pes || c->capacity > UINT32_MAX / each)
        (void)snprintf(message, bytes,
                       "tokens_max is %zu, topk %d and capacity %zu; there are no numbers for "
                       "so many rows",
                       c->tokens_max, c->topk, c->capacity);
    else
        return CHORUS_OK;
    return CHORUS_ERR_UNSUPPORTED;
}

/* Rows of the array of a PE. */
static size_t rows_max(const struct chorusx_moe *moe)
{
    const chorusx_moe_config_t *c = &moe->config;
    const size_t each = moe->experts_each, all = moe->n_pes * entries_of_pe(c);
    size_t rows = all;

    if (c->capacity != 0 && each * c->capacity < rows) rows = each * c->capacity;
    if (c->layout == CHORUSX_MOE_EXPERT_MAJOR) return each * c->capacity;
    return c->rows_max != 0 && c->rows_max < rows ? c->rows_max : rows;
}

/* The part of the memory behind those before; null if memory is. */
static char *take(char *memory, size_t *at, size_t n, size_t bytes)
{
    char *part = memory == NULL ? NULL : memory + *at;

    *at += (n * bytes + LINE - 1) / LINE * LINE;
    return part;
}

/* Place the arrays in memory; returns their bytes. */
static size_t place(const struct chorusx_moe *moe, char *memory, struct ch_moe_gpu *gpu)
{
    const size_t n = moe->n_pes, experts = (size_t)moe->config.experts;
    size_t at = 0;

    gpu->first = (uint64_t *)take(memory, &at, n, sizeof(*gpu->first));
    gpu->last = (uint64_t *)take(memory, &at, n, sizeof(*gpu->last));
    gpu->numbers = (uint64_t *)take(memory, &at, n, sizeof(*gpu->numbers));
    gpu->state = (struct ch_moe_gpu_state *)take(memory, &at, 1, sizeof(*gpu->state));
    gpu->places = (struct ch_moe_place *)take(memory, &at, entries_of_pe(&moe->config),
                                              sizeof(*gpu->places));
    gpu->counts = (uint32_t *)take(memory, &at, n * experts, sizeof(*gpu->counts));
    gpu->pes = (int32_t *)take(memory, &at, n, sizeof(*gpu->pes));
    gpu->is_on = (unsigned char *)take(memory, &at, experts + n, 1);
    gpu->is_active = gpu->is_on + experts;
    return at;
}

size_t ch_moe_gpu_bytes(const struct chorusx_moe *moe)
{
    struct ch_moe_gpu gpu;

    return place(moe, NULL, &gpu);
}

/* To memory of this PE's GPU, and complete. */
static void store(void *dest, const void *source, size_t bytes)
{
    chorus_putmem(dest, source, bytes, chorus_my_pe());
    chorus_quiet();
}

bool ch_moe_set_gpu(struct chorusx_moe *moe)
{
    const chorusx_moe_config_t *c = &moe->config;
    int32_t *pes = calloc(moe->n_pes, sizeof(*pes));
    struct ch_moe_gpu *gpu = &moe->gpu;

    if (pes == NULL) return false;
    (void)place(moe, moe->memory, gpu);
    gpu->hidden_bytes = c->hidden_bytes;
    gpu->scale_bytes = c->scale_bytes;
    gpu->combine_bytes = c->combine_bytes;
    gpu->me = moe->me;
    gpu->n_pes = moe->n_pes;
    gpu->n_experts = (uint32_t)c->experts;
    gpu->experts_each = moe->experts_each;
    gpu->topk = (uint32_t)c->topk;
    gpu->capacity = (uint32_t)c->capacity;
    gpu->rows_max = (uint32_t)rows_max(moe);
    gpu->is_compact = c->layout == CHORUSX_MOE_COMPACT;
    gpu->renormalises = c->renormalise != 0;
    for (uint32_t p = 0; p < moe->n_pes; p++)
        pes[p] = chorus_team_translate_pe(moe->team, (int)p, CHORUS_TEAM_WORLD);
    store(gpu->pes, pes, moe->n_pes * sizeof(*pes));
    free(pes);
    return true;
}

int ch_moe_check_near(const struct chorusx_moe *moe)
{
    uint32_t far = 0; /* plus 1 */
    void *all;
    int code;

    for (uint32_t p = 0; p < moe->n_pes && far == 0; p++)
        if (chorus_ptr(moe->memory,
                       chorus_team_translate_pe(moe->team, (int)p, CHORUS_TEAM_WORLD)) == NULL)
            far = p + 1;
    code = ch_apps_gather_equal(moe->team, &far, sizeof(far), &all);
    for (uint32_t p = 0; code == CHORUS_OK && p < moe->n_pes; p++)
        if (((const uint32_t *)all)[p] != 0) code = CHORUS_ERR_UNSUPPORTED;
    free(all);
    return code;
}

void ch_moe_store_active(const struct chorusx_moe *moe)
{
    store(moe->gpu.is_on, moe->is_on, (size_t)moe->config.experts + moe->n_pes);
}

int ch_moe_gpu_dropped(const struct chorusx_moe *moe, uint64_t *dropped_out)
{
    struct ch_moe_gpu_state state;
    char message[CH_MOE_MESSAGE_BYTES];
    const unsigned topk = (unsigned)moe->config.topk;

    chorus_getmem(&state, moe->gpu.state, sizeof(state), chorus_my_pe());
    *dropped_out = state.dropped;
    if (state.n_bad == 0) return CHORUS_OK;
    (void)snprintf(message, sizeof(message),
                   "%u entries of topk_idx were no experts, and counted as empty, the first of "
                   "them entry %u of token %llu: %d; expected 0 to %d, or -1 for none",
                   state.n_bad, (unsigned)(state.bad_at % topk),
                   (unsigned long long)(state.bad_at / topk), state.bad_value,
                   moe->config.experts - 1);
    return chorusx_fail(CHORUS_ERR_ARG, "chorusx_moe_dropped", message);
}

/* --- what is wrong ------------------------------------------------------------------------ */
static int refuse(int code, const char *function, const char *message)
{
    return chorusx_fail(code, function, message);
}

static int check_object(const char *function, const struct chorusx_moe *moe)
{
    if (moe == NULL) return refuse(CHORUS_ERR_ARG, function, "the object is null");
    if (moe->is_on_gpu) return CHORUS_OK;
    return refuse(
        CHORUS_ERR_UNSUPPORTED, function,
        "the heap is on hosts; call the function without _on_stream, or start the job "
        "with CHORUS_HEAP=cuda");
}

static int check_begin(const char *function, const struct chorusx_moe *moe)
{
    const int code = check_object(function, moe);

    if (code != CHORUS_OK) return code;
    if (!moe->is_active)
        return refuse(CHORUS_ERR_STATE, function,
                      "this PE is not active; call chorusx_moe_set_active on all PEs before");
    if (moe->call.kind == NULL) return CHORUS_OK;
    return refuse(
        CHORUS_ERR_STATE, function,
        "a call is under way; end it before, by chorusx_moe_dispatch_end_on_stream or "
        "chorusx_moe_combine_end_on_stream");
}

/* Whether all rows of an array are symmetric. */
static int check_rows(const char *function, const struct chorusx_moe *moe, const char *name,
                      const void *rows, size_t row_bytes)
{
    const size_t bytes = moe->gpu.rows_max * row_bytes;
    const int me = chorus_my_pe();
    char message[CH_MOE_MESSAGE_BYTES];

    if (bytes == 0 || (chorus_addr_accessible(rows, me) &&
                       chorus_addr_accessible((const char *)rows + bytes - 1, me)))
        return CHORUS_OK;
    (void)snprintf(message, sizeof(message),
                   "%s is not in symmetric memory, with %u rows of %zu bytes; allocate it by "
                   "chorus_malloc, or create the object with a smaller rows_max or capacity",
                   name, moe->gpu.rows_max, row_bytes);
    return refuse(CHORUS_ERR_NOT_SYMMETRIC, function, message);
}

static int check_aligned(const char *function, const char *name, const void *array,
                         size_t bytes)
{
    char message[CH_MOE_MESSAGE_BYTES];

    if ((uintptr_t)array % bytes == 0) return CHORUS_OK;
    (void)snprintf(message, sizeof(message), "%s is not aligned to %zu bytes", name, bytes);
    return refuse(CHORUS_ERR_ARG, function, message);
}

static int check_tokens(const char *function, const struct chorusx_moe *moe,
                        const struct ch_moe_gpu_dispatch *call)
{
    char message[CH_MOE_MESSAGE_BYTES];

    if (call->n_tokens > moe->config.tokens_max) {
        (void)snprintf(message, sizeof(message),
                       "there are %zu tokens; the object was created for %zu (tokens_max)",
                       call->n_tokens, moe->config.tokens_max);
        return refuse(CHORUS_ERR_ARG, function, message);
    }
    if (call->counts == NULL) return ch_moe_refuse_null(function, "counts");
    if (call->n_tokens == 0) return CHORUS_OK;
    if (call->topk_idx == NULL) return ch_moe_refuse_null(function, "topk_idx");
    if (call->x == NULL) return ch_moe_refuse_null(function, "x");
    if (call->scales == NULL && moe->config.scale_bytes > 0)
        return ch_moe_refuse_null(function, "scales");
    return check_aligned(function, "topk_idx", call->topk_idx, sizeof(*call->topk_idx));
}

static int check_dispatch(const char *function, const struct chorusx_moe *moe,
                          const struct ch_moe_gpu_dispatch *call)
{
    int code = check_begin(function, moe);

    if (code == CHORUS_OK) code = check_tokens(function, moe, call);
    if (code == CHORUS_OK)
        code = check_aligned(function, "counts", call->counts, sizeof(*call->counts));
    if (code == CHORUS_OK)
        code = check_rows(function, moe, "out", call->out, moe->config.hidden_bytes);
    if (code == CHORUS_OK)
        code =
            check_rows(function, moe, "out_scales", call->out_scales, moe->config.scale_bytes);
    return code;
}

static int check_combine(const char *function, const struct chorusx_moe *moe,
                         const struct ch_moe_gpu_combine *call)
{
    const size_t value_bytes = ch_moe_value_bytes((chorus_type)call->type);
    int code = check_begin(function, moe);

    if (code != CHORUS_OK) return code;
    if (value_bytes == 0 || moe->config.combine_bytes % value_bytes != 0)
        return refuse(
            CHORUS_ERR_ARG, function,
            "the type is not f32, bf16 or f16, or combine_bytes is no multiple of its "
            "bytes");
    code = check_rows(function, moe, "y", call->y, moe->config.combine_bytes);
    if (code == CHORUS_OK) code = check_aligned(function, "y", call->y, value_bytes);
    if (code == CHORUS_OK) code = check_aligned(function, "out", call->out, value_bytes);
    if (code == CHORUS_OK)
        code = check_aligned(function, "weights", call->weights, sizeof(*call->weights));
    return code;
}

/* --- the calls ---------------------------------------------------------------------------- */
static int dispatch(const char *function, struct chorusx_moe *moe,
                    const struct ch_moe_gpu_dispatch *call, chorus_stream_t stream)
{
    int code = check_dispatch(function, moe, call);

    if (code != CHORUS_OK) return code;
    code = ch_moe_gpu_dispatch(&moe->gpu, call, stream);
    if (code == CHORUS_OK && !call->waits) moe->call.kind = &dispatch_kind;
    return code;
}

static int combine(const char *function, struct chorusx_moe *moe,
                   const struct ch_moe_gpu_combine *call, chorus_stream_t stream)
{
    int code = check_combine(function, moe, call);

    if (code != CHORUS_OK) return code;
    code = ch_moe_gpu_combine(&moe->gpu, call, stream);
    if (code == CHORUS_OK && !call->waits) moe->call.kind = &combine_kind;
    return code;
}

static int end(const char *function, struct chorusx_moe *moe, const struct ch_moe_kind *kind,
               chorus_stream_t stream)
{
    int code = check_object(function, moe);

    if (code != CHORUS_OK) return code;
    if (moe->call.kind != kind)
        return refuse(CHORUS_ERR_STATE, function,
                      "no such call of the object is under way; begin it before");
    code = ch_moe_gpu_end(&moe->gpu, stream);
    if (code == CHORUS_OK) moe->call.kind = NULL;
    return code;
}

int chorusx_moe_dispatch_on_stream(chorusx_moe_t moe, const int32_t *topk_idx, size_t n_tokens,
                                   const void *x, const void *scales, void *out,
                                   void *out_scales, uint32_t *counts, chorus_stream_t stream)
{
    const struct ch_moe_gpu_dispatch call = {topk_idx, n_tokens,   x,      scales,
                                             out,      out_scales, counts, 1};

    return dispatch(__func__, moe, &call, stream);
}

int chorusx_moe_dispatch_begin_on_stream(chorusx_moe_t moe, const int32_t *topk_idx,
                                         size_t n_tokens, const void *x, const void *scales,
                                         void *out, void *out_scales, uint32_t *counts,
                                         chorus_stream_t stream)
{
    const struct ch_moe_gpu_dispatch call = {topk_idx, n_tokens,   x,      scales,
                                             out,      out_scales, counts, 0};

    return dispatch(__func__, moe, &call, stream);
}

int chorusx_moe_dispatch_end_on_stream(chorusx_moe_t moe, chorus_stream_t stream)
{
    return end(__func__, moe, &dispatch_kind, stream);
}

int chorusx_moe_combine_on_stream(chorusx_moe_t moe, const void *y, chorus_type type,
                                  const float *weights, void *out, chorus_stream_t stream)
{
    const struct ch_moe_gpu_combine call = {y, weights, out, (uint32_t)type, 1};

    return combine(__func__, moe, &call, stream);
}

int chorusx_moe_combine_begin_on_stream(chorusx_moe_t moe, const void *y, chorus_type type,
                                        const float *weights, void *out, chorus_stream_t stream)
{
    const struct ch_moe_gpu_combine call = {y, weights, out, (uint32_t)type, 0};

    return combine(__func__, moe, &call, stream);
}

int chorusx_moe_combine_end_on_stream(chorusx_moe_t moe, chorus_stream_t stream)
{
    return end(__func__, moe, &combine_kind, stream);
}
