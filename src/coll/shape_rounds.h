/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape_rounds.h: the arithmetic of algorithms with several rounds and a radix, for many PEs.
 */
#ifndef CH_SHAPE_ROUNDS_H
#define CH_SHAPE_ROUNDS_H

#include "coll/shape.h"
#include "team/sync.h"

/* The number of blocks that a PE sends in a gather by dissemination among n PEs to the PE at
 * distance j * span. */
CH_FN uint64_t ch_gather_sent(uint64_t n, uint64_t span, uint64_t j)
{
    return ch_min(span, n - j * span);
}

/* How many of the numbers 0 .. n-1 have the digit j in base k at the place whose value is
 * `span`, a power of k. */
CH_FN uint64_t ch_count_with_digit(uint64_t n, uint64_t k, uint64_t span, uint64_t j)
{
    const uint64_t rest = n % (span * k);

    return n / (span * k) * span + (rest > j * span ? ch_min(rest - j * span, span) : 0);
}

/* The number of blocks that a PE sends, and receives, where blocks are forwarded by the digits
 * of their distance: that of digits other than 0 in the numbers 0 .. n-1 in base k. */
CH_FN uint64_t ch_digits(uint64_t n, uint64_t k)
{
    uint64_t digits = 0;

    for (uint64_t span = 1; span < n; span *= k)
        digits += n - ch_count_with_digit(n, k, span, 0);
    return digits;
}

/* Bytes of a block that are sent at a time in packets, 8 in a unit of 16, if the messages of
 * all rounds carry `blocks` blocks in all and share n slots of p units, and each message begins
 * at a cache line. */
CH_FN uint64_t ch_packed_bytes(uint64_t n, uint64_t k, uint64_t p, uint64_t blocks)
{
    return (n * p - ch_fan(n, k) * (CH_MESSAGE_UNITS - 1)) / ch_max(blocks, 1) / 2 * 16;
}

/* Bytes of a block that are sent at a time in a gather by dissemination. */
CH_FN uint64_t ch_gather_bytes(uint64_t n, uint64_t k, uint64_t p)
{
    return ch_packed_bytes(n, k, p, n - 1);
}

/* Bytes of a block that are sent at a time where blocks are forwarded by the digits of their
 * distance. */
CH_FN uint64_t ch_forward_bytes(uint64_t n, uint64_t k, uint64_t p)
{
    return ch_packed_bytes(n, k, p, ch_digits(n, k));
}

/* Bytes of a block that are forwarded at a time (ch_forward_bytes) where n such parts must also
 * fit into o units, in which they are combined. */
CH_FN uint64_t ch_combine_bytes(uint64_t n, uint64_t k, uint64_t p, uint64_t o)
{
    return ch_min(ch_forward_bytes(n, k, p), o / n * 16);
}

/* Steps of a gather by dissemination (Bruck) of blocks of m bytes: ch_rounds(n, k) for each
 * part of a block that the slots hold at a time. */
CH_FN uint64_t ch_gather_steps(uint64_t n, uint64_t k, uint64_t m, uint64_t p)
{
    return ch_rounds(n, k) * ch_divide_up(m, ch_gather_bytes(n, k, p));
}

/* Steps where blocks of m bytes are forwarded by the digits of their distance: ch_rounds(n, k)
 * for each part of a block that the slots hold at a time. */
CH_FN uint64_t ch_forward_steps(uint64_t n, uint64_t k, uint64_t m, uint64_t p)
{
    return ch_rounds(n, k) * ch_divide_up(m, ch_forward_bytes(n, k, p));
}

/* As ch_forward_steps, where the parts of n blocks must also fit into this PE's own slot of o
 * units, in which they are combined. */
CH_FN uint64_t ch_combine_steps(uint64_t n, uint64_t k, uint64_t m, uint64_t p, uint64_t o)
{
    return ch_rounds(n, k) * ch_divide_up(m, ch_combine_bytes(n, k, p, o));
}

