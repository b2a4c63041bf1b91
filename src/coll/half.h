/* SPDX-License-Identifier: Apache-2.0 */
/*
 * half.h: conversion of binary16 and bfloat16 to and from float, rounding to nearest even,
 * keeping NaN.
 */
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

/* Both functions compute every case and select the one that applies, so that compilers can make
 * vectors of them. */
CH_FN float ch_f16_to_f32(chorus_half half)
{
    const uint32_t sign = (uint32_t)(half.bits & 0x8000u) << 16;
    const uint32_t rest = (uint32_t)(half.bits & 0x7fffu) << 13;
    const uint32_t least = 113u << 23; /* 2^-14, the least normal binary16 */
    /* Zero or subnormal: put the fraction behind 2^-14 and subtract 2^-14; the difference is
     * exact. */
    const uint32_t tiny = ch_f32_to_bits(ch_bits_to_f32(rest + least) - ch_bits_to_f32(least));
    const uint32_t normal = rest + ((127u - 15u) << 23);
    const uint32_t special = rest | 0x7f800000u; /* infinity, NaN */
    const uint32_t finite = rest < 0x0400u << 13 ? tiny : normal;

    return ch_bits_to_f32(sign | (rest >= 0x7c00u << 13 ? special : finite));
}

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
    chorus_half half;

    half.bits = (uint16_t)(sign | (rest >= 0x477ff000u ? special : finite));
    return half;
}

#endif /* CH_HALF_H */
