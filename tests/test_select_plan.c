/* SPDX-License-Identifier: Apache-2.0 */
/* Which rule decides: the match, needs, clamps and the order of the sources. */
#include "select_fixture.h"

#include "coll/routed_list.h"

#include <sys/stat.h>

/* The line of the rule that decides; 0 if none does. */
static uint32_t line_of(const struct ch_select *select, const struct ch_request *request)
{
    struct ch_plan plan;

    return ch_select_plan(select, request, &plan) == CHORUS_OK ? plan.rule->line : 0;
}

START_TEST(match__bound_of_a_range__is_the_next_rules)
{
    static const struct {
        uint64_t bytes;
        uint32_t pes, line;
    } cases[] = {
        {63, 4, 7},  {64, 4, 5},  {1023, 4, 5}, {1024, 4, 7}, {512, 1, 7},        {512, 2, 5},
        {512, 7, 5}, {512, 8, 7}, {4096, 4, 6}, {4095, 4, 7}, {UINT64_MAX, 4, 6},
    };
    struct ch_select *select = open_with("", THREE_RULES);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct ch_request r = reduce_of(cases[i].bytes, cases[i].pes);

        ck_assert_uint_eq(line_of(select, &r), cases[i].line);
    }
    ch_select_close(select);
}
END_TEST

START_TEST(match__type_or_op_not_in_the_set__falls_through)
{
    struct ch_select *select = open_with("", THREE_RULES);
    struct ch_request r = reduce_of(8192, 4);

    ck_assert_uint_eq(line_of(select, &r), 6);
    r.type = CHORUS_TYPE_i32;
    ck_assert_uint_eq(line_of(select, &r), 7);
    r.type = CHORUS_TYPE_f64;
    ck_assert_uint_eq(line_of(select, &r), 6);
    r.op = CHORUS_OP_max;
    ck_assert_uint_eq(line_of(select, &r), 7);
    ch_select_close(select);
}
END_TEST

START_TEST(match__machine_gpu_nodes_reach_cores__compared_as_written)
{
    struct ch_select *select = open_with(
        "", "  - {coll: reduce, machine: hosts, algo: one_shot, proto: ll, from: fallback}\n"
            "  - {coll: reduce, gpu: H200, algo: one_shot, proto: ll, from: fallback}\n"
            "  - {coll: reduce, nodes: 2..inf, algo: one_shot, proto: ll, from: fallback}\n"
            "  - {coll: reduce, reach: [self, network], algo: one_shot, proto: ll, from: "
            "fallback}\n"
            "  - {coll: reduce, cores: own, algo: one_shot, proto: ll, from: fallback}\n"
            "  - {coll: reduce, algo: two_shot, from: fallback}\n");
    struct ch_request r = reduce_of(8, 4);

    ck_assert_uint_eq(line_of(select, &r), 10);
    r.cores = CH_CORES_own;
    ck_assert_uint_eq(line_of(select, &r), 9);
    r.machine = "hosts";
    ck_assert_uint_eq(line_of(select, &r), 5);
    r.machine = "host";
    r.gpu = "H200";
    ck_assert_uint_eq(line_of(select, &r), 6);
    r.gpu = "";
    r.nodes = 2;
    ck_assert_uint_eq(line_of(select, &r), 7);
    r.nodes = 1;
    r.reach = CH_REACH_self;
    ck_assert_uint_eq(line_of(select, &r), 8);
    ch_select_close(select);
}
END_TEST

/* Needs are part of the match. Without this the rule wins and its algorithm degrades inside:
 * Open MPI PR 8186, 10 times the latency at 128 ranks. */
START_TEST(match__need_not_offered__falls_through)
{
    struct ch_select *select = open_with(
        "", "  - {coll: reduce, algo: recursive_exchange, proto: ll, from: fallback}\n"
            "  - {coll: reduce, algo: two_shot, from: fallback}\n");
    struct ch_request r = reduce_of(64, 4);
    struct ch_plan plan = {0};

    ck_assert_uint_eq(line_of(select, &r), 5);
    r.type = CHORUS_TYPE_f16;
    r.offers = ch_offers(r.type, r.reach, CH_NEED_apart | CH_NEED_SYMMETRIC);
    ck_assert_uint_eq(line_of(select, &r), 6);
    r.offers = CH_NEED_put | CH_NEED_SYMMETRIC;
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_ERR_UNSUPPORTED);
    ck_assert_str_eq(ch_error_message(),
                     "no rule for reduce of f16 serves 4 PEs that are reached "
                     "by mapped; give a table that does in CHORUS_TUNING");
    ck_assert_ptr_null(plan.algo);
    ch_select_close(select);
}
END_TEST

