/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that users write, and the settings that consist of them. */
#include "base/option.h"
#include "base/text.h"
#include "boot/boot.h"
#include "select/select.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In place of the C library's: as in a program with the rights of another user, if so said. */
static bool is_secure;

char *secure_getenv(const char *name);
char *secure_getenv(const char *name)
{
    return is_secure ? NULL : getenv(name);
}

enum { OTHER = 12345 }; /* what *out holds before */

static const char *const no_numbers[] = {"",
                                         " 1",
                                         "1 ",
                                         "+1",
                                         "-1",
                                         "-0",
                                         "0x10",
                                         "1e3",
                                         "1.0",
                                         "1_0",
                                         "2x",
                                         "inf",
                                         "\t1",
                                         "1\n",
                                         "K",
                                         "64k",
                                         "64KiB",
                                         "1KK",
                                         "1 K",
                                         ".",
                                         "nan",
                                         "18446744073709551616",
                                         "18446744073709551615K"};

START_TEST(whole__not_digits_alone__refused)
{
    uint64_t value = OTHER;

    ck_assert(!ch_number_whole(no_numbers[_i], 0, UINT64_MAX, &value));
    ck_assert(!ch_number_bytes(no_numbers[_i], 0, UINT64_MAX, &value));
    ck_assert_uint_eq(value, OTHER);
}
END_TEST

START_TEST(whole__bounds__included)
{
    uint64_t value = OTHER;

    ck_assert(!ch_number_whole("2", 3, 5, &value) && !ch_number_whole("6", 3, 5, &value));
    ck_assert(ch_number_whole("3", 3, 5, &value) && value == 3);
    ck_assert(ch_number_whole("5", 3, 5, &value) && value == 5);
    ck_assert(ch_number_whole("18446744073709551615", 0, UINT64_MAX, &value));
    ck_assert_uint_eq(value, UINT64_MAX);
    ck_assert(!ch_number_whole("1K", 0, UINT64_MAX, &value));
}
END_TEST

START_TEST(bytes__suffixes__are_powers_of_1024)
{
    uint64_t value = OTHER;

    ck_assert(ch_number_bytes("7", 0, UINT64_MAX, &value) && value == 7);
    ck_assert(ch_number_bytes("64K", 0, UINT64_MAX, &value) && value == 64 << 10);
    ck_assert(ch_number_bytes("3M", 0, UINT64_MAX, &value) && value == 3 << 20);
    ck_assert(ch_number_bytes("17179869183G", 0, UINT64_MAX, &value));
    ck_assert_uint_eq(value, UINT64_MAX >> 30 << 30);
    value = OTHER;
    ck_assert(!ch_number_bytes("17179869184G", 0, UINT64_MAX, &value));
    ck_assert(!ch_number_bytes("2K", 0, 2047, &value));
    ck_assert_uint_eq(value, OTHER);
}
END_TEST

static const struct {
    const char *text;
    uint64_t ns;
} times[] = {
    {"0", 0},
    {"0.0", 0},
    {"30", 30000000000u},
    {"0.5", 500000000},
    {"007.25", 7250000000u},
    {"0.000000001", 1},
    {"0.0000000001", 1}, /* not 0, which is for ever */
    {"0.000000000000000000000000000000000001", 1},
    {"0.00000000000000000000000000000000000", 0},
    {"1.0000000009", 1000000000},
    {"999999999.999999999", 999999999999999999u},
};

START_TEST(seconds__exact_in_ns__and_positive_stays_so)
{
    uint64_t ns = OTHER;

    ck_assert(ch_number_seconds(times[_i].text, &ns));
    ck_assert_uint_eq(ns, times[_i].ns);
}
END_TEST

static const char *const no_times[] = {"",
                                       "1e-12",
                                       "1e3",
                                       "0x1p4",
                                       " 1",
                                       "1 ",
                                       "-0",
                                       "-1",
                                       "+1",
                                       ".5",
                                       "1.",
                                       "1,5",
                                       "inf",
                                       "nan",
                                       "1s",
                                       "1000000000",
                                       "1.5.5",
                                       "1_0",
                                       "18446744073709551616"};

START_TEST(seconds__other_form__refused)
{
    uint64_t ns = OTHER;

    ck_assert(!ch_number_seconds(no_times[_i], &ns));
    ck_assert_uint_eq(ns, OTHER);
}
END_TEST

START_TEST(hint__suffixes_of_others__get_ours)
{
    static const char *const hints[][2] = {
        {"64k", "; did you mean \"64K\"?"},
        {"64KiB", "; did you mean \"64K\"?"},
        {"64KB", "; did you mean \"64K\"?"},
        {"2mb", "; did you mean \"2M\"?"},
        {"1GiB", "; did you mean \"1G\"?"},
        {"512B", "; did you mean \"512\"?"},
        {"64x", ""},
        {"k", ""},
        {"99999999999999999999k", ""},
        {"64K", ""},
    };
    struct ch_number_hint hint;

    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        ck_assert_str_eq(ch_number_hint(hints[i][0], &hint), hints[i][1]);
}
END_TEST

