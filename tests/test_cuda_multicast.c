/* SPDX-License-Identifier: Apache-2.0 */
/* Multicast in hardware over a CUDA that is a fake: what is made of it and given back, which
 * calls take its kernels, and what a device that does not join ends in. */
#include "chorus/chorusx.h"
#include "coll/cuda/kernels.h"
#include "cuda_fake.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void ask(const char *name, const char *value)
{
    ck_assert_int_eq(setenv(name, value, 1), 0);
}

static void setup(void)
{
    cuda_fake_reset();
    ask("CHORUS_HEAP", "cuda");
    ask("CHORUS_NVLS", "1");
    ask("CHORUS_SYNC_MAX", "16M");
    ask("CHORUS_CTAS", "2");
    ask("CHORUS_LOG", "none");
    ask("CHORUS_TIMEOUT", "0"); /* for ever */
}

static void expect_nothing_left(void)
{
    ck_assert_int_eq(cuda_fake.bound, 0);
    ck_assert_int_eq(cuda_fake.handles, 0);
    ck_assert_int_eq(cuda_fake.mappings, 0);
    ck_assert_int_eq(cuda_fake.ranges, 0);
}

/* A minimum of floats, which no switch combines as promised, and a sum, which it does where
 * there is one. */
static void reduce_both(void *status_of_the_sum)
{
    float *object = chorus_calloc(64, sizeof(float));
    chorusx_call call = {.coll = CHORUS_COLL_reduce,
                         .team = CHORUS_TEAM_WORLD,
                         .dest = object,
                         .source = object,
                         .count = 64,
                         .type = CHORUS_TYPE_f32,
                         .op = CHORUS_OP_min,
                         .algo = "multicast_two_shot"};
    const int *due = status_of_the_sum;
    chorus_stream_t stream;

    ck_assert_int_eq(chorusx_stream_create(&stream), CHORUS_OK);
    ck_assert_int_eq(chorusx_collective(&call, stream), CHORUS_ERR_UNSUPPORTED);
    call.op = CHORUS_OP_sum;
    if (chorus_my_pe() == 0)
        ck_assert_msg(chorusx_collective(&call, stream) == *due, "%s", chorusx_last_error());
    ck_assert_int_eq(chorusx_stream_destroy(stream), CHORUS_OK);
}

static int launches_of_the_switch(int due)
{
    int launches = 0;

    ck_assert_msg(chorusx_run_threads(2, reduce_both, &due) == CHORUS_OK, "%s",
                  chorusx_last_error());
    for (int i = 0; i < cuda_fake.n_notes; i++)
        launches +=
            cuda_fake.notes[i].kind == FAKE_LAUNCH &&
            cuda_fake.notes[i].subject == ch_nvls_kernel(CH_KERNEL_ID_ch_reduce_multicast_two,
                                                         CHORUS_TYPE_f32, CHORUS_OP_sum);
    expect_nothing_left();
    return launches;
}

START_TEST(multicast__asked_for__sums_take_its_kernels)
{
    ck_assert_int_eq(launches_of_the_switch(CHORUS_OK), 1);
    ck_assert_int_gt(cuda_fake.multicasts, 0);
    ck_assert_int_eq(cuda_fake.joined, 2 * cuda_fake.multicasts);
    ck_assert_int_eq(cuda_fake.not_loaded, 0);
}
END_TEST

/* Neither objects nor kernels, as older GPUs have no image of these. */
START_TEST(multicast__no_gpu_has_it__is_not_used)
{
    const int loaded_with = (launches_of_the_switch(CHORUS_OK), cuda_fake.loaded);

    cuda_fake_reset();
    cuda_fake.lacks = CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED;
    ck_assert_int_eq(launches_of_the_switch(CHORUS_ERR_UNSUPPORTED), 0);
    ck_assert_int_eq(cuda_fake.multicasts, 0);
    ck_assert_int_lt(cuda_fake.loaded, loaded_with);
}
END_TEST

START_TEST(multicast__a_gpu_does_not_join__is_told_on_all)
{
    cuda_fake.bad_multicast = 1;
    ck_assert_int_eq(chorusx_run_threads(2, reduce_both, NULL), CHORUS_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(chorusx_last_error(), "joining a multicast object"));
    ck_assert_ptr_nonnull(strstr(chorusx_last_error(), "CHORUS_NVLS=0 disables multicast"));
    expect_nothing_left();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_multicast");
    TCase *tcase = tcase_create("all");
    SRunner *runner;
    int n_failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, multicast__asked_for__sums_take_its_kernels);
    tcase_add_test(tcase, multicast__no_gpu_has_it__is_not_used);
    tcase_add_test(tcase, multicast__a_gpu_does_not_join__is_told_on_all);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
