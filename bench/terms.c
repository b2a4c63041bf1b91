/* SPDX-License-Identifier: Apache-2.0 */
#include "terms.h"

#include <string.h>

/* Seeds of the shares' sequences differ from those of the elements by this. */
#define SHARES 0x5348415245u

/* Whole numbers up to `largest`, and all sums and products up to there, are exact. Enough for
 * every type: 2^24. */
#define ENOUGH (INT64_C(1) << 24)
#define BITS_f16 11
#define BITS_bf16 8

struct precision {
    int64_t largest;
    bool is_integer, is_signed, is_complex;
};

/* clang-format off */
#define CAPPED(bits) ((bits) > 24 ? ENOUGH : INT64_MAX >> (63 - (bits)))
#define PRECISION_INT(T, bytes) {CAPPED(8 * (bytes) - 1), true, true, false}
#define PRECISION_UINT(T, bytes) {CAPPED(8 * (bytes) - 1), true, false, false}
#define PRECISION_HALF(T, bytes) {1 << BITS_##T, false, true, false}
#define PRECISION_FLOAT(T, bytes) {ENOUGH, false, true, false}
/* The imaginary part is thrice the real one. */
#define PRECISION_COMPLEX(T, bytes) {ENOUGH / 4, false, true, true}

/* How the contributions to each operator are made; others are not swept. */
#define KIND_and , CH_TERM_COVER
#define KIND_or , CH_TERM_UNCOVER
#define KIND_xor , CH_TERM_FLIP
#define KIND_min , CH_TERM_NUMBER
#define KIND_max , CH_TERM_NUMBER
#define KIND_sum , CH_TERM_NUMBER
#define KIND_prod , CH_TERM_FACTOR
/* clang-format on */

static const struct precision precisions[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, class, bytes) PRECISION_##class(T, bytes),
    CHORUS_TYPE_LIST(X)
#undef X
};

static const enum ch_term_kind kinds[CHORUS_OP_COUNT] = {
#define X(OP) CH_ROW_OR(KIND_##OP, CH_TERM_NONE),
    CHORUS_OP_LIST(X)
#undef X
};

bool ch_terms_have(chorus_op op)
{
    return kinds[op] != CH_TERM_NONE;
}

/* Integers wrap, so they are exact whatever they count to. */
bool ch_terms_are_exact(chorus_type type, uint32_t pes)
{
    return precisions[type].is_integer || 2 * (int64_t)pes <= precisions[type].largest;
}

/* Whole shares in [1, half]; total is what the operator makes of them. */
static void share_numbers(struct ch_terms *terms, chorus_op op)
{
    for (uint32_t k = 0; k < terms->pes; k++) {
        const uint64_t number = ch_random(terms->seed ^ SHARES, k);
        const int64_t share = 1 + (int64_t)(number % (uint64_t)terms->half);
        const bool is_first = k == 0;

        terms->share[k] = share;
        if (op == CHORUS_OP_sum) terms->total += share;
        if (op == CHORUS_OP_min && (is_first || share < terms->total)) terms->total = share;
        if (op == CHORUS_OP_max && (is_first || share > terms->total)) terms->total = share;
    }
}

/* Each of the 64 bits belongs to one share, or, but for xor, every other one to a second too: a
 * PE that is left out leaves its bits wrong, and so does xor or sum in place of or. */
static void share_bits(struct ch_terms *terms)
{
    const uint32_t owners = terms->kind == CH_TERM_FLIP ? 64 : 96;

    for (uint32_t k = 0; k < owners; k++) {
        const uint64_t owner = ch_random(terms->seed ^ SHARES, k) % terms->pes;

        terms->share[owner] |= (int64_t)(UINT64_C(1) << (k < 64 ? k : 2 * (k - 64)));
    }
}

/* One share multiplies by one factor, another by a second; the rest are ones. */
static void share_factors(struct ch_terms *terms)
{
    const uint32_t pes = terms->pes;
    const uint32_t first = (uint32_t)(ch_random(terms->seed ^ SHARES, 0) % pes);
    const uint32_t second =
        pes > 1 ? (first + 1 + (uint32_t)(terms->seed % (pes - 1))) % pes : 0;

    terms->share[first] |= 1;
    if (pes > 1) terms->share[second] |= 2;
    terms->total = pes > 1 ? 3 : 1;
}

void ch_terms_make(struct ch_terms *terms, chorus_type type, chorus_op op, uint32_t pes,
                   uint64_t seed)
{
    const struct precision precision = precisions[type];
    const int64_t part = precision.largest / (2 * (int64_t)pes);

    terms->kind = kinds[op];
    terms->sums = op == CHORUS_OP_sum;
    terms->pes = pes;
    terms->seed = seed;
    terms->half = part > 0 ? part : 1;
    terms->is_signed = precision.is_signed;
    terms->is_complex = precision.is_complex;
    terms->units = precision.is_complex ? 4 : precision.is_signed ? 2 : 1;
    terms->total = 0;
    memset(terms->share, 0, pes * sizeof(terms->share[0]));
    if (terms->kind == CH_TERM_NUMBER)
        share_numbers(terms, op);
    else if (terms->kind == CH_TERM_FACTOR)
        share_factors(terms);
    else
        share_bits(terms);
}