/* --- settings ----------------------------------------------------------------------------- */

static const char *const bad_settings[][3] = {
    {"CHORUS_TIMEOUT", "1e-12",
     "CHORUS_TIMEOUT is \"1e-12\"; expected seconds such as 30 or 0.5"},
    {"CHORUS_TIMEOUT", "0x10",
     "CHORUS_TIMEOUT is \"0x10\"; expected seconds such as 30 or 0.5"},
    {"CHORUS_TIMEOUT", " 3", "CHORUS_TIMEOUT is \" 3\"; expected seconds such as 30 or 0.5"},
    {"CHORUS_TIMEOUT", "-0", "CHORUS_TIMEOUT is \"-0\"; expected seconds such as 30 or 0.5"},
    {"CHORUS_CTAS", "+2", "CHORUS_CTAS is \"+2\"; expected a whole number, 0 to 1024"},
    {"CHORUS_CTAS", "1025", "CHORUS_CTAS is \"1025\"; expected a whole number, 0 to 1024"},
    {"CHORUS_CHECK", "",
     "CHORUS_CHECK is \"\"; expected 0 (no checks), 1 (compare calls) or 2 (also check memory "
     "and threads)"},
    {"CHORUS_CHUNK", "64k",
     "CHORUS_CHUNK is \"64k\"; expected bytes such as 4096, 64K, 16M or 2G; did you mean "
     "\"64K\"?"},
    {"CHORUS_HEAP_MAX", "0x1000",
     "CHORUS_HEAP_MAX is \"0x1000\"; expected bytes such as 4096, 64K, 16M or 2G"},
};

START_TEST(setting__not_strict__refused_by_name_and_value)
{
    struct ch_options options;

    ck_assert_int_eq(setenv(bad_settings[_i][0], bad_settings[_i][1], 1), 0);
    ck_assert_int_eq(ch_options_read(&options), CHORUS_ERR_ARG);
    ck_assert_str_eq(ch_error_message(), bad_settings[_i][2]);
}
END_TEST

START_TEST(setting__tiny_timeout__is_not_for_ever)
{
    struct ch_options options;

    ck_assert_int_eq(setenv("CHORUS_TIMEOUT", "0.0000000000001", 1), 0);
    ck_assert_int_eq(ch_options_read(&options), CHORUS_OK);
    ck_assert_uint_eq(options.timeout_ns, 1);
}
END_TEST

/* Settings, the user's table and the launcher's socket all come from the environment. */
START_TEST(setting__rights_of_another_user__not_read)
{
    char folder[] = "/tmp/chorus-config-XXXXXX", path[64];
    struct ch_options options;
    struct ch_select *select;
    struct ch_boot *boot;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/chorus", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/chorus/tuning.yaml", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0); /* no table: refused when read */
    ck_assert_int_eq(setenv("XDG_CONFIG_HOME", folder, 1), 0);
    ck_assert_int_eq(setenv("CHORUS_TIMEOUT", "soon", 1), 0);
    ck_assert_int_eq(setenv("CHORUS_BOOT_FD", "x", 1), 0);
    for (int i = 0; i < 2; i++) {
        const chorus_status expected = i == 0 ? CHORUS_ERR_ARG : CHORUS_OK;

        is_secure = i == 1;
        ck_assert_int_eq(ch_options_read(&options), expected);
        ck_assert_int_eq(ch_boot_open(0, false, &boot), expected);
        ck_assert_int_eq(ch_select_open("", "", &select),
                         i == 0 ? CHORUS_ERR_TABLE : CHORUS_OK);
    }
    ch_select_close(select);
    boot->ops->close(boot);
    (void)rmdir(path);
    *strrchr(path, '/') = '\0';
    (void)rmdir(path);
    (void)rmdir(folder);
}
END_TEST

#define LOOP(tests, function, array) \
    tcase_add_loop_test(tests, function, 0, (int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("base number");
    TCase *tests = tcase_create("number");
    SRunner *runner = srunner_create(suite);
    int failed;

    LOOP(tests, whole__not_digits_alone__refused, no_numbers);
    tcase_add_test(tests, whole__bounds__included);
    tcase_add_test(tests, bytes__suffixes__are_powers_of_1024);
    LOOP(tests, seconds__exact_in_ns__and_positive_stays_so, times);
    LOOP(tests, seconds__other_form__refused, no_times);
    tcase_add_test(tests, hint__suffixes_of_others__get_ours);
    LOOP(tests, setting__not_strict__refused_by_name_and_value, bad_settings);
    tcase_add_test(tests, setting__tiny_timeout__is_not_for_ever);
    tcase_add_test(tests, setting__rights_of_another_user__not_read);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
