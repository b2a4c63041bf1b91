/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of CUDA C++ register themselves, and are given the state of the PE: by chorus_init,
 * when they are loaded later, and where CUDA refused at first. What files do is done by fakes,
 * over a CUDA that is a fake.
 */
#include "chorus/chorusx.h"
#include "cuda_fake.h"
#include "team/device.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the kernels of the two files have, and how often they got it. */
static struct ch_device_state kept[2];
static int n_stores[2], n_refusals; /* the next stores that CUDA refuses */

static const char *store(int file, const void *state)
{
    if (n_refusals != 0) {
        n_refusals--;
        return "no such symbol";
    }
    n_stores[file]++;
    memset(&kept[file], 0, sizeof(kept[file]));
    if (state != NULL) memcpy(&kept[file], state, sizeof(kept[file]));
    return NULL;
}

static const char *store_first(const void *state)
{
    return store(0, state);
}

static const char *store_second(const void *state)
{
    return store(1, state);
}

static struct chorusx_module files[2] = {
    {.file = "first.cu",
     .bytes = sizeof(struct ch_device_state),
     .store = store_first,
     .version = CHORUSX_MODULE_VERSION},
    {.file = "second.cu",
     .bytes = sizeof(struct ch_device_state),
     .store = store_second,
     .version = CHORUSX_MODULE_VERSION},
};

/* The file has the state that there is, or none. */
static void expect_state(int file, bool is_given)
{
    struct ch_device_state state;

    if (is_given)
        ck_assert_int_eq(chorusx_device_state(&state, sizeof(state)), CHORUS_OK);
    else
        memset(&state, 0, sizeof(state));
    ck_assert_mem_eq(&kept[file], &state, sizeof(state));
}

static void setup(void)
{
    cuda_fake_reset();
    (void)setenv("CHORUS_HEAP", "cuda", 1);
    (void)setenv("CHORUS_SYNC_MAX", "64M", 1);
    (void)setenv("CHORUS_CTAS", "2", 1);
}

static void unregister_all(void)
{
    chorusx_module_unregister(&files[0]);
    chorusx_module_unregister(&files[1]);
}

START_TEST(files__between_init_and_finalize__have_the_state)
{
    chorusx_module_register(&files[0]);
    ck_assert_int_eq(n_stores[0], 0);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(chorus_init(), CHORUS_OK);
        expect_state(0, true);
        ck_assert_int_eq(n_stores[0], 1 + 2 * round);
        chorus_finalize();
        expect_state(0, false);
        ck_assert_int_eq(n_stores[0], 2 + 2 * round);
    }
    unregister_all();
}
END_TEST

START_TEST(file__loaded_after_init__has_the_state)
{
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    chorusx_module_register(&files[1]);
    expect_state(1, true);
    chorusx_module_unregister(&files[1]); /* it is closed */
    n_stores[1] = 0;
    chorus_finalize();
    ck_assert_int_eq(n_stores[1], 0);
}
END_TEST

START_TEST(file__refused_by_cuda__is_tried_again)
{
    chorusx_module_register(&files[0]);
    chorusx_module_register(&files[1]);
    n_refusals = 1; /* of the latest */
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    expect_state(0, true);
    ck_assert_int_eq(n_stores[1], 0);
    chorus_free(chorus_malloc(8));
    expect_state(1, true);
    ck_assert_int_eq(n_stores[0], 1); /* not again */
    chorus_finalize();
    expect_state(1, false);
    unregister_all();
}
END_TEST

/* One line in the log, once the file is loaded. */
START_TEST(file__that_cuda_refuses__is_named_once)
{
    char said[4096] = "";
    FILE *log = tmpfile();
    const char *line;

    ck_assert_ptr_nonnull(log);
    ck_assert_int_ge(dup2(fileno(log), STDERR_FILENO), 0);
    chorusx_module_register(&files[0]);
    n_refusals = 3;
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    chorus_free(chorus_malloc(8));
    chorus_finalize();
    unregister_all();
    rewind(log);
    ck_assert_uint_gt(fread(said, 1, sizeof(said) - 1, log), 0);
    line = strstr(said, "kernels of first.cu cannot make calls, as CUDA refuses the copy of "
                        "their state (no such symbol); is the file compiled for this GPU");
    ck_assert_msg(line != NULL, "%s", said);
    ck_assert_msg(strstr(line + 20, "first.cu") == NULL, "%s", said);
    (void)fclose(log);
}
END_TEST

