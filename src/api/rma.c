/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rma.c: put and get of typed elements, of elements given by their size and of bytes, also with
 * strides, and their ordering.
 */
#include "api/rma.h"

#include <stdint.h>

/* --- elements and bytes ------------------------------------------------------------------- */

static chorus_status put(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                         size_t count, size_t element_bytes, int pe)
{
    struct ch_target t;

    CH_TRY(ch_resolve_target(function, ctx, "dest", dest, count, element_bytes, pe, &t));
    if (t.bytes == 0) return CHORUS_OK;
    return ch_links_put(t.context->links, t.ctx, dest, source, t.bytes, t.pe);
}

static chorus_status get(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                         size_t count, size_t element_bytes, int pe)
{
    struct ch_target t;

    CH_TRY(ch_resolve_target(function, ctx, "source", source, count, element_bytes, pe, &t));
    if (t.bytes == 0) return CHORUS_OK;
    return ch_links_get(t.context->links, t.ctx, dest, source, t.bytes, t.pe);
}

static chorus_status put_nbi(const char *function, chorus_ctx_t ctx, void *dest,
                             const void *source, size_t count, size_t element_bytes, int pe)
{
    struct ch_target t;

    CH_TRY(ch_resolve_target(function, ctx, "dest", dest, count, element_bytes, pe, &t));
    if (t.bytes == 0) return CHORUS_OK;
    return ch_links_put_nbi(t.context->links, t.ctx, dest, source, t.bytes, t.pe);
}

static chorus_status get_nbi(const char *function, chorus_ctx_t ctx, void *dest,
                             const void *source, size_t count, size_t element_bytes, int pe)
{
    struct ch_target t;

    CH_TRY(ch_resolve_target(function, ctx, "source", source, count, element_bytes, pe, &t));
    if (t.bytes == 0) return CHORUS_OK;
    return ch_links_get_nbi(t.context->links, t.ctx, dest, source, t.bytes, t.pe);
}

void ch_rma_put(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                size_t count, size_t element_bytes, int pe)
{
    ch_report(put(function, ctx, dest, source, count, element_bytes, pe));
}

void ch_rma_get(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                size_t count, size_t element_bytes, int pe)
{
    ch_report(get(function, ctx, dest, source, count, element_bytes, pe));
}

void ch_rma_put_nbi(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                    size_t count, size_t element_bytes, int pe)
{
    ch_report(put_nbi(function, ctx, dest, source, count, element_bytes, pe));
}

void ch_rma_get_nbi(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                    size_t count, size_t element_bytes, int pe)
{
    ch_report(get_nbi(function, ctx, dest, source, count, element_bytes, pe));
}

#define DEFINE_RMA(P, ARG, CTX, NAME, T)                                        \
    void P##NAME##_p(ARG T *dest, T value, int pe)                              \
    {                                                                           \
        CH_PUT(ch_rma_put, CTX, dest, &value, 1, sizeof(T), pe);                \
    }                                                                           \
    T P##NAME##_g(ARG const T *source, int pe)                                  \
    {                                                                           \
        T value = {0}; /* the result of a get that fails */                     \
        CH_GET(ch_rma_get, CTX, &value, source, 1, sizeof(T), pe);              \
        return value;                                                           \
    }                                                                           \
    void P##NAME##_put(ARG T *dest, const T *source, size_t nelems, int pe)     \
    {                                                                           \
        CH_PUT(ch_rma_put, CTX, dest, source, nelems, sizeof(T), pe);           \
    }                                                                           \
    void P##NAME##_get(ARG T *dest, const T *source, size_t nelems, int pe)     \
    {                                                                           \
        CH_GET(ch_rma_get, CTX, dest, source, nelems, sizeof(T), pe);           \
    }                                                                           \
    void P##NAME##_put_nbi(ARG T *dest, const T *source, size_t nelems, int pe) \
    {                                                                           \
        CH_PUT(ch_rma_put_nbi, CTX, dest, source, nelems, sizeof(T), pe);       \
    }                                                                           \
    void P##NAME##_get_nbi(ARG T *dest, const T *source, size_t nelems, int pe) \
    {                                                                           \
        CH_GET(ch_rma_get_nbi, CTX, dest, source, nelems, sizeof(T), pe);       \
    }
