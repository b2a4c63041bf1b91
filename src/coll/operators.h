/* SPDX-License-Identifier: Apache-2.0 */
/* operators.h: the effect of each reduction operator on two elements, for every backend. */
#ifndef CH_OPERATORS_H
#define CH_OPERATORS_H

/* clang-format off */
/* Unsigned type in which an integer type's sums and products wrap without overflow. */
#define CH_WRAP_i8 uint32_t
#define CH_WRAP_i16 uint32_t
#define CH_WRAP_i32 uint32_t
#define CH_WRAP_i64 uint64_t
#define CH_WRAP_u8 uint32_t
#define CH_WRAP_u16 uint32_t
#define CH_WRAP_u32 uint32_t
#define CH_WRAP_u64 uint64_t

/* Operators by class: expression of a and b, both of type A. NaN wins in min and max, as either
 * operand; of -0.0 and 0.0, the first operand wins. */
#define CH_OPS_INT(X, T, A)                            \
    X(T, A, and, (A)(a & b))                        \
    X(T, A, or, (A)(a | b))                         \
    X(T, A, xor, (A)(a ^ b))                        \
    X(T, A, min, b < a ? b : a)                     \
    X(T, A, max, a < b ? b : a)                     \
    X(T, A, sum, (A)((CH_WRAP_##T)a + (CH_WRAP_##T)b))    \
    X(T, A, prod, (A)((CH_WRAP_##T)a * (CH_WRAP_##T)b))
#define CH_OPS_UINT(X, T, A) CH_OPS_INT(X, T, A)
#define CH_OPS_FLOAT(X, T, A)                          \
    X(T, A, min, (b < a || b != b) && a == a ? b : a) \
    X(T, A, max, (a < b || b != b) && a == a ? b : a) \
    X(T, A, sum, a + b)                             \
    X(T, A, prod, a * b)
#define CH_OPS_HALF(X, T, A) CH_OPS_FLOAT(X, T, A)
#define CH_OPS_COMPLEX(X, T, A)                        \
    X(T, A, sum, a + b)                             \
    X(T, A, prod, a * b)

/* The element types that GPUs combine, by class and bytes: expands to its last arguments for
 * these types, to nothing for the others. */
#define CH_ON_GPU(CLASS, bytes, ...) CH_ON_GPU_##CLASS##_##bytes(__VA_ARGS__)
#define CH_ON_GPU_INT_1(...) __VA_ARGS__
#define CH_ON_GPU_INT_2(...) __VA_ARGS__
#define CH_ON_GPU_INT_4(...) __VA_ARGS__
#define CH_ON_GPU_INT_8(...) __VA_ARGS__
#define CH_ON_GPU_UINT_1(...) __VA_ARGS__
#define CH_ON_GPU_UINT_2(...) __VA_ARGS__
#define CH_ON_GPU_UINT_4(...) __VA_ARGS__
#define CH_ON_GPU_UINT_8(...) __VA_ARGS__
#define CH_ON_GPU_HALF_2(...) __VA_ARGS__
#define CH_ON_GPU_FLOAT_4(...) __VA_ARGS__
#define CH_ON_GPU_FLOAT_8(...) __VA_ARGS__
#define CH_ON_GPU_FLOAT_16(...)
#define CH_ON_GPU_COMPLEX_8(...)
#define CH_ON_GPU_COMPLEX_16(...)
/* clang-format on */

#endif /* CH_OPERATORS_H */
