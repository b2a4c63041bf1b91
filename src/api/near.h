/* SPDX-License-Identifier: Apache-2.0 */
/* near.h: the fast path of the calls that programs make most often. */
#ifndef CH_API_NEAR_H
#define CH_API_NEAR_H

#include "api/context.h"
#include "chorus/ctx.h"

/* Forces inlining: compilers keep a function call where many functions make it, and the call
 * costs a third of the whole. */
#define CH_INLINE static inline __attribute__((always_inline))

/*
 * The peer, if the call only consists of loads and stores to [symmetric, symmetric + bytes) of
 * PE `pe`: in a process with one PE, on the default context, with valid arguments and without
 * CHORUS_CHECK. Otherwise null; the caller then takes the slow path, which reports errors.
 */
CH_INLINE const struct ch_near *ch_near_of(chorus_ctx_t ctx, const void *symmetric,
                                           size_t bytes, int pe)
{
    const struct ch_context *context = __atomic_load_n(&ch_context_only, __ATOMIC_ACQUIRE);
    const struct ch_near *near;

    if (ctx != CHORUS_CTX_DEFAULT || context == NULL || (uint32_t)pe >= context->n_near)
        return NULL;
    near = &context->near[pe];
    return near->door != NULL && ch_heap_contains(context->heap, symmetric, bytes) ? near
                                                                                   : NULL;
}

/* Both return false, and have done nothing, if the call must take the slow path. */
CH_INLINE bool ch_put_near(chorus_ctx_t ctx, void *dest, const void *source, size_t count,
                           size_t element_bytes, int pe)
{
    const struct ch_near *near;
    size_t bytes;

    if (__builtin_mul_overflow(count, element_bytes, &bytes)) return false;
    near = ch_near_of(ctx, dest, bytes, pe);
    if (near == NULL) return false;
    ch_near_put(near, dest, source, bytes);
    return true;
}

CH_INLINE bool ch_get_near(chorus_ctx_t ctx, void *dest, const void *source, size_t count,
                           size_t element_bytes, int pe)
{
    const struct ch_near *near;
    size_t bytes;

    if (__builtin_mul_overflow(count, element_bytes, &bytes)) return false;
    near = ch_near_of(ctx, source, bytes, pe);
    if (near == NULL) return false;
    ch_near_get(near, dest, source, bytes);
    return true;
}

/* The body of a function of the API: `long_way` is its slow path in rma.h. */
#define CH_PUT(long_way, CTX, dest, source, count, element_bytes, pe)                    \
    do {                                                                                 \
        if (!ch_put_near((CTX), (dest), (source), (count), (element_bytes), (pe)))       \
            long_way(__func__, (CTX), (dest), (source), (count), (element_bytes), (pe)); \
    } while (0)
#define CH_GET(long_way, CTX, dest, source, count, element_bytes, pe)                    \
    do {                                                                                 \
        if (!ch_get_near((CTX), (dest), (source), (count), (element_bytes), (pe)))       \
            long_way(__func__, (CTX), (dest), (source), (count), (element_bytes), (pe)); \
    } while (0)

#endif /* CH_API_NEAR_H */