#define X(NAME, T, kind)                               \
    DEFINE_RMA(chorus_, , CHORUS_CTX_DEFAULT, NAME, T) \
    DEFINE_RMA(chorus_ctx_, CH_CTX_ARG, ctx, NAME, T)
CHORUS_RMA_TYPES(X)
#undef X

#define DEFINE_MEM(P, ARG, CTX)                                                  \
    void P##putmem(ARG void *dest, const void *source, size_t bytes, int pe)     \
    {                                                                            \
        CH_PUT(ch_rma_put, CTX, dest, source, bytes, 1, pe);                     \
    }                                                                            \
    void P##getmem(ARG void *dest, const void *source, size_t bytes, int pe)     \
    {                                                                            \
        CH_GET(ch_rma_get, CTX, dest, source, bytes, 1, pe);                     \
    }                                                                            \
    void P##putmem_nbi(ARG void *dest, const void *source, size_t bytes, int pe) \
    {                                                                            \
        CH_PUT(ch_rma_put_nbi, CTX, dest, source, bytes, 1, pe);                 \
    }                                                                            \
    void P##getmem_nbi(ARG void *dest, const void *source, size_t bytes, int pe) \
    {                                                                            \
        CH_GET(ch_rma_get_nbi, CTX, dest, source, bytes, 1, pe);                 \
    }
DEFINE_MEM(chorus_, , CHORUS_CTX_DEFAULT)
DEFINE_MEM(chorus_ctx_, CH_CTX_ARG, ctx)

/* --- with strides, element by element ----------------------------------------------------- */

/* Fails unless the stride is positive and at least the length of a block. */
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

/* Returns the number of elements from the first to the last one of a strided vector; SIZE_MAX
 * on overflow. */
static size_t strided_elements(const struct ch_strides *s, ptrdiff_t stride)
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
    CH_TRY(ch_resolve_target(function, ctx, "dest", dest, strided_elements(s, s->dst),
                             element_bytes, pe, &t));
    for (size_t i = 0; i < s->count && t.bytes != 0; i++)
        CH_TRY(ch_links_put(t.context->links, t.ctx, dest + i * (size_t)s->dst * element_bytes,
                            source + i * (size_t)s->sst * element_bytes,
                            s->block * element_bytes, t.pe));
    return CHORUS_OK;
}

static chorus_status iget(const char *function, chorus_ctx_t ctx, char *dest,
                          const char *source, const struct ch_strides *s, size_t element_bytes,
                          int pe)
{
    struct ch_target t;

    CH_TRY(check_strides(function, s));
    CH_TRY(ch_resolve_target(function, ctx, "source", source, strided_elements(s, s->sst),
                             element_bytes, pe, &t));
    for (size_t i = 0; i < s->count && t.bytes != 0; i++)
        CH_TRY(ch_links_get(t.context->links, t.ctx, dest + i * (size_t)s->dst * element_bytes,
                            source + i * (size_t)s->sst * element_bytes,
                            s->block * element_bytes, t.pe));
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

/* --- elements given by their size --------------------------------------------------------- */

#define DEFINE_SIZED(P, ARG, CTX, BITS, bytes)                                              \
    void P##put##BITS(ARG void *dest, const void *source, size_t nelems, int pe)            \
    {                                                                                       \
        CH_PUT(ch_rma_put, CTX, dest, source, nelems, (bytes), pe);                         \
    }                                                                                       \
    void P##get##BITS(ARG void *dest, const void *source, size_t nelems, int pe)            \
    {                                                                                       \
        CH_GET(ch_rma_get, CTX, dest, source, nelems, (bytes), pe);                         \
    }                                                                                       \
    void P##put##BITS##_nbi(ARG void *dest, const void *source, size_t nelems, int pe)      \
    {                                                                                       \
        CH_PUT(ch_rma_put_nbi, CTX, dest, source, nelems, (bytes), pe);                     \
    }                                                                                       \
    void P##get##BITS##_nbi(ARG void *dest, const void *source, size_t nelems, int pe)      \
    {                                                                                       \
        CH_GET(ch_rma_get_nbi, CTX, dest, source, nelems, (bytes), pe);                     \
    }                                                                                       \
    void P##iput##BITS(ARG void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,    \
                       size_t nelems, int pe)                                               \
    {                                                                                       \
        ch_rma_iput(__func__, CTX, dest, source, (struct ch_strides){dst, sst, 1, nelems},  \
                    (bytes), pe);                                                           \
    }                                                                                       \
    void P##iget##BITS(ARG void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,    \
                       size_t nelems, int pe)                                               \
    {                                                                                       \
        ch_rma_iget(__func__, CTX, dest, source, (struct ch_strides){dst, sst, 1, nelems},  \
                    (bytes), pe);                                                           \
    }                                                                                       \
    void P##ibput##BITS(ARG void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,   \
                        size_t bsize, size_t nblocks, int pe)                               \
    {                                                                                       \
        ch_rma_iput(__func__, CTX, dest, source,                                            \
                    (struct ch_strides){dst, sst, bsize, nblocks}, (bytes), pe);            \
    }                                                                                       \
    void P##ibget##BITS(ARG void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,   \
                        size_t bsize, size_t nblocks, int pe)                               \
    {                                                                                       \
        ch_rma_iget(__func__, CTX, dest, source,                                            \
                    (struct ch_strides){dst, sst, bsize, nblocks}, (bytes), pe);            \
    }                                                                                       \
    void P##put##BITS##_signal(ARG void *dest, const void *source, size_t nelems,           \
                               uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)     \
    {                                                                                       \
        const struct ch_signal_update update = {sig_addr, signal, sig_op, false};           \
        ch_rma_put_signal(__func__, CTX, dest, source, nelems, (bytes), update, pe);        \
    }                                                                                       \
    void P##put##BITS##_signal_nbi(ARG void *dest, const void *source, size_t nelems,       \
                                   uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    {                                                                                       \
        const struct ch_signal_update update = {sig_addr, signal, sig_op, true};            \
        ch_rma_put_signal(__func__, CTX, dest, source, nelems, (bytes), update, pe);        \
    }
