/* SPDX-License-Identifier: Apache-2.0 */
/* Choices that stand before the tables, and finding an algorithm by its name. */
#include "base/text.h"

#include "select_fixture.h"

START_TEST(force__choices__stand_before_every_table)
{
    struct ch_select *select =
        open_with("reduce:two_shot,fcollect:all_push:ll128:3", THREE_RULES);
    struct ch_request r = reduce_of(64, 4);
    struct ch_plan plan;

    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_int_eq(plan.algo->id, CH_ALGO_ch_reduce_two_shot);
    ck_assert_uint_eq(plan.ctas, 1);
    ck_assert_uint_eq(plan.radix, CH_RADIX_DEFAULT);
    ck_assert_ptr_null(plan.rule);
    ck_assert_ptr_null(plan.table);
    r.coll = CHORUS_COLL_fcollect;
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_int_eq(plan.algo->id, CH_ALGO_ch_fcollect_push_ll128);
    ck_assert_uint_eq(plan.ctas, 3);
    r.ctas_max = 2;
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_uint_eq(plan.ctas, 2);
    r.coll = CHORUS_COLL_alltoall;
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    ck_assert_ptr_nonnull(plan.rule);
    ch_select_close(select);
}
END_TEST

START_TEST(force__need_not_offered__refused_not_replaced)
{
    struct ch_select *select = open_with("reducescatter:all_pull", NULL);
    struct ch_request r = reduce_of(64, 4);
    struct ch_plan plan;

    r.coll = CHORUS_COLL_reducescatter;
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_OK);
    r.offers = ch_offers(r.type, r.reach, CH_NEED_SYMMETRIC);
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_ERR_UNSUPPORTED);
    ck_assert_str_eq(
        ch_error_message(),
        "reducescatter of f32 is forced to all_pull:simple, which needs apart: source "
        "and dest do not overlap; force another or none");
    ch_select_close(select);
}
END_TEST

START_TEST(force__copy_engine_on_a_host__refused)
{
    struct ch_select *select = open_with("fcollect:copy_engine", NULL);
    struct ch_request r = reduce_of(64, 4);
    struct ch_plan plan;

    r.coll = CHORUS_COLL_fcollect;
    ck_assert_int_eq(ch_select_plan(select, &r, &plan), CHORUS_ERR_UNSUPPORTED);
    ck_assert_str_eq(
        ch_error_message(),
        "fcollect of f32 is forced to copy_engine:simple, which needs copy_engine: the GPUs "
        "have engines that copy between PEs; force another or none");
    ch_select_close(select);
}
END_TEST

/* clang-format off */
static const struct {
    const char *algo, *message; /* message: after 'CHORUS_ALGO is "...": ' */
} bad_force[] = {
    {"reduce", "\"reduce\" has too few parts; expected coll:algo[:proto[:ctas]]"},
    {"reduce:one_shot:ll:1:2", "\"reduce\" has too many parts; expected coll:algo[:proto[:ctas]]"},
    {"reduce:two_shot,", "\"\" has too few parts; expected coll:algo[:proto[:ctas]]"},
    {"reduxe:two_shot", "unknown collective \"reduxe\"; expected barrier, broadcast, fcollect, alltoall, reduce, reducescatter, collect, alltoalls, inscan, exscan, gather, scatter, reduce_to or alltoallv; did you mean \"reduce\"?"},
    {"reduce:two_shto", "unknown reduce algorithm \"two_shto\"; expected @reduce; did you mean \"two_shot\"?"},
    {"reduce:pull", "unknown reduce algorithm \"pull\"; expected @reduce"},
    {"reduce:one_shot", "one_shot has several protocols and none is given; expected simple, ll or ll128"},
    {"reduce:one_shot:ll12", "unknown protocol of one_shot \"ll12\"; expected simple, ll or ll128; did you mean \"ll128\"?"},
    {"reduce:two_shot:simple:0", "ctas is \"0\"; expected a whole number from 1"},
    {"reduce:two_shot:simple:x", "ctas is \"x\"; expected a whole number from 1"},
    {"reduce:two_shot,reduce:two_shot", "reduce is given twice; expected one entry for a collective"},
    {"reduce:two_shot,a,b,c,d,e,f,g,h,i,j,k,l,m,n", "more entries than collectives; expected one entry for a collective"},
};
/* clang-format on */

START_TEST(force__bad_text__refused_naming_the_variable)
{
    struct ch_select *select = NULL;
    char expected[1200];

    ck_assert_int_eq(ch_select_open(bad_force[_i].algo, "", &select), CHORUS_ERR_ARG);
    (void)snprintf(expected, sizeof(expected), "CHORUS_ALGO is \"%s\": %s", bad_force[_i].algo,
                   with_algos(bad_force[_i].message));
    ck_assert_str_eq(ch_error_message(), expected);
    ck_assert_ptr_null(select);
}
END_TEST

START_TEST(nearest__names_of_other_libraries__give_ours)
{
    static const char *const others[][2] = {
        {"allgather", "fcollect"}, {"all_gather", "fcollect"}, {"AllGather", "fcollect"},
        {"bcast", "broadcast"},    {"allreduce", "reduce"},    {"all_reduce", "reduce"},
    };

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        ck_assert_str_eq(ch_name_nearest(ch_coll_names, CHORUS_COLL_COUNT, others[i][0]),
                         others[i][1]);
    ck_assert_ptr_null(ch_name_nearest(ch_coll_names + 1, 1, "allgather"));
}
END_TEST

START_TEST(find__name_and_protocol__give_the_algorithm)
{
    const struct ch_algo *algo = NULL;

    ck_assert_int_eq(ch_algo_find(CHORUS_COLL_reduce, "two_shot", &algo), CHORUS_OK);
    ck_assert_int_eq(algo->id, CH_ALGO_ch_reduce_two_shot);
    ck_assert_int_eq(ch_algo_find(CHORUS_COLL_broadcast, "tree:ll128", &algo), CHORUS_OK);
    ck_assert_int_eq(algo->id, CH_ALGO_ch_broadcast_tree_ll128);
    ck_assert_int_eq(ch_algo_find(CHORUS_COLL_broadcast, "tere:ll", &algo), CHORUS_ERR_ARG);
    ck_assert_str_eq(ch_error_message(),
                     with_algos("algorithm \"tere:ll\": unknown broadcast algorithm \"tere\"; "
                                "expected @broadcast; did you mean \"tree\"?"));
    ck_assert_int_eq(ch_algo_find(CHORUS_COLL_broadcast, "pull:ll", &algo), CHORUS_ERR_ARG);
    ck_assert_int_eq(
        ch_algo_find(CHORUS_COLL_broadcast,
                     "0123456789012345678901234567890123456789012345678901234567890123", &algo),
        CHORUS_ERR_ARG);
    ck_assert_int_eq(algo->id, CH_ALGO_ch_broadcast_tree_ll128);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, force__choices__stand_before_every_table);
    tcase_add_test(tests, force__need_not_offered__refused_not_replaced);
    tcase_add_test(tests, force__copy_engine_on_a_host__refused);
    tcase_add_loop_test(tests, force__bad_text__refused_naming_the_variable, 0,
                        (int)(sizeof(bad_force) / sizeof(bad_force[0])));
    tcase_add_test(tests, nearest__names_of_other_libraries__give_ours);
    tcase_add_test(tests, find__name_and_protocol__give_the_algorithm);
}

int main(void)
{
    return run_tests("select force", add);
}