START_TEST(file__of_another_version__is_named)
{
    struct chorusx_module other = files[0];

    other.bytes -= 8;
    other.file = "other.cu";
    chorusx_module_register(&other);
    ck_assert_int_eq(chorus_init(), CHORUS_ERR_ARG);
    ck_assert_ptr_nonnull(strstr(chorusx_last_error(), "other.cu was compiled with"));
    chorusx_module_unregister(&other);
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    chorusx_module_register(&other);
    ck_assert_ptr_nonnull(strstr(chorusx_last_error(), "other.cu was compiled with"));
    chorus_free(chorus_malloc(8));
    ck_assert_int_eq(n_stores[0], 0);
    chorusx_module_unregister(&other);
    chorus_finalize();
    other = files[0];
    other.version += 1; /* of as many bytes */
    chorusx_module_register(&other);
    ck_assert_int_eq(chorus_init(), CHORUS_ERR_ARG);
    ck_assert_ptr_nonnull(strstr(chorusx_last_error(), "of another version (0.2 with "));
    chorusx_module_unregister(&other);
}
END_TEST

START_TEST(files__with_the_heap_on_the_host__are_left_alone)
{
    (void)setenv("CHORUS_HEAP", "host", 1);
    chorusx_module_register(&files[0]);
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    chorus_free(chorus_malloc(8));
    chorus_finalize();
    ck_assert_int_eq(n_stores[0], 0);
    unregister_all();
}
END_TEST

/* The memory of a module that the program has loaded. */
START_TEST(module__given_and_taken__has_the_state_and_none)
{
    static const struct ch_device_state none = CH_NO_STATE;
    struct ch_device_state state, there = none;

    ck_assert_int_eq(chorusx_module_give(&there, sizeof(there)), CHORUS_ERR_STATE);
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    ck_assert_int_eq(chorusx_device_state(&state, sizeof(state)), CHORUS_OK);
    ck_assert_int_eq(chorusx_module_give(&there, sizeof(there)), CHORUS_OK);
    ck_assert_mem_eq(&there, &state, sizeof(there));
    ck_assert_int_eq(chorusx_module_take(&there, sizeof(there) - 8), CHORUS_ERR_ARG);
    ck_assert_ptr_nonnull(
        strstr(chorusx_last_error(), "was compiled with a chorus_device.cuh"));
    ck_assert_mem_eq(&there, &state, sizeof(there));
    ck_assert_int_eq(chorusx_module_take(&there, sizeof(there)), CHORUS_OK);
    ck_assert_mem_eq(&there, &none, sizeof(there));
    chorus_finalize();
}
END_TEST

START_TEST(module__with_the_heap_on_the_host__is_refused)
{
    struct ch_device_state there;

    (void)setenv("CHORUS_HEAP", "host", 1);
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    ck_assert_int_eq(chorusx_module_give(&there, sizeof(there)), CHORUS_ERR_UNSUPPORTED);
    chorus_finalize();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_modules");
    TCase *tcase = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, files__between_init_and_finalize__have_the_state);
    tcase_add_test(tcase, file__loaded_after_init__has_the_state);
    tcase_add_test(tcase, file__refused_by_cuda__is_tried_again);
    tcase_add_test(tcase, file__that_cuda_refuses__is_named_once);
    tcase_add_test(tcase, file__of_another_version__is_named);
    tcase_add_test(tcase, files__with_the_heap_on_the_host__are_left_alone);
    tcase_add_test(tcase, module__given_and_taken__has_the_state_and_none);
    tcase_add_test(tcase, module__with_the_heap_on_the_host__is_refused);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
