/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of every binary16 and bfloat16 pattern, NaN included: the bits are those of the
 * host's conversions and operators. */
#include "coll/operators.h"
#include "gpu_pes.h"

#include <stdio.h>
#include <stdlib.h>

enum { PATTERNS = 65536 };

/* What the instructions of GPUs return for every sum and product that is NaN. */
enum { GPU_NAN = 0x7fff };

#define DEFINE_COMBINE(T, A, OP, expr) \
    static A combine_##OP(A a, A b)    \
    {                                  \
        return expr;                   \
    }
CH_OPS_HALF(DEFINE_COMBINE, f32, float)

#define ENTRY(T, A, OP, expr) {#OP, CHORUS_OP_##OP, combine_##OP},
static const struct {
    const char *name;
    chorus_op op;
    float (*combine)(float a, float b);
} operators[] = {CH_OPS_HALF(ENTRY, f32, float)};
enum { OPERATORS = sizeof(operators) / sizeof(operators[0]) };

/* The first PE has pattern i; the second has i * factor + shift. */
static const struct {
    unsigned factor, shift;
} seconds[] = {
    {1, 0},      {1, 0x8000},                              /* the same; its opposite */
    {40503, 77}, {25173, 13849}, {1, 1},      {1, 0x83},   /* others */
    {0, 0},      {0, 0x8000},                              /* zeros */
    {0, 1},      {0, 0x8001},    {0, 0x80},   {0, 0x400},  /* subnormal, the least normal */
    {0, 0x7bff}, {0, 0x7f7f},    {0, 0xff7f},              /* the largest */
    {0, 0x7c00}, {0, 0xfc00},    {0, 0x7f80}, {0, 0xff80}, /* infinities */
    {0, 0x7c01}, {0, 0xfe55},    {0, 0x7f81}, {0, 0xffd5}, /* NaN */
};
enum { SECONDS = sizeof(seconds) / sizeof(seconds[0]) };

static uint16_t second_of(int round, unsigned i)
{
    return (uint16_t)(i * seconds[round].factor + seconds[round].shift);
}

static bool returns_operand(chorus_op op)
{
    return op == CHORUS_OP_min || op == CHORUS_OP_max;
}

static uint16_t combined(chorus_type type, int op, uint16_t a, uint16_t b)
{
    const bool is_f16 = type == CHORUS_TYPE_f16;
    const float x =
        is_f16 ? ch_f16_to_f32((chorus_half){a}) : ch_bf16_to_f32((chorus_bfloat16){a});
    const float y =
        is_f16 ? ch_f16_to_f32((chorus_half){b}) : ch_bf16_to_f32((chorus_bfloat16){b});
    const float z = operators[op].combine(x, y);

    if (z != z && !returns_operand(operators[op].op)) return GPU_NAN;
    return is_f16 ? ch_f16_from_f32(z).bits : ch_bf16_from_f32(z).bits;
}

static bool is_nan(chorus_type type, uint16_t bits)
{
    return (bits & 0x7fff) > (type == CHORUS_TYPE_f16 ? 0x7c00 : 0x7f80);
}

/* The first and the last PE, which may be the only one; the others have no part in it. */
struct pair {
    chorus_team_t team;
    int me, n; /* in the team */
    uint16_t *source, *dest, *here;
};

static void expect_combined(const struct pair *p, chorus_type type, int op, int round)
{
    unsigned wrong = 0;

    gpu_copy(p->here, p->dest, PATTERNS * sizeof(uint16_t));
    for (unsigned i = 0; i < PATTERNS; i++) {
        const uint16_t a = (uint16_t)i, b = second_of(round, i), found = p->here[i];

        if (p->n == 1 && (found == a || (is_nan(type, a) && is_nan(type, found)))) continue;
        if (p->n == 2 && (found == combined(type, op, a, b) ||
                          found == combined(type, op, b, a))) /* algorithms have their order */
            continue;
        if (wrong++ == 0)
            (void)fprintf(stderr, "%s of %s: %04x and %04x give %04x, not %04x\n",
                          operators[op].name, type == CHORUS_TYPE_f16 ? "f16" : "bf16", a, b,
                          found, combined(type, op, a, b));
    }
    EXPECT(wrong == 0);
}

static void reduce_patterns(const struct pair *p, chorus_type type, int op, const char *algo)
{
    const chorusx_call call = {.coll = CHORUS_COLL_reduce,
                               .team = p->team,
                               .dest = p->dest,
                               .source = p->source,
                               .count = PATTERNS,
                               .type = type,
                               .op = operators[op].op,
                               .algo = algo};

    for (int round = 0; round < SECONDS; round += gpu_is_small() ? 3 : 1) {
        for (unsigned i = 0; i < PATTERNS; i++)
            p->here[i] = p->me == 0 ? (uint16_t)i : second_of(round, i);
        gpu_copy(p->source, p->here, PATTERNS * sizeof(uint16_t));
        gpu_fill(p->dest, 0x5a, PATTERNS * sizeof(uint16_t));
        EXPECT(chorusx_collective(&call, NULL) == CHORUS_OK);
        expect_combined(p, type, op, round);
    }
}

static void reduce_by_all(const struct pair *p, chorus_type type)
{
    static const char *const algos[] = {NULL, "one_shot:ll", "one_shot_pull",
                                        "two_shot:simple"};

    for (size_t a = 0; a < sizeof(algos) / sizeof(algos[0]); a++)
        for (int op = 0; op < OPERATORS; op++)
            reduce_patterns(p, type, op, algos[a]);
}

static void run(chorus_type type)
{
    const int n = gpu_n() > 1 ? 2 : 1;
    struct pair p = {.source = chorus_malloc(PATTERNS * sizeof(uint16_t)),
                     .dest = chorus_malloc(PATTERNS * sizeof(uint16_t)),
                     .here = malloc(PATTERNS * sizeof(uint16_t))};

    EXPECT(p.source != NULL && p.dest != NULL && p.here != NULL);
    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, n == 2 ? gpu_n() - 1 : 1, n, NULL, 0,
                                     &p.team) == CHORUS_OK);
    if (p.team != CHORUS_TEAM_INVALID) {
        p.me = chorus_team_my_pe(p.team);
        p.n = chorus_team_n_pes(p.team);
        reduce_by_all(&p, type);
        chorus_team_destroy(p.team);
    }
    free(p.here);
    chorus_free(p.dest);
    chorus_free(p.source);
}

static void binary16__every_pattern__has_the_bits_of_the_host(void)
{
    run(CHORUS_TYPE_f16);
}

static void bfloat16__every_pattern__has_the_bits_of_the_host(void)
{
    run(CHORUS_TYPE_bf16);
}

#define CASES(X)                                         \
    X(binary16__every_pattern__has_the_bits_of_the_host) \
    X(bfloat16__every_pattern__has_the_bits_of_the_host)
GPU_MAIN(CASES)
