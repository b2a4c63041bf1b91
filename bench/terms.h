/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terms.h: the numbers that a checked reduction combines, before they take a type.
 *
 * Numbers are whole and so small that every partial result is exact in the type; bitwise
 * operators take all 64 bits and a narrow type keeps its low ones.
 */
#ifndef CH_TERMS_H
#define CH_TERMS_H

#include "random.h"
#include "sweep.h"

struct ch_number {
    int64_t re, im;
};

/* How PEs' contributions to an element differ, and still make a value known beforehand. */
enum ch_term_kind {
    CH_TERM_NONE,    /* of an operator that has none */
    CH_TERM_NUMBER,  /* sum, min, max: a base that all have, and a share */
    CH_TERM_FACTOR,  /* prod: a unit, times the factors that are in the share */
    CH_TERM_COVER,   /* and: bits that all have; each PE has ones too where it owns no bit */
    CH_TERM_UNCOVER, /* or: those of the bits that this PE owns */
    CH_TERM_FLIP,    /* xor: the same, flipped by bits that all have */
};

struct ch_terms {
    enum ch_term_kind kind;
    bool sums; /* bases add up */
    uint32_t pes;
    uint64_t seed;
    int64_t half; /* sum, min, max: bases are at most this, shares too */
    int units;    /* prod: of 1, -1, i and -i, as many as the type has: 1, 2 or 4 */
    bool is_signed, is_complex;
    int64_t share[CH_SWEEP_PES_MAX];
    int64_t total; /* of the shares, combined */
};

/* Terms of a reduction of `type` over `pes` PEs. */
void ch_terms_make(struct ch_terms *terms, chorus_type type, chorus_op op, uint32_t pes,
                   uint64_t seed);

/* Are there terms for the operator? */
bool ch_terms_have(chorus_op op);

/* Can reductions of `type` over `pes` PEs have exact terms? bf16 counts to 256 only. */
bool ch_terms_are_exact(chorus_type type, uint32_t pes);

/* What a PE contributes to element i; `turn` is (PE + i) % pes. */
static inline struct ch_number ch_terms_in(const struct ch_terms *terms, uint64_t i,
                                           uint32_t turn);

/* What element i must be after the reduction. */
static inline struct ch_number ch_terms_out(const struct ch_terms *terms, uint64_t i);

/* --- bodies, here so that the loops over elements inline them --------------------------- */

/* A base for element i in [-half, half], or [0, half] without a sign. */
static inline int64_t ch_terms_base(const struct ch_terms *terms, uint64_t i)
{
    const uint64_t span = (uint64_t)terms->half * (terms->is_signed ? 2 : 1) + 1;
    const uint64_t spot = ((ch_random(terms->seed, i) >> 32) * span) >> 32;

    return (int64_t)spot - (terms->is_signed ? terms->half : 0);
}

/* `magnitude` times the unit of element i, to the power of `times`. */
static inline struct ch_number ch_terms_turned(const struct ch_terms *terms, uint64_t i,
                                               int64_t magnitude, uint32_t times)
{
    const uint64_t quarter = 4 / (uint64_t)terms->units;
    const uint64_t turns = (ch_random(terms->seed, i) & 3) * quarter * times % 4;
    struct ch_number n = {0, 0};

    if (turns == 0) n.re = magnitude;
    if (turns == 1) n.im = magnitude;
    if (turns == 2) n.re = -magnitude;
    if (turns == 3) n.im = -magnitude;
    return n;
}

/* The product of the factors of element i that a share says: bit 0 one, bit 1 another, each
 * from 2 to 10, so that every type has room for both. */
static inline int64_t ch_terms_factor(const struct ch_terms *terms, uint64_t i, int64_t share)
{
    const uint64_t bits = ch_random(terms->seed, i);
    const int64_t one = 2 + (int64_t)((bits >> 8) % 9), other = 2 + (int64_t)((bits >> 32) % 9);

    return ((share & 1) != 0 ? one : 1) * ((share & 2) != 0 ? other : 1);
}

static inline struct ch_number ch_terms_whole(const struct ch_terms *terms, int64_t value)
{
    const struct ch_number n = {value, terms->is_complex ? 3 * value : 0};

    return n;
}

static inline struct ch_number ch_terms_in(const struct ch_terms *terms, uint64_t i,
                                           uint32_t turn)
{
    const int64_t share = terms->share[turn], bits = (int64_t)ch_random(terms->seed, i);

    switch (terms->kind) {
    case CH_TERM_COVER:
        return ch_terms_whole(terms, bits | ~share);
    case CH_TERM_UNCOVER:
        return ch_terms_whole(terms, bits & share);
    case CH_TERM_FLIP:
        return ch_terms_whole(terms, (bits & share) ^ (bits >> 7));
    case CH_TERM_FACTOR:
        return ch_terms_turned(terms, i, ch_terms_factor(terms, i, share), 1);
    default:
        return ch_terms_whole(terms, ch_terms_base(terms, i) + share);
    }
}

static inline struct ch_number ch_terms_out(const struct ch_terms *terms, uint64_t i)
{
    const int64_t bits = (int64_t)ch_random(terms->seed, i), total = terms->total;
    const bool is_odd = terms->pes % 2 != 0;
    const int64_t bases = terms->sums ? terms->pes : 1;

    if (terms->kind == CH_TERM_NUMBER)
        return ch_terms_whole(terms, bases * ch_terms_base(terms, i) + total);
    if (terms->kind == CH_TERM_FACTOR)
        return ch_terms_turned(terms, i, ch_terms_factor(terms, i, total), terms->pes);
    return ch_terms_whole(terms,
                          terms->kind == CH_TERM_FLIP && is_odd ? bits ^ (bits >> 7) : bits);
}

#endif /* CH_TERMS_H */
