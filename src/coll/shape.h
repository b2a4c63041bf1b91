/* SPDX-License-Identifier: Apache-2.0 */
/* shape.h: the arithmetic of rounds and slices, shared by algorithms and their formulas. */
#ifndef CH_SHAPE_H
#define CH_SHAPE_H

#include "base/exec.h"

#include <stddef.h>
#include <stdint.h>

/* A block of an alltoallv for which two PEs, by their numbers in the team, give different
 * numbers of elements. They may be the same PE. */
struct ch_unequal {
    uint32_t from, to;
    uint64_t sent, expected;
};

/* The smaller of two numbers. */
CH_FN uint64_t ch_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The larger of two numbers. */
CH_FN uint64_t ch_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The exponent of the largest power of two that is at most x, which is not 0. */
CH_FN uint32_t ch_log2(uint32_t x)
{
    return 31u - (uint32_t)__builtin_clz(x);
}

/* Is x, which is not 0, a power of two? */
CH_FN int ch_is_power(uint32_t x)
{
    return (x & (x - 1)) == 0;
}

/* a / b, rounded up. */
CH_FN uint64_t ch_divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* The smallest r with k^r >= n: the rounds of a dissemination with radix k among n PEs. */
CH_FN uint64_t ch_rounds(uint64_t n, uint64_t k)
{
    uint64_t r = 0;

    for (uint64_t span = 1; span < n; span *= k)
        r++;
    return r;
}

/* The number of signals that a PE sends in a dissemination with radix k among n PEs: (k - 1) *
 * ch_rounds(n, k), without those whose distance would be n or more. */
CH_FN uint64_t ch_fan(uint64_t n, uint64_t k)
{
    uint64_t targets = 0;

    for (uint64_t span = 1; span < n; span *= k)
        targets += ch_min(k - 1, (n - 1) / span);
    return targets;
}

/* The depth of a k-ary tree of n PEs that is filled level by level; 0 for the root alone. */
CH_FN uint64_t ch_depth(uint64_t n, uint64_t k)
{
    uint64_t depth = 0;

    for (uint64_t last = n - 1; last > 0; last = (last - 1) / k)
        depth++;
    return depth;
}

/* The largest power of k that is at most n. */
CH_FN uint64_t ch_power(uint64_t n, uint64_t k)
{
    uint64_t p = 1;

    while (p <= n / k)
        p *= k;
    return p;
}

/* The number of PEs that take part in a recursive exchange with radix k among n: the largest
 * multiple t * k^r of k^r = ch_power(n, k) that is at most n. They exchange in r rounds among k
 * PEs, and in one round among t. */
CH_FN uint64_t ch_exchange_pes(uint64_t n, uint64_t k)
{
    return n - n % ch_power(n, k);
}

/* The number of PEs that form a group of a recursive exchange among p PEs, in the round where
 * they are `span` apart. */
CH_FN uint64_t ch_exchange_group(uint64_t p, uint64_t k, uint64_t span)
{
    return ch_min(k, p / span);
}

/* The number of steps of a recursive exchange among n PEs: the rounds among the
 * p = ch_exchange_pes(n, k) PEs that take part, and 1 or 2 steps more if n is greater than p:
 * each of the other PEs sends its vector to one of the p (folding in) and
 * receives the result from it (folding out). Folding in delays a PE of the p in the last round
 * only if its number differs in every digit from that of a PE that folds. If such a PE folds
 * out itself, there are 2 steps more, else 1. All PEs that fold have the digit 0 in a last
 * round of fewer than k PEs; otherwise p / k - 1 and p / k are the first two numbers that
 * differ in every digit. */
CH_FN uint64_t ch_exchanges(uint64_t n, uint64_t k)
{
    const uint64_t p = ch_exchange_pes(n, k), power = ch_power(n, k);

    return ch_rounds(p, k) + (p == n ? 0 : p == power && n - p > p / k ? 2 : 1);
}

/* The number of messages that the PE that sends most sends in a recursive exchange with radix k
 * among n PEs. */
CH_FN uint64_t ch_exchange_fan(uint64_t n, uint64_t k)
{
    const uint64_t p = ch_exchange_pes(n, k), power = ch_power(n, k);

    return (k - 1) * ch_rounds(power, k) + p / power - 1 + (p != n);
}

