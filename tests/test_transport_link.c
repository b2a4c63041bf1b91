/* SPDX-License-Identifier: Apache-2.0 */
/* What all kinds of links share. */
#include "transport/link.h"

#include <check.h>
#include <stdlib.h>

/* A quiet of the program must not wait for algorithms, nor they for a program's context. */
START_TEST(net_count__any_context__is_not_that_of_algorithms)
{
    enum { COUNTS = 16 };

    for (uint32_t ctx = CH_CTX_PROGRAM; ctx < 100; ctx++) {
        ck_assert_uint_ge(ch_link_counter_of(ctx, COUNTS), CH_CTX_PROGRAM);
        ck_assert_uint_lt(ch_link_counter_of(ctx, COUNTS), COUNTS);
    }
    ck_assert_uint_eq(ch_link_counter_of(CH_CTX_DEFAULT, COUNTS), CH_CTX_DEFAULT);
    ck_assert_uint_eq(ch_link_counter_of(CH_CTX_ALGORITHMS, COUNTS), CH_CTX_ALGORITHMS);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("transport_link");
    TCase *const tcase = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, net_count__any_context__is_not_that_of_algorithms);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
