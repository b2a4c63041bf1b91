/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/reduce.h"

#include "coll/half.h"

#include <complex.h>
#include <string.h>

/* clang-format off */
/* Unsigned type in which an integer type's sums and products wrap without overflow. */
#define WRAP_i8 uint32_t
#define WRAP_i16 uint32_t
#define WRAP_i32 uint32_t
#define WRAP_i64 uint64_t
#define WRAP_u8 uint32_t
#define WRAP_u16 uint32_t
#define WRAP_u32 uint32_t
#define WRAP_u64 uint64_t

/* Operators by class: expression of a and b, both of type A. NaN wins in min and max, on
 * whichever side it stands; of -0.0 and 0.0, the first stays. */
#define OPS_INT(X, T, A)                            \
    X(T, A, and, (A)(a & b))                        \
    X(T, A, or, (A)(a | b))                         \
    X(T, A, xor, (A)(a ^ b))                        \
    X(T, A, min, b < a ? b : a)                     \
    X(T, A, max, a < b ? b : a)                     \
    X(T, A, sum, (A)((WRAP_##T)a + (WRAP_##T)b))    \
    X(T, A, prod, (A)((WRAP_##T)a * (WRAP_##T)b))
#define OPS_UINT(X, T, A) OPS_INT(X, T, A)
#define OPS_FLOAT(X, T, A)                          \
    X(T, A, min, (b < a || b != b) && a == a ? b : a) \
    X(T, A, max, (a < b || b != b) && a == a ? b : a) \
    X(T, A, sum, a + b)                             \
    X(T, A, prod, a * b)
#define OPS_HALF(X, T, A) OPS_FLOAT(X, T, A)
#define OPS_COMPLEX(X, T, A)                        \
    X(T, A, sum, a + b)                             \
    X(T, A, prod, a * b)

/* The accumulator's type. */
#define ACC_INT(ctype) ctype
#define ACC_UINT(ctype) ctype
#define ACC_FLOAT(ctype) ctype
#define ACC_COMPLEX(ctype) ctype
#define ACC_HALF(ctype) float
/* clang-format on */

/* Between the stored type and the accumulator. */
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

/* The accumulator and the source never overlap: one is private. */
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
    OPS_##CLASS(DEFINE_NEXT, T, ACC_##CLASS(ctype))
CHORUS_TYPE_LIST(X)
#undef X

#define ENTRY(T, A, OP, expr) [CHORUS_OP_##OP] = {first_##T, next_##T##_##OP, last_##T},
const struct ch_reduce ch_reduce_table[CHORUS_TYPE_COUNT][CHORUS_OP_COUNT] = {
#define X(T, ctype, CLASS, bytes) [CHORUS_TYPE_##T] = {OPS_##CLASS(ENTRY, T, ctype)},
    CHORUS_TYPE_LIST(X)
#undef X
};
