/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: monotonic time in nanoseconds, and in ticks, which are faster to read. */
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

/* Read a counter whose ticks have an unknown but constant rate, and which is the same for all
 * processes of a host. */
static inline uint64_t ch_clock_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return ch_clock_ns();
#endif
}

#endif /* CH_CLOCK_H */
