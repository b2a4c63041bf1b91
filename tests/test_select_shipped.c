/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that are compiled in are those of the files, and a start reads no YAML for them.
 */
#include "chorus/chorusx.h"
#include "select/table.h"

#include <check.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* --- the same as the files ---------------------------------------------------------------- */

static void expect_text(const char *got, const char *want)
{
    ck_assert_int_eq(got == NULL, want == NULL);
    if (want != NULL) ck_assert_str_eq(got, want);
}

static void expect_range(struct ch_range got, struct ch_range want)
{
    ck_assert_uint_eq(got.lo, want.lo);
    ck_assert_uint_eq(got.hi, want.hi);
}

static void expect_rule(const struct ch_rule *got, const struct ch_rule *want)
{
    ck_assert_int_eq((int)got->coll, (int)want->coll);
    expect_range(got->bytes, want->bytes);
    expect_range(got->pes, want->pes);
    expect_range(got->nodes, want->nodes);
    ck_assert_uint_eq(got->reach, want->reach);
    ck_assert_uint_eq(got->cores, want->cores);
    ck_assert_uint_eq(got->types, want->types);
    ck_assert_uint_eq(got->ops, want->ops);
    expect_text(got->machine, want->machine);
    expect_text(got->gpu, want->gpu);
    ck_assert_ptr_eq(got->algo, want->algo);
    ck_assert_uint_eq(got->ctas, want->ctas);
    ck_assert_uint_eq(got->radix, want->radix);
    expect_text(got->from, want->from);
    ck_assert_uint_eq(got->line, want->line);
    ck_assert_uint_eq(got->column, want->column);
}

START_TEST(shipped__each_table__is_what_its_file_says)
{
    ck_assert_uint_gt(ch_n_shipped, 0);
    for (size_t t = 0; t < ch_n_shipped; t++) {
        const struct ch_table *got = &ch_shipped[t];
        struct ch_table *want;
        char path[512];

        ck_assert_int_eq(strncmp(got->path, "tuning/", 7), 0);
        (void)snprintf(path, sizeof(path), "%s/%s", CHORUS_TUNING_FOLDER, got->path + 7);
        ck_assert_msg(ch_table_read(path, &want) == CHORUS_OK, "%s", ch_error_message());
        expect_text(got->machine, want->machine);
        expect_text(got->measured, want->measured);
        expect_text(got->gpu, want->gpu);
        expect_rule(&got->serves, &want->serves);
        ck_assert_uint_eq(got->n_rules, want->n_rules);
        for (size_t i = 0; i < want->n_rules; i++)
            expect_rule(&got->rules[i], &want->rules[i]);
        ck_assert_uint_eq(got->bytes, want->bytes);
        ck_assert_mem_eq(got->text, want->text, want->bytes);
        ck_assert_uint_eq(got->digest, want->digest);
        ch_table_free(want);
    }
}
END_TEST

/* --- no YAML in a start ------------------------------------------------------------------- */

static int n_loads;
int __real_yaml_parser_load(yaml_parser_t *parser, yaml_document_t *document);
int __wrap_yaml_parser_load(yaml_parser_t *parser, yaml_document_t *document);

int __wrap_yaml_parser_load(yaml_parser_t *parser, yaml_document_t *document)
{
    n_loads++;
    return __real_yaml_parser_load(parser, document);
}

/* Without a file of this user, and with CHORUS_TUNING where `tuning` is not null. */
static int loads_of_a_start(const char *tuning)
{
    n_loads = 0;
    ck_assert_int_eq(setenv("XDG_CONFIG_HOME", "/nonexistent", 1), 0);
    if (tuning != NULL)
        ck_assert_int_eq(setenv("CHORUS_TUNING", tuning, 1), 0);
    else
        ck_assert_int_eq(unsetenv("CHORUS_TUNING"), 0);
    ck_assert_msg(chorus_init() == CHORUS_OK, "%s", chorusx_last_error());
    chorus_finalize();
    return n_loads;
}

START_TEST(start__without_a_table_of_the_users__reads_no_yaml)
{
    ck_assert_int_eq(loads_of_a_start(NULL), 0);
}
END_TEST

START_TEST(start__with_a_table_of_the_users__reads_it)
{
    ck_assert_int_gt(loads_of_a_start(CHORUS_TUNING_FOLDER "/host.yaml"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("select_shipped");
    TCase *tests = tcase_create("shipped");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_add_test(tests, shipped__each_table__is_what_its_file_says);
    tcase_add_test(tests, start__without_a_table_of_the_users__reads_no_yaml);
    tcase_add_test(tests, start__with_a_table_of_the_users__reads_it);
    suite_add_tcase(suite, tests);
    srunner_set_fork_status(runner, CK_FORK); /* a start each */
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
