/* SPDX-License-Identifier: Apache-2.0 */
/* select_fixture.h: tables in a folder of the test's own, and a request to vary. */
#ifndef SELECT_FIXTURE_H
#define SELECT_FIXTURE_H

#include "select/select.h"
#include "select_names.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD "version: 1\nmachine: m\nmeasured: never\nrules:\n"

/* Two rules with filters, on lines 5 and 6, and one for all on line 7. */
/* clang-format off */
#define THREE_RULES \
    "  - {coll: reduce, bytes: 64..1K, pes: 2..8, algo: one_shot, proto: ll, from: fallback}\n" \
    "  - {coll: reduce, bytes: 4K..inf, dtype: [f64, f32], op: sum, algo: two_shot, from: fallback}\n" \
    "  - {coll: reduce, algo: one_shot, proto: simple, from: fallback}\n"
/* clang-format on */

/* $XDG_CONFIG_HOME, so that nobody's own table takes part; a table; the user's table. */
static char config[32], table_path[64], user_folder[64], user_path[80];

static inline void make_config(void)
{
    (void)snprintf(config, sizeof(config), "/tmp/chorus-config-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(config));
    ck_assert_int_eq(setenv("XDG_CONFIG_HOME", config, 1), 0);
    (void)snprintf(table_path, sizeof(table_path), "%s/t.yaml", config);
    (void)snprintf(user_folder, sizeof(user_folder), "%s/chorus", config);
    (void)snprintf(user_path, sizeof(user_path), "%s/tuning.yaml", user_folder);
}

static inline void drop_config(void)
{
    (void)unlink(table_path);
    (void)unlink(user_path);
    (void)rmdir(user_folder);
    (void)rmdir(config);
}

static inline void write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");

    ck_assert_ptr_nonnull(out);
    ck_assert_int_ge(fputs(text, out), 0);
    ck_assert_int_eq(fclose(out), 0);
}

static inline struct ch_select *open_with(const char *algo, const char *rules)
{
    struct ch_select *select;
    char text[2048];

    if (rules != NULL) {
        (void)snprintf(text, sizeof(text), HEAD "%s", rules);
        write_file(table_path, text);
    }
    ck_assert_msg(ch_select_open(algo, rules == NULL ? "" : table_path, &select) == CHORUS_OK,
                  "%s", ch_error_message());
    return select;
}

static inline struct ch_request reduce_of(uint64_t bytes, uint32_t pes)
{
    return (struct ch_request){
        .coll = CHORUS_COLL_reduce,
        .bytes = bytes,
        .pes = pes,
        .nodes = 1,
        .reach = CH_REACH_mapped,
        .cores = CH_CORES_shared,
        .type = CHORUS_TYPE_f32,
        .op = CHORUS_OP_sum,
        .offers =
            ch_offers(CHORUS_TYPE_f32, CH_REACH_mapped, CH_NEED_apart | CH_NEED_SYMMETRIC),
        .ctas_max = 4,
        .machine = "host",
        .gpu = "",
    };
}

/* Run the tests that `add` adds, and say how main ends. */
static inline int run_tests(const char *name, void (*add)(TCase *tests))
{
    Suite *suite = suite_create(name);
    TCase *tests = tcase_create(name);
    SRunner *runner = srunner_create(suite);
    int failed;

    if (access("/etc/chorus/tuning.yaml", F_OK) == 0) {
        (void)fprintf(stderr, "this machine has a rule table of its own in /etc/chorus\n");
        return 77;
    }
    tcase_add_checked_fixture(tests, make_config, drop_config);
    add(tests);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

#endif /* SELECT_FIXTURE_H */
