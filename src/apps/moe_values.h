/* SPDX-License-Identifier: Apache-2.0 */
/* moe_values.h: what hosts and kernels compute alike: 16-bit floats, and the factor of weights.
 */
#ifndef CH_APPS_MOE_VALUES_H
#define CH_APPS_MOE_VALUES_H

#include <stdint.h>
#include <string.h>

#ifndef CH_MOE_FN /* of kernels, which have their own */
#define CH_MOE_FN static inline
#endif

/* The PE of an entry without a row. */
enum { CH_MOE_EMPTY = -1, CH_MOE_LEFT_OUT = -2 };

/* The factor of the weights, null: 1, of a token, of which some entries were left out. */
CH_MOE_FN float ch_moe_factor(int topk, const int32_t *pe_of, const float *weights)
{
    float all = 0.0f, kept = 0.0f;
    int has_all = 1;

    for (int k = 0; k < topk; k++) {
        const float weight = weights != 0 ? weights[k] : 1.0f;

        if (pe_of[k] == CH_MOE_EMPTY) continue;
        all += weight;
        if (pe_of[k] >= 0)
            kept += weight;
        else
            has_all = 0;
    }
    return has_all || kept == 0.0f ? 1.0f : all / kept;
}

/* --- 16-bit floats ------------------------------------------------------------------------ */
CH_MOE_FN float ch_moe_to_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

CH_MOE_FN uint32_t ch_moe_to_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

CH_MOE_FN float ch_moe_from_bf16(uint16_t half)
{
    return ch_moe_to_float((uint32_t)half << 16);
}

CH_MOE_FN uint16_t ch_moe_to_bf16(float value)
{
    const uint32_t bits = ch_moe_to_bits(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u); /* NaN */
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* This function and the next compute every case and select the one that applies, so that
 * compilers can make vectors of them. */
CH_MOE_FN float ch_moe_from_f16(uint16_t half)
{
    const uint32_t sign = (half & 0x8000u) << 16, rest = (half & 0x7fffu) << 13;
    const uint32_t least = 113u << 23; /* 2^-14, the least normal binary16 */
    /* Zero or subnormal: put the fraction behind 2^-14 and subtract 2^-14, which is exact. */
    const uint32_t tiny =
        ch_moe_to_bits(ch_moe_to_float(rest + least) - ch_moe_to_float(least));
    const uint32_t normal = rest + ((127u - 15u) << 23);
    const uint32_t special = rest | 0x7f800000u; /* infinity, NaN */
    const uint32_t finite = rest < 0x0400u << 13 ? tiny : normal;

    return ch_moe_to_float(sign | (rest >= 0x7c00u << 13 ? special : finite));
}

CH_MOE_FN uint16_t ch_moe_to_f16(float value)
{
    const uint32_t bits = ch_moe_to_bits(value);
    const uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    /* Below 2^-14: subnormal; the addition rounds, as one ulp of 0.5 is 2^-24. */
    const uint32_t tiny = ch_moe_to_bits(ch_moe_to_float(rest) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (rest - ((127u - 15u) << 23) + 0xfffu + (rest >> 13 & 1u)) >> 13;
    const uint32_t nan = 0x7e00u | (rest >> 13 & 0x3ffu);
    const uint32_t finite = rest < 0x38800000u ? tiny : normal;
    const uint32_t special = rest > 0x7f800000u ? nan : 0x7c00u; /* from 65520 on: infinity */

    return (uint16_t)(sign | (rest >= 0x477ff000u ? special : finite));
}

#endif /* CH_APPS_MOE_VALUES_H */
