/* SPDX-License-Identifier: Apache-2.0 */
/* What the host's half of chorus_device.cuh is told where kernels cannot make calls. */
#include "chorus/chorusx.h"
#include "team/device.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(device_state__bad_calls__say_why)
{
    struct ch_device_state state;

    ck_assert_int_eq(chorusx_device_state(&state, sizeof(state)), CHORUS_ERR_STATE);
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    ck_assert_int_eq(chorusx_device_state(&state, sizeof(state) - 1), CHORUS_ERR_ARG);
    ck_assert_ptr_nonnull(strstr(chorusx_last_error(), "compile it again"));
    ck_assert_int_eq(chorusx_device_state(&state, sizeof(state)), CHORUS_ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(chorusx_last_error(), "heap is in host memory"));
    ck_assert_int_eq(chorusx_device_failed("trying", "no luck"), CHORUS_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(chorusx_last_error(), "trying failed: no luck"));
    chorus_finalize();
}
END_TEST

static int codes[2], says_why[2]; /* of each PE */

static void ask_on_thread(void *arg)
{
    struct ch_device_state state;

    (void)arg;
    codes[chorus_my_pe()] = chorusx_device_state(&state, sizeof(state));
    says_why[chorus_my_pe()] =
        strstr(chorusx_last_error(), "start the PEs with chorusrun") != NULL;
}

START_TEST(device_state__pes_are_threads__refused)
{
    ck_assert_int_eq(chorusx_run_threads(2, ask_on_thread, NULL), CHORUS_OK);
    for (int pe = 0; pe < 2; pe++) {
        ck_assert_int_eq(codes[pe], CHORUS_ERR_UNSUPPORTED);
        ck_assert_int_eq(says_why[pe], 1);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("api_device");
    TCase *tcase = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, device_state__bad_calls__say_why);
    tcase_add_test(tcase, device_state__pes_are_threads__refused);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
