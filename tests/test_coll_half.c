/* SPDX-License-Identifier: Apache-2.0 */
/* The 16-bit floating types, every one of them, and floats around every rounding bound. */
#include "coll/operators.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>

/* What a binary16 pattern means, by its definition. */
static double meaning(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double magnitude =
        exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);

    return bits & 0x8000 ? -magnitude : magnitude;
}

static bool is_nan16(uint16_t bits)
{
    return (bits & 0x7fff) > 0x7c00;
}

START_TEST(half__every_pattern__means_what_it_says_and_comes_back)
{
    for (unsigned bits = 0; bits < 65536; bits++) {
        const chorus_half half = {(uint16_t)bits};
        const float value = ch_f16_to_f32(half);

        if (is_nan16(half.bits))
            ck_assert(value != value && is_nan16(ch_f16_from_f32(value).bits));
        else {
            if ((bits & 0x7fff) == 0x7c00)
                ck_assert(isinf(value) && (value < 0) == (bits >> 15 != 0));
            else
                ck_assert((double)value == meaning(half.bits));
            ck_assert_uint_eq(ch_f16_from_f32(value).bits, bits);
        }
    }
}
END_TEST

/* Halfway between two neighbours goes to the even one; a hair off goes to the nearer. */
START_TEST(half__between_neighbours__rounds_to_nearest_even)
{
    for (unsigned bits = 0; bits < 0x7bff; bits++) {
        const float low = (float)meaning((uint16_t)bits),
                    high = (float)meaning((uint16_t)(bits + 1));
        const float middle = (low + high) / 2;
        const unsigned even = bits % 2 == 0 ? bits : bits + 1;

        ck_assert_uint_eq(ch_f16_from_f32(middle).bits, even);
        ck_assert_uint_eq(ch_f16_from_f32(nextafterf(middle, low)).bits, bits);
        ck_assert_uint_eq(ch_f16_from_f32(nextafterf(middle, high)).bits, bits + 1);
        ck_assert_uint_eq(ch_f16_from_f32(-middle).bits, even | 0x8000);
    }
    ck_assert_uint_eq(ch_f16_from_f32(65519.996f).bits, 0x7bff);
    ck_assert_uint_eq(ch_f16_from_f32(65520.0f).bits, 0x7c00);
}
END_TEST

START_TEST(bfloat16__every_pattern_and_between__rounds_to_nearest_even)
{
    for (unsigned bits = 0; bits < 65536; bits++) {
        const chorus_bfloat16 half = {(uint16_t)bits};
        const float value = ch_bf16_to_f32(half);
        const unsigned even = bits % 2 == 0 ? bits : bits + 1;

        if (value != value) {
            ck_assert((ch_bf16_from_f32(value).bits & 0x7fff) > 0x7f80);
            continue;
        }
        ck_assert_uint_eq(ch_bf16_from_f32(value).bits, bits);
        if ((bits & 0x7fff) >= 0x7f80) continue;
        ck_assert_uint_eq(ch_bf16_from_f32(ch_bits_to_f32(bits << 16 | 0x8000u)).bits, even);
        ck_assert_uint_eq(ch_bf16_from_f32(ch_bits_to_f32(bits << 16 | 0x7fffu)).bits, bits);
        ck_assert_uint_eq(ch_bf16_from_f32(ch_bits_to_f32(bits << 16 | 0x8001u)).bits,
                          bits + 1);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("half");
    TCase *tcase = tcase_create("conversions");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, half__every_pattern__means_what_it_says_and_comes_back);
    tcase_add_test(tcase, half__between_neighbours__rounds_to_nearest_even);
    tcase_add_test(tcase, bfloat16__every_pattern_and_between__rounds_to_nearest_even);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
