/* SPDX-License-Identifier: Apache-2.0 */
/* rma.c: put and get of typed elements and of bytes, and their ordering. */
#include "api/rma.h"

#include "api/argument.h"
#include "chorus/chorus.h"

chorus_status ch_target_check(const char *function, const char *name, const void *symmetric,
                              size_t count, size_t element_bytes, int pe,
                              struct ch_target *target_out)
{
    struct ch_target target;

    CH_TRY(ch_context_require(function, &target.context));
    CH_TRY(ch_check_pe(target.context, function, pe));
    CH_TRY(ch_check_bytes(function, count, element_bytes, &target.bytes));
    CH_TRY(ch_check_symmetric(target.context, function, name, symmetric, target.bytes));
    target.pe = (uint32_t)pe;
    *target_out = target;
    return CHORUS_OK;
}

static chorus_status put(const char *function, void *dest, const void *source, size_t count,
                         size_t element_bytes, int pe)
{
    struct ch_target t;

    CH_TRY(ch_target_check(function, "dest", dest, count, element_bytes, pe, &t));
    if (t.bytes == 0) return CHORUS_OK;
    return t.context->link->put(t.context->transport, CH_CTX_DEFAULT, dest, source, t.bytes,
                                t.pe);
}

static chorus_status get(const char *function, void *dest, const void *source, size_t count,
                         size_t element_bytes, int pe)
{
    struct ch_target t;

    CH_TRY(ch_target_check(function, "source", source, count, element_bytes, pe, &t));
    if (t.bytes == 0) return CHORUS_OK;
    return t.context->link->get(t.context->transport, CH_CTX_DEFAULT, dest, source, t.bytes,
                                t.pe);
}

/* A transport whose put is as good has no other. */
static chorus_status put_nbi(const char *function, void *dest, const void *source, size_t count,
                             size_t element_bytes, int pe)
{
    const struct ch_transport_ops *link;
    struct ch_target t;

    CH_TRY(ch_target_check(function, "dest", dest, count, element_bytes, pe, &t));
    if (t.bytes == 0) return CHORUS_OK;
    link = t.context->link;
    return (link->put_nbi != NULL ? link->put_nbi : link->put)(
        t.context->transport, CH_CTX_DEFAULT, dest, source, t.bytes, t.pe);
}

static chorus_status get_nbi(const char *function, void *dest, const void *source, size_t count,
                             size_t element_bytes, int pe)
{
    const struct ch_transport_ops *link;
    struct ch_target t;

    CH_TRY(ch_target_check(function, "source", source, count, element_bytes, pe, &t));
    if (t.bytes == 0) return CHORUS_OK;
    link = t.context->link;
    return (link->get_nbi != NULL ? link->get_nbi : link->get)(
        t.context->transport, CH_CTX_DEFAULT, dest, source, t.bytes, t.pe);
}

void ch_rma_put(const char *function, void *dest, const void *source, size_t count,
                size_t element_bytes, int pe)
{
    ch_report(put(function, dest, source, count, element_bytes, pe));
}

void ch_rma_get(const char *function, void *dest, const void *source, size_t count,
                size_t element_bytes, int pe)
{
    ch_report(get(function, dest, source, count, element_bytes, pe));
}

#define DEFINE_RMA(NAME, T, kind)                                                 \
    void chorus_##NAME##_p(T *dest, T value, int pe)                              \
    {                                                                             \
        ch_rma_put(__func__, dest, &value, 1, sizeof(T), pe);                     \
    }                                                                             \
    T chorus_##NAME##_g(const T *source, int pe)                                  \
    {                                                                             \
        T value = {0}; /* what is left by a get that fails */                     \
        ch_rma_get(__func__, &value, source, 1, sizeof(T), pe);                   \
        return value;                                                             \
    }                                                                             \
    void chorus_##NAME##_put(T *dest, const T *source, size_t nelems, int pe)     \
    {                                                                             \
        ch_rma_put(__func__, dest, source, nelems, sizeof(T), pe);                \
    }                                                                             \
    void chorus_##NAME##_get(T *dest, const T *source, size_t nelems, int pe)     \
    {                                                                             \
        ch_rma_get(__func__, dest, source, nelems, sizeof(T), pe);                \
    }                                                                             \
    void chorus_##NAME##_put_nbi(T *dest, const T *source, size_t nelems, int pe) \
    {                                                                             \
        ch_report(put_nbi(__func__, dest, source, nelems, sizeof(T), pe));        \
    }                                                                             \
    void chorus_##NAME##_get_nbi(T *dest, const T *source, size_t nelems, int pe) \
    {                                                                             \
        ch_report(get_nbi(__func__, dest, source, nelems, sizeof(T), pe));        \
    }
CHORUS_RMA_TYPES(DEFINE_RMA)

void chorus_putmem(void *dest, const void *source, size_t bytes, int pe)
{
    ch_rma_put(__func__, dest, source, bytes, 1, pe);
}

void chorus_getmem(void *dest, const void *source, size_t bytes, int pe)
{
    ch_rma_get(__func__, dest, source, bytes, 1, pe);
}

void chorus_putmem_nbi(void *dest, const void *source, size_t bytes, int pe)
{
    ch_report(put_nbi(__func__, dest, source, bytes, 1, pe));
}

void chorus_getmem_nbi(void *dest, const void *source, size_t bytes, int pe)
{
    ch_report(get_nbi(__func__, dest, source, bytes, 1, pe));
}

static chorus_status fence(const char *function)
{
    struct ch_context *context;

    CH_TRY(ch_context_require(function, &context));
    return context->link->fence(context->transport, CH_CTX_DEFAULT);
}

void chorus_fence(void)
{
    ch_report(fence(__func__));
}

static chorus_status quiet(const char *function)
{
    struct ch_context *context;

    CH_TRY(ch_context_require(function, &context));
    return context->link->quiet(context->transport, CH_CTX_DEFAULT);
}

void chorus_quiet(void)
{
    ch_report(quiet(__func__));
}
