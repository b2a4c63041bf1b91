/* SPDX-License-Identifier: Apache-2.0 */
/* random.h: pseudo-random numbers that are determined by a seed and an index. */
#ifndef CH_RANDOM_H
#define CH_RANDOM_H

#include <stdint.h>

/* seed + k * CH_RANDOM_STEP is the same sequence, advanced by k numbers. */
#define CH_RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

/* Number `index` of the sequence of `seed`: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
static inline uint64_t ch_random(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * CH_RANDOM_STEP;

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#endif /* CH_RANDOM_H */
