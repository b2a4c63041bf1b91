/* SPDX-License-Identifier: Apache-2.0 */
/* From times to numbers in a row, against values worked out by hand. */
#include "bench/stats.h"

#include <check.h>
#include <stdlib.h>

START_TEST(percentile__of_hundred__is_nearest_rank)
{
    double values[100];

    for (int i = 0; i < 100; i++)
        values[i] = (i * 37) % 100 + 1;
    ch_stats_sort(values, 100);
    ck_assert_double_eq(values[0], 1);
    ck_assert_double_eq(ch_stats_percentile(values, 100, 50), 50);
    ck_assert_double_eq(ch_stats_percentile(values, 100, 99), 99);
    ck_assert_double_eq(ch_stats_percentile(values, 100, 100), 100);
}
END_TEST

START_TEST(percentile__of_few__is_one_of_them)
{
    const double one[1] = {5}, two[2] = {1, 9}, three[3] = {1, 4, 9};

    ck_assert_double_eq(ch_stats_percentile(one, 1, 50), 5);
    ck_assert_double_eq(ch_stats_percentile(one, 1, 99), 5);
    ck_assert_double_eq(ch_stats_percentile(two, 2, 50), 1);
    ck_assert_double_eq(ch_stats_percentile(two, 2, 99), 9);
    ck_assert_double_eq(ch_stats_percentile(three, 3, 50), 4);
}
END_TEST

/* 1 MB in 100 us is 10 GB/s: times the messages, times the share that crosses the bus. */
START_TEST(bandwidth__of_each_collective__follows_its_formula)
{
    static const struct {
        enum ch_sweep_coll coll;
        double algbw, busbw;
    } cases[] = {
        {CH_SWEEP_broadcast, 10.0, 10.0},    {CH_SWEEP_fcollect, 40.0, 30.0},
        {CH_SWEEP_alltoall, 40.0, 30.0},     {CH_SWEEP_reduce, 10.0, 15.0},
        {CH_SWEEP_reducescatter, 10.0, 7.5},
    };

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct ch_row row = {.work.coll = cases[k].coll, .pes = 4, .bytes = 1000000};
        double us[3] = {300.0, 100.0, 50.0};

        ch_stats_fill(&row, us, 3);
        ck_assert_double_eq(row.us_min, 50.0);
        ck_assert_double_eq(row.us_p50, 100.0);
        ck_assert_double_eq(row.us_p99, 300.0);
        ck_assert_double_eq_tol(row.algbw, cases[k].algbw, 1e-9);
        ck_assert_double_eq_tol(row.busbw, cases[k].busbw, 1e-9);
    }
}
END_TEST

START_TEST(bytes__of_a_message__are_those_of_the_rule_tables)
{
    static const struct {
        enum ch_sweep_coll coll;
        uint64_t message;
        size_t source, dest;
    } cases[] = {
        {CH_SWEEP_broadcast, 40, 40, 40},       {CH_SWEEP_fcollect, 40, 40, 120},
        {CH_SWEEP_alltoall, 40, 120, 120},      {CH_SWEEP_reduce, 40, 40, 40},
        {CH_SWEEP_reducescatter, 120, 120, 40}, {CH_SWEEP_barrier, 0, 0, 0},
    };

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        const struct ch_work work = {
            .coll = cases[k].coll, .type = CHORUS_TYPE_f32, .count = 10};

        ck_assert_uint_eq(ch_work_bytes(&work, 3), cases[k].message);
        ck_assert_uint_eq(ch_work_source_bytes(&work, 3), cases[k].source);
        ck_assert_uint_eq(ch_work_dest_bytes(&work, 3), cases[k].dest);
    }
    ck_assert_uint_eq(ch_work_count(CH_SWEEP_reducescatter, CHORUS_TYPE_f32, 64, 3), 5);
    ck_assert_uint_eq(ch_work_count(CH_SWEEP_alltoall, CHORUS_TYPE_f64, 7, 3), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench");
    TCase *tcase = tcase_create("stats");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, percentile__of_hundred__is_nearest_rank);
    tcase_add_test(tcase, percentile__of_few__is_one_of_them);
    tcase_add_test(tcase, bandwidth__of_each_collective__follows_its_formula);
    tcase_add_test(tcase, bytes__of_a_message__are_those_of_the_rule_tables);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