#define X(BITS, bytes)                                       \
    DEFINE_SIZED(chorus_, , CHORUS_CTX_DEFAULT, BITS, bytes) \
    DEFINE_SIZED(chorus_ctx_, CH_CTX_ARG, ctx, BITS, bytes)
CHORUS_SIZES(X)
#undef X

/* --- order -------------------------------------------------------------------------------- */

static chorus_status fence(const char *function, chorus_ctx_t ctx)
{
    struct ch_context *context;
    uint32_t number;

    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_ctx_number(context, function, ctx, &number));
    return ch_links_fence(context->links, number);
}

static chorus_status quiet(const char *function, chorus_ctx_t ctx)
{
    struct ch_context *context;
    uint32_t number;

    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_ctx_number(context, function, ctx, &number));
    return ch_links_quiet(context->links, number, CH_LINK_ALL);
}

/* Complete this PE's operations to n PEs of the context's team; none if one of `pes` is
 * invalid. */
static chorus_status pe_quiet(const char *function, chorus_ctx_t ctx, const int *pes, size_t n)
{
    struct ch_context *context;
    uint32_t number, pe;

    CH_TRY(ch_context_require(function, &context));
    for (size_t i = 0; i < n; i++)
        CH_TRY(ch_ctx_resolve(context, function, ctx, pes[i], &number, &pe));
    for (size_t i = 0; i < n; i++) {
        CH_TRY(ch_ctx_resolve(context, function, ctx, pes[i], &number, &pe));
        CH_TRY(ch_links_quiet(context->links, number, pe));
    }
    return CHORUS_OK;
}

void chorus_fence(void)
{
    ch_report(fence(__func__, CHORUS_CTX_DEFAULT));
}

void chorus_quiet(void)
{
    ch_report(quiet(__func__, CHORUS_CTX_DEFAULT));
}

void chorus_pe_quiet(const int *target_pes, size_t npes)
{
    ch_report(pe_quiet(__func__, CHORUS_CTX_DEFAULT, target_pes, npes));
}

void chorus_ctx_fence(chorus_ctx_t ctx)
{
    if (ctx != CHORUS_CTX_INVALID) ch_report(fence(__func__, ctx));
}

void chorus_ctx_quiet(chorus_ctx_t ctx)
{
    if (ctx != CHORUS_CTX_INVALID) ch_report(quiet(__func__, ctx));
}

void chorus_ctx_pe_quiet(chorus_ctx_t ctx, const int *target_pes, size_t npes)
{
    if (ctx != CHORUS_CTX_INVALID) ch_report(pe_quiet(__func__, ctx, target_pes, npes));
}
