/* SPDX-License-Identifier: Apache-2.0 */
/* shape_rounds.h: the arithmetic of algorithms that take several rounds of a radix, for many
 * PEs. */
#ifndef CH_SHAPE_ROUNDS_H
#define CH_SHAPE_ROUNDS_H

#include "coll/shape.h"
#include "team/sync.h"

/* Blocks that a PE of a gather by dissemination sends the j-th PE that is `span` apart. */
CH_FN uint64_t ch_run(uint64_t n, uint64_t span, uint64_t j)
{
    return ch_min(span, n - j * span);
}

/* Of 0 .. n-1, those whose digit in base k at `span` is j. */
CH_FN uint64_t ch_with_digit(uint64_t n, uint64_t k, uint64_t span, uint64_t j)
{
    const uint64_t rest = n % (span * k);

    return n / (span * k) * span + (rest > j * span ? ch_min(rest - j * span, span) : 0);
}

/* Blocks that a PE sends, and is sent, where blocks move by the digits of their distance:
 * digits of 0 .. n-1 that are not 0. */
CH_FN uint64_t ch_digits(uint64_t n, uint64_t k)
{
    uint64_t digits = 0;

    for (uint64_t span = 1; span < n; span *= k)
        digits += n - ch_with_digit(n, k, span, 0);
    return digits;
}

/* Bytes of each of `blocks` that go at a time in packets, where the messages of all rounds
 * together have n slots of p units, and each begins at a line. */
CH_FN uint64_t ch_packed(uint64_t n, uint64_t k, uint64_t p, uint64_t blocks)
{
    return (n * p - ch_fan(n, k) * (CH_MESSAGE_UNITS - 1)) / ch_max(blocks, 1) / 2 * 16;
}

/* Bytes of a block that go at a time: in a gather by dissemination; where blocks move by
 * digits; and where n of these fit o units side by side. */
CH_FN uint64_t ch_gather_bytes(uint64_t n, uint64_t k, uint64_t p)
{
    return ch_packed(n, k, p, n - 1);
}

CH_FN uint64_t ch_forward_bytes(uint64_t n, uint64_t k, uint64_t p)
{
    return ch_packed(n, k, p, ch_digits(n, k));
}

CH_FN uint64_t ch_combine_bytes(uint64_t n, uint64_t k, uint64_t p, uint64_t o)
{
    return ch_min(ch_forward_bytes(n, k, p), o / n * 16);
}

/* Rounds for blocks of m bytes in all. */
CH_FN uint64_t ch_gather_steps(uint64_t n, uint64_t k, uint64_t m, uint64_t p)
{
    return ch_rounds(n, k) * ch_divide_up(m, ch_gather_bytes(n, k, p));
}

CH_FN uint64_t ch_forward_steps(uint64_t n, uint64_t k, uint64_t m, uint64_t p)
{
    return ch_rounds(n, k) * ch_divide_up(m, ch_forward_bytes(n, k, p));
}

CH_FN uint64_t ch_combine_steps(uint64_t n, uint64_t k, uint64_t m, uint64_t p, uint64_t o)
{
    return ch_rounds(n, k) * ch_divide_up(m, ch_combine_bytes(n, k, p, o));
}

/* Blocks that a PE of a reducescatter on two levels may have to post: in a last group of few
 * PEs it stands in for those that are missing. */
CH_FN uint64_t ch_level_blocks(uint64_t n, uint64_t k)
{
    const uint64_t pes = ch_min(n, k);

    return ch_divide_up(n, pes) * (n % pes == 0 ? 1 : ch_divide_up(pes, n % pes));
}

CH_FN uint64_t ch_level_bytes(uint64_t n, uint64_t k, uint64_t o)
{
    return o / ch_level_blocks(n, k) * 16;
}

CH_FN uint64_t ch_level_steps(uint64_t n, uint64_t k, uint64_t m, uint64_t o)
{
    return 1 + (k < n ? ch_divide_up(m, ch_level_bytes(n, k, o)) : 0);
}

/* The most bytes that a PE reads there, for blocks of m. */
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

/* PEs of the last round of an exchange among p are so far apart. */
CH_FN uint64_t ch_last_span(uint64_t p, uint64_t k)
{
    uint64_t span = 1;

    while (span * k < p)
        span *= k;
    return span;
}

/* Steps of a recursive halving and doubling, and one to who did not take part. */
CH_FN uint64_t ch_halving_steps(uint64_t n, uint64_t k)
{
    const uint64_t p = ch_exchange_pes(n, k);

    return 2 * ch_rounds(p, k) + (p != n);
}

/* Bytes that PE `pe` of a recursive halving reads and, doubling, writes; of `m` in elements of
 * `e`. */
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

/* The most of any PE. */
CH_FN uint64_t ch_halving_wire(uint64_t n, uint64_t k, uint64_t m, uint64_t e)
{
    uint64_t most = 0;

    for (uint64_t pe = 0; pe < ch_exchange_pes(n, k); pe++)
        most = ch_max(most, ch_halving_bytes(n, k, m, e, pe));
    return most;
}

#endif /* CH_SHAPE_ROUNDS_H */
