/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle itself, against values worked out by hand. */
#include "ref/ref_coll.h"

#include "coll/algorithm.h"

#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>

#define REDUCE CHORUS_COLL_reduce

START_TEST(expect__alltoall_of_two__transposes_blocks)
{
    const uint8_t a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    const void *const sources[2] = {a, b};
    uint8_t got[4];

    ref_expect(CHORUS_COLL_alltoall, CHORUS_TYPE_u8, CHORUS_OP_sum, 2, 0, 2, sources, 1, got);
    ck_assert(got[0] == 3 && got[1] == 4 && got[2] == 7 && got[3] == 8);
}
END_TEST

START_TEST(expect__reducescatter__gives_own_block)
{
    const int16_t a[4] = {1, -2, 3, 32767}, b[4] = {10, 20, 30, 1};
    const void *const sources[2] = {a, b};
    int16_t got[2];

    ref_expect(CHORUS_COLL_reducescatter, CHORUS_TYPE_i16, CHORUS_OP_sum, 2, 0, 2, sources, 1,
               got);
    ck_assert_int_eq(got[0], 33);
    ck_assert_int_eq(got[1], -32768);
    ref_expect(CHORUS_COLL_reducescatter, CHORUS_TYPE_i16, CHORUS_OP_min, 2, 0, 2, sources, 0,
               got);
    ck_assert_int_eq(got[0], 1);
    ck_assert_int_eq(got[1], -2);
}
END_TEST

/* 2048 + 1 + 1: each step alone would round to 2048 in binary16; in float the sum is 2050. */
START_TEST(expect__half_sum__accumulates_in_float)
{
    const chorus_half a = {0x6800}, one = {0x3c00};
    const void *const sources[3] = {&a, &one, &one};
    chorus_half got;

    ref_expect(REDUCE, CHORUS_TYPE_f16, CHORUS_OP_sum, 3, 0, 1, sources, 0, &got);
    ck_assert_uint_eq(got.bits, 0x6801);
}
END_TEST

/* bfloat16 has eight digits: 256 + 3 = 259 lies between 258 and 260; even wins. 2^-14 / 2 is
 * the subnormal 0x0200 of binary16; its largest number doubled is infinity. */
START_TEST(expect__half_rounding__is_to_nearest_even)
{
    const chorus_bfloat16 big = {0x4380}, three = {0x4040};
    const void *const sums[2] = {&big, &three};
    chorus_bfloat16 sum;
    const chorus_half least = {0x0400}, half = {0x3800}, most = {0x7bff}, two = {0x4000};
    const void *const small[2] = {&least, &half}, *const large[2] = {&most, &two};
    chorus_half product;

    ref_expect(REDUCE, CHORUS_TYPE_bf16, CHORUS_OP_sum, 2, 0, 1, sums, 0, &sum);
    ck_assert_uint_eq(sum.bits, 0x4382);
    ref_expect(REDUCE, CHORUS_TYPE_f16, CHORUS_OP_prod, 2, 0, 1, small, 0, &product);
    ck_assert_uint_eq(product.bits, 0x0200);
    ref_expect(REDUCE, CHORUS_TYPE_f16, CHORUS_OP_prod, 2, 0, 1, large, 0, &product);
    ck_assert_uint_eq(product.bits, 0x7c00);
}
END_TEST

START_TEST(expect__nan_on_either_side__wins_in_min_and_max)
{
    const float one = 1.0f, nan = NAN;
    const void *const first[2] = {&nan, &one}, *const second[2] = {&one, &nan};
    float got = 0;

    ref_expect(REDUCE, CHORUS_TYPE_f32, CHORUS_OP_min, 2, 0, 1, first, 0, &got);
    ck_assert(isnan(got));
    ref_expect(REDUCE, CHORUS_TYPE_f32, CHORUS_OP_max, 2, 0, 1, second, 0, &got);
    ck_assert(isnan(got));
}
END_TEST

/* The operators of a program that has been compiled with one more, or of another class. */
START_TEST(expect__an_unknown_operator__ends_the_program)
{
    const chorus_type types[] = {CHORUS_TYPE_i32, CHORUS_TYPE_f32, CHORUS_TYPE_bf16,
                                 CHORUS_TYPE_c64};
    const chorus_op op = _i % 2 == 0 ? CHORUS_OP_COUNT : CHORUS_OP_and;
    const max_align_t zero = {0};
    const void *const sources[2] = {&zero, &zero};
    max_align_t got;

    if (_i / 2 == 0 && op == CHORUS_OP_and) abort(); /* which integers have */
    ref_expect(REDUCE, types[_i / 2], op, 2, 0, 1, sources, 0, &got);
}
END_TEST

START_TEST(compare__one_wrong_element__names_it)
{
    const int32_t want[3] = {1, 2, 3}, got[3] = {1, 2, 4};
    const float plus[1] = {0.0f}, minus[1] = {-0.0f};

    ck_assert_int_eq(ref_compare(REDUCE, CHORUS_TYPE_i32, got, want, 3), 2);
    ck_assert_int_eq(ref_compare(REDUCE, CHORUS_TYPE_i32, want, want, 3), -1);
    ck_assert_int_eq(ref_compare(REDUCE, CHORUS_TYPE_f32, plus, minus, 1), -1);
    ck_assert_int_eq(ref_compare(CHORUS_COLL_broadcast, CHORUS_TYPE_f32, plus, minus, 1), 0);
}
END_TEST

/* The fill's promise: backwards and forwards give the same bits for every type and operator. */
START_TEST(fill__every_type_and_operator__is_the_same_in_any_order)
{
    enum { N = 64, COUNT = 40 };
    static max_align_t rows[N][COUNT];
    const void *up[N], *down[N];
    max_align_t a[COUNT], b[COUNT];
    const chorus_type type = (chorus_type)(_i / CHORUS_OP_COUNT);
    const chorus_op op = (chorus_op)(_i % CHORUS_OP_COUNT);

    if (!ch_op_takes(op, type)) return;
    for (uint32_t p = 0; p < N; p++) {
        ref_fill(REDUCE, type, op, 7, p, COUNT, rows[p]);
        up[p] = down[N - 1 - p] = rows[p];
    }
    ref_expect(REDUCE, type, op, N, 0, COUNT, up, 0, a);
    ref_expect(REDUCE, type, op, N, 0, COUNT, down, 0, b);
    ck_assert_int_eq(ref_compare(REDUCE, type, a, b, COUNT), -1);
    ref_fill(REDUCE, type, op, 8, 0, COUNT, b);
    ck_assert_int_ne(ref_compare(REDUCE, type, rows[0], b, COUNT), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ref");
    TCase *tcase = tcase_create("coll");

    tcase_add_test(tcase, expect__alltoall_of_two__transposes_blocks);
    tcase_add_test(tcase, expect__reducescatter__gives_own_block);
    tcase_add_test(tcase, expect__half_sum__accumulates_in_float);
    tcase_add_test(tcase, expect__half_rounding__is_to_nearest_even);
    tcase_add_test(tcase, expect__nan_on_either_side__wins_in_min_and_max);
    tcase_add_loop_test_raise_signal(tcase, expect__an_unknown_operator__ends_the_program,
                                     SIGABRT, 0, 8);
    tcase_add_test(tcase, compare__one_wrong_element__names_it);
    tcase_add_loop_test(tcase, fill__every_type_and_operator__is_the_same_in_any_order, 0,
                        CHORUS_TYPE_COUNT * CHORUS_OP_COUNT);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