/*
 * In a round of radix k, PE `me` of n sends to the PE at a distance (ch_ahead), and receives
 * from the PE to which it has that distance (ch_behind). Is it the same PE? It is where n and k
 * are powers of two: the distance is then the exclusive or of the two numbers, and over TCP,
 * the acknowledgement of a PE's message travels with this PE's next one. Otherwise the distance
 * is counted around the team. It is less than n.
 */
CH_FN int ch_is_mutual(uint32_t n, uint32_t k)
{
    return ch_is_power(n) && ch_is_power(k);
}

/* The PE at `distance` from PE `me`, to which `me` sends. */
CH_FN uint32_t ch_ahead(uint32_t me, uint32_t n, uint32_t k, uint32_t distance)
{
    if (ch_is_mutual(n, k)) return me ^ distance;
    return me < n - distance ? me + distance : me + distance - n;
}

/* The PE that has PE `me` at `distance`, from which `me` receives. */
CH_FN uint32_t ch_behind(uint32_t me, uint32_t n, uint32_t k, uint32_t distance)
{
    if (ch_is_mutual(n, k)) return me ^ distance;
    return me < distance ? me + n - distance : me - distance;
}

/* Elements [first, first + count) of a vector that PE `pe` of n owns. */
struct ch_slice {
    size_t first, count;
};

/* The slice of PE `pe`, where n PEs divide `count` elements: the first count % n PEs have one
 * element more than the others. */
CH_FN struct ch_slice ch_slice_of(size_t count, uint32_t n, uint32_t pe)
{
    const size_t base = count / n, extra = count % n;
    struct ch_slice s;

    s.first = pe * base + (pe < extra ? pe : extra);
    s.count = base + (pe < extra ? 1 : 0);
    return s;
}

/* Bytes of the two smallest slices together, where m bytes in elements of e are divided into n
 * slices, n > 1. */
CH_FN uint64_t ch_least_two(uint64_t m, uint64_t e, uint64_t n)
{
    return (m / e / n + (m / e + 1) / n) * e;
}

/* Parts of CTAs, and pieces of a message that several PEs share, begin at multiples of this,
 * the cache line of a GPU: no two of them write to one line, and an access of a warp covers
 * whole lines. */
#define CH_PART_BYTES 128u

/* The slice [first, first + count) of `bytes` that belongs to PE `pe` of n, in whole lines of
 * 128 bytes; the slice of the last PE also has the remainder. */
CH_FN struct ch_slice ch_grains_of(size_t bytes, uint32_t n, uint32_t pe)
{
    struct ch_slice s = ch_slice_of(bytes / CH_PART_BYTES, n, pe);

    s.first *= CH_PART_BYTES;
    s.count *= CH_PART_BYTES;
    if (pe == n - 1) s.count += bytes % CH_PART_BYTES;
    return s;
}

/* The number of bytes of the longest slice where m bytes are divided into n slices of whole
 * lines of 128 bytes, the last of which also has the remainder: of the first or the last. */
CH_FN uint64_t ch_most_grains(uint64_t m, uint64_t n)
{
    return ch_max(ch_grains_of(m, (uint32_t)n, 0).count,
                  ch_grains_of(m, (uint32_t)n, (uint32_t)n - 1).count);
}

/* How a block is divided among CTAs: in grains of `grain` elements, `base` grains for each CTA
 * and one more for each of the first `extra`. The host divides, so that the CTAs need not. */
struct ch_share {
    size_t grain, base, extra;
};

/* How `ctas` CTAs divide a block of `count` elements: in grains of CH_PART_BYTES. One CTA alone
 * gets the whole block. */
CH_FN struct ch_share ch_share_of(size_t count, size_t elem_bytes, uint32_t ctas)
{
    const struct ch_share alone = {1, count, 0};
    struct ch_share s;

    if (ctas == 1) return alone;
    s.grain = CH_PART_BYTES / elem_bytes;
    s.base = ch_divide_up(count, s.grain) / ctas;
    s.extra = ch_divide_up(count, s.grain) % ctas;
    return s;
}

/* The elements that CTA `cta` works on, of a block of `count` elements. */
CH_FN struct ch_slice ch_part_of(const struct ch_share *s, size_t count, uint32_t cta)
{
    struct ch_slice part;

    part.first = (cta * s->base + (cta < s->extra ? cta : s->extra)) * s->grain;
    part.count = (s->base + (cta < s->extra ? 1 : 0)) * s->grain;
    if (part.first >= count)
        part.count = 0;
    else if (part.count > count - part.first)
        part.count = count - part.first;
    return part;
}

#endif /* CH_SHAPE_H */
