/* SPDX-License-Identifier: Apache-2.0 */
/* The cores near a device, on a machine of two packages with two cores and two GPUs each. */
#include "boot/place.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE ""

static const struct {
    const char *bus, *among;
    uint32_t least;
    const char *near; /* "": the function returns false */
} cases[] = {
    {"0000:c1:00.0", "0-3", 1, "0-1"},
    {"0000:10:00.0", "0-3", 2, "2-3"},
    {"0000:10:00.0", "0-3", 3, NOWHERE}, /* too few for so many PEs */
    {"0000:10:00.0", "1-2", 1, "2"},
    {"0000:10:00.0", "1-2", 2, NOWHERE},
    {"0000:10:00.0", "3", 8, "3"},       /* all that there are */
    {"0000:10:00.0", "0-1", 1, NOWHERE}, /* none is near */
    {"0000:aa:00.0", "0-3", 1, NOWHERE}, /* no such device */
    {"0000:10:00.0", NULL, 2, "2-3"},
    {"0000:10:00.0", NULL, 3, NOWHERE},
    {"0000:10:00.0", "nonsense", 1, NOWHERE},
    {"", "0-3", 1, NOWHERE},
};

START_TEST(near__device_of_a_package__is_what_may_be_used_there)
{
    const bool is_there = cases[_i].near[0] != '\0';
    char text[CH_PLACE_LIST_BYTES] = "before";

    ck_assert_int_eq(
        ch_place_near_text(cases[_i].bus, cases[_i].among, cases[_i].least, text, sizeof(text)),
        is_there);
    ck_assert_str_eq(text, cases[_i].near);
}
END_TEST

START_TEST(near__text_is_too_small__is_left_out)
{
    char text[3] = "xx";

    ck_assert(!ch_place_near_text("0000:10:00.0", "0-3", 1, text, sizeof(text)));
    ck_assert_str_eq(text, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("boot_near");
    TCase *tcase = tcase_create("near");
    SRunner *runner;
    int failed;

    (void)setenv("HWLOC_LIBXML", "0", 1); /* which leaks */
    (void)setenv("HWLOC_XMLFILE", TWO_PACKAGES, 1);
    tcase_add_loop_test(tcase, near__device_of_a_package__is_what_may_be_used_there, 0,
                        sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tcase, near__text_is_too_small__is_left_out);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
