/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: monotonic time in nanoseconds. */
#ifndef CH_CLOCK_H
#define CH_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CH_NS_PER_S 1000000000ull
#define CH_NS_PER_MS 1000000ull
#define CH_NS_PER_US 1000ull

static inline uint64_t ch_clock_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * CH_NS_PER_S + (uint64_t)t.tv_nsec;
}

#endif /* CH_CLOCK_H */