/* A table is for teams whose memory is mapped, unless it says that it is for others. */
START_TEST(match__network__is_served_by_tables_that_name_it)
{
    struct ch_select *select =
        open_with("", "  - {coll: reduce, algo: ring, from: fallback}\n"
                      "  - {coll: reduce, algo: one_shot, proto: simple, from: fallback}\n");
    struct ch_request r = reduce_of(64, 4);
    struct ch_plan plan;

    ck_assert_uint_eq(line_of(select, &r), 5);
    r.reach = CH_REACH_network;
    r.offers = ch_offers(r.type, r.reach, CH_NEED_apart | CH_NEED_SYMMETRIC);
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_str_eq(plan.table->path, "tuning/network.yaml");
    ck_assert_uint_eq(plan.algo->needs & CH_NEED_map, 0);
    ch_select_close(select);
}
END_TEST

/* No table may leave a call without an algorithm because its buffers are the program's own. */
START_TEST(match__buffers_elsewhere__next_tables_are_asked)
{
    struct ch_select *select = open_with(
        "", "  - {coll: reduce, bytes: 0..1K, algo: one_shot, proto: ll, from: fallback}\n"
            "  - {coll: reduce, algo: two_shot, from: fallback}\n");
    struct ch_request r = reduce_of(64, 4);
    struct ch_plan plan;

    r.offers &= ~CH_NEED_SYMMETRIC;
    ck_assert_uint_eq(line_of(select, &r), 5);
    for (r.bytes = 1024; r.bytes < 1ull << 40; r.bytes *= 32) {
        r.offers |= CH_NEED_SYMMETRIC;
        ck_assert_uint_eq(line_of(select, &r), 6);
        r.offers &= ~(uint32_t)CH_NEED_symmetric_source;
        ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
        ck_assert_uint_eq(plan.algo->needs & ~r.offers, 0);
    }
    for (int coll = CHORUS_COLL_broadcast; coll < CHORUS_COLL_COUNT; coll++)
        for (r.reach = CH_REACH_mapped; r.reach <= CH_REACH_network; r.reach <<= 1) {
            r.coll = (chorus_coll)coll;
            r.offers = ch_offers(CHORUS_TYPE_bf16, r.reach, 0);
            ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
            ck_assert_uint_eq(plan.algo->needs & ~r.offers, 0);
        }
    ch_select_close(select);
}
END_TEST

START_TEST(offers__follow_type_reach_and_place)
{
    ck_assert_uint_eq(
        ch_offers(CHORUS_TYPE_f32, CH_REACH_self, CH_NEED_apart | CH_NEED_SYMMETRIC),
        CH_NEED_map | CH_NEED_put | CH_NEED_packets | CH_NEED_whole | CH_NEED_apart |
            CH_NEED_lines | CH_NEED_SYMMETRIC);
    ck_assert_uint_eq(ch_offers(CHORUS_TYPE_f32, CH_REACH_mapped, CH_NEED_SYMMETRIC),
                      CH_NEED_map | CH_NEED_put | CH_NEED_packets | CH_NEED_whole |
                          CH_NEED_lines | CH_NEED_SYMMETRIC);
    ck_assert_uint_eq(ch_offers(CHORUS_TYPE_bf16, CH_REACH_mapped, CH_NEED_SYMMETRIC),
                      CH_NEED_map | CH_NEED_put | CH_NEED_packets | CH_NEED_lines |
                          CH_NEED_SYMMETRIC);
    ck_assert_uint_eq(ch_offers(CHORUS_TYPE_f16, CH_REACH_beside, CH_NEED_SYMMETRIC),
                      CH_NEED_put | CH_NEED_packets | CH_NEED_lines | CH_NEED_nodes |
                          CH_NEED_SYMMETRIC);
    ck_assert_uint_eq(ch_offers(CHORUS_TYPE_f16, CH_REACH_network, CH_NEED_SYMMETRIC),
                      CH_NEED_put | CH_NEED_lines | CH_NEED_nodes | CH_NEED_SYMMETRIC);
}
END_TEST

