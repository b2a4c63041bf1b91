/* SPDX-License-Identifier: Apache-2.0 */
/* What a tracer hears of collective calls; and CHORUS_NVTX, by tests/nvtx_tool.c. */
#include "chorus/chorusx.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 16, COUNT = 24 };

static struct heard {
    chorusx_trace_event event;
    chorusx_plan plan;
} heard[EVENTS_MAX];
static int n_heard;

static void hear(const chorusx_trace_event *event, void *arg)
{
    ck_assert_ptr_eq(arg, heard);
    ck_assert_int_lt(n_heard, EVENTS_MAX);
    heard[n_heard].event = *event;
    if (event->plan != NULL) heard[n_heard].plan = *event->plan;
    n_heard++;
}

/* The next two events are a call's begin and end, which differ in nothing else. */
static const struct heard *next_call(const char *function, int status)
{
    static int at;
    const struct heard *const begin = &heard[at], *const end = &heard[at + 1];

    at += 2;
    ck_assert_int_ge(n_heard, at);
    ck_assert_str_eq(begin->event.function, function);
    ck_assert_int_eq(begin->event.is_end, 0);
    ck_assert_int_eq(end->event.is_end, 1);
    ck_assert_int_eq(end->event.status, status);
    ck_assert_int_eq(end->event.coll, begin->event.coll);
    ck_assert_ptr_eq(end->event.function, begin->event.function);
    return begin;
}

START_TEST(trace__calls__begin_and_end_with_plan_and_rule)
{
    float *const dest = chorus_malloc(COUNT * sizeof(*dest));
    float *const source = chorus_calloc(COUNT, sizeof(*source));
    const chorusx_call forced = {.coll = CHORUS_COLL_reduce,
                                 .dest = dest,
                                 .source = source,
                                 .count = COUNT,
                                 .type = CHORUS_TYPE_f32,
                                 .op = CHORUS_OP_max,
                                 .algo = "two_shot:simple"};
    chorus_stream_t stream;
    const struct heard *call;

    chorusx_set_tracer(hear, heard);
    ck_assert_int_eq(chorus_float_sum_reduce(CHORUS_TEAM_WORLD, dest, source, COUNT), 0);
    ck_assert_int_eq(chorusx_collective(&forced, NULL), 0);
    ck_assert_int_ne(chorus_float_sum_reduce(77, dest, source, COUNT), 0);
    ck_assert_int_eq(chorusx_stream_create(&stream), 0);
    ck_assert_int_eq(chorusx_barrier_on_stream(CHORUS_TEAM_WORLD, stream), 0);
    ck_assert_int_eq(chorusx_stream_destroy(stream), 0);
    chorusx_set_tracer(NULL, NULL);
    chorus_barrier_all();
    ck_assert_int_eq(n_heard, 8);

    call = next_call("chorus_float_sum_reduce", 0);
    ck_assert_int_eq(call->event.coll, CHORUS_COLL_reduce);
    ck_assert_int_eq(call->event.type, CHORUS_TYPE_f32);
    ck_assert_uint_eq(call->event.bytes, COUNT * sizeof(float));
    ck_assert_ptr_nonnull(strstr(call->plan.rule, ".yaml:"));
    call = next_call("chorusx_collective", 0);
    ck_assert_str_eq(call->plan.algo, "two_shot");
    ck_assert_str_eq(call->plan.rule, "forced");
    call = next_call("chorus_float_sum_reduce", CHORUS_ERR_ARG);
    ck_assert_ptr_null(call->event.plan);
    call = next_call("chorusx_barrier_on_stream", 0);
    ck_assert_int_eq(call->event.is_on_stream, 1);
    ck_assert_ptr_eq(call->event.stream, stream);
    chorus_free(source);
    chorus_free(dest);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("api trace");
    TCase *tests = tcase_create("trace");
    SRunner *runner;
    int failed;

    if (chorus_init() != CHORUS_OK) return 1;
    tcase_add_test(tests, trace__calls__begin_and_end_with_plan_and_rule);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK); /* a forked child is no PE */
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    chorus_finalize();
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
