/* SPDX-License-Identifier: Apache-2.0 */
/* shape.h: the arithmetic of rounds and slices, shared by algorithms and their formulas. */
#ifndef CH_SHAPE_H
#define CH_SHAPE_H

#include "base/exec.h"

#include <stddef.h>
#include <stdint.h>

CH_FN uint64_t ch_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

CH_FN uint64_t ch_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The exponent of the largest power of two that is at most x, which is not 0. */
CH_FN uint32_t ch_log2(uint32_t x)
{
    return 31u - (uint32_t)__builtin_clz(x);
}

CH_FN uint64_t ch_divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* The least r with k^r >= n: rounds of a dissemination over n PEs. */
CH_FN uint64_t ch_rounds(uint64_t n, uint64_t k)
{
    uint64_t r = 0;

    for (uint64_t span = 1; span < n; span *= k)
        r++;
    return r;
}

/* Signals a PE sends in a dissemination: (k - 1) * ch_rounds(n, k), less the targets past n. */
CH_FN uint64_t ch_fan(uint64_t n, uint64_t k)
{
    uint64_t targets = 0;

    for (uint64_t span = 1; span < n; span *= k)
        targets += ch_min(k - 1, (n - 1) / span);
    return targets;
}

/* Levels below the root of a k-ary tree of n PEs, filled level by level. */
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

/* PEs that meet in a recursive exchange, the largest multiple of that power: in rounds of k,
 * and one more of as many as it is the multiple of. */
CH_FN uint64_t ch_exchange_pes(uint64_t n, uint64_t k)
{
    return n - n % ch_power(n, k);
}

/* PEs of a group of a recursive exchange among p, in the round where they are `span` apart. */
CH_FN uint64_t ch_exchange_group(uint64_t p, uint64_t k, uint64_t span)
{
    return ch_min(k, p / span);
}

/* Rounds of a recursive exchange, and those of folding the remainder in and out. Folding in
 * delays PEs whose numbers differ from the folding one's in every digit; where such a PE has a
 * remainder itself, folding out comes on top. These all have the digit 0 in a last round that
 * is smaller; else p / k - 1 and p / k are the first two that differ in every digit. */
CH_FN uint64_t ch_exchanges(uint64_t n, uint64_t k)
{
    const uint64_t p = ch_exchange_pes(n, k), power = ch_power(n, k);

    return ch_rounds(p, k) + (p == n ? 0 : p == power && n - p > p / k ? 2 : 1);
}

/* Messages that the busiest PE of a recursive exchange sends. */
CH_FN uint64_t ch_exchange_fan(uint64_t n, uint64_t k)
{
    const uint64_t p = ch_exchange_pes(n, k), power = ch_power(n, k);

    return (k - 1) * ch_rounds(power, k) + p / power - 1 + (p != n);
}

/* Elements [first, first + count) of a vector that PE `pe` of n owns. */
struct ch_slice {
    size_t first, count;
};

CH_FN struct ch_slice ch_slice_of(size_t count, uint32_t n, uint32_t pe)
{
    const size_t base = count / n, extra = count % n;
    struct ch_slice s;

    s.first = pe * base + (pe < extra ? pe : extra);
    s.count = base + (pe < extra ? 1 : 0);
    return s;
}

/* The two smallest of n slices together, n > 1. */
CH_FN uint64_t ch_least_two(uint64_t m, uint64_t e, uint64_t n)
{
    return (m / e / n + (m / e + 1) / n) * e;
}

/* CTAs' parts, and pieces of a message that several PEs share, begin at multiples of this, a
 * GPU's cache line: no two of them write to one line, and a warp's access covers whole ones. */
#define CH_PART_BYTES 128u

/* Bytes [first, first + count) of `bytes` that are PE `pe`'s of n, in whole lines; the last PE
 * has what is left over, too. */
CH_FN struct ch_slice ch_grains_of(size_t bytes, uint32_t n, uint32_t pe)
{
    struct ch_slice s = ch_slice_of(bytes / CH_PART_BYTES, n, pe);

    s.first *= CH_PART_BYTES;
    s.count *= CH_PART_BYTES;
    if (pe == n - 1) s.count += bytes % CH_PART_BYTES;
    return s;
}

/* The longest of these slices: the first or the last. */
CH_FN uint64_t ch_most_grains(uint64_t m, uint64_t n)
{
    return ch_max(ch_grains_of(m, (uint32_t)n, 0).count,
                  ch_grains_of(m, (uint32_t)n, (uint32_t)n - 1).count);
}

/* How a block is shared among CTAs: in grains of so many elements, `base` of them for each CTA
 * and one more for the first `extra`. Whoever makes a call divides, so that CTAs need not. */
struct ch_share {
    size_t grain, base, extra;
};

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

/* Elements that CTA `cta` works on, of a block of `count`. */
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
