/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/reduce.h"

#include "coll/half.h"
#include "coll/operators.h"

#include <complex.h>
#include <string.h>

/* clang-format off */
/* The accumulator's type. */
#define ACC_INT(ctype) ctype
#define ACC_UINT(ctype) ctype
#define ACC_FLOAT(ctype) ctype
#define ACC_COMPLEX(ctype) ctype
#define ACC_HALF(ctype) float
/* clang-format on */

/* Conversions between the stored type and the accumulator. */
#define DEFINE_CONVERT(T, ctype, A, widen, narrow)                 \
    static void first_##T(void *acc, const void *in, size_t count) \
    {                                                              \
        A *to = acc;                                               \
        const ctype *from = in;                                    \
        for (size_t i = 0; i < count; i++)                         \
            to[i] = widen(from[i]);                                \
    }                                                              \
    static void last_##T(void *out, const void *acc, size_t count) \
    {                                                              \
        ctype *to = out;                                           \
        const A *from = acc;                                       \
        for (size_t i = 0; i < count; i++)                         \
            to[i] = narrow(from[i]);                               \
    }                                                              \
    CH_FN A widen_##T(ctype value)                                 \
    {                                                              \
        return widen(value);                                       \
    }
#define SAME(value) (value)
#define CONVERT_INT(T, ctype) DEFINE_CONVERT(T, ctype, ctype, SAME, SAME)
#define CONVERT_UINT(T, ctype) DEFINE_CONVERT(T, ctype, ctype, SAME, SAME)
#define CONVERT_FLOAT(T, ctype) DEFINE_CONVERT(T, ctype, ctype, SAME, SAME)
#define CONVERT_COMPLEX(T, ctype) DEFINE_CONVERT(T, ctype, ctype, SAME, SAME)
#define CONVERT_HALF(T, ctype) \
    DEFINE_CONVERT(T, ctype, float, ch_##T##_to_f32, ch_##T##_from_f32)
#define X(T, ctype, CLASS, bytes) CONVERT_##CLASS(T, ctype)
CHORUS_TYPE_LIST(X)
#undef X

/* The accumulator and the source never overlap, as one of them is private. */
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
#define X(T, ctype, CLASS, bytes) \
    typedef ctype element_##T;    \
    CH_OPS_##CLASS(DEFINE_NEXT, T, ACC_##CLASS(ctype))
CHORUS_TYPE_LIST(X)
#undef X

#define ENTRY(T, A, OP, expr) [CHORUS_OP_##OP] = {first_##T, next_##T##_##OP, last_##T},
const struct ch_reduce ch_reduce_table[CHORUS_TYPE_COUNT][CHORUS_OP_COUNT] = {
#define X(T, ctype, CLASS, bytes) [CHORUS_TYPE_##T] = {CH_OPS_##CLASS(ENTRY, T, ctype)},
    CHORUS_TYPE_LIST(X)
#undef X
};
