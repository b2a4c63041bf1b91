/* SPDX-License-Identifier: Apache-2.0 */
/* Which rules a request can reach: as a search through all requests says, and how much work
 * that takes for many rules. */
#include "select/table.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { RULES_MAX = 20001 };

static struct ch_rule rules[RULES_MAX];
static uint64_t state;

static uint32_t draw(uint32_t n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((state >> 33) % n);
}

/* A rule without filters, whose algorithm needs no more than map. */
static struct ch_rule open_rule(uint32_t line)
{
    struct ch_rule rule = {.coll = CHORUS_COLL_reduce,
                           .bytes = {0, UINT64_MAX},
                           .pes = {0, UINT64_MAX},
                           .nodes = {0, UINT64_MAX},
                           .reach = (1u << CH_REACH_COUNT) - 1,
                           .cores = (1u << CH_CORES_COUNT) - 1,
                           .types = (1u << CHORUS_TYPE_COUNT) - 1,
                           .ops = (1u << CHORUS_OP_COUNT) - 1,
                           .line = line};

    ck_assert_int_eq(ch_algo_find(CHORUS_COLL_reduce, "two_shot", &rule.algo), CHORUS_OK);
    return rule;
}

/* The first of n rules that no request reaches, and what it took to find that. */
static size_t find(size_t n, uint64_t *looks_out)
{
    const struct ch_table table = {
        .path = "t", .serves = open_rule(0), .rules = rules, .n_rules = n};
    struct ch_boxes boxes;
    size_t first = 0;

    ck_assert_int_eq(ch_boxes_open(&table, &boxes), CHORUS_OK);
    ck_assert_int_eq(ch_reach_find(&boxes, n, &first, looks_out), CHORUS_OK);
    ch_boxes_close(&boxes);
    return first;
}

/* --- against all requests ----------------------------------------------------------------- */

enum { BYTES = 6, PES = 5, NODES = 3 };
static const chorus_type types[] = {CHORUS_TYPE_i32, CHORUS_TYPE_f32, CHORUS_TYPE_f16};
static const chorus_op ops[] = {CHORUS_OP_sum, CHORUS_OP_max, CHORUS_OP_xor};
static const char *const algos[] = {"two_shot", "recursive_exchange:ll", "one_shot:ll128",
                                    "multicast_one_shot"};
static const char *const machines[] = {"a", "b", "none that a rule names"};

static struct ch_range draw_range(uint32_t bound)
{
    const uint32_t a = draw(bound), b = draw(bound);

    if (draw(3) == 0) return (struct ch_range){0, UINT64_MAX};
    return (struct ch_range){a < b ? a : b, (a < b ? b : a) + 1};
}

static void draw_rule(struct ch_rule *rule, uint32_t line)
{
    *rule = open_rule(line);
    rule->bytes = draw_range(BYTES);
    rule->pes = draw_range(PES);
    if (draw(2) == 0) rule->nodes = draw_range(NODES);
    rule->types = rule->ops = 0; /* the other types and operators are not tried */
    for (int i = 0; i < 3; i++) {
        rule->types |= 1u << types[i];
        rule->ops |= 1u << ops[i];
    }
    if (draw(3) == 0) rule->types = 1u << types[draw(3)] | 1u << types[draw(3)];
    if (draw(3) == 0) rule->ops = 1u << ops[draw(3)] | 1u << ops[draw(3)];
    if (draw(4) == 0) rule->reach = 1 + draw((1u << CH_REACH_COUNT) - 1);
    if (draw(4) == 0) rule->cores = 1 + draw((1u << CH_CORES_COUNT) - 1);
    if (draw(6) == 0) rule->machine = machines[draw(2)];
    if (draw(3) == 0)
        ck_assert_int_eq(ch_algo_find(rule->coll, algos[draw(4)], &rule->algo), CHORUS_OK);
}

/* The requests that differ from this one in what a rule may ask of numbers: who takes them? */
static void try_numbers(struct ch_request *request, size_t n, bool is_reached[])
{
    for (request->bytes = 0; request->bytes <= BYTES; request->bytes++)
        for (request->pes = 1; request->pes <= PES; request->pes++)
            for (request->nodes = 1; request->nodes <= NODES; request->nodes++)
                for (size_t i = 0; i < n; i++) {
                    if (ch_rule_miss(&rules[i], request) != CH_MISS_NONE) continue;
                    is_reached[i] = true;
                    break;
                }
}

