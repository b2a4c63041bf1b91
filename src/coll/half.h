/* SPDX-License-Identifier: Apache-2.0 */
/* half.h: binary16 and bfloat16 to and from float, rounding to nearest even, NaN kept. */
#ifndef CH_HALF_H
#define CH_HALF_H

#include "base/exec.h"
#include "chorus/lists.h"

#include <string.h>

CH_FN float ch_bits_to_f32(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

CH_FN uint32_t ch_f32_to_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

CH_FN float ch_bf16_to_f32(chorus_bfloat16 half)
{
    return ch_bits_to_f32((uint32_t)half.bits << 16);
}

CH_FN chorus_bfloat16 ch_bf16_from_f32(float value)
{
    const uint32_t bits = ch_f32_to_bits(value);
    chorus_bfloat16 half;

    if (value != value)
        half.bits = (uint16_t)(bits >> 16 | 0x40u); /* quiet, whatever the low bits were */
    else
        half.bits = (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
    return half;
}

CH_FN float ch_f16_to_f32(chorus_half half)
{
    const uint32_t sign = (uint32_t)(half.bits & 0x8000u) << 16;
    const uint32_t rest = half.bits & 0x7fffu;

    if (rest >= 0x7c00u) return ch_bits_to_f32(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest < 0x0400u) { /* zero or subnormal: a multiple of 2^-24, exact in float */
        const float value = (float)rest * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    return ch_bits_to_f32(sign | ((rest << 13) + ((127u - 15u) << 23)));
}

CH_FN chorus_half ch_f16_from_f32(float value)
{
    const uint32_t bits = ch_f32_to_bits(value);
    const uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    chorus_half half;

    if (rest > 0x7f800000u) {
        half.bits = (uint16_t)(sign | 0x7e00u | (rest >> 13 & 0x3ffu));
    } else if (rest >= 0x477ff000u) { /* 65520 and above round to infinity */
        half.bits = (uint16_t)(sign | 0x7c00u);
    } else if (rest < 0x38800000u) { /* below 2^-14: subnormal; the addition rounds */
        const float shifted = ch_bits_to_f32(rest) + 0.5f; /* one ulp of 0.5 is 2^-24 */
        half.bits = (uint16_t)(sign | (ch_f32_to_bits(shifted) - 0x3f000000u));
    } else {
        half.bits =
            (uint16_t)(sign |
                       ((rest - ((127u - 15u) << 23) + 0xfffu + (rest >> 13 & 1u)) >> 13));
    }
    return half;
}

#endif /* CH_HALF_H */
