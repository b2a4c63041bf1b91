/* SPDX-License-Identifier: Apache-2.0 */
/* strided.c: puts and gets with strides, element by element. */
#include "api/argument.h"
#include "api/rma.h"
#include "chorus/chorus.h"

#include <stdint.h>

static chorus_status check_stride(const char *function, const char *name, ptrdiff_t stride,
                                  size_t block)
{
    const size_t least = block > 1 ? block : 1;

    if (stride >= 1 && (size_t)stride >= least) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG, "%s: %s is %td elements; expected %zu or more", function,
                   name, stride, least);
}

static chorus_status check_strides(const char *function, const struct ch_strides *s)
{
    CH_TRY(check_stride(function, "dst", s->dst, s->block));
    return check_stride(function, "sst", s->sst, s->block);
}

/* Elements from the first to the last one of a strided vector; SIZE_MAX on overflow. */
static size_t span(const struct ch_strides *s, ptrdiff_t stride)
{
    size_t elements;

    if (s->count == 0 || s->block == 0) return 0;
    if (__builtin_mul_overflow(s->count - 1, (size_t)stride, &elements) ||
        __builtin_add_overflow(elements, s->block, &elements))
        return SIZE_MAX;
    return elements;
}

static chorus_status iput(const char *function, chorus_ctx_t ctx, char *dest,
                          const char *source, const struct ch_strides *s, size_t element_bytes,
                          int pe)
{
    struct ch_target t;

    CH_TRY(check_strides(function, s));
    CH_TRY(
        ch_target_check(function, ctx, "dest", dest, span(s, s->dst), element_bytes, pe, &t));
    for (size_t i = 0; i < s->count && t.bytes != 0; i++)
        CH_TRY(t.context->ops->put(
            t.context->transport, t.ctx, dest + i * (size_t)s->dst * element_bytes,
            source + i * (size_t)s->sst * element_bytes, s->block * element_bytes, t.pe));
    return CHORUS_OK;
}

static chorus_status iget(const char *function, chorus_ctx_t ctx, char *dest,
                          const char *source, const struct ch_strides *s, size_t element_bytes,
                          int pe)
{
    struct ch_target t;

    CH_TRY(check_strides(function, s));
    CH_TRY(ch_target_check(function, ctx, "source", source, span(s, s->sst), element_bytes, pe,
                           &t));
    for (size_t i = 0; i < s->count && t.bytes != 0; i++)
        CH_TRY(t.context->ops->get(
            t.context->transport, t.ctx, dest + i * (size_t)s->dst * element_bytes,
            source + i * (size_t)s->sst * element_bytes, s->block * element_bytes, t.pe));
    return CHORUS_OK;
}

void ch_rma_iput(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                 struct ch_strides strides, size_t element_bytes, int pe)
{
    ch_report(iput(function, ctx, dest, source, &strides, element_bytes, pe));
}

void ch_rma_iget(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                 struct ch_strides strides, size_t element_bytes, int pe)
{
    ch_report(iget(function, ctx, dest, source, &strides, element_bytes, pe));
}

#define DEFINE_WAY(P, ARG, CTX, NAME, T, way)                                                \
    void P##NAME##_i##way(ARG T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,        \
                          size_t nelems, int pe)                                             \
    {                                                                                        \
        ch_rma_i##way(__func__, CTX, dest, source, (struct ch_strides){dst, sst, 1, nelems}, \
                      sizeof(T), pe);                                                        \
    }                                                                                        \
    void P##NAME##_ib##way(ARG T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,       \
                           size_t bsize, size_t nblocks, int pe)                             \
    {                                                                                        \
        ch_rma_i##way(__func__, CTX, dest, source,                                           \
                      (struct ch_strides){dst, sst, bsize, nblocks}, sizeof(T), pe);         \
    }
#define X(NAME, T, kind)                                    \
    DEFINE_WAY(chorus_, , CHORUS_CTX_DEFAULT, NAME, T, put) \
    DEFINE_WAY(chorus_, , CHORUS_CTX_DEFAULT, NAME, T, get) \
    DEFINE_WAY(chorus_ctx_, CH_CTX_ARG, ctx, NAME, T, put)  \
    DEFINE_WAY(chorus_ctx_, CH_CTX_ARG, ctx, NAME, T, get)
CHORUS_RMA_TYPES(X)
#undef X
