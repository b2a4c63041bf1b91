/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce by recursive halving and doubling with radix k, for any n, by direct access to the
 * memory of the peers.
 *
 *   needs    map, whole, symmetric_dest, symmetric_source
 *   steps    ch_halving_steps(n, k)
 *   wire     ch_halving_wire(n, k, m, e)
 *   scratch  two words per PE; dest holds partial results
 *   inplace  safe: a slice of source or dest is read by one PE alone, before that PE writes
 *            it
 *   result   each element combined by one PE, in groups by the digits of the PE number in
 *            base k: bitwise equal on every PE
 *   source   Rabenseifner (ICCS 2004), radix k, with direct access to peers; the groups of
 *            reduce_recursive.h
 *
 * In the first round, PEs with neighbouring numbers exchange data. Most of the data is thus
 * exchanged within a socket, and about a k-th of each vector between sockets. The first p PEs
 * take part, with p as in reduce_recursive.h. The sources of each other PE `me` are read by
 * the first group of PE me - p, which also writes the result into its dest.
 */
#ifndef CH_REDUCE_HALVING_H
#define CH_REDUCE_HALVING_H

#include "coll/primitives/pes.h"
#include "coll/shape_rounds.h"
#include "coll/primitives/primitives.h"

/* A round: the PEs whose vectors are combined, and the slice of them that this PE combines. */
struct ch_round {
    struct ch_pes group, rest; /* number of PEs that do not take part */
    struct ch_slice mine;
};

/* The round of PE `me`, of the p PEs that take part, in which groups consist of PEs at distance
 * `span`. */
CH_FN struct ch_round ch_round_of(const struct ch_coll *c, uint32_t p, uint32_t me,
                                  uint32_t span)
{
    struct ch_round r = {{me, 1, 1}, {me + p, 1, 0}, {0, c->count}};

    for (uint32_t s = 1; s <= span; s *= c->radix) {
        const uint32_t pes = (uint32_t)ch_exchange_group(p, c->radix, s);
        const uint32_t digit = me / s % pes;
        const struct ch_slice share = ch_slice_of(r.mine.count, pes, digit);

        r.mine.first += share.first;
        r.mine.count = share.count;
        r.group.first = me - digit * s;
        r.group.step = s;
        r.group.count = pes;
    }
    r.rest.first = r.group.first + p;
    r.rest.step = 1;
    r.rest.count = span > 1 || r.rest.first >= c->n
                       ? 0
                       : (uint32_t)ch_min(r.group.count, c->n - r.rest.first);
    return r;
}

CH_FN uint32_t ch_round_pe(const struct ch_round *r, uint32_t i)
{
    return i < r->group.count ? r->group.first + i * r->group.step
                              : r->rest.first + i - r->group.count;
}

/* dst = this PE's slice of the vectors at src of the round's PEs, combined. */
CH_FN void ch_round_combine(const struct ch_coll *c, const struct ch_round *r, const char *src,
                            struct ch_lanes g)
{
    const uint32_t count = r->group.count + r->rest.count;
    const size_t at = r->mine.first * c->elem_bytes;

    for (uint32_t i = g.lane; i < count; i += g.width)
        c->slots[i].memory = ch_on_peer(c, ch_round_pe(r, i), src + at);
    ch_combine_slots(c, c->dst + at, count, r->mine.count * c->elem_bytes, g);
}

/* Write this PE's slice of dst to the other PEs of the group. */
CH_FN void ch_round_give(const struct ch_coll *c, const struct ch_round *r, struct ch_lanes g)
{
    char *at = c->dst + r->mine.first * c->elem_bytes;

    for (uint32_t i = 0; i < r->group.count; i++) {
        const uint32_t pe = ch_round_pe(r, i);

        if (pe != c->me) ch_copy(ch_on_peer(c, pe, at), at, r->mine.count * c->elem_bytes, g);
    }
}

