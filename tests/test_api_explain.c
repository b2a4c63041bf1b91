/* SPDX-License-Identifier: Apache-2.0 */
/* What chorusx_explain says of a call is what the call may do. */
#include "api_pes.h"

#include <stdio.h>
#include <string.h>

enum { COUNT = 96, ELEMENT_BYTES_MAX = 16 };

static size_t bytes_of(chorus_type type)
{
    static const size_t bytes[] = {
#define X(T, ctype, class, bytes) (bytes),
        CHORUS_TYPE_LIST(X)
#undef X
    };

    return bytes[type];
}

/* Forced by the names in its plan, the call must be one that the algorithm serves. */
static void check_plan(chorus_coll coll, chorus_type type, size_t count, void *dest,
                       const void *source)
{
    static const size_t none[API_PES_MAX]; /* elements of the blocks of an alltoallv */
    const size_t blocks = coll == CHORUS_COLL_reducescatter ? (size_t)api_n() : 1;
    char name[64];
    chorusx_plan plan;
    unsigned line = 0;

    EXPECT(chorusx_explain(CHORUS_TEAM_WORLD, coll, type, CHORUS_OP_sum,
                           count * blocks * bytes_of(type), &plan) == CHORUS_OK);
    EXPECT(strrchr(plan.rule, ':') != NULL &&
           sscanf(strrchr(plan.rule, ':'), ":%u", &line) == 1 && line > 0);
    EXPECT(plan.ctas >= 1 && plan.radix >= 1);
    (void)snprintf(name, sizeof(name), "%s:%s", plan.algo, plan.proto);
    EXPECT(chorusx_collective(&(chorusx_call){.coll = coll,
                                              .dest = dest,
                                              .source = source,
                                              .count = count,
                                              .type = type,
                                              .op = CHORUS_OP_sum,
                                              .algo = name,
                                              .ctas = plan.ctas,
                                              .dst = 1,
                                              .sst = 1,
                                              .dest_counts = none,
                                              .dest_offsets = none,
                                              .source_counts = none,
                                              .source_offsets = none},
                              NULL) == CHORUS_OK);
}

static void explain__every_collective_and_type__is_a_call_that_works(void)
{
    const size_t bytes = (size_t)COUNT * ELEMENT_BYTES_MAX * (size_t)api_n();
    char *dest = chorus_calloc(1, bytes), *source = chorus_calloc(1, bytes);

    for (int coll = 0; coll < CHORUS_COLL_COUNT; coll++)
        for (int type = 0; type < CHORUS_TYPE_COUNT; type++) {
            check_plan((chorus_coll)coll, (chorus_type)type, 1, dest, source);
            check_plan((chorus_coll)coll, (chorus_type)type, COUNT, dest, source);
        }
    chorus_free(source);
    chorus_free(dest);
}

static void explain__bad_question__says_what_and_leaves_the_plan(void)
{
    const chorus_team_t world = CHORUS_TEAM_WORLD;
    chorusx_plan plan = {.ctas = 77};

    EXPECT_FAILS(
        chorusx_explain(77, CHORUS_COLL_reduce, CHORUS_TYPE_f32, CHORUS_OP_sum, 8, &plan),
        CHORUS_ERR_ARG, "team handle 77 was never returned by the library");
    EXPECT_FAILS(
        chorusx_explain(world, CHORUS_COLL_COUNT, CHORUS_TYPE_f32, CHORUS_OP_sum, 8, &plan),
        CHORUS_ERR_ARG, "chorusx_explain: coll is 14");
    EXPECT_FAILS(
        chorusx_explain(world, CHORUS_COLL_reduce, CHORUS_TYPE_COUNT, CHORUS_OP_sum, 8, &plan),
        CHORUS_ERR_ARG, "; expected a CHORUS_TYPE_ constant");
    EXPECT_FAILS(chorusx_explain(world, CHORUS_COLL_reducescatter, CHORUS_TYPE_f32,
                                 CHORUS_OP_xor, 8, &plan),
                 CHORUS_ERR_ARG, "expected a CHORUS_OP_ constant that takes type f32");
    EXPECT(plan.ctas == 77);
}

#define TESTS(X)                                                \
    X(explain__every_collective_and_type__is_a_call_that_works) \
    X(explain__bad_question__says_what_and_leaves_the_plan)
API_MAIN(TESTS)
