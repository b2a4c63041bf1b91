/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/ref_coll.h"

#define REF_WHOLE uint64_t
#define REF_REAL long double
#include "ref/ref_op.h"
#include "ref/ref_origin.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t element_bytes[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, class, bytes) bytes,
    CHORUS_TYPE_LIST(X)
#undef X
};

/* How the oracle computes with a type: in the widest type of its class, or in float. */
enum kind { KIND_INT, KIND_UINT, KIND_HALF, KIND_FLOAT, KIND_COMPLEX };

static const enum kind kinds[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, class, bytes) KIND_##class,
    CHORUS_TYPE_LIST(X)
#undef X
};

/* Do PEs contribute one block each, of different lengths? */
static bool is_of_parts(chorus_coll coll)
{
    return ch_coll_is_uneven(coll) && !ch_coll_is_listed(coll);
}

size_t ref_source_count(chorus_coll coll, uint32_t n, size_t count)
{
    return ref_is_to_each(coll) ? n * count : count;
}

size_t ref_dest_blocks(chorus_coll coll, uint32_t n)
{
    return ref_is_of_each(coll) && !is_of_parts(coll) ? n : 1;
}

size_t ref_dest_count(chorus_coll coll, uint32_t n, size_t count)
{
    size_t sum = 0;

    if (!is_of_parts(coll)) return ref_dest_blocks(coll, n) * count;
    for (uint32_t pe = 0; pe < n; pe++)
        sum += ref_part(count, pe);
    return sum;
}

size_t ref_own_count(chorus_coll coll, size_t count, uint32_t pe)
{
    return is_of_parts(coll) ? ref_part(count, pe) : count;
}

size_t ref_part(size_t count, uint32_t pe)
{
    return count * (4 - pe * 3 % 5) / 4;
}

size_t ref_block(size_t count, uint32_t from, uint32_t to)
{
    return count * ((from + 2 * to) % 3) / 2;
}

bool ref_has_dest(chorus_coll coll, uint32_t root, uint32_t me)
{
    return !ch_coll_has_root(coll) || ch_coll_is_from_root(coll) || me == root;
}

uint64_t ref_hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xd1342543de82ef95u + c * 0xaf251af3b0f025b5u;

    for (int round = 0; round < 2; round++) {
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        x ^= x >> 31;
    }
    return x;
}

void ref_poison(void *memory, size_t bytes)
{
    memset(memory, 0xa5, bytes);
}

/* --- the 16-bit floating types, by their definition ---------------------------------- */

struct format {
    int digits;       /* of the significand, the hidden one included */
    int exponent_min; /* of the least normal number, as 1.f * 2^e */
};
static const struct format binary16 = {11, -14}, bfloat16 = {8, -126};

static const struct format *format_of(chorus_type type)
{
    return type == CHORUS_TYPE_f16 ? &binary16 : &bfloat16;
}

static float half_decode(const struct format *f, uint16_t bits)
{
    const int stored = f->digits - 1, fraction = bits & ((1 << stored) - 1);
    const int exponent = (bits & 0x7fff) >> stored, top = 0x7fff >> stored;
    double value;

    if (exponent == top)
        value = fraction != 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, f->exponent_min - stored);
    else
        value = ldexp(fraction + (1 << stored), f->exponent_min + exponent - 1 - stored);
    return (float)((bits & 0x8000) != 0 ? -value : value);
}

static uint16_t half_encode(const struct format *f, float value)
{
    const int stored = f->digits - 1;
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const uint16_t infinity = (uint16_t)(0x7fff >> stored << stored);
    int exponent;

    if (isnan(value)) return (uint16_t)(infinity | 1u << (stored - 1));
    if (isinf(value)) return (uint16_t)(sign | infinity);
    (void)frexp(fabs((double)value), &exponent);
    exponent--; /* frexp's significand is below 1 */
    if (value == 0.0f || exponent < f->exponent_min) exponent = f->exponent_min;
    /* Units in the last place, rounded to nearest even; a carry runs into the exponent. */
    const int units = (int)nearbyint(ldexp(fabs((double)value), stored - exponent));
    const int bits = ((exponent - f->exponent_min) << stored) + units;
    return (uint16_t)(sign | (bits < infinity ? bits : infinity));
}

/* --- one element, as a number ----------------------------------------------------------- */

union number {
    REF_WHOLE integer; /* signed ones sign-extended */
    long double real;
    double _Complex pair;
};

