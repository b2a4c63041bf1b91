/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_oracle.h: what every PE's source holds and what a call must give, element by element:
 * for kernels that fill and check, and, so that there is one oracle only, for a test that
 * compares this one with ref_coll.h.
 *
 * Elements are bit patterns of 1, 2, 4 or 8 bytes. Sums and products of floating types are of
 * powers of two that are exact in each of them, so that every order gives the same bits. Blocks
 * of a collect or alltoallv are as long as those of a fcollect or alltoall, and lie as these
 * do.
 */
#ifndef STREAM_ORACLE_H
#define STREAM_ORACLE_H

#include "chorus/lists.h"

#include <stdint.h>
#include <string.h>

/* What stands before a function; kernels' is another. */
#ifndef ORACLE_FN
#define ORACLE_FN static inline
#endif
#define REF_FN ORACLE_FN
#include "ref/ref_op.h"
#include "ref/ref_origin.h"

struct oracle_call {
    chorus_coll coll;
    chorus_type type;
    chorus_op op;
    uint32_t n, me, root;
    uint32_t width; /* bytes of an element; where data only moves, 8 for those of 16 */
    uint64_t count; /* of such elements, as the API counts them */
};

enum oracle_class { ORACLE_INT, ORACLE_UINT, ORACLE_HALF, ORACLE_FLOAT, ORACLE_COMPLEX };

ORACLE_FN enum oracle_class oracle_class_of(chorus_type type)
{
#define X(T, ctype, CLASS, bytes) \
    if (type == CHORUS_TYPE_##T) return ORACLE_##CLASS;
    CHORUS_TYPE_LIST(X)
#undef X
    return ORACLE_COMPLEX;
}

ORACLE_FN uint32_t oracle_bytes_of(chorus_type type)
{
#define X(T, ctype, CLASS, bytes) \
    if (type == CHORUS_TYPE_##T) return bytes;
    CHORUS_TYPE_LIST(X)
#undef X
    return 0;
}

ORACLE_FN int oracle_reduces(chorus_coll coll)
{
    return CH_COLLS(CH_ROW_COMBINING) >> coll & 1;
}

ORACLE_FN uint64_t oracle_source_count(const struct oracle_call *c)
{
    return ref_is_to_each(c->coll) ? c->n * c->count : c->count;
}

/* What the call gives this PE. */
ORACLE_FN uint64_t oracle_dest_count(const struct oracle_call *c)
{
    const uint32_t for_root = CH_COLLS(CH_ROW_ROOTED) & ~CH_COLLS(CH_ROW_FROM_ROOT);

    if ((for_root >> c->coll & 1) && c->me != c->root) return 0;
    return ref_is_of_each(c->coll) ? c->n * c->count : c->count;
}

ORACLE_FN uint64_t oracle_mask(uint32_t width)
{
    return width == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * width) - 1;
}

ORACLE_FN uint64_t oracle_mix(uint64_t seed, uint64_t pe, uint64_t i)
{
    uint64_t x =
        seed * 0x9e3779b97f4a7c15u + pe * 0xbf58476d1ce4e5b9u + i * 0x94d049bb133111ebu;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* A number that the type has exactly, as its bits. */
ORACLE_FN uint64_t oracle_encode(chorus_type type, double value)
{
    const float narrow = (float)value;
    uint32_t bits;
    uint64_t wide;

    memcpy(&wide, &value, sizeof(wide));
    memcpy(&bits, &narrow, sizeof(bits));
    if (type == CHORUS_TYPE_f64) return wide;
    if (type == CHORUS_TYPE_f32) return bits;
    if (type == CHORUS_TYPE_bf16 || bits << 1 == 0) return bits >> 16;
    /* binary16: the exponent's bias is 15, not 127; 10 bits of fraction. */
    return (bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 127 + 15) << 10 |
           (bits >> 13 & 0x3ff);
}

/* -2, -1, 1 or 2. */
ORACLE_FN double oracle_small(uint64_t mixed)
{
    const double magnitude = mixed & 1 ? 2 : 1;

    return mixed & 2 ? -magnitude : magnitude;
}

ORACLE_FN int oracle_is_floating(const struct oracle_call *c)
{
    const enum oracle_class k = oracle_class_of(c->type);

    return oracle_reduces(c->coll) && (k == ORACLE_HALF || k == ORACLE_FLOAT);
}

/* Element i of the source of PE pe. */
ORACLE_FN uint64_t oracle_source(const struct oracle_call *c, uint64_t seed, uint64_t pe,
                                 uint64_t i)
{
    const uint64_t mixed = oracle_mix(seed, pe, i);

    if (oracle_is_floating(c)) return oracle_encode(c->type, oracle_small(mixed >> 32));
    return mixed & oracle_mask(c->width);
}

ORACLE_FN uint64_t oracle_extend(const struct oracle_call *c, uint64_t bits)
{
    const uint64_t sign = (uint64_t)1 << (8 * c->width - 1);

    if (oracle_class_of(c->type) != ORACLE_INT || !(bits & sign)) return bits;
    return bits | ~oracle_mask(c->width);
}

/* Element i of the sources of the first `pes` PEs, combined. */
ORACLE_FN uint64_t oracle_sum(const struct oracle_call *c, uint64_t seed, uint64_t pes,
                              uint64_t i)
{
    double number = oracle_small(oracle_mix(seed, 0, i) >> 32);
    uint64_t whole = oracle_extend(c, oracle_source(c, seed, 0, i));
    const int is_signed = oracle_class_of(c->type) == ORACLE_INT;
    int is_known = 1;

    for (uint64_t pe = 1; pe < pes; pe++) {
        const uint64_t next = oracle_extend(c, oracle_source(c, seed, pe, i));

        is_known =
            oracle_is_floating(c)
                ? ref_op_real(c->op, &number, oracle_small(oracle_mix(seed, pe, i) >> 32))
                : ref_op_whole(c->op, is_signed, &whole, next);
    }
    if (!is_known) return ~whole; /* of what no algorithm gives */
    return oracle_is_floating(c) ? oracle_encode(c->type, number)
                                 : whole & oracle_mask(c->width);
}

/* Element i of this PE's dest. */
ORACLE_FN uint64_t oracle_dest(const struct oracle_call *c, uint64_t seed, uint64_t i)
{
    const struct ref_origin o =
        ref_origin_of(c->coll, c->n, c->root, c->me, c->count, (uint32_t)(i / c->count));
    const uint64_t at = o.first + i % c->count;

    if (o.lo == o.hi) return 0;
    return oracle_reduces(c->coll) ? oracle_sum(c, seed, o.hi, at)
                                   : oracle_source(c, seed, o.lo, at);
}

#endif /* STREAM_ORACLE_H */