/* All requests that offer what one of the algorithms needs. */
static void try_all(size_t n, bool is_reached[])
{
    struct ch_request request = {.coll = CHORUS_COLL_reduce, .gpu = ""};
    const struct ch_algo *algo;

    for (uint32_t k = 0; k < 2 * 3 * 3 * 4 * 3 * CH_REACH_COUNT * CH_CORES_COUNT; k++) {
        uint32_t rest = k / 2;

        request.type = types[rest % 3];
        request.op = ops[(rest /= 3) % 3];
        ck_assert_int_eq(ch_algo_find(request.coll, algos[(rest /= 3) % 4], &algo), CHORUS_OK);
        request.offers =
            algo->needs | CH_NEED_packets | (k % 2 != 0 ? CH_NEED_map : 0) | CH_NEED_SYMMETRIC;
        request.machine = machines[(rest /= 4) % 3];
        request.reach = 1u << (rest /= 3) % CH_REACH_COUNT;
        request.cores = 1u << rest / CH_REACH_COUNT;
        if (!ch_op_takes(request.op, request.type) ||
            (request.offers &
             ~(ch_offers(request.type, CH_REACH_self, CH_NEED_apart | CH_NEED_SYMMETRIC) |
               CH_NEED_multicast)) != 0)
            continue;
        try_numbers(&request, n, is_reached);
    }
}

START_TEST(reach__random_rules__as_all_requests_say)
{
    enum { N = 14 };
    uint64_t looks;

    state = (uint64_t)_i;
    for (uint32_t i = 0; i < N; i++)
        draw_rule(&rules[i], i + 1);
    for (uint32_t n = 1; n <= N; n++) {
        bool is_reached[N] = {false};
        size_t first = 0;

        try_all(n, is_reached);
        while (first < n && is_reached[first])
            first++;
        ck_assert_uint_eq(find(n, &looks), first);
        if (first < n) break;
    }
}
END_TEST

/* --- work --------------------------------------------------------------------------------- */

/* Rules that no other hides, in patterns of two things that they ask about. */
static void stripes_across(struct ch_rule *rule, uint32_t i, uint32_t n)
{
    (void)n;
    *(i % 2 == 0 ? &rule->bytes : &rule->pes) = (struct ch_range){i + 1, i + 2};
}

static void bars_across(struct ch_rule *rule, uint32_t i, uint32_t n)
{
    const struct ch_range thin = {2 * n + i, 2 * n + i + 1}, wide = {1 + i, 9 * n - i};

    rule->bytes = i % 2 == 0 ? thin : wide;
    rule->pes = i % 2 == 0 ? wide : thin;
}

static void one_in_the_next(struct ch_rule *rule, uint32_t i, uint32_t n)
{
    rule->bytes = (struct ch_range){n - i, n + i + 1};
    rule->nodes = (struct ch_range){n - i + 1, n + i + 2};
}

static void stairs(struct ch_rule *rule, uint32_t i, uint32_t n)
{
    rule->bytes = (struct ch_range){0, i + 1};
    rule->pes = (struct ch_range){1, n - i + 2};
}

static void corners(struct ch_rule *rule, uint32_t i, uint32_t n)
{
    (void)n;
    rule->bytes = i % 2 == 0 ? (struct ch_range){i, UINT64_MAX} : (struct ch_range){0, i + 1};
    rule->pes = i % 2 == 0 ? (struct ch_range){1, i + 2} : (struct ch_range){i + 1, UINT64_MAX};
}

static void fields(struct ch_rule *rule, uint32_t i, uint32_t n)
{
    (void)n;
    rule->bytes = (struct ch_range){i % 100, i % 100 + 1};
    rule->pes = (struct ch_range){i / 100 + 1, i / 100 + 2};
}

static uint64_t looks_at(void (*pattern)(struct ch_rule *, uint32_t, uint32_t), uint32_t n)
{
    uint64_t looks;

    for (uint32_t i = 0; i < n; i++) {
        rules[i] = open_rule(i + 1);
        pattern(&rules[i], i, n);
    }
    rules[n] = open_rule(n + 1);
    ck_assert_uint_eq(find(n + 1, &looks), n + 1);
    return looks;
}

/* Issue 11: rules that cross took time with the cube of their number. What counts is how the
 * looks grow, and that 10,000 rules are looked at a few hundred times each. */
START_TEST(reach__many_rules__looks_grow_as_the_rules)
{
    static void (*const patterns[])(struct ch_rule *, uint32_t, uint32_t) = {
        stripes_across, bars_across, one_in_the_next, stairs, corners, fields};
    const uint64_t half = looks_at(patterns[_i], 5000), whole = looks_at(patterns[_i], 10000);

    ck_assert_uint_lt(whole, 10000 * 500);
    ck_assert_uint_lt(10 * whole, 24 * half);
}
END_TEST

/* The rule that is covered comes early; those after it are not looked at. */
START_TEST(reach__covered_rule__ends_the_search)
{
    uint64_t looks;

    for (uint32_t i = 0; i < RULES_MAX; i++) {
        rules[i] = open_rule(i + 1);
        stripes_across(&rules[i], i, RULES_MAX);
    }
    rules[40] = rules[7];
    ck_assert_uint_eq(find(RULES_MAX, &looks), 40);
    ck_assert_uint_lt(looks, 64 * 64);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("select reach");
    TCase *tests = tcase_create("reach");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tests, reach__random_rules__as_all_requests_say, 0, 200);
    tcase_add_loop_test(tests, reach__many_rules__looks_grow_as_the_rules, 0, 6);
    tcase_add_test(tests, reach__covered_rule__ends_the_search);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
