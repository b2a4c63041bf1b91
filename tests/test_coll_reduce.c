/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of reduce.h: that of this processor gives the same bits as that for every
 * processor, and both convert binary16 as operators.h does. */
#include "coll/algorithm.h"
#include "coll/operators.h"
#include "coll/reduce.h"

#include <check.h>
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 600, AT_MAX = 3, ROOM = (AT_MAX + COUNT_MAX + 1) * 16 };

/* Operands begin at any element. */
struct operand {
    _Alignas(64) char memory[ROOM];
    char *at;
};

static const struct ch_reduce_table *tables[2]; /* for every processor, for this one */
static uint64_t chance = 1;

static uint64_t any(void)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return chance;
}

static bool is_f32_nan(uint32_t bits)
{
    return (bits & 0x7fffffffu) > 0x7f800000u;
}

/* --- binary16 ----------------------------------------------------------------------------- */

/* Instructions make NaN quiet already when they widen it; the result is the same. */
START_TEST(half__every_pattern_widened__is_as_half_h_says)
{
    const struct ch_reduce *reduce = &tables[_i]->of[CHORUS_TYPE_f16][CHORUS_OP_sum];
    chorus_half in[37], out[37];
    float wide[37];

    for (uint32_t bits = 0; bits < 65536;) {
        const size_t at = any() % 4, count = 1 + any() % 33;

        for (size_t i = 0; i < count; i++)
            in[at + i].bits = (uint16_t)(bits + i);
        reduce->first(&wide[at], &in[at], count);
        reduce->last(&out[at], &wide[at], count);
        for (size_t i = at; i < at + count; i++) {
            const uint32_t expected = ch_f32_to_bits(ch_f16_to_f32(in[i]));
            const uint32_t quiet = is_f32_nan(expected) ? 0x400000u : 0;

            ck_assert_uint_eq(ch_f32_to_bits(wide[i]) | quiet, expected | quiet);
            ck_assert_uint_eq(out[i].bits, ch_f16_from_f32(wide[i]).bits);
        }
        bits += (uint32_t)count;
    }
}
END_TEST

static void expect_narrow(const struct ch_reduce *reduce, const float *from, size_t count)
{
    chorus_half out[96];

    reduce->last(out, from, count);
    for (size_t i = 0; i < count; i++)
        if (out[i].bits != ch_f16_from_f32(from[i]).bits)
            ck_abort_msg("%08x becomes %04x", ch_f32_to_bits(from[i]), out[i].bits);
}

/* A float has 13 bits more than a half; those of small halves lie higher, thus the second
 * part: halfway between two neighbours, and next to that. */
START_TEST(half__floats_at_every_bound__are_rounded_as_half_h_says)
{
    static const uint32_t lower[] = {0, 1, 0xfff, 0x1000, 0x1001, 0x1fff};
    const struct ch_reduce *reduce = &tables[_i]->of[CHORUS_TYPE_f16][CHORUS_OP_sum];
    float in[96];

    for (uint32_t upper = 0; upper < 1u << 19; upper += 16) {
        for (uint32_t i = 0; i < 96; i++)
            in[i] = ch_bits_to_f32((upper + i / 6) << 13 | lower[i % 6]);
        expect_narrow(reduce, in, 96);
    }
    for (uint32_t bits = 0; bits < 0x7bff; bits++) {
        const chorus_half low = {(uint16_t)bits}, high = {(uint16_t)(bits + 1)};
        const float middle = (ch_f16_to_f32(low) + ch_f16_to_f32(high)) / 2;

        for (int i = 0; i < 9; i++)
            in[i] = i % 3 == 0 ? middle : nextafterf(middle, i % 3 == 1 ? 0 : 1e6f);
        for (int i = 0; i < 9; i += 2)
            in[i] = -in[i];
        expect_narrow(reduce, in, 9);
    }
}
END_TEST

/* --- all types and operators -------------------------------------------------------------- */

/* A value of the class, of any magnitude; one in four is special. */
static double any_number(void)
{
    static const double special[] = {0.0,    -0.0,   1.0,  INFINITY, -INFINITY, NAN,
                                     1e-310, -1e-40, 3e-8, 65504,    3e38,      1e308};
    const double number = ldexp((double)(int64_t)any(), (int)(any() % 40) - 80);

    return any() % 4 == 0 ? special[any() % (sizeof(special) / sizeof(*special))] : number;
}

#define ANY_INT(T, ctype) (ctype) any()
#define ANY_UINT(T, ctype) (ctype) any()
#define ANY_FLOAT(T, ctype) (ctype) any_number()
#define ANY_COMPLEX(T, ctype) (ctype) __builtin_complex(any_number(), any_number())
#define ANY_HALF(T, ctype) ch_##T##_from_f32((float)any_number())

static void fill(chorus_type type, void *at, size_t count)
{
    memset(at, 0, count * ch_type_bytes[type]); /* padding */
    switch (type) {
#define X(T, ctype, CLASS, bytes)                     \
    case CHORUS_TYPE_##T:                             \
        for (size_t i = 0; i < count; i++)            \
            ((ctype *)at)[i] = ANY_##CLASS(T, ctype); \
        break;
        CHORUS_TYPE_LIST(X)
#undef X
    default:
        abort();
    }
}

