/* SPDX-License-Identifier: Apache-2.0 */
/* A transport's table must say what it has: each entry that disagrees with its bit is named. */
#include "transport/net.h"
#include "transport/transport.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void ck_refused(const struct ch_transport_ops *ops, const char *text)
{
    ck_assert_int_eq(ch_transport_check(ops), CHORUS_ERR_STATE);
    ck_assert_msg(strstr(ch_error_message(), text) != NULL, "message: %s", ch_error_message());
}

START_TEST(transport_check__mapped__is_whole)
{
    ck_assert_int_eq(ch_transport_check(&ch_transport_mapped), CHORUS_OK);
}
END_TEST

START_TEST(transport_check__entry_missing__is_named)
{
    static const char *const names[] = {"map", "put", "get", "fence", "quiet", "amo"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct ch_transport_ops ops = ch_transport_mapped;
        char text[64];

        if (i == 0) ops.map = NULL;
        if (i == 1) ops.put = NULL;
        if (i == 2) ops.get = NULL;
        if (i == 3) ops.fence = NULL;
        if (i == 4) ops.quiet = NULL;
        if (i == 5) ops.amo = NULL;
        (void)snprintf(text, sizeof(text), "transport mapped lacks %s", names[i]);
        ck_refused(&ops, text);
    }
}
END_TEST

START_TEST(transport_check__bit_missing__is_named)
{
    struct ch_transport_ops ops = ch_transport_mapped;

    ops.caps = CH_CAP_MAP | CH_CAP_PUT;
    ck_refused(&ops, "transport mapped has amo");
    ops.caps = CH_CAP_MAP | CH_CAP_AMO;
    ck_refused(&ops, "transport mapped has put");
    ops.caps = CH_CAP_PUT | CH_CAP_AMO;
    ck_refused(&ops, "transport mapped has map");
}
END_TEST

START_TEST(transport_check__no_name_open_or_close__is_refused)
{
    struct ch_transport_ops ops = ch_transport_mapped;

    ops.name = NULL;
    ck_refused(&ops, "without a name");
    ops = ch_transport_mapped, ops.open = NULL;
    ck_refused(&ops, "lacks its name, open or close");
    ops = ch_transport_mapped, ops.close = NULL;
    ck_refused(&ops, "lacks its name, open or close");
}
END_TEST

/* A quiet of the program must not wait for algorithms, nor they for a program's context. */
START_TEST(net_count__any_context__is_not_that_of_algorithms)
{
    enum { COUNTS = 16 };

    for (uint32_t ctx = CH_CTX_PROGRAM; ctx < 100; ctx++) {
        ck_assert_uint_ge(ch_net_count_of(ctx, COUNTS), CH_CTX_PROGRAM);
        ck_assert_uint_lt(ch_net_count_of(ctx, COUNTS), COUNTS);
    }
    ck_assert_uint_eq(ch_net_count_of(CH_CTX_DEFAULT, COUNTS), CH_CTX_DEFAULT);
    ck_assert_uint_eq(ch_net_count_of(CH_CTX_ALGORITHMS, COUNTS), CH_CTX_ALGORITHMS);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("transport_check");
    TCase *const tcase = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, net_count__any_context__is_not_that_of_algorithms);
    tcase_add_test(tcase, transport_check__mapped__is_whole);
    tcase_add_test(tcase, transport_check__entry_missing__is_named);
    tcase_add_test(tcase, transport_check__bit_missing__is_named);
    tcase_add_test(tcase, transport_check__no_name_open_or_close__is_refused);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
