/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amo.c: atomics on an object of a peer. Operands are passed as bit patterns of 4 or 8 bytes.
 * Floats are only fetched, set and swapped, for which the bits are enough.
 */
#include "api/argument.h"
#include "api/near.h"
#include "api/rma.h"
#include "chorus/chorus.h"

#include <string.h>

struct amo {
    enum ch_amo op;
    void *object; /* symmetric */
    const char *object_name;
    uint64_t value, compare; /* 0 where the form has none */
    size_t bytes;
    int pe;
    bool fetches;
};

/* Of a value of 4 or 8 bytes; 0 for null. */
static inline uint64_t bits_of(const void *value, size_t bytes)
{
    uint32_t narrow;
    uint64_t wide;

    if (value == NULL) return 0;
    if (bytes == sizeof(narrow)) {
        memcpy(&narrow, value, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, value, sizeof(wide));
    return wide;
}

static inline void store_bits(void *value, size_t bytes, uint64_t bits)
{
    const uint32_t narrow = (uint32_t)bits;

    if (value == NULL) return;
    if (bytes == sizeof(narrow))
        memcpy(value, &narrow, sizeof(narrow));
    else
        memcpy(value, &bits, sizeof(bits));
}

static chorus_status run(const char *function, chorus_ctx_t ctx, const struct amo *a,
                         uint64_t *fetched_out)
{
    struct ch_target t;

    CH_TRY(ch_target_check(function, ctx, a->object_name, a->object, 1, a->bytes, a->pe, &t));
    CH_TRY(ch_check_aligned(function, a->object_name, a->object, a->bytes));
    return t.context->ops->amo(t.context->transport, t.ctx, a->op, a->object, a->bytes,
                               a->value, a->compare, t.pe, a->fetches ? fetched_out : NULL);
}

/* Any call; 0 after a failure. */
static __attribute__((noinline)) uint64_t amo_far(const char *function, chorus_ctx_t ctx,
                                                  const struct amo *a)
{
    uint64_t fetched = 0;

    ch_report(run(function, ctx, a, &fetched));
    return fetched;
}

/* The old value. The op and the bytes are constants, so the compiler removes most of this. */
CH_INLINE uint64_t amo(const char *function, chorus_ctx_t ctx, struct amo a)
{
    const struct ch_near *near = ch_near_of(ctx, a.object, a.bytes, a.pe);

    if (near == NULL || ((uintptr_t)a.object & (a.bytes - 1)) != 0) {
        const struct amo kept = a; /* used only in memory, for this call */

        return amo_far(function, ctx, &kept);
    }
    return ch_near_amo(near, a.op, a.object, a.bytes, a.value, a.compare);
}

/* The names of OP and of the object are followed by pointers to value, compare and fetched, or
 * null. */
#define AMO(CTX, OP, dest, value, compare, fetched)                                      \
    store_bits(                                                                          \
        (fetched), sizeof(*(dest)),                                                      \
        amo(__func__, CTX,                                                               \
            (struct amo){CH_AMO_##OP, (dest), "dest", bits_of((value), sizeof(*(dest))), \
                         bits_of((compare), sizeof(*(dest))), sizeof(*(dest)), pe,       \
                         (fetched) != NULL}))
/* The caller promises with const that a fetch does not change source; a fetch keeps that
 * promise. */
#define AMO_FETCH(CTX, source, fetched)                                                    \
    store_bits((fetched), sizeof(*(source)),                                               \
               amo(__func__, CTX,                                                          \
                   (struct amo){CH_AMO_FETCH, (void *)(uintptr_t)(source), "source", 0, 0, \
                                sizeof(*(source)), pe, true}))

#define DEFINE_EXTENDED(P, ARG, CTX, NAME, T)                              \
    T P##NAME##_atomic_fetch(ARG const T *source, int pe)                  \
    {                                                                      \
        T fetched;                                                         \
        AMO_FETCH(CTX, source, &fetched);                                  \
        return fetched;                                                    \
    }                                                                      \
    void P##NAME##_atomic_set(ARG T *dest, T value, int pe)                \
    {                                                                      \
        AMO(CTX, SET, dest, &value, NULL, NULL);                           \
    }                                                                      \
    T P##NAME##_atomic_swap(ARG T *dest, T value, int pe)                  \
    {                                                                      \
        T fetched;                                                         \
        AMO(CTX, SWAP, dest, &value, NULL, &fetched);                      \
        return fetched;                                                    \
    }                                                                      \
    void P##NAME##_atomic_fetch_nbi(ARG T *fetch, const T *source, int pe) \
    {                                                                      \
        AMO_FETCH(CTX, source, fetch);                                     \
    }                                                                      \
    void P##NAME##_atomic_swap_nbi(ARG T *fetch, T *dest, T value, int pe) \
    {                                                                      \
        AMO(CTX, SWAP, dest, &value, NULL, fetch);                         \
    }
#define X(NAME, T, kind)                                    \
    DEFINE_EXTENDED(chorus_, , CHORUS_CTX_DEFAULT, NAME, T) \
    DEFINE_EXTENDED(chorus_ctx_, CH_CTX_ARG, ctx, NAME, T)
CHORUS_AMO_EXTENDED_TYPES(X)
#undef X

#define DEFINE_STANDARD(P, ARG, CTX, NAME, T)                                              \
    T P##NAME##_atomic_compare_swap(ARG T *dest, T cond, T value, int pe)                  \
    {                                                                                      \
        T fetched;                                                                         \
        AMO(CTX, COMPARE_SWAP, dest, &value, &cond, &fetched);                             \
        return fetched;                                                                    \
    }                                                                                      \
    T P##NAME##_atomic_fetch_inc(ARG T *dest, int pe)                                      \
    {                                                                                      \
        const T one = 1;                                                                   \
        T fetched;                                                                         \
        AMO(CTX, ADD, dest, &one, NULL, &fetched);                                         \
        return fetched;                                                                    \
    }                                                                                      \
    void P##NAME##_atomic_inc(ARG T *dest, int pe)                                         \
    {                                                                                      \
        const T one = 1;                                                                   \
        AMO(CTX, ADD, dest, &one, NULL, NULL);                                             \
    }                                                                                      \
    T P##NAME##_atomic_fetch_add(ARG T *dest, T value, int pe)                             \
    {                                                                                      \
        T fetched;                                                                         \
        AMO(CTX, ADD, dest, &value, NULL, &fetched);                                       \
        return fetched;                                                                    \
    }                                                                                      \
    void P##NAME##_atomic_add(ARG T *dest, T value, int pe)                                \
    {                                                                                      \
        AMO(CTX, ADD, dest, &value, NULL, NULL);                                           \
    }                                                                                      \
    void P##NAME##_atomic_compare_swap_nbi(ARG T *fetch, T *dest, T cond, T value, int pe) \
    {                                                                                      \
        AMO(CTX, COMPARE_SWAP, dest, &value, &cond, fetch);                                \
    }                                                                                      \
    void P##NAME##_atomic_fetch_inc_nbi(ARG T *fetch, T *dest, int pe)                     \
    {                                                                                      \
        const T one = 1;                                                                   \
        AMO(CTX, ADD, dest, &one, NULL, fetch);                                            \
    }                                                                                      \
    void P##NAME##_atomic_fetch_add_nbi(ARG T *fetch, T *dest, T value, int pe)            \
    {                                                                                      \
        AMO(CTX, ADD, dest, &value, NULL, fetch);                                          \
    }
#define X(NAME, T, kind)                                    \
    DEFINE_STANDARD(chorus_, , CHORUS_CTX_DEFAULT, NAME, T) \
    DEFINE_STANDARD(chorus_ctx_, CH_CTX_ARG, ctx, NAME, T)
CHORUS_AMO_STANDARD_TYPES(X)
#undef X

#define DEFINE_BITWISE_OP(P, ARG, CTX, NAME, T, op, OP)                            \
    T P##NAME##_atomic_fetch_##op(ARG T *dest, T value, int pe)                    \
    {                                                                              \
        T fetched;                                                                 \
        AMO(CTX, OP, dest, &value, NULL, &fetched);                                \
        return fetched;                                                            \
    }                                                                              \
    void P##NAME##_atomic_##op(ARG T *dest, T value, int pe)                       \
    {                                                                              \
        AMO(CTX, OP, dest, &value, NULL, NULL);                                    \
    }                                                                              \
    void P##NAME##_atomic_fetch_##op##_nbi(ARG T *fetch, T *dest, T value, int pe) \
    {                                                                              \
        AMO(CTX, OP, dest, &value, NULL, fetch);                                   \
    }
#define BITWISE_OP(NAME, T, op, OP)                                   \
    DEFINE_BITWISE_OP(chorus_, , CHORUS_CTX_DEFAULT, NAME, T, op, OP) \
    DEFINE_BITWISE_OP(chorus_ctx_, CH_CTX_ARG, ctx, NAME, T, op, OP)
#define X(NAME, T, kind)          \
    BITWISE_OP(NAME, T, and, AND) \
    BITWISE_OP(NAME, T, or, OR)   \
    BITWISE_OP(NAME, T, xor, XOR)
CHORUS_AMO_BITWISE_TYPES(X)
#undef X