/* ch_tell to the other PEs of the group. */
CH_FN void ch_round_tell(const struct ch_coll *c, const struct ch_round *r, uint32_t word,
                         uint64_t value, enum ch_sense sense, struct ch_lanes g)
{
    ch_lanes_sync(g); /* other lanes' accesses precede the stores */
    for (uint32_t i = g.lane; i < r->group.count; i += g.width)
        if (ch_round_pe(r, i) != c->me) ch_say(c, ch_round_pe(r, i), word, value, sense);
}

/* ch_hear from this number of PEs of the round. */
CH_FN chorus_status ch_round_hear(const struct ch_coll *c, const struct ch_round *r,
                                  uint32_t count, uint32_t word, uint64_t least,
                                  struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    for (uint32_t i = g.lane; i < count && st == CHORUS_OK; i += g.width)
        if (ch_round_pe(r, i) != c->me) st = ch_listen(c, ch_round_pe(r, i), word, least);
    return ch_agree(st, g);
}

/* Halving: in each round, a PE combines a smaller slice of more PEs. */
CH_FN chorus_status ch_halve(const struct ch_coll *c, uint32_t p, uint64_t epoch,
                             struct ch_lanes g)
{
    for (uint32_t span = 1; span < p; span *= c->radix) {
        const struct ch_round r = ch_round_of(c, p, c->me, span);
        const uint32_t word = span == 1 ? CH_WORD_READY : CH_WORD_DONE;
        chorus_status st;

        /* source, or the combined part of dest, may be read; dest may be written */
        ch_round_tell(c, &r, word, epoch, span == 1 ? CH_ENTRY : CH_DATA, g);
        st = ch_round_hear(c, &r, r.group.count + r.rest.count, word, epoch, g);
        if (st != CHORUS_OK) return st;
        ch_round_combine(c, &r, span == 1 ? c->src : c->dst, g);
    }
    return CHORUS_OK;
}

/* Doubling: the same rounds in reverse order; each PE writes its slice into the dest of its
 * group. */
CH_FN chorus_status ch_double(const struct ch_coll *c, uint32_t p, uint64_t epoch,
                              struct ch_lanes g)
{
    for (uint32_t span = (uint32_t)ch_last_span(p, c->radix); span > 0; span /= c->radix) {
        const struct ch_round r = ch_round_of(c, p, c->me, span);
        chorus_status st;

        ch_lanes_sync(g); /* each lane writes data that others have combined */
        ch_round_give(c, &r, g);
        ch_round_tell(c, &r, CH_WORD_DONE, epoch, CH_DATA, g);
        st = ch_round_hear(c, &r, r.group.count, CH_WORD_DONE, epoch, g);
        if (st != CHORUS_OK) return st;
    }
    return CHORUS_OK;
}

CH_FN chorus_status ch_reduce_halving(const struct ch_coll *c, struct ch_lanes g)
{
    const uint32_t p = (uint32_t)ch_exchange_pes(c->n, c->radix);
    const uint64_t halving = ch_epochs(c, 2, g), doubling = halving + 1;
    chorus_status st;

    if (c->n == 1) {
        ch_copy(c->dst, c->src, ch_bytes(c), g);
        return CHORUS_OK;
    }
    if (c->me >= p) {
        const struct ch_round r = ch_round_of(c, p, c->me - p, 1);

        ch_round_tell(c, &r, CH_WORD_READY, halving, CH_ENTRY, g);
        return ch_hear(c, c->me - p, CH_WORD_DONE, doubling, g);
    }
    st = ch_halve(c, p, halving, g);
    if (st == CHORUS_OK) st = ch_double(c, p, doubling, g);
    if (st != CHORUS_OK || c->me + p >= c->n) return st;
    ch_copy(ch_on_peer(c, c->me + p, c->dst), c->dst, ch_bytes(c), g);
    ch_tell(c, c->me + p, CH_WORD_DONE, doubling, CH_DATA, g);
    return CHORUS_OK;
}

#endif /* CH_REDUCE_HALVING_H */
