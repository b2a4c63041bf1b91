/* SPDX-License-Identifier: Apache-2.0 */
/* moe_sum.c: the sums of combine. Compiled without contraction: a product is rounded. */
#include "apps/moe.h"

#include <string.h>

enum { BLOCK = 256 }; /* values whose sums are in the first cache */

/* --- 16-bit floats ------------------------------------------------------------------------ */
static inline float to_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline uint32_t to_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline float from_bf16(uint16_t half)
{
    return to_float((uint32_t)half << 16);
}

static inline uint16_t to_bf16(float value)
{
    const uint32_t bits = to_bits(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u); /* NaN */
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* This function and the next compute every case and select the one that applies, so that
 * compilers can make vectors of them. */
static inline float from_f16(uint16_t half)
{
    const uint32_t sign = (half & 0x8000u) << 16, rest = (half & 0x7fffu) << 13;
    const uint32_t least = 113u << 23; /* 2^-14, the least normal binary16 */
    /* Zero or subnormal: put the fraction behind 2^-14 and subtract 2^-14, which is exact. */
    const uint32_t tiny = to_bits(to_float(rest + least) - to_float(least));
    const uint32_t normal = rest + ((127u - 15u) << 23);
    const uint32_t special = rest | 0x7f800000u; /* infinity, NaN */
    const uint32_t finite = rest < 0x0400u << 13 ? tiny : normal;

    return to_float(sign | (rest >= 0x7c00u << 13 ? special : finite));
}

static inline uint16_t to_f16(float value)
{
    const uint32_t bits = to_bits(value);
    const uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    /* Below 2^-14: subnormal; the addition rounds, as one ulp of 0.5 is 2^-24. */
    const uint32_t tiny = to_bits(to_float(rest) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (rest - ((127u - 15u) << 23) + 0xfffu + (rest >> 13 & 1u)) >> 13;
    const uint32_t nan = 0x7e00u | (rest >> 13 & 0x3ffu);
    const uint32_t finite = rest < 0x38800000u ? tiny : normal;
    const uint32_t special = rest > 0x7f800000u ? nan : 0x7c00u; /* from 65520 on: infinity */

    return (uint16_t)(sign | (rest >= 0x477ff000u ? special : finite));
}

static inline float from_f32(float value)
{
    return value;
}

static inline float to_f32(float value)
{
    return value;
}

/* --- sums --------------------------------------------------------------------------------- */
/* n values of a row from its byte `at` on: their products with a weight, and these added to
 * sums; and sums rounded to the type. */
#define DEFINE_TYPE(NAME, T)                                                           \
    static void multiply_##NAME(float *sums, const char *row, size_t n, float weight)  \
    {                                                                                  \
        for (size_t i = 0; i < n; i++) {                                               \
            T value;                                                                   \
                                                                                       \
            memcpy(&value, row + i * sizeof(T), sizeof(T));                            \
            sums[i] = weight * from_##NAME(value);                                     \
        }                                                                              \
    }                                                                                  \
    static void add_##NAME(float *restrict sums, const char *restrict row, size_t n,   \
                           float weight)                                               \
    {                                                                                  \
        for (size_t i = 0; i < n; i++) {                                               \
            T value;                                                                   \
                                                                                       \
            memcpy(&value, row + i * sizeof(T), sizeof(T));                            \
            sums[i] += weight * from_##NAME(value);                                    \
        }                                                                              \
    }                                                                                  \
    static void store_##NAME(char *restrict out, const float *restrict sums, size_t n) \
    {                                                                                  \
        for (size_t i = 0; i < n; i++) {                                               \
            const T value = to_##NAME(sums[i]);                                        \
                                                                                       \
            memcpy(out + i * sizeof(T), &value, sizeof(T));                            \
        }                                                                              \
    }
DEFINE_TYPE(f32, float)
DEFINE_TYPE(bf16, uint16_t)
DEFINE_TYPE(f16, uint16_t)
#undef DEFINE_TYPE

struct of_type {
    chorus_type type;
    size_t bytes;
    void (*multiply)(float *sums, const char *row, size_t n, float weight);
    void (*add)(float *sums, const char *row, size_t n, float weight);
    void (*store)(char *out, const float *sums, size_t n);
};

static const struct of_type *find(chorus_type type)
{
    static const struct of_type types[] = {
        {CHORUS_TYPE_f32, 4, multiply_f32, add_f32, store_f32},
        {CHORUS_TYPE_bf16, 2, multiply_bf16, add_bf16, store_bf16},
        {CHORUS_TYPE_f16, 2, multiply_f16, add_f16, store_f16},
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].type == type) return &types[i];
    return NULL;
}

size_t ch_moe_value_bytes(chorus_type type)
{
    const struct of_type *found = find(type);

    return found == NULL ? 0 : found->bytes;
}

void ch_moe_add_up(const struct chorusx_moe *moe, size_t n, char *out)
{
    const struct of_type *type = find(moe->call.type);
    const size_t bytes = moe->config.combine_bytes, step = BLOCK * type->bytes;
    float sums[BLOCK];

    for (size_t at = 0; at < bytes; at += step) {
        const size_t values = (bytes - at < step ? bytes - at : step) / type->bytes;

        type->multiply(sums, moe->rows[0] + at, values, moe->weights[0]);
        for (size_t k = 1; k < n; k++)
            type->add(sums, moe->rows[k] + at, values, moe->weights[k]);
        type->store(out + at, sums, values);
    }
}
