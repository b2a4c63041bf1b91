/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of one instruction set: meson compiles this file once for the instructions that
 * every processor of the architecture has, and on x86-64 once more for AVX2 and F16C. No
 * table uses fused multiply-add (-ffp-contract=off), which rounds once where a product and a
 * sum round twice: the results of all tables are the same bit for bit.
 */
#include "coll/reduce.h"

#include "coll/operators.h"
#include "coll/shape.h"

#include <complex.h>
#include <string.h>

#ifndef CH_REDUCE_TABLE
#define CH_REDUCE_TABLE ch_reduce_base
#define CH_REDUCE_NAME "base"
#endif

/* --- loops over elements ------------------------------------------------------------------ */

/* Conversions between the stored type and the accumulator. They never overlap, as one of them
 * is private; nor do the operands of next. */
#define DEFINE_CONVERT(T, ctype, A, widen, narrow)                                   \
    typedef ctype element_##T;                                                       \
    CH_FN A widen_##T(ctype value)                                                   \
    {                                                                                \
        return widen(value);                                                         \
    }                                                                                \
    static void first_##T(void *restrict acc, const void *restrict in, size_t count) \
    {                                                                                \
        A *restrict to = acc;                                                        \
        const ctype *restrict from = in;                                             \
        for (size_t i = 0; i < count; i++)                                           \
            to[i] = widen(from[i]);                                                  \
    }                                                                                \
    static void last_##T(void *restrict out, const void *restrict acc, size_t count) \
    {                                                                                \
        ctype *restrict to = out;                                                    \
        const A *restrict from = acc;                                                \
        for (size_t i = 0; i < count; i++)                                           \
            to[i] = narrow(from[i]);                                                 \
    }

#define DEFINE_NEXT(T, A, OP, expr)                                                        \
    static void next_##T##_##OP(void *restrict acc, const void *restrict in, size_t count) \
    {                                                                                      \
        A *restrict to = acc;                                                              \
        const element_##T *restrict from = in;                                             \
        for (size_t i = 0; i < count; i++) {                                               \
            const A a = to[i], b = widen_##T(from[i]);                                     \
            to[i] = (expr);                                                                \
        }                                                                                  \
    }

/* Of types that are their own accumulator; others gain nothing, as conversions take longer than
 * passes over the first-level cache. */
#define DEFINE_BOTH(T, A, OP, expr)                                                          \
    static void both_##T##_##OP(void *out, const void *one, const void *other, size_t count) \
    {                                                                                        \
        A *to = out;                                                                         \
        const A *from_one = one, *from_other = other;                                        \
        for (size_t i = 0; i < count; i++) {                                                 \
            const A a = from_one[i], b = from_other[i];                                      \
            to[i] = (expr);                                                                  \
        }                                                                                    \
    }

#define SAME(value) (value)
#define DEFINE_SAME(T, ctype, OPS)              \
    DEFINE_CONVERT(T, ctype, ctype, SAME, SAME) \
    OPS(DEFINE_NEXT, T, ctype)                  \
    OPS(DEFINE_BOTH, T, ctype)
#define DEFINE_WIDE(T, ctype)                                           \
    DEFINE_CONVERT(T, ctype, float, ch_##T##_to_f32, ch_##T##_from_f32) \
    CH_OPS_HALF(DEFINE_NEXT, T, float)

/* --- binary16 by the instructions of F16C, which make NaN quiet also when they widen it --- */
#ifdef __F16C__
#include <immintrin.h>

/* `first` of struct ch_reduce for binary16: eight elements at a time are widened to float. */
static void first_f16(void *acc, const void *in, size_t count)
{
    const chorus_half *from = in;
    float *to = acc;
    size_t i = 0;

    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(&to[i], _mm256_cvtph_ps(_mm_loadu_si128((const void *)&from[i])));
    for (; i < count; i++)
        to[i] = _cvtsh_ss(from[i].bits);
}

/* `last` of struct ch_reduce for binary16: eight floats at a time are rounded. */
static void last_f16(void *out, const void *acc, size_t count)
{
    const float *from = acc;
    chorus_half *to = out;
    size_t i = 0;

    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((void *)&to[i],
                         _mm256_cvtps_ph(_mm256_loadu_ps(&from[i]), _MM_FROUND_TO_NEAREST_INT));
    for (; i < count; i++)
        to[i].bits = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
}

/* By way of floats that stay in the first-level cache. */
#define DEFINE_NEXT_F16C(T, A, OP, expr)                                                   \
    static void next_f32_##OP(void *restrict acc, const void *restrict in, size_t count);  \
    static void next_##T##_##OP(void *restrict acc, const void *restrict in, size_t count) \
    {                                                                                      \
        float wide[CH_UNIT_BYTES / sizeof(float)];                                         \
        for (size_t i = 0, n; i < count; i += n) {                                         \
            n = ch_min(count - i, sizeof(wide) / sizeof(*wide));                           \
            first_##T(wide, (const A *)in + i, n);                                         \
            next_f32_##OP((float *)acc + i, wide, n);                                      \
        }                                                                                  \
    }
#define DEFINE_f16(T, ctype) CH_OPS_HALF(DEFINE_NEXT_F16C, T, ctype)
#else
#define DEFINE_f16(T, ctype) DEFINE_WIDE(T, ctype)
#endif

/* --- the table ---------------------------------------------------------------------------- */
#define DEFINE_bf16(T, ctype) DEFINE_WIDE(T, ctype)
#define DEFINE_HALF(T, ctype) DEFINE_##T(T, ctype)
#define DEFINE_INT(T, ctype) DEFINE_SAME(T, ctype, CH_OPS_INT)
#define DEFINE_UINT(T, ctype) DEFINE_SAME(T, ctype, CH_OPS_UINT)
#define DEFINE_FLOAT(T, ctype) DEFINE_SAME(T, ctype, CH_OPS_FLOAT)
#define DEFINE_COMPLEX(T, ctype) DEFINE_SAME(T, ctype, CH_OPS_COMPLEX)
#define X(T, ctype, CLASS, bytes) DEFINE_##CLASS(T, ctype)
CHORUS_TYPE_LIST(X)
#undef X

#define ENTRY(T, A, OP, expr) \
    [CHORUS_OP_##OP] = {first_##T, next_##T##_##OP, last_##T, both_##T##_##OP},
#define ENTRY_HALF(T, A, OP, expr) [CHORUS_OP_##OP] = {first_##T, next_##T##_##OP, last_##T, 0},
#define ENTRY_INT(T, A, OP, expr) ENTRY(T, A, OP, expr)
#define ENTRY_UINT(T, A, OP, expr) ENTRY(T, A, OP, expr)
#define ENTRY_FLOAT(T, A, OP, expr) ENTRY(T, A, OP, expr)
#define ENTRY_COMPLEX(T, A, OP, expr) ENTRY(T, A, OP, expr)
const struct ch_reduce_table CH_REDUCE_TABLE = {
    CH_REDUCE_NAME,
    {
#define X(T, ctype, CLASS, bytes) [CHORUS_TYPE_##T] = {CH_OPS_##CLASS(ENTRY_##CLASS, T, ctype)},
        CHORUS_TYPE_LIST(X)
#undef X
    },
};