/* Do routed kernels run it? */
static bool is_routed(enum ch_algo_id id)
{
    static const bool are[CH_ALGO_COUNT] = {
#define X(coll, work, dest, proto, fn, kind, parts) [CH_ALGO_##fn] = true,
        CH_ROUTED_ROWS(X)
#undef X
    };

    return are[id];
}

/* Calls of a large team of this reach on GPUs, with buffers of which `facts` hold. */
static void check_large(const struct ch_select *select, uint32_t reach, uint32_t facts)
{
    struct ch_request r = reduce_of(64, 65);
    struct ch_plan plan;

    r.machine = "cuda";
    r.reach = reach;
    r.nodes = reach == CH_REACH_mapped ? 1 : 65;
    r.offers = ch_offers_on_gpu(r.pes, ch_offers(r.type, reach, facts));
    for (int coll = 0; coll < CHORUS_COLL_COUNT; coll++)
        for (r.bytes = 4; r.bytes < 1ull << 32; r.bytes *= 8) {
            r.coll = (chorus_coll)coll;
            ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
            ck_assert_msg(is_routed(plan.algo->id), "%s:%s of %s", plan.algo->name,
                          ch_proto_names[plan.algo->proto], ch_coll_names[coll]);
        }
}

/* Only routed kernels have room for the peers of large teams. */
START_TEST(plan__large_team_on_gpus__has_a_routed_kernel)
{
    static const uint32_t reaches[] = {CH_REACH_mapped, CH_REACH_network, CH_REACH_beside};
    struct ch_select *select = NULL;

    ck_assert_int_eq(ch_select_open("", "", &select), CHORUS_OK);
    for (int i = 0; i < 3; i++) {
        check_large(select, reaches[i], 0);
        check_large(select, reaches[i], CH_NEED_apart | CH_NEED_SYMMETRIC);
    }
    ch_select_close(select);
    ck_assert_uint_eq(ch_offers_on_gpu(64, CH_NEED_map), CH_NEED_map | CH_NEED_copy_engine);
    ck_assert_uint_eq(ch_offers_on_gpu(65, CH_NEED_map | CH_NEED_put), CH_NEED_put);
}
END_TEST

START_TEST(plan__lines_are_torn__another_protocol)
{
    struct ch_select *select =
        open_with("", "  - {coll: reduce, algo: one_shot, proto: ll128, from: fallback}\n"
                      "  - {coll: reduce, algo: one_shot, proto: ll, from: fallback}\n");
    struct ch_request r = reduce_of(4096, 4);
    struct ch_plan plan;

    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_int_eq(plan.algo->id, CH_ALGO_ch_reduce_one_shot_ll128);
    r.offers &= ~(uint32_t)CH_NEED_lines;
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_int_eq(plan.algo->id, CH_ALGO_ch_reduce_one_shot_ll);
    ch_select_close(select);
}
END_TEST

START_TEST(plan__ctas_and_radix__held_to_what_there_is)
{
    struct ch_select *select =
        open_with("", "  - {coll: reduce, algo: recursive_exchange, proto: ll, ctas: 64, "
                      "radix: 8, from: fallback}\n"
                      "  - {coll: reduce, algo: two_shot, from: fallback}\n");
    struct ch_request r = reduce_of(64, 4);
    struct ch_plan plan;

    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_uint_eq(plan.ctas, 4);
    ck_assert_uint_eq(plan.radix, 4);
    r.pes = 1;
    r.ctas_max = 100;
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_uint_eq(plan.ctas, 64);
    ck_assert_uint_eq(plan.radix, CH_RADIX_MIN);
    r.pes = 100;
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_uint_eq(plan.radix, 8);
    ch_select_close(select);
}
END_TEST

