/* SPDX-License-Identifier: Apache-2.0 */
/* moe_sum.c: the sums of combine. Compiled without contraction: a product is rounded. */
#include "apps/moe.h"

#include "apps/moe_values.h"

#include <string.h>

enum { BLOCK = 256 }; /* values whose sums are in the first cache */

/* --- 32-bit floats ------------------------------------------------------------------------ */
static inline float ch_moe_from_f32(float value)
{
    return value;
}

static inline float ch_moe_to_f32(float value)
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
            sums[i] = weight * ch_moe_from_##NAME(value);                              \
        }                                                                              \
    }                                                                                  \
    static void add_##NAME(float *restrict sums, const char *restrict row, size_t n,   \
                           float weight)                                               \
    {                                                                                  \
        for (size_t i = 0; i < n; i++) {                                               \
            T value;                                                                   \
                                                                                       \
            memcpy(&value, row + i * sizeof(T), sizeof(T));                            \
            sums[i] += weight * ch_moe_from_##NAME(value);                             \
        }                                                                              \
    }                                                                                  \
    static void store_##NAME(char *restrict out, const float *restrict sums, size_t n) \
    {                                                                                  \
        for (size_t i = 0; i < n; i++) {                                               \
            const T value = ch_moe_to_##NAME(sums[i]);                                 \
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