static union number element_load(chorus_type type, const void *from)
{
    union number x;
    memset(&x, 0, sizeof(x));

#define FROM_INT(v) x.integer = (REF_WHOLE)(int64_t)(v)
#define FROM_UINT(v) x.integer = (v)
#define FROM_HALF(v) x.real = (long double)half_decode(format_of(type), (v).bits)
#define FROM_FLOAT(v) x.real = (long double)(v)
#define FROM_COMPLEX(v) x.pair = (double _Complex)(v)
    switch (type) {
#define X(T, ctype, class, bytes)                \
    case CHORUS_TYPE_##T: {                      \
        ctype element;                           \
        memcpy(&element, from, sizeof(element)); \
        FROM_##class(element);                   \
        break;                                   \
    }
        CHORUS_TYPE_LIST(X)
#undef X
    case CHORUS_TYPE_COUNT:
        break;
    }
    return x;
}

static void element_store(chorus_type type, union number x, void *to)
{
#define TO_INT(ctype, v) v = (ctype)x.integer
#define TO_UINT(ctype, v) v = (ctype)x.integer
#define TO_HALF(ctype, v) (v).bits = half_encode(format_of(type), (float)x.real)
#define TO_FLOAT(ctype, v) v = (ctype)x.real
#define TO_COMPLEX(ctype, v) v = (ctype)x.pair
    switch (type) {
#define X(T, ctype, class, bytes)                                   \
    case CHORUS_TYPE_##T: {                                         \
        ctype element;                                              \
        memset(&element, 0, sizeof(element)); /* its padding too */ \
        TO_##class(ctype, element);                                 \
        memcpy(to, &element, sizeof(element));                      \
        break;                                                      \
    }
        CHORUS_TYPE_LIST(X)
#undef X
    case CHORUS_TYPE_COUNT:
        break;
    }
}

/* Keep a value to the precision that the type is combined in. */
static long double round_real(chorus_type type, long double x)
{
    const size_t bytes = kinds[type] == KIND_HALF ? sizeof(float) : element_bytes[type];

    if (bytes > sizeof(double)) return x;
    return bytes == sizeof(double) ? (long double)(double)x : (long double)(float)x;
}

/* An expected value that nobody has stated would be worth nothing. */
static _Noreturn void refuse(chorus_type type, chorus_op op)
{
    (void)fprintf(stderr, "the reference does not know operator %d for type %d; see ref_op.h\n",
                  (int)op, (int)type);
    abort();
}

static union number combine(chorus_type type, chorus_op op, union number a, union number b)
{
    const bool is_sum = op == CHORUS_OP_sum;
    bool is_known = false;

    switch (kinds[type]) {
    case KIND_INT:
    case KIND_UINT:
        is_known = ref_op_whole(op, kinds[type] == KIND_INT, &a.integer, b.integer);
        break;
    case KIND_HALF:
    case KIND_FLOAT:
        is_known = ref_op_real(op, &a.real, b.real);
        a.real = round_real(type, a.real);
        break;
    case KIND_COMPLEX:
        is_known = is_sum || op == CHORUS_OP_prod;
        a.pair = is_sum ? a.pair + b.pair : a.pair * b.pair;
        break;
    }
    if (!is_known) refuse(type, op);
    return a;
}

/* --- the collectives ---------------------------------------------------------------------- */

/* `count` elements, combined. */
static void expect_combined(chorus_type type, chorus_op op, const struct ref_origin *o,
                            size_t count, const void *const *sources, char *dest)
{
    const size_t bytes = element_bytes[type];

    for (size_t i = 0; i < count; i++) {
        const size_t at = (o->first + i) * bytes;
        union number x = element_load(type, (const char *)sources[o->lo] + at);
        for (uint32_t p = o->lo + 1; p < o->hi; p++)
            x = combine(type, op, x, element_load(type, (const char *)sources[p] + at));
        element_store(type, x, dest + i * bytes);
    }
}

/* The block that each PE sends to `me`, where such blocks may have any length. */
static void expect_blocks(size_t bytes, uint32_t n, size_t count, const void *const *sources,
                          uint32_t me, char *dest)
{
    ref_poison(dest, n * count * bytes);
    for (uint32_t p = 0; p < n; p++)
        memcpy(dest + (n - 1 - p) * count * bytes,
               (const char *)sources[p] + me * count * bytes, ref_block(count, p, me) * bytes);
}

void ref_expect(chorus_coll coll, chorus_type type, chorus_op op, uint32_t n, uint32_t root,
                size_t count, const void *const *sources, uint32_t me, void *dest_out)
{
    const size_t bytes = element_bytes[type];
    const uint32_t blocks = ref_is_of_each(coll) ? n : 1;
    char *dest = dest_out;

    if (ch_coll_is_listed(coll)) {
        expect_blocks(bytes, n, count, sources, me, dest);
        return;
    }
    for (uint32_t block = 0; block < blocks; block++) {
        const struct ref_origin o = ref_origin_of(coll, n, root, me, count, block);
        const size_t own = ref_own_count(coll, count, block);

        if (o.lo == o.hi)
            memset(dest, 0, own * bytes);
        else if (ch_coll_reduces(coll))
            expect_combined(type, op, &o, own, sources, dest);
        else
            memcpy(dest, (const char *)sources[o.lo] + o.first * bytes, own * bytes);
        dest += own * bytes;
    }
}

