/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce by recursive exchange with radix k, for any n: in each round a PE exchanges its
 * partial result with k - 1 other PEs, and combines.
 *
 *   needs    put, whole
 *   steps    c * ch_exchanges(n, k)
 *   wire     ch_exchange_fan(n, k) * m
 *   scratch  a FIFO to each partner
 *   inplace  safe: a chunk is sent before it is overwritten
 *   result   combined in one order on all PEs, by the digits of the PE number in base k:
 *            bitwise equal on every PE
 *   source   NVSHMEM, recursive exchange; here for any team and any n, the remainder folded
 *            as by Thakur, Rabenseifner and Gropp (2005)
 *
 * Let p = t * k^r be the largest such number <= n with t < k. The first p PEs take part, in r
 * rounds of groups of k PEs and one round of groups of t. Each of the other PEs, fewer than
 * k^r, sends its vector to one of the p PEs before, and receives the result from it
 * afterwards.
 */
#ifndef CH_REDUCE_RECURSIVE_H
#define CH_REDUCE_RECURSIVE_H

#include "coll/primitives/fifo.h"

/* One chunk among the first p PEs: round by round, in groups of PEs at distance `span`. `own`
 * is the first partial result of this PE, and may be acc. */
CH_FN chorus_status ch_recursive_among(const struct ch_coll *c, enum ch_cell kind, uint32_t p,
                                       char *acc, const char *own, size_t bytes,
                                       struct ch_lanes g)
{
    for (uint32_t span = 1; span < p; span *= c->radix) {
        const uint32_t pes = (uint32_t)ch_exchange_group(p, c->radix, span);
        const uint32_t digit = c->me / span % pes;
        const struct ch_pes group = {c->me - digit * span, span, pes};
        chorus_status st = ch_lend(c, kind, group, own, bytes, g);

        if (st == CHORUS_OK && kind == CH_CELL_simple) st = ch_flush_lent(c, bytes, g);
        if (st == CHORUS_OK) st = ch_fold(c, kind, group, acc, own, bytes, g);
        if (st != CHORUS_OK) return st;
        own = acc;
    }
    return CHORUS_OK;
}

/* One chunk on one of the first p PEs, which also combines the vector of PE me + p. */
CH_FN chorus_status ch_recursive_inner(const struct ch_coll *c, enum ch_cell kind, uint32_t p,
                                       char *dst, const char *src, size_t bytes,
                                       struct ch_lanes g)
{
    const struct ch_pes folded = {c->me, p, c->me + p < c->n ? 2u : 1u};
    const int is_alone =
        folded.count == 1 && p > 1; /* the first partial result is then its source */
    chorus_status st = is_alone ? CHORUS_OK : ch_fold(c, kind, folded, dst, src, bytes, g);

    if (st == CHORUS_OK)
        st = ch_recursive_among(c, kind, p, dst, is_alone ? src : dst, bytes, g);
    return st == CHORUS_OK ? ch_send(c, kind, folded, dst, 0, bytes, g) : st;
}

CH_FN chorus_status ch_recursive_outer(const struct ch_coll *c, enum ch_cell kind, uint32_t p,
                                       char *dst, const char *src, size_t bytes,
                                       struct ch_lanes g)
{
    const uint32_t inner = c->me % p;
    const chorus_status st = ch_send(c, kind, ch_only(inner), src, 0, bytes, g);

    return st == CHORUS_OK ? ch_recv(c, kind, inner, dst, bytes, g) : st;
}

CH_FN chorus_status ch_reduce_recursive(const struct ch_coll *c, enum ch_cell kind,
                                        struct ch_lanes g)
{
    const uint32_t p = (uint32_t)ch_exchange_pes(c->n, c->radix);
    const size_t bytes = ch_bytes(c);

    for (size_t at = 0, part; at < bytes; at += part) {
        chorus_status st;

        part = ch_part(c, kind, at);
        st = c->me < p ? ch_recursive_inner(c, kind, p, c->dst + at, c->src + at, part, g)
                       : ch_recursive_outer(c, kind, p, c->dst + at, c->src + at, part, g);
        if (st != CHORUS_OK) return st;
    }
    return CHORUS_OK;
}

CH_FN chorus_status ch_reduce_recursive_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_recursive(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_reduce_recursive_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_recursive(c, CH_CELL_ll, g);
}

#endif /* CH_REDUCE_RECURSIVE_H */
