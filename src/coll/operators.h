/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operators.h: the effect of each reduction operator on two elements, for every backend, and
 * the conversion of binary16 and bfloat16, which are combined as floats.
 */
#ifndef CH_OPERATORS_H
#define CH_OPERATORS_H

#include "base/exec.h"
#include "chorus/lists.h"

#include <string.h>

/* --- operators ---------------------------------------------------------------------------- */
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

/* --- conversions of 16-bit floats --------------------------------------------------------- */
/* The float whose representation is `bits`. */
CH_FN float ch_bits_to_f32(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* The representation of a float. */
CH_FN uint32_t ch_f32_to_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* The bits of the 16-bit types, which in files of CUDA may be its own. */
#define CH_DEFINE_BITS(NAME, T)                          \
    CH_FN uint32_t ch_##NAME##_to_bits(T half)           \
    {                                                    \
        uint16_t bits;                                   \
                                                         \
        memcpy(&bits, &half, sizeof(bits));              \
        return bits;                                     \
    }                                                    \
    CH_FN T ch_##NAME##_from_bits(uint32_t half_of_bits) \
    {                                                    \
        const uint16_t bits = (uint16_t)half_of_bits;    \
        T half;                                          \
                                                         \
        memcpy(&half, &bits, sizeof(half));              \
        return half;                                     \
    }
CH_DEFINE_BITS(f16, chorus_half)
CH_DEFINE_BITS(bf16, chorus_bfloat16)
#undef CH_DEFINE_BITS

CH_FN float ch_bf16_to_f32(chorus_bfloat16 half)
{
    return ch_bits_to_f32(ch_bf16_to_bits(half) << 16);
}

/* The nearest bfloat16, of two the even one; NaN stays NaN. */
CH_FN chorus_bfloat16 ch_bf16_from_f32(float value)
{
    const uint32_t bits = ch_f32_to_bits(value);
    const uint32_t nan = bits >> 16 | 0x40u; /* quiet, whatever the low bits were */

    return ch_bf16_from_bits(value != value ? nan : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* This function and the next compute every case and select the one that applies, so that
 * compilers can make vectors of them. */
CH_FN float ch_f16_to_f32(chorus_half half)
{
    const uint32_t bits = ch_f16_to_bits(half);
    const uint32_t sign = (bits & 0x8000u) << 16, rest = (bits & 0x7fffu) << 13;
    const uint32_t least = 113u << 23; /* 2^-14, the least normal binary16 */
    /* Zero or subnormal: put the fraction behind 2^-14 and subtract 2^-14; the difference is
     * exact. */
    const uint32_t tiny = ch_f32_to_bits(ch_bits_to_f32(rest + least) - ch_bits_to_f32(least));
    const uint32_t normal = rest + ((127u - 15u) << 23);
    const uint32_t special = rest | 0x7f800000u; /* infinity, NaN */
    const uint32_t finite = rest < 0x0400u << 13 ? tiny : normal;

    return ch_bits_to_f32(sign | (rest >= 0x7c00u << 13 ? special : finite));
}

/* The nearest binary16, of two the even one; NaN stays NaN. */
CH_FN chorus_half ch_f16_from_f32(float value)
{
    const uint32_t bits = ch_f32_to_bits(value);
    const uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    /* Below 2^-14: subnormal; the addition rounds, as one ulp of 0.5 is 2^-24. */
    const uint32_t tiny = ch_f32_to_bits(ch_bits_to_f32(rest) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (rest - ((127u - 15u) << 23) + 0xfffu + (rest >> 13 & 1u)) >> 13;
    const uint32_t nan = 0x7e00u | (rest >> 13 & 0x3ffu);
    const uint32_t finite = rest < 0x38800000u ? tiny : normal;
    /* 65520 and above round to infinity. */
    const uint32_t special = rest > 0x7f800000u ? nan : 0x7c00u;

    return ch_f16_from_bits(sign | (rest >= 0x477ff000u ? special : finite));
}

#endif /* CH_OPERATORS_H */