START_TEST(order__option_then_user_then_shipped__a_collective_at_a_time)
{
    struct ch_select *select;
    struct ch_request r = reduce_of(64, 4);
    struct ch_plan plan;

    ck_assert_int_eq(mkdir(user_folder, 0700), 0);
    write_file(user_path, HEAD "  - {coll: reduce, algo: two_shot, from: fallback}\n"
                               "  - {coll: broadcast, algo: pull, from: fallback}\n");
    select =
        open_with("", "  - {coll: reduce, algo: one_shot, proto: simple, from: fallback}\n");
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_str_eq(plan.table->path, table_path);
    r.coll = CHORUS_COLL_broadcast;
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_str_eq(plan.table->path, user_path);
    r.coll = CHORUS_COLL_barrier;
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_str_eq(plan.table->path, "tuning/host.yaml");
    r.machine = "cuda";
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_str_eq(plan.table->path, "tuning/h200x4.yaml");
    r.machine = "elsewhere";
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_str_eq(plan.table->path, "tuning/builtin.yaml");
    ch_select_close(select);
}
END_TEST

START_TEST(order__table_serves_other_calls__passed_by)
{
    struct ch_select *select;
    struct ch_request r = reduce_of(64, 4);
    struct ch_plan plan;

    write_file(table_path, "version: 1\nmachine: m\nmeasured: never\n"
                           "serves: {machine: cuda, gpu: H200, pes: 3..5}\nrules:\n"
                           "  - {coll: reduce, algo: two_shot, from: fallback}\n");
    ck_assert_int_eq(ch_select_open("", table_path, &select), CHORUS_OK);
    for (int is_cuda = 0; is_cuda < 2; is_cuda++)
        for (int is_h200 = 0; is_h200 < 2; is_h200++)
            for (r.pes = 2; r.pes <= 5; r.pes++) {
                const bool is_served = is_cuda && is_h200 && r.pes >= 3 && r.pes < 5;

                r.machine = is_cuda ? "cuda" : "host";
                r.gpu = is_h200 ? "H200" : "";
                ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
                ck_assert_int_eq(strcmp(plan.table->path, table_path) == 0, is_served);
            }
    ch_select_close(select);
}
END_TEST

/* One machine with two GPUs was measured and one with four: three PEs are nearer to four. */
START_TEST(shipped__gpus__table_by_the_number_of_pes)
{
    static const struct {
        uint32_t pes;
        const char *path;
    } cases[] = {
        {1, "tuning/h200x2.yaml"},  {2, "tuning/h200x2.yaml"}, {3, "tuning/h200x4.yaml"},
        {4, "tuning/h200x4.yaml"},  {5, "tuning/h200x4.yaml"}, {8, "tuning/h200x4.yaml"},
        {64, "tuning/h200x4.yaml"},
    };
    struct ch_select *select = open_with("", NULL);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int coll = 0; coll <= CHORUS_COLL_reducescatter; coll++) { /* the others: none */
            struct ch_request r = reduce_of(0, cases[i].pes);
            struct ch_plan plan;

            r.machine = "cuda";
            r.coll = (chorus_coll)coll;
            ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
            ck_assert_str_eq(plan.table->path, cases[i].path);
        }
    ch_select_close(select);
}
END_TEST

START_TEST(order__users_table_bad__refused)
{
    struct ch_select *select = NULL;
    char expected[256];

    ck_assert_int_eq(mkdir(user_folder, 0700), 0);
    write_file(user_path, "");
    ck_assert_int_eq(ch_select_open("", "", &select), CHORUS_ERR_TABLE);
    (void)snprintf(expected, sizeof(expected),
                   "%s:1:1: the file is empty; expected a mapping with "
                   "version, machine, measured and rules",
                   user_path);
    ck_assert_str_eq(ch_error_message(), expected);
    ck_assert_ptr_null(select);
}
END_TEST

START_TEST(order__option_names_no_file__refused)
{
    struct ch_select *select;

    ck_assert_int_eq(ch_select_open("", "/nonexistent/t.yaml", &select), CHORUS_ERR_TABLE);
    ck_assert_str_eq(ch_error_message(),
                     "/nonexistent/t.yaml: cannot be opened: No such file or "
                     "directory; expected a rule table");
}
END_TEST

/* The machine class of a loop test. */
static const char *const machines[] = {"host", "cuda", "elsewhere"};

/* The plan for the request: its needs are met, it takes no more CTAs than there are, and GPUs
 * have a kernel for it. */
