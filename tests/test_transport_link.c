/* SPDX-License-Identifier: Apache-2.0 */
/* What all kinds of links share. */
#include "transport/link.h"
#include "transport/network.h"

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

/* Frames of peers access attached host memory alone, also where a part on a GPU is adjacent. */
START_TEST(frames__about_memory_of_a_gpu__change_nothing)
{
    static uint64_t words[2];
    const uintptr_t at = (uintptr_t)words;
    const struct ch_frame_operands operands = {1, 0};
    struct ch_frame frame = {.kind = CH_FRAME_WORD, .op = CH_AMO_ADD, .width = 8, .value = 5};
    struct ch_parts parts = {0};
    uint64_t before;

    ck_assert_int_eq(ch_parts_add(&parts, (struct ch_part){.base = at, .bytes = 8}), CHORUS_OK);
    ck_assert_int_eq(
        ch_parts_add(&parts,
                     (struct ch_part){.base = at + 8, .bytes = 8, .kind = CH_MEMORY_GPU}),
        CHORUS_OK);
    ck_assert(ch_parts_hold(&parts, at, 8) && !ch_parts_hold(&parts, at, 9));
    frame.there = at + 8;
    ck_assert(!ch_frame_execute_word(&parts, &frame));
    ck_assert(!ch_frame_execute_amo(&parts, &frame, &operands, &before));
    frame.there = at;
    ck_assert(ch_frame_execute_word(&parts, &frame));
    ck_assert(ch_frame_execute_amo(&parts, &frame, &operands, &before));
    ck_assert_uint_eq(before, 5);
    ck_assert_uint_eq(words[0], 6);
    ck_assert_uint_eq(words[1], 0);
    ch_parts_free(&parts);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("transport_link");
    TCase *const tcase = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, net_count__any_context__is_not_that_of_algorithms);
    tcase_add_test(tcase, frames__about_memory_of_a_gpu__change_nothing);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
