/* SPDX-License-Identifier: Apache-2.0 */
/* strided.c: puts and gets with strides, element by element. */
#include "api/argument.h"
#include "api/rma.h"
#include "chorus/chorus.h"

#include <stdint.h>

/* Strides of the two sides, in bytes, and where they begin. */
struct walk {
    char *dest;
    const char *source;
    size_t dest_step, source_step;
    size_t count, element_bytes;
};

static chorus_status check_stride(const char *function, const char *name, ptrdiff_t stride)
{
    if (stride >= 1) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG, "%s: %s is %td elements; expected 1 or more", function, name,
                   stride);
}

/* Elements from the first to the last that a stride reaches; SIZE_MAX when too many to tell. */
static size_t span(size_t count, size_t stride)
{
    size_t elements;

    if (count == 0) return 0;
    if (__builtin_mul_overflow(count - 1, stride, &elements) || elements == SIZE_MAX)
        return SIZE_MAX;
    return elements + 1;
}

static chorus_status check_strides(const char *function, ptrdiff_t dst, ptrdiff_t sst)
{
    CH_TRY(check_stride(function, "dst", dst));
    return check_stride(function, "sst", sst);
}

static chorus_status put_elements(const struct ch_target *t, const struct walk *w)
{
    const struct ch_transport_ops *link = t->context->link;

    for (size_t i = 0; i < w->count; i++)
        CH_TRY(link->put(t->context->transport, CH_CTX_DEFAULT, w->dest + i * w->dest_step,
                         w->source + i * w->source_step, w->element_bytes, t->pe));
    return CHORUS_OK;
}

static chorus_status get_elements(const struct ch_target *t, const struct walk *w)
{
    const struct ch_transport_ops *link = t->context->link;

    for (size_t i = 0; i < w->count; i++)
        CH_TRY(link->get(t->context->transport, CH_CTX_DEFAULT, w->dest + i * w->dest_step,
                         w->source + i * w->source_step, w->element_bytes, t->pe));
    return CHORUS_OK;
}

static struct walk walk_of(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                           size_t count, size_t element_bytes)
{
    return (struct walk){
        .dest = dest,
        .source = source,
        .dest_step = (size_t)dst * element_bytes,
        .source_step = (size_t)sst * element_bytes,
        .count = count,
        .element_bytes = element_bytes,
    };
}

void ch_rma_iput(const char *function, void *dest, const void *source, ptrdiff_t dst,
                 ptrdiff_t sst, size_t count, size_t element_bytes, int pe)
{
    const struct walk w = walk_of(dest, source, dst, sst, count, element_bytes);
    struct ch_target t;
    chorus_status status = check_strides(function, dst, sst);

    if (status == CHORUS_OK)
        status = ch_target_check(function, "dest", dest, span(count, (size_t)dst),
                                 element_bytes, pe, &t);
    if (status == CHORUS_OK) status = put_elements(&t, &w);
    ch_report(status);
}

void ch_rma_iget(const char *function, void *dest, const void *source, ptrdiff_t dst,
                 ptrdiff_t sst, size_t count, size_t element_bytes, int pe)
{
    const struct walk w = walk_of(dest, source, dst, sst, count, element_bytes);
    struct ch_target t;
    chorus_status status = check_strides(function, dst, sst);

    if (status == CHORUS_OK)
        status = ch_target_check(function, "source", source, span(count, (size_t)sst),
                                 element_bytes, pe, &t);
    if (status == CHORUS_OK) status = get_elements(&t, &w);
    ch_report(status);
}

#define DEFINE_STRIDED(NAME, T, kind)                                                 \
    void chorus_##NAME##_iput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, \
                              size_t nelems, int pe)                                  \
    {                                                                                 \
        ch_rma_iput(__func__, dest, source, dst, sst, nelems, sizeof(T), pe);         \
    }                                                                                 \
    void chorus_##NAME##_iget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, \
                              size_t nelems, int pe)                                  \
    {                                                                                 \
        ch_rma_iget(__func__, dest, source, dst, sst, nelems, sizeof(T), pe);         \
    }
CHORUS_RMA_TYPES(DEFINE_STRIDED)