/* --- contributions --------------------------------------------------------------------------
 */

/* Sums of 64 of these are exact in the type's significand, and so is every partial sum. */
static long double sum_term(chorus_type type, uint64_t random)
{
    const size_t parts = kinds[type] == KIND_COMPLEX ? 2 : 1;
    const int64_t bound = type == CHORUS_TYPE_bf16                       ? 4
                          : kinds[type] == KIND_HALF                     ? 32
                          : element_bytes[type] == parts * sizeof(float) ? 1 << 17
                                                                         : 1 << 24;
    return (long double)((int64_t)(random % (uint64_t)(2 * bound + 1)) - bound);
}

/* 1, 2 or 1/2 with a sign; past PE 9 the sign alone, so that 64 of them stay in range. */
static long double product_term(uint32_t pe, uint64_t random)
{
    const long double value = ldexpl(1.0L, pe < 10 ? (int)(random % 3) - 1 : 0);

    return (random >> 32 & 1u) != 0 ? -value : value;
}

static long double order_term(uint64_t random)
{
    if (random % 31 == 0) return (long double)NAN;
    if (random % 13 < 4) return random % 2 == 0 ? 0.0L : -0.0L;
    return (long double)((int64_t)(random >> 32 & 0xff) - 128) / 4.0L;
}

static double _Complex complex_term(chorus_type type, chorus_op op, uint32_t pe,
                                    uint64_t random)
{
    static const double _Complex units[4] = {1.0, -1.0, 1.0 * I, -1.0 * I};

    if (op == CHORUS_OP_prod)
        return units[random >> 40 & 3u] * (double)fabsl(product_term(pe, random));
    return (double)sum_term(type, random) + (double)sum_term(type, random >> 24) * I;
}

static union number contribution(chorus_type type, chorus_op op, uint32_t pe, uint64_t random)
{
    union number x;
    memset(&x, 0, sizeof(x));

    switch (kinds[type]) {
    case KIND_INT:
    case KIND_UINT:
        x.integer = op == CHORUS_OP_prod ? random | 1u : random;
        break;
    case KIND_HALF:
    case KIND_FLOAT:
        x.real = op == CHORUS_OP_sum    ? sum_term(type, random)
                 : op == CHORUS_OP_prod ? product_term(pe, random)
                                        : order_term(random);
        break;
    case KIND_COMPLEX:
        x.pair = complex_term(type, op, pe, random);
        break;
    }
    return x;
}

void ref_fill(chorus_coll coll, chorus_type type, chorus_op op, uint64_t seed, uint32_t pe,
              size_t count, void *source_out)
{
    const size_t bytes = element_bytes[type];
    unsigned char *to = source_out;
    uint64_t random;
    size_t at = 0;

    if (ch_coll_reduces(coll)) {
        for (size_t i = 0; i < count; i++)
            element_store(type, contribution(type, op, pe, ref_hash(seed, pe, i)),
                          to + i * bytes);
        return;
    }
    for (; at + sizeof(random) <= count * bytes; at += sizeof(random)) {
        random = ref_hash(seed, pe, at);
        memcpy(to + at, &random, sizeof(random));
    }
    random = ref_hash(seed, pe, at);
    memcpy(to + at, &random, count * bytes - at);
}

/* --- comparison ------------------------------------------------------------------------------
 */

static bool is_equal(chorus_type type, const void *got, const void *want)
{
    const union number a = element_load(type, got), b = element_load(type, want);

    switch (kinds[type]) {
    case KIND_HALF:
    case KIND_FLOAT:
        return a.real == b.real || (isnan(a.real) && isnan(b.real));
    case KIND_COMPLEX:
        return a.pair == b.pair;
    default:
        return a.integer == b.integer;
    }
}

ptrdiff_t ref_compare(chorus_coll coll, chorus_type type, const void *got, const void *want,
                      size_t count)
{
    const size_t bytes = element_bytes[type];
    const char *a = got, *b = want;

    for (size_t i = 0; i < count; i++) {
        if (memcmp(a + i * bytes, b + i * bytes, bytes) == 0) continue;
        if (!ch_coll_reduces(coll) || !is_equal(type, a + i * bytes, b + i * bytes))
            return (ptrdiff_t)i;
    }
    return -1;
}
