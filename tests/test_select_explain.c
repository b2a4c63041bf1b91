/* SPDX-License-Identifier: Apache-2.0 */
/* What explain and the log say of a choice. */
#include "base/error.h"
#include "select_fixture.h"

/* What explain writes for a request, with the code it returns. */
static chorus_status explained(const struct ch_select *select, const struct ch_request *request,
                               char *text, size_t bytes)
{
    FILE *out = fmemopen(text, bytes, "w");
    chorus_status status;

    ck_assert_ptr_nonnull(out);
    status = ch_select_explain(select, request, out);
    ck_assert_int_eq(fclose(out), 0);
    return status;
}

START_TEST(explain__plan__with_its_rule_and_those_passed_over)
{
    struct ch_select *select = open_with(
        "", "  - {coll: reduce, bytes: 1M..inf, algo: one_shot, proto: ll, from: fallback}\n"
            "  - {coll: barrier, algo: dissemination, from: fallback}\n"
            "  - {coll: reduce, pes: 5..9, algo: one_shot, proto: ll, from: fallback}\n"
            "  - {coll: reduce, dtype: [i8, f64], algo: one_shot, proto: ll, from: fallback}\n"
            "  - {coll: reduce, op: max, algo: one_shot, proto: ll, from: fallback}\n"
            "  - {coll: reduce, algo: recursive_exchange, proto: ll, from: fallback}\n"
            "  - {coll: reduce, algo: one_shot, proto: ll, ctas: 2, from: \"a.csv:7\"}   \n");
    struct ch_request r = reduce_of(10000, 4);
    char text[2048], expected[2048];

    r.type = CHORUS_TYPE_f16;
    r.offers = ch_offers(r.type, r.reach, CH_NEED_apart | CH_NEED_SYMMETRIC);
    r.chunk_bytes = 16 << 10;
    ck_assert_int_eq(explained(select, &r, text, sizeof(text)), CHORUS_OK);
    (void)snprintf(
        expected, sizeof(expected),
        "reduce, 10000 bytes of f16, sum, 4 PEs on 1 node, reach mapped, cores shared, machine "
        "host\n"
        "plan   one_shot:ll, ctas 2\n"
        "rule   %s:11: {coll: reduce, algo: one_shot, proto: ll, ctas: 2, from: "
        "\"a.csv:7\"}\n"
        "steps  c = 3\n"
        "wire   (n - 1) * m = 30000 bytes\n"
        "passed %s:5: bytes 10000 is not in 1M..inf\n"
        "passed %s:7: pes 4 is not in 5..9\n"
        "passed %s:8: dtype f16 is not i8 or f64\n"
        "passed %s:9: op sum is not max\n"
        "passed %s:10: needs whole: partial results keep the type's precision: not half, "
        "bfloat16\n",
        table_path, table_path, table_path, table_path, table_path, table_path);
    ck_assert_str_eq(text, expected);
    ch_select_close(select);
}
END_TEST

START_TEST(explain__nothing_serves__says_why_each_does_not)
{
    struct ch_select *select =
        open_with("", "  - {coll: reduce, machine: far, algo: two_shot, from: fallback}\n"
                      "  - {coll: reduce, gpu: H200, algo: two_shot, from: fallback}\n"
                      "  - {coll: reduce, nodes: 2, algo: two_shot, from: fallback}\n"
                      "  - {coll: reduce, reach: self, algo: two_shot, from: fallback}\n"
                      "  - {coll: reduce, algo: two_shot, from: fallback}\n");
    struct ch_request r = reduce_of(8, 2);
    char text[2048], expected[2048];

    r.offers = CH_NEED_put | CH_NEED_SYMMETRIC;
    ck_assert_int_eq(explained(select, &r, text, sizeof(text)), CHORUS_ERR_UNSUPPORTED);
    (void)snprintf(expected, sizeof(expected),
                   "reduce, 8 bytes of f32, sum, 2 PEs on 1 node, reach mapped, cores shared, "
                   "machine host\n"
                   "passed %s:5: machine host is not far\n"
                   "passed %s:6: gpu \"\" is not H200\n"
                   "passed %s:7: nodes 1 is not in 2..3\n"
                   "passed %s:8: reach mapped is not self\n"
                   "passed %s:9: needs map: loads and stores reach every peer\n",
                   table_path, table_path, table_path, table_path, table_path);
    ck_assert_str_eq(text, expected);
    ch_select_close(select);
}
END_TEST

/* 16 PEs on 8 hosts: 7 blocks of 1 KiB to other hosts, and for each of 8 one is read on the
 * own. */
