/* SPDX-License-Identifier: Apache-2.0 */
/*
 * half_cuda.h: eight 16-bit floating elements, and as many floats, by the GPU's conversions.
 *
 * The results are those of operators.h, except that these instructions turn every NaN into the
 * same one, 0x7fff. Where NaN shall keep its sign and fraction (keeps_nan), it is converted
 * apart.
 */
#ifndef CH_HALF_CUDA_H
#define CH_HALF_CUDA_H

#include "coll/operators.h"

/* Convert a NaN, in the low half; the high half is ignored. The shift copies the sign, and puts
 * exponent and fraction where they are in a float; the exponent of a NaN is all ones. */
CH_FN float ch_f16_nan_to_f32(uint32_t half)
{
    return ch_bits_to_f32((uint32_t)((int32_t)(half << 16) >> 3) | 0x7f800000u);
}

/* Convert a NaN with its sign and the high bits of its fraction. */
CH_FN chorus_half ch_f16_nan_from_f32(float nan)
{
    const uint32_t bits = ch_f32_to_bits(nan);

    return ch_f16_from_bits((bits >> 16 & 0x8000u) | 0x7e00u | (bits >> 13 & 0x3ffu));
}

/* Convert eight elements to floats. keeps_nan: see above. */
CH_FN void ch_f16x8_to_f32(float to[8], const uint64_t word[2], int keeps_nan)
{
    uint32_t pair[4];

    memcpy(pair, word, sizeof(pair));
#pragma unroll
    for (int e = 0; e < 8; e += 2)
        ch_f16x2_to_f32(pair[e / 2], &to[e], &to[e + 1]);
    if (keeps_nan) {
#pragma unroll
        for (int e = 0; e < 8; e++)
            if (to[e] != to[e]) to[e] = ch_f16_nan_to_f32(pair[e / 2] >> e % 2 * 16);
    }
}

/* Convert eight floats to elements, with rounding. */
CH_FN void ch_f16x8_from_f32(uint64_t word[2], const float from[8], int keeps_nan)
{
    chorus_half to[8];

#pragma unroll
    for (int e = 0; e < 8; e += 2) {
        const uint32_t pair = ch_f16x2_from_f32(from[e], from[e + 1]);

        memcpy(&to[e], &pair, sizeof(pair));
    }
    if (keeps_nan) {
#pragma unroll
        for (int e = 0; e < 8; e++)
            if (from[e] != from[e]) to[e] = ch_f16_nan_from_f32(from[e]);
    }
    memcpy(word, to, sizeof(to));
}

/* Convert eight elements to floats by a shift, which keeps NaN as it is. */
CH_FN void ch_bf16x8_to_f32(float to[8], const uint64_t word[2], int keeps_nan)
{
    chorus_bfloat16 from[8];

    (void)keeps_nan;
    memcpy(from, word, sizeof(from));
#pragma unroll
    for (int e = 0; e < 8; e++)
        to[e] = ch_bf16_to_f32(from[e]);
}

/* Convert eight floats to elements, with rounding. */
CH_FN void ch_bf16x8_from_f32(uint64_t word[2], const float from[8], int keeps_nan)
{
    chorus_bfloat16 to[8];

#pragma unroll
    for (int e = 0; e < 8; e += 2) {
        const uint32_t pair = ch_bf16x2_from_f32(from[e], from[e + 1]);

        memcpy(&to[e], &pair, sizeof(pair));
    }
    if (keeps_nan) {
#pragma unroll
        for (int e = 0; e < 8; e++)
            if (from[e] != from[e]) to[e] = ch_bf16_from_f32(from[e]);
    }
    memcpy(word, to, sizeof(to));
}

#endif /* CH_HALF_CUDA_H */