/* The most blocks that a PE posts in a reducescatter on two levels: in a last group of fewer
 * PEs, a PE also does the work of the positions that no PE has. */
CH_FN uint64_t ch_level_blocks(uint64_t n, uint64_t k)
{
    const uint64_t pes = ch_min(n, k);

    return ch_divide_up(n, pes) * (n % pes == 0 ? 1 : ch_divide_up(pes, n % pes));
}

/* Bytes of a block that are combined at a time: such a part of each block that a PE posts must
 * fit into its own slot of o units. */
CH_FN uint64_t ch_level_bytes(uint64_t n, uint64_t k, uint64_t o)
{
    return o / ch_level_blocks(n, k) * 16;
}

/* Steps of reducescatter:two_level: 1 for the second level and, if there are several groups, 1
 * for each part of a block of m bytes that fits into a PE's own slot of o units. */
CH_FN uint64_t ch_level_steps(uint64_t n, uint64_t k, uint64_t m, uint64_t o)
{
    return 1 + (k < n ? ch_divide_up(m, ch_level_bytes(n, k, o)) : 0);
}

/* The wire of reducescatter:two_level with blocks of m bytes: what the PE loads that loads
 * most. */
CH_FN uint64_t ch_level_wire(uint64_t n, uint64_t k, uint64_t m)
{
    const uint64_t pes = ch_min(n, k);
    uint64_t most = 0;

    for (uint64_t pe = 0; pe < n; pe++) {
        const uint64_t position = pe % pes, count = ch_min(pes, n - (pe - position));
        uint64_t blocks = 0;

        for (uint64_t at = position; at < pes; at += count)
            blocks += ch_divide_up(n - at, pes);
        most = ch_max(most, (count - 1) * blocks + ch_divide_up(n, pes) - 1);
    }
    return most * m;
}

/* The distance of the PEs that exchange in the last round of an exchange among p PEs. */
CH_FN uint64_t ch_last_span(uint64_t p, uint64_t k)
{
    uint64_t span = 1;

    while (span * k < p)
        span *= k;
    return span;
}

/* Steps of a recursive halving and doubling with radix k among p = ch_exchange_pes(n, k) PEs:
 * 2 * ch_rounds(p, k), and one more, to the PEs that did not take part, if n is greater. */
CH_FN uint64_t ch_halving_steps(uint64_t n, uint64_t k)
{
    const uint64_t p = ch_exchange_pes(n, k);

    return 2 * ch_rounds(p, k) + (p != n);
}

/* Bytes that PE `pe` of a recursive halving and doubling reads and writes, for m bytes in
 * elements of e bytes. */
CH_FN uint64_t ch_halving_bytes(uint64_t n, uint64_t k, uint64_t m, uint64_t e, uint64_t pe)
{
    const uint64_t p = ch_exchange_pes(n, k);
    uint64_t count = m / e, bytes = pe + p < n ? m : 0;

    for (uint64_t span = 1; span < p; span *= k) {
        const uint64_t pes = ch_exchange_group(p, k, span), first = pe / pes * pes + p;

        count = ch_slice_of(count, (uint32_t)pes, (uint32_t)(pe / span % pes)).count;
        bytes += 2 * (pes - 1) * count * e;
        if (span == 1 && first < n) bytes += ch_min(pes, n - first) * count * e;
    }
    return bytes;
}

/* The wire of reduce:recursive_halving, for m bytes in elements of e bytes. */
CH_FN uint64_t ch_halving_wire(uint64_t n, uint64_t k, uint64_t m, uint64_t e)
{
    uint64_t most = 0;

    for (uint64_t pe = 0; pe < ch_exchange_pes(n, k); pe++)
        most = ch_max(most, ch_halving_bytes(n, k, m, e, pe));
    return most;
}

#endif /* CH_SHAPE_ROUNDS_H */