START_TEST(explain__reducescatter_between_hosts__counts_blocks)
{
    static const char *const algos[] = {"hierarchical", "rails"};

    for (size_t i = 0; i < sizeof(algos) / sizeof(algos[0]); i++) {
        struct ch_request r = reduce_of(16 << 10, 16);
        struct ch_select *select;
        char text[2048], forced[64];

        r.coll = CHORUS_COLL_reducescatter;
        r.nodes = 8;
        r.reach = CH_REACH_network;
        r.offers = ch_offers(r.type, r.reach, CH_NEED_apart | CH_NEED_SYMMETRIC);
        (void)snprintf(forced, sizeof(forced), "reducescatter:%s", algos[i]);
        ck_assert_int_eq(ch_select_open(forced, "", &select), CHORUS_OK);
        ck_assert_int_eq(explained(select, &r, text, sizeof(text)), CHORUS_OK);
        ck_assert_msg(strstr(text, " = 15360 bytes\n") != NULL, "%s", text);
        ch_select_close(select);
    }
}
END_TEST

/* A table serves GPUs that nobody has measured, and says so. */
START_TEST(explain__table_of_another_gpu__is_a_guess)
{
    static const struct {
        const char *gpu, *says;
    } cases[] = {
        {"H200", "\nsteps  2 = 2\n"},
        {"A100",
         "\ngpu    the table was measured on H200, not on A100: a guess\nsteps  2 = 2\n"},
        {"", "\ngpu    the table was measured on H200\nsteps  2 = 2\n"},
    };
    struct ch_request r = reduce_of(8, 2);
    struct ch_select *select;

    write_file(table_path, "version: 1\nmachine: m\nmeasured: n\ngpu: H200\nrules:\n"
                           "  - {coll: reduce, algo: two_shot, from: fallback}\n");
    ck_assert_int_eq(ch_select_open("", table_path, &select), CHORUS_OK);
    r.machine = "cuda";
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[2048], *after;

        r.gpu = cases[i].gpu;
        ck_assert_int_eq(explained(select, &r, text, sizeof(text)), CHORUS_OK);
        after = strchr(strstr(text, "\nrule   ") + 1, '\n');
        ck_assert_msg(strncmp(after, cases[i].says, strlen(cases[i].says)) == 0, "%s", text);
    }
    ch_select_close(select);
}
END_TEST

START_TEST(explain__table_without_the_collective__is_passed)
{
    struct ch_select *select =
        open_with("", "  - {coll: barrier, algo: dissemination, from: fallback}\n");
    struct ch_request r = reduce_of(8, 2);
    char text[4096], expected[128];

    ck_assert_int_eq(explained(select, &r, text, sizeof(text)), CHORUS_OK);
    (void)snprintf(expected, sizeof(expected), "\npassed %s: no rule for reduce\n", table_path);
    ck_assert_ptr_nonnull(strstr(text, expected));
    ck_assert_ptr_nonnull(strstr(text, "\nrule   tuning/host.yaml:"));
    ch_select_close(select);
}
END_TEST

START_TEST(explain__forced__says_so)
{
    struct ch_select *select = open_with("barrier:dissemination", NULL);
    struct ch_request r = reduce_of(0, 5);
    char text[512];

    r.coll = CHORUS_COLL_barrier;
    r.type = CHORUS_TYPE_u8;
    ck_assert_int_eq(explained(select, &r, text, sizeof(text)), CHORUS_OK);
    ck_assert_str_eq(text,
                     "barrier, 5 PEs on 1 node, reach mapped, cores shared, machine host\n"
                     "plan   dissemination:signal, ctas 1, radix 2\n"
                     "rule   forced by CHORUS_ALGO\n"
                     "steps  ch_rounds(n, k) = 3\n"
                     "wire   ch_fan(n, k) = 3 signals\n");
    ch_select_close(select);
}
END_TEST

static char logged[4096];

static void keep_line(enum ch_log_level level, const char *line)
{
    const size_t used = strlen(logged);

    ck_assert_int_eq(level, CH_LOG_DEBUG);
    (void)snprintf(logged + used, sizeof(logged) - used, "%s\n", line);
}

START_TEST(log__a_shape__said_once_with_the_rules_passed_over)
{
    struct ch_select *select = open_with("", THREE_RULES);
    struct ch_request r = reduce_of(2000, 4);
    struct ch_plan plan;
    char text[2048];

    ck_assert_int_eq(explained(select, &r, text, sizeof(text)), CHORUS_OK);
    ck_assert_ptr_nonnull(strstr(text, ":6: bytes 2000 is not in 4K..inf\n"));
    ch_log_configure(CH_LOG_DEBUG, keep_line);
    for (r.bytes = 2000; r.bytes < 2010; r.bytes++)
        ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_str_eq(logged, text);
    r.bytes = 8192;
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_uint_gt(strlen(logged), strlen(text));
    ch_select_close(select);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, explain__plan__with_its_rule_and_those_passed_over);
    tcase_add_test(tests, explain__nothing_serves__says_why_each_does_not);
    tcase_add_test(tests, explain__reducescatter_between_hosts__counts_blocks);
    tcase_add_test(tests, explain__table_of_another_gpu__is_a_guess);
    tcase_add_test(tests, explain__table_without_the_collective__is_passed);
    tcase_add_test(tests, explain__forced__says_so);
    tcase_add_test(tests, log__a_shape__said_once_with_the_rules_passed_over);
}

int main(void)
{
    return run_tests("select explain", add);
}