/* Which of two NaN a sum or product keeps is not defined: the compiler orders the operands. */
#define NUMBER(x) (isnan(x) ? 0 : (x))
#define UNNAN_INT(T, ctype, v) (v)
#define UNNAN_UINT(T, ctype, v) (v)
#define UNNAN_FLOAT(T, ctype, v) NUMBER(v)
#define UNNAN_COMPLEX(T, ctype, v) (ctype) __builtin_complex(NUMBER(creal(v)), NUMBER(cimag(v)))
#define UNNAN_HALF(T, ctype, v) ch_##T##_from_f32(NUMBER(ch_##T##_to_f32(v)))

/* NaN becomes 0. */
static void unnan(chorus_type type, void *at, size_t count)
{
    switch (type) {
#define X(T, ctype, CLASS, bytes)                                         \
    case CHORUS_TYPE_##T:                                                 \
        for (size_t i = 0; i < count; i++)                                \
            ((ctype *)at)[i] = UNNAN_##CLASS(T, ctype, ((ctype *)at)[i]); \
        break;
        CHORUS_TYPE_LIST(X)
#undef X
    default:
        abort();
    }
}

/* Zeros, among other bytes. */
static void clear(struct operand *o, size_t elem_bytes, size_t bytes)
{
    memset(o->memory, 0x5a, sizeof(o->memory));
    o->at = o->memory + any() % (AT_MAX + 1) * elem_bytes;
    memset(o->at, 0, bytes);
}

/* out = in[0] op in[1] ... by passes. */
static void by_passes(const struct ch_reduce *reduce, void *out, const struct operand *in,
                      size_t n, size_t count)
{
    static _Alignas(16) char acc[2 * ROOM];

    memset(acc, 0, sizeof(acc)); /* padding */
    reduce->first(acc, in[0].at, count);
    for (size_t i = 1; i < n; i++)
        reduce->next(acc, in[i].at, count);
    reduce->last(out, acc, count);
}

/* Also the byte behind them, which nothing may write. */
static void expect_same(const char *form, chorus_type type, chorus_op op,
                        const struct operand *got, const struct operand *expected, size_t bytes)
{
    for (size_t i = 0; i <= bytes; i++)
        if (got->at[i] != expected->at[i])
            ck_abort_msg("%s, %s %s: byte %zu of %zu is %02x, not %02x", form,
                         ch_type_names[type], ch_op_names[op], i, bytes, got->at[i] & 0xff,
                         expected->at[i] & 0xff);
}

/* The result by one pass is in memory of its own, or in that of a source. */
static void expect_both(const struct ch_reduce *reduce, chorus_type type, chorus_op op,
                        const struct operand *in, const struct operand *expected, size_t count)
{
    static struct operand copy[3];
    const size_t bytes = count * ch_type_bytes[type];

    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) {
            clear(&copy[i], ch_type_bytes[type], bytes);
            if (i < 2) memcpy(copy[i].at, in[i].at, bytes);
        }
        reduce->both(copy[k].at, copy[0].at, copy[1].at, count);
        unnan(type, copy[k].at, count);
        expect_same("both", type, op, &copy[k], expected, bytes);
    }
}

static void expect_equal_tables(chorus_type type, chorus_op op)
{
    static struct operand in[3], out[2];
    const size_t count = any() % (any() % 4 == 0 ? COUNT_MAX : 70);
    const size_t bytes = count * ch_type_bytes[type];

    for (int i = 0; i < 3; i++) {
        clear(&in[i], ch_type_bytes[type], bytes);
        fill(type, in[i].at, count);
    }
    for (size_t n = 3; n >= 1; n--) {
        for (int t = 0; t < 2; t++) {
            clear(&out[t], ch_type_bytes[type], bytes);
            by_passes(&tables[t]->of[type][op], out[t].at, in, n, count);
            unnan(type, out[t].at, count);
        }
        expect_same("passes", type, op, &out[1], &out[0], bytes);
        for (int t = 0; t < 2 && n == 2 && tables[t]->of[type][op].both != NULL; t++)
            expect_both(&tables[t]->of[type][op], type, op, in, &out[0], count);
    }
}

START_TEST(tables__any_operands__give_the_same_bits)
{
    for (uint32_t type = 0; type < CHORUS_TYPE_COUNT; type++)
        for (uint32_t op = 0; op < CHORUS_OP_COUNT; op++)
            for (int round = 0; round < 200 && ch_op_takes(op, type); round++)
                expect_equal_tables(type, op);
}
END_TEST

START_TEST(table__operator_that_the_type_has__has_its_functions)
{
    for (uint32_t type = 0; type < CHORUS_TYPE_COUNT; type++)
        for (uint32_t op = 0; op < CHORUS_OP_COUNT; op++) {
            const struct ch_reduce *reduce = &tables[_i]->of[type][op];
            const bool has = ch_op_takes(op, type);

            ck_assert_int_eq(reduce->first != NULL, has);
            ck_assert_int_eq(reduce->next != NULL, has);
            ck_assert_int_eq(reduce->last != NULL, has);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("coll_reduce");
    TCase *tcase = tcase_create("tables");
    SRunner *runner = srunner_create(suite);
    int failed;

    tables[0] = &ch_reduce_base;
    tables[1] = ch_reduce_here();
    (void)printf("the table of this processor is %s\n", tables[1]->name);
    tcase_add_loop_test(tcase, half__every_pattern_widened__is_as_half_h_says, 0, 2);
    tcase_add_loop_test(tcase, half__floats_at_every_bound__are_rounded_as_half_h_says, 0, 2);
    tcase_add_loop_test(tcase, table__operator_that_the_type_has__has_its_functions, 0, 2);
    tcase_add_test(tcase, tables__any_operands__give_the_same_bits);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