static void check_plan(const struct ch_select *select, const struct ch_request *r)
{
    const bool is_on_gpu = strcmp(r->machine, "cuda") == 0;
    struct ch_plan plan;

    ck_assert_int_eq(ch_select_plan(select, r, &plan), CHORUS_OK);
    ck_assert_int_eq(plan.algo->coll, r->coll);
    ck_assert_uint_eq(plan.algo->needs & ~r->offers, 0);
    ck_assert_uint_le(plan.ctas, r->ctas_max);
    ck_assert(!is_on_gpu || plan.algo->kernel != CH_KERNEL_none);
}

/* Every plan of a collective on some PEs, with each set of offers that has `map`. */
static void check_plans(const struct ch_select *select, const char *machine, chorus_coll coll,
                        uint32_t pes)
{
    for (uint64_t bytes = 0; bytes < 1ull << 40; bytes = bytes * 4 + 1)
        for (uint32_t more = 0; more < 4 * CH_NEED_lines; more++) {
            struct ch_request r = reduce_of(bytes, pes);

            r.coll = coll;
            r.machine = machine;
            r.cores = more < 2 * CH_NEED_lines ? CH_CORES_own : CH_CORES_shared;
            r.offers = CH_NEED_map | CH_NEED_put | CH_NEED_packets | CH_NEED_SYMMETRIC |
                       more % (2 * CH_NEED_lines);
            check_plan(select, &r);
            r.offers &= ~CH_NEED_SYMMETRIC;
            check_plan(select, &r);
        }
}

/* Without tables of anyone's own, every collective is served, whatever the request. */
START_TEST(shipped__any_request__served)
{
    struct ch_select *select = open_with("", NULL);

    for (int coll = 0; coll < CHORUS_COLL_COUNT; coll++)
        for (uint32_t pes = 1; pes < 100; pes += 1 + pes / 3)
            check_plans(select, machines[_i], (chorus_coll)coll, pes);
    ch_select_close(select);
}
END_TEST

static uint64_t digest_with(const char *algo, const char *rules)
{
    struct ch_select *select = open_with(algo, rules);
    const uint64_t digest = ch_select_digest(select);

    ch_select_close(select);
    return digest;
}

START_TEST(digest__anything_that_decides__changes_it)
{
    const char *rule = "  - {coll: reduce, algo: two_shot, from: fallback}\n";
    const char *other = "  - {coll: reduce, algo: two_shot, from: fallback}\n\n";

    ck_assert_uint_eq(digest_with("", NULL), digest_with("", NULL));
    ck_assert_uint_eq(digest_with("", rule), digest_with("", rule));
    ck_assert_uint_ne(digest_with("", NULL), digest_with("", rule));
    ck_assert_uint_ne(digest_with("", rule), digest_with("", other));
    ck_assert_uint_ne(digest_with("", rule), digest_with("reduce:two_shot", rule));
}
END_TEST

START_TEST(select__close_null__is_nothing)
{
    ch_select_close(NULL);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, match__bound_of_a_range__is_the_next_rules);
    tcase_add_test(tests, match__type_or_op_not_in_the_set__falls_through);
    tcase_add_test(tests, match__machine_gpu_nodes_reach_cores__compared_as_written);
    tcase_add_test(tests, match__need_not_offered__falls_through);
    tcase_add_test(tests, match__network__is_served_by_tables_that_name_it);
    tcase_add_test(tests, match__buffers_elsewhere__next_tables_are_asked);
    tcase_add_test(tests, offers__follow_type_reach_and_place);
    tcase_add_test(tests, plan__large_team_on_gpus__has_a_routed_kernel);
    tcase_add_test(tests, plan__lines_are_torn__another_protocol);
    tcase_add_test(tests, plan__ctas_and_radix__held_to_what_there_is);
    tcase_add_test(tests, order__option_then_user_then_shipped__a_collective_at_a_time);
    tcase_add_test(tests, order__users_table_bad__refused);
    tcase_add_test(tests, order__option_names_no_file__refused);
    tcase_add_test(tests, order__table_serves_other_calls__passed_by);
    tcase_add_test(tests, shipped__gpus__table_by_the_number_of_pes);
    tcase_add_loop_test(tests, shipped__any_request__served, 0,
                        (int)(sizeof(machines) / sizeof(machines[0])));
    tcase_add_test(tests, digest__anything_that_decides__changes_it);
    tcase_add_test(tests, select__close_null__is_nothing);
}

int main(void)
{
    return run_tests("select plan", add);
}
