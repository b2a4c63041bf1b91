/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch and combine against rows and sums that each PE computes for itself, from seeds. */
#include "chorus/apps/moe.h"

#include "api_pes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORLD CHORUS_TEAM_WORLD

enum {
    PES_MAX = 8,
    TOKENS_MAX = 40,
    TOPK_MAX = 6,
    EACH_MAX = 5, /* experts of a PE */
    EXPERTS_MAX = EACH_MAX * PES_MAX,
    VALUES_MAX = 300, /* of a row of combine */
    CALLS = 4,
    POISON = 0xa5,
    GUARD = 64, /* bytes behind an array */
};

/* The same on all PEs, from a seed. */
struct job {
    uint32_t state; /* of random numbers */
    int n_pes;
    chorusx_moe_config_t config;
    chorus_type type;
    size_t values; /* of a row of combine */
    unsigned char is_on[EXPERTS_MAX];
    bool has_mask;
};

/* One route, as all PEs see it. */
struct plan {
    size_t n_tokens[PES_MAX];
    int32_t idx[PES_MAX][TOKENS_MAX * TOPK_MAX];
    size_t row[PES_MAX][TOKENS_MAX * TOPK_MAX]; /* of the expert; SIZE_MAX: none */
    size_t given[EXPERTS_MAX], kept[EXPERTS_MAX];
};

static uint32_t random_below(struct job *job, uint32_t n)
{
    job->state = job->state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)job->state * n) >> 32);
}

static uint32_t mix(uint32_t a, uint32_t b)
{
    uint32_t h = (a ^ 0x9e3779b9u) * 0x85ebca6bu + b;

    h = (h ^ (h >> 15)) * 0xc2b2ae35u;
    return h ^ (h >> 13);
}

static size_t value_bytes(const struct job *job)
{
    return job->type == CHORUS_TYPE_f32 ? 4 : 2;
}

static struct job *make_job(uint32_t seed)
{
    static const chorus_type types[] = {CHORUS_TYPE_f32, CHORUS_TYPE_bf16, CHORUS_TYPE_f16};
    static const size_t messages[] = {1, 600, 4096, 0};
    struct job *job = calloc(1, sizeof(*job));
    chorusx_moe_config_t *c = &job->config;

    job->state = seed * 2654435761u + 4711;
    job->n_pes = api_n();
    c->experts = job->n_pes * (1 + (int)random_below(job, EACH_MAX));
    c->topk = 1 + (int)random_below(job, c->experts < TOPK_MAX ? (uint32_t)c->experts
                                                               : (uint32_t)TOPK_MAX);
    c->tokens_max = TOKENS_MAX;
    c->hidden_bytes = 1 + random_below(job, 100);
    c->scale_bytes = random_below(job, 2) * (1 + random_below(job, 9));
    c->layout = seed % 2 == 0 ? CHORUSX_MOE_EXPERT_MAJOR : CHORUSX_MOE_COMPACT;
    c->capacity = random_below(job, 3) == 0 ? TOKENS_MAX * (size_t)job->n_pes
                                            : 1 + random_below(job, TOKENS_MAX);
    if (c->layout == CHORUSX_MOE_COMPACT && random_below(job, 2) == 0) c->capacity = 0;
    c->renormalise = (int)random_below(job, 2);
    c->message_bytes = messages[random_below(job, 4)];
    job->type = types[seed % 3];
    job->values = 1 + random_below(job, VALUES_MAX);
    c->combine_bytes = job->values * value_bytes(job);
    job->has_mask = random_below(job, 3) == 0;
    for (int e = 0; e < c->experts; e++)
        job->is_on[e] = !job->has_mask || random_below(job, 4) != 0;
    return job;
}

/* --- a route ------------------------------------------------------------------------------ */
/* Experts with low numbers are chosen most often. */
static void choose_experts(struct job *job, int32_t *entries)
{
    const uint32_t experts = (uint32_t)job->config.experts;

    for (int k = 0; k < job->config.topk; k++) {
        entries[k] = random_below(job, 6) == 0
                         ? -1
                         : (int32_t)random_below(job, 1 + random_below(job, experts));
        for (int i = 0; i < k; i++)
            if (entries[i] == entries[k]) entries[k] = -1;
    }
}

static struct plan *make_plan(struct job *job)
{
    struct plan *plan = calloc(1, sizeof(*plan));
    const chorusx_moe_config_t *c = &job->config;

    for (int p = 0; p < job->n_pes; p++) {
        plan->n_tokens[p] = random_below(job, 4) == 0 ? 0 : random_below(job, TOKENS_MAX + 1);
        for (size_t t = 0; t < plan->n_tokens[p]; t++)
            choose_experts(job, &plan->idx[p][t * (size_t)c->topk]);
        for (size_t i = 0; i < plan->n_tokens[p] * (size_t)c->topk; i++) {
            const int32_t e = plan->idx[p][i];

            plan->row[p][i] = SIZE_MAX;
            if (e == -1 || !job->is_on[e]) continue;
            if (c->capacity == 0 || plan->given[e] < c->capacity)
                plan->row[p][i] = plan->kept[e]++;
            plan->given[e]++;
        }
    }
    return plan;
}

static int experts_each(const struct job *job)
{
    return job->config.experts / job->n_pes;
}

/* The row of this PE's array at which an expert of it begins. */
static size_t first_row(const struct job *job, const struct plan *plan, int expert)
{
    size_t row = 0;

    if (job->config.layout == CHORUSX_MOE_EXPERT_MAJOR)
        return (size_t)(expert % experts_each(job)) * job->config.capacity;
    for (int e = api_me() * experts_each(job); e < expert; e++)
        row += plan->kept[e];
    return row;
}

/* Calls `visit` for each row that this PE receives. */
typedef void (*visit_t)(void *arg, size_t row, int pe, size_t entry);

static void visit_rows(const struct job *job, const struct plan *plan, visit_t visit, void *arg)
{
    const int lo = api_me() * experts_each(job), hi = lo + experts_each(job);

    for (int p = 0; p < job->n_pes; p++)
        for (size_t i = 0; i < plan->n_tokens[p] * (size_t)job->config.topk; i++) {
            const int e = plan->idx[p][i];

            if (plan->row[p][i] != SIZE_MAX && e >= lo && e < hi)
                visit(arg, first_row(job, plan, e) + plan->row[p][i], p, i);
        }
}

static size_t array_rows(const struct job *job, const struct plan *plan)
{
    size_t rows = 0;

    if (job->config.layout == CHORUSX_MOE_EXPERT_MAJOR)
        return (size_t)experts_each(job) * job->config.capacity;
    for (int i = 0; i < experts_each(job); i++)
        rows += plan->kept[api_me() * experts_each(job) + i];
    return rows;
}

struct origins {
    const struct job *job;
    const chorusx_moe_origin_t *of;
    size_t n;
};

static void check_origin(void *arg, size_t row, int pe, size_t entry)
{
    struct origins *origins = arg;
    const size_t topk = (size_t)origins->job->config.topk;
    const chorusx_moe_origin_t *origin = &origins->of[row];

    EXPECT(origin->pe == pe && origin->token == entry / topk && origin->slot == entry % topk);
    origins->n++;
}

static void check_info(const struct job *job, const struct plan *plan,
                       chorusx_moe_route_t route)
{
    chorusx_moe_route_info_t info;
    struct origins origins = {.job = job};
    size_t n_empty = 0, dropped = 0;

    EXPECT(chorusx_moe_route_info(route, &info) == CHORUS_OK);
    EXPECT(info.n_tokens == plan->n_tokens[api_me()]);
    EXPECT(info.array_rows == array_rows(job, plan) && info.n_experts == experts_each(job) &&
           info.first_expert == api_me() * experts_each(job));
    for (int i = 0; i < info.n_experts; i++) {
        const int e = info.first_expert + i;

        EXPECT(info.counts[i] == plan->kept[e] && info.firsts[i] == first_row(job, plan, e));
    }
    origins.of = info.origins;
    visit_rows(job, plan, check_origin, &origins);
    EXPECT(origins.n == info.rows);
    for (size_t row = 0; row < info.array_rows; row++)
        n_empty += info.origins[row].pe == -1;
    EXPECT(n_empty == info.array_rows - info.rows);
    for (size_t i = 0; i < info.n_tokens * (size_t)job->config.topk; i++) {
        const int32_t e = plan->idx[api_me()][i];

        dropped += e != -1 && job->is_on[e] && plan->row[api_me()][i] == SIZE_MAX;
    }
    EXPECT(info.dropped == dropped);
}

/* --- dispatch ----------------------------------------------------------------------------- */
static void dawdle(struct job *job)
{
    const uint32_t late = random_below(job, 4 * (uint32_t)job->n_pes);

    if (late == (uint32_t)api_me()) (void)usleep(300);
}

/* Bytes of a token, or of its scales, in a call. */
static void fill_bytes(unsigned char *out, size_t bytes, int pe, size_t token, uint32_t salt)
{
    const uint32_t seed = mix(mix((uint32_t)pe, (uint32_t)token), salt);

    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char)mix(seed, (uint32_t)i);
}

static unsigned char *fill_tokens(const struct plan *plan, size_t bytes, uint32_t salt)
{
    const size_t n = plan->n_tokens[api_me()];
    unsigned char *all = malloc(n * bytes + 1);

    for (size_t t = 0; t < n; t++)
        fill_bytes(all + t * bytes, bytes, api_me(), t, salt);
    return all;
}

static unsigned char *poisoned(size_t bytes)
{
    unsigned char *array = malloc(bytes + GUARD);

    memset(array, POISON, bytes + GUARD);
    return array;
}

struct expected {
    const struct job *job;
    unsigned char *rows;
    size_t row_bytes;
    uint32_t salt;
};

static void expect_row(void *arg, size_t row, int pe, size_t entry)
{
    struct expected *e = arg;

    fill_bytes(e->rows + row * e->row_bytes, e->row_bytes, pe,
               entry / (size_t)e->job->config.topk, e->salt);
}

static void check_rows(const struct job *job, const struct plan *plan,
                       const unsigned char *rows, size_t row_bytes, uint32_t salt)
{
    const size_t bytes = array_rows(job, plan) * row_bytes;
    struct expected e = {job, poisoned(bytes), row_bytes, salt};

    visit_rows(job, plan, expect_row, &e);
    EXPECT(memcmp(rows, e.rows, bytes + GUARD) == 0);
    free(e.rows);
}

static void try_dispatch(struct job *job, const struct plan *plan, chorusx_moe_route_t route,
                         uint32_t salt)
{
    const size_t hidden = job->config.hidden_bytes, scale = job->config.scale_bytes,
                 rows = array_rows(job, plan);
    unsigned char *x = fill_tokens(plan, hidden, salt), *out = poisoned(rows * hidden);
    unsigned char *scales = fill_tokens(plan, scale, salt + 1),
                  *out_scales = poisoned(rows * scale);

    dawdle(job);
    if (random_below(job, 2) == 0) {
        EXPECT(chorusx_moe_dispatch(route, x, scales, out, out_scales) == CHORUS_OK);
    } else {
        EXPECT(chorusx_moe_dispatch_begin(route, x, scales, out, out_scales) == CHORUS_OK);
        dawdle(job);
        EXPECT(chorusx_moe_dispatch_end(route) == CHORUS_OK);
    }
    check_rows(job, plan, out, hidden, salt);
    check_rows(job, plan, out_scales, scale, salt + 1);
    free(x), free(out), free(scales), free(out_scales);
}

/* --- combine ------------------------------------------------------------------------------ */
/* A value of a type as the bits of a random number give it: never infinite or NaN. */
static void make_value(const struct job *job, uint32_t bits, char *out)
{
    const float f = (float)(int32_t)bits / 7.0f / 65536.0f;
    uint16_t half = (uint16_t)bits;

    if (job->type == CHORUS_TYPE_f32) {
        memcpy(out, &f, sizeof(f));
        return;
    }
    if (job->type == CHORUS_TYPE_f16 && (half & 0x7c00u) == 0x7c00u) half &= 0xbfffu;
    if (job->type == CHORUS_TYPE_bf16) half = (uint16_t)((half & 0x87ffu) | 0x3c00u);
    memcpy(out, &half, sizeof(half));
}

/* By the definition of the formats. */
static double value_of(chorus_type type, const char *at)
{
    const int digits = type == CHORUS_TYPE_f16 ? 10 : 7,
              bias = type == CHORUS_TYPE_f16 ? 15 : 127;
    uint16_t half;
    float f;
    int exponent, fraction;
    double value;

    if (type == CHORUS_TYPE_f32) {
        memcpy(&f, at, sizeof(f));
        return f;
    }
    memcpy(&half, at, sizeof(half));
    exponent = (half & 0x7fff) >> digits;
    fraction = half & ((1 << digits) - 1);
    value = exponent == 0 ? ldexp(fraction, 1 - bias - digits)
                          : ldexp(fraction + (1 << digits), exponent - bias - digits);
    if (exponent == (1 << (15 - digits)) - 1) value = fraction == 0 ? HUGE_VAL : NAN;
    return half >> 15 ? -value : value;
}

/* The nearest value of a type, of two the even one. */
static double rounded(chorus_type type, double value)
{
    const int digits = type == CHORUS_TYPE_f16 ? 11 : 8,
              least = type == CHORUS_TYPE_f16 ? -24 : -133;
    const double greatest = type == CHORUS_TYPE_f16 ? 65504.0 : ldexp(255.0, 120);
    int exponent;

    if (type == CHORUS_TYPE_f32 || value == 0) return value;
    (void)frexp(value, &exponent);
    exponent = exponent - digits < least ? least : exponent - digits;
    value = ldexp(rint(ldexp(value, -exponent)), exponent);
    return fabs(value) > greatest ? copysign(HUGE_VAL, value) : value;
}

static uint32_t bits_of(int pe, size_t entry, size_t i, uint32_t salt)
{
    return mix(mix(mix((uint32_t)pe, (uint32_t)entry), salt), (uint32_t)i);
}

static void fill_row(void *arg, size_t row, int pe, size_t entry)
{
    struct expected *e = arg;

    for (size_t i = 0; i < e->job->values; i++)
        make_value(e->job, bits_of(pe, entry, i, e->salt),
                   (char *)e->rows + row * e->row_bytes + i * value_bytes(e->job));
}

/* The factor of the weights of a token. */
static float factor_of(const struct job *job, const struct plan *plan, size_t token,
                       const float *weights)
{
    float all = 0.0f, kept = 0.0f;

    for (size_t k = 0; k < (size_t)job->config.topk; k++) {
        const size_t i = token * (size_t)job->config.topk + k;

        if (plan->idx[api_me()][i] == -1) continue;
        all += weights != NULL ? weights[i] : 1.0f;
        if (plan->row[api_me()][i] != SIZE_MAX) kept += weights != NULL ? weights[i] : 1.0f;
    }
    return !job->config.renormalise || all == kept || kept == 0.0f ? 1.0f : all / kept;
}

static double expected_sum(const struct job *job, const struct plan *plan, size_t token,
                           const float *weights, size_t value, uint32_t salt)
{
    const float factor = factor_of(job, plan, token, weights);
    volatile float sum = 0.0f, product; /* so that each step is rounded to float */
    bool is_first = true;

    for (size_t k = 0; k < (size_t)job->config.topk; k++) {
        const size_t i = token * (size_t)job->config.topk + k;
        char one[4];

        if (plan->row[api_me()][i] == SIZE_MAX) continue;
        make_value(job, bits_of(api_me(), i, value, salt), one);
        product = (weights != NULL ? weights[i] : 1.0f) * factor;
        product = product * (float)value_of(job->type, one);
        sum = is_first ? product : sum + product;
        is_first = false;
    }
    return rounded(job->type, (double)sum);
}

static void check_sums(const struct job *job, const struct plan *plan, const float *weights,
                       const char *out, uint32_t salt)
{
    const size_t n = plan->n_tokens[api_me()], each = value_bytes(job);

    for (size_t t = 0; t < n; t++)
        for (size_t i = 0; i < job->values; i++) {
            const double want = expected_sum(job, plan, t, weights, i, salt),
                         have = value_of(job->type, out + (t * job->values + i) * each);

            EXPECT(want == have && signbit(want) == signbit(have));
        }
    for (size_t i = 0; i < GUARD; i++)
        EXPECT((unsigned char)out[n * job->values * each + i] == POISON);
}

static float *make_weights(struct job *job, const struct plan *plan, uint32_t salt)
{
    const size_t n = plan->n_tokens[api_me()] * (size_t)job->config.topk;
    float *weights;

    if (random_below(job, 4) == 0) return NULL;
    weights = malloc((n + 1) * sizeof(*weights));
    for (size_t i = 0; i < n; i++)
        weights[i] = (float)(mix(salt, (uint32_t)i) % 1000 + 1) / 777.0f;
    return weights;
}

static void try_combine(struct job *job, const struct plan *plan, chorusx_moe_route_t route,
                        uint32_t salt)
{
    const size_t row = job->config.combine_bytes;
    struct expected y = {job, poisoned(array_rows(job, plan) * row), row, salt};
    float *weights = make_weights(job, plan, salt);
    unsigned char *out = poisoned(plan->n_tokens[api_me()] * row);

    visit_rows(job, plan, fill_row, &y);
    dawdle(job);
    if (random_below(job, 2) == 0) {
        EXPECT(chorusx_moe_combine(route, y.rows, job->type, weights, out) == CHORUS_OK);
    } else {
        EXPECT(chorusx_moe_combine_begin(route, y.rows, job->type, weights, out) == CHORUS_OK);
        dawdle(job);
        EXPECT(chorusx_moe_combine_end(route) == CHORUS_OK);
    }
    check_sums(job, plan, weights, (char *)out, salt);
    free(y.rows), free(weights), free(out);
}

/* Two routes, used in turn. */
static void run_job(struct job *job)
{
    struct plan *plans[2] = {make_plan(job), make_plan(job)};
    chorusx_moe_route_t routes[2];
    chorusx_moe_route_info_t infos[2];
    chorusx_moe_t moe;
    uint64_t dropped;

    EXPECT(chorusx_moe_create(WORLD, &job->config, &moe) == CHORUS_OK);
    if (job->has_mask) EXPECT(chorusx_moe_set_active(moe, NULL, job->is_on) == CHORUS_OK);
    for (int r = 0; r < 2; r++) {
        dawdle(job);
        EXPECT(chorusx_moe_route(moe, plans[r]->idx[api_me()], plans[r]->n_tokens[api_me()],
                                 &routes[r]) == CHORUS_OK);
        check_info(job, plans[r], routes[r]);
        EXPECT(chorusx_moe_route_info(routes[r], &infos[r]) == CHORUS_OK);
    }
    EXPECT(chorusx_moe_dropped(moe, &dropped) == CHORUS_OK &&
           dropped == infos[0].dropped + infos[1].dropped);
    for (uint32_t call = 0; call < CALLS; call++) {
        const uint32_t r = random_below(job, 2);

        if (random_below(job, 3) > 0) try_dispatch(job, plans[r], routes[r], 100 + 2 * call);
        if (random_below(job, 3) > 0) try_combine(job, plans[r], routes[r], 200 + call);
    }
    for (int r = 0; r < 2; r++) {
        EXPECT(chorusx_moe_route_free(routes[r]) == CHORUS_OK);
        free(plans[r]);
    }
    EXPECT(chorusx_moe_destroy(moe) == CHORUS_OK);
}

static void moe__random_tokens__are_as_in_the_reference(void)
{
    for (uint32_t seed = 1; seed <= 24; seed++) {
        struct job *job = make_job(seed);

        run_job(job);
        free(job);
    }
}

/* --- PEs that are late -------------------------------------------------------------------- */
/* Each token goes to the last PE's first expert: only what was freed may be written again. */
static void dispatch__receiver_is_late__gets_each_call(void)
{
    const int32_t last = api_n() - 1;
    const chorusx_moe_config_t config = {
        .experts = api_n(), .topk = 1, .tokens_max = 2, .hidden_bytes = 8, .message_bytes = 8};
    const int32_t idx[2] = {last, last};
    uint64_t x[2], out[2 * PES_MAX];
    chorusx_moe_route_t route;
    chorusx_moe_t moe;

    EXPECT(chorusx_moe_create(WORLD, &config, &moe) == CHORUS_OK);
    EXPECT(chorusx_moe_route(moe, idx, 2, &route) == CHORUS_OK);
    for (uint64_t call = 0; call < 40; call++) {
        for (uint64_t i = 0; i < 2; i++)
            x[i] = 1000 * (uint64_t)api_me() + 10 * call + i;
        if (api_me() == last && call % 8 == 3) (void)usleep(2000);
        EXPECT(chorusx_moe_dispatch(route, x, NULL, out, NULL) == CHORUS_OK);
        for (uint64_t i = 0; api_me() == last && i < 2 * (uint64_t)api_n(); i++)
            EXPECT(out[i] == 1000 * (i / 2) + 10 * call + i % 2);
    }
    EXPECT(chorusx_moe_route_free(route) == CHORUS_OK);
    EXPECT(chorusx_moe_destroy(moe) == CHORUS_OK);
}

/* --- teams -------------------------------------------------------------------------------- */
/* The PEs of the job from the last one to the first but PE 0, each with one expert: a token
 * goes to the next PE of the team, and comes back. */
static void create__team_in_another_order__has_its_numbers(void)
{
    const chorusx_moe_config_t config = {
        .experts = api_n() - 1, .topk = 1, .tokens_max = 1, .hidden_bytes = 4};
    const int me = api_n() - 1 - api_me(), n = api_n() - 1;
    int pes[PES_MAX];
    const int32_t next = (me + 1) % (n > 0 ? n : 1);
    const float x = 10.0f * (float)me;
    float row = -1, sum = -1;
    chorusx_moe_route_t route;
    chorusx_moe_t moe;
    chorus_team_t team;

    if (n == 0) return;
    for (int p = 0; p < n; p++)
        pes[p] = n - p;
    EXPECT(chorusx_team_create(WORLD, pes, n, &team) == CHORUS_OK);
    if (api_me() == 0) return;
    EXPECT(chorusx_moe_create(team, &config, &moe) == CHORUS_OK);
    EXPECT(chorusx_moe_route(moe, &next, 1, &route) == CHORUS_OK);
    EXPECT(chorusx_moe_dispatch(route, &x, NULL, &row, NULL) == CHORUS_OK);
    EXPECT(row == 10.0f * (float)((me + n - 1) % n));
    EXPECT(chorusx_moe_combine(route, &row, CHORUS_TYPE_f32, NULL, &sum) == CHORUS_OK);
    EXPECT(sum == x);
    EXPECT(chorusx_moe_route_free(route) == CHORUS_OK);
    EXPECT(chorusx_moe_destroy(moe) == CHORUS_OK);
    chorus_team_destroy(team);
}

/* --- what is not active ------------------------------------------------------------------- */
static chorusx_moe_config_t small_config(void)
{
    return (chorusx_moe_config_t){.experts = 2 * api_n(),
                                  .topk = 2,
                                  .tokens_max = 4,
                                  .hidden_bytes = 4,
                                  .renormalise = 1};
}

/* A token for expert 0, with weight 0.25, and for the last one, with 0.75. */
static void pass_on(chorusx_moe_t moe, float token, float *sum_out)
{
    const int32_t idx[2] = {0, 2 * api_n() - 1};
    const float weights[2] = {0.25f, 0.75f};
    float rows[2 * PES_MAX];
    chorusx_moe_route_t route;

    EXPECT(chorusx_moe_route(moe, idx, 1, &route) == CHORUS_OK);
    EXPECT(chorusx_moe_dispatch(route, &token, NULL, rows, NULL) == CHORUS_OK);
    EXPECT(chorusx_moe_combine(route, rows, CHORUS_TYPE_f32, weights, sum_out) == CHORUS_OK);
    EXPECT(chorusx_moe_route_free(route) == CHORUS_OK);
}

static void set_active__pe_is_off__others_go_on_without_it(void)
{
    const chorusx_moe_config_t config = small_config();
    const bool is_off = api_n() > 1 && api_me() == api_n() - 1;
    unsigned char pes[PES_MAX];
    chorusx_moe_t moe;
    chorusx_moe_route_t old, none;
    float sum = 0, token = (float)api_me() + 1;

    EXPECT(chorusx_moe_create(WORLD, &config, &moe) == CHORUS_OK);
    EXPECT(chorusx_moe_route(moe, NULL, 0, &old) == CHORUS_OK);
    pass_on(moe, token, &sum);
    EXPECT(sum == token);
    memset(pes, 1, sizeof(pes));
    if (api_n() > 1) pes[api_n() - 1] = 0;
    EXPECT(chorusx_moe_set_active(moe, pes, NULL) == CHORUS_OK);
    EXPECT_FAILS(chorusx_moe_dispatch(old, NULL, NULL, NULL, NULL), CHORUS_ERR_STATE,
                 "the route was computed before chorusx_moe_set_active");
    if (is_off)
        EXPECT_FAILS(chorusx_moe_route(moe, NULL, 0, &none), CHORUS_ERR_STATE,
                     "this PE is not active");
    for (int call = 0; call < 3 && !is_off; call++) {
        pass_on(moe, token + 10, &sum); /* all of the weight is that of expert 0 */
        EXPECT(sum == token + 10);
    }
    EXPECT(chorusx_moe_set_active(moe, NULL, NULL) == CHORUS_OK);
    pass_on(moe, token + 20, &sum);
    EXPECT(sum == token + 20);
    EXPECT(chorusx_moe_route_free(old) == CHORUS_OK);
    EXPECT(chorusx_moe_destroy(moe) == CHORUS_OK);
}

static void route__masks_differ__fails_on_all(void)
{
    const chorusx_moe_config_t config = small_config();
    unsigned char experts[EXPERTS_MAX];
    chorusx_moe_route_t route;
    chorusx_moe_t moe;

    if (api_n() < 2) return;
    memset(experts, 1, sizeof(experts));
    experts[0] = api_me() != 0;
    EXPECT(chorusx_moe_create(WORLD, &config, &moe) == CHORUS_OK);
    EXPECT(chorusx_moe_set_active(moe, NULL, experts) == CHORUS_OK);
    EXPECT_FAILS(chorusx_moe_route(moe, NULL, 0, &route), CHORUS_ERR_ARG,
                 "PEs 0 and 1 differ in what is active");
    EXPECT(chorusx_moe_destroy(moe) == CHORUS_OK);
}

/* --- what is refused ---------------------------------------------------------------------- */
static void expect_refused(const chorusx_moe_config_t *config, const char *part)
{
    chorusx_moe_t moe;

    EXPECT_FAILS(chorusx_moe_create(WORLD, config, &moe), CHORUS_ERR_ARG, part);
    EXPECT(moe == CHORUSX_MOE_INVALID);
}

static void create__config_is_wrong__all_say_so(void)
{
    const bool is_wrong = api_me() == api_n() - 1;
    const chorusx_moe_config_t right = small_config();
    chorusx_moe_config_t c = right;
    char text[100];

    (void)snprintf(text, sizeof(text), "the configuration of PE %d is null", api_n() - 1);
    expect_refused(is_wrong ? NULL : &right, text);
    c.topk = is_wrong ? 1 : 2;
    (void)snprintf(text, sizeof(text), "topk is 2 on PE 0 and 1 on PE %d", api_n() - 1);
    if (api_n() > 1) expect_refused(&c, text);
    c.topk = 2 * api_n() + 1;
    (void)snprintf(text, sizeof(text), "topk is %d, of %d experts", c.topk, c.experts);
    expect_refused(&c, text);
    c = right, c.experts = 2 * api_n() + 1;
    (void)snprintf(text, sizeof(text), "%d experts cannot be divided among", c.experts);
    if (api_n() > 1) expect_refused(&c, text);
    c.experts = 0;
    expect_refused(&c, "experts is 0; expected 1 to 65536");
    c = right, c.hidden_bytes = 0;
    expect_refused(&c, "hidden_bytes is 0; expected 1 to");
    c = right, c.layout = CHORUSX_MOE_EXPERT_MAJOR;
    expect_refused(&c, "capacity is 0");
    c = right, c.combine_bytes = c.hidden_bytes = (size_t)1 << 30,
    c.topk = c.experts = 8000 * api_n();
    {
        chorusx_moe_t moe;

        EXPECT(chorusx_moe_create(WORLD, &c, &moe) == CHORUS_ERR_NOMEM);
    }
}

/* The last PE alone is wrong; all fail with the same message, and can go on. */
static void route__tokens_are_wrong__all_say_so(void)
{
    const chorusx_moe_config_t config = small_config();
    const int32_t right[4] = {0, -1, -1, 1}, outside[4] = {0, 1, 2 * api_n(), 0},
                  negative[4] = {0, 1, 1, -2}, twice[4] = {0, -1, 1, 1};
    const bool is_wrong = api_me() == api_n() - 1;
    chorusx_moe_route_t route;
    chorusx_moe_t moe;
    float sum;
    char text[100];

#define LAST(...) (snprintf(text, sizeof(text), __VA_ARGS__), text)
#define REFUSED(IDX, N, ...)                                                                   \
    EXPECT_FAILS(chorusx_moe_route(moe, is_wrong ? (IDX) : right, is_wrong ? (N) : 2, &route), \
                 CHORUS_ERR_ARG, LAST(__VA_ARGS__));                                           \
    EXPECT(route == CHORUSX_MOE_ROUTE_INVALID)
    EXPECT(chorusx_moe_create(WORLD, &config, &moe) == CHORUS_OK);
    REFUSED(outside, 2, "entry 0 of token 1 of PE %d is %d; expected an expert, 0 to %d",
            api_n() - 1, 2 * api_n(), 2 * api_n() - 1);
    REFUSED(negative, 2, "entry 1 of token 1 of PE %d is -2", api_n() - 1);
    REFUSED(twice, 2, "token 1 of PE %d has expert 1 twice, the second time in entry 1",
            api_n() - 1);
    REFUSED(NULL, 2, "topk_idx of PE %d is null, for 2 tokens", api_n() - 1);
    REFUSED(right, 5, "PE %d has 5 tokens; the object was created for 4", api_n() - 1);
#undef REFUSED
#undef LAST
    pass_on(moe, 3.5f, &sum);
    EXPECT(sum == 3.5f);
    EXPECT(chorusx_moe_destroy(moe) == CHORUS_OK);
}

static void route__beyond_capacity__fails_on_all(void)
{
    chorusx_moe_config_t config = small_config();
    const int32_t idx[4] = {1, -1, -1, 1};
    chorusx_moe_route_t route;
    chorusx_moe_t moe;
    char text[100];

    config.capacity = 2 * (size_t)api_n() - 1;
    config.overflow = CHORUSX_MOE_FAIL;
    EXPECT(chorusx_moe_create(WORLD, &config, &moe) == CHORUS_OK);
    (void)snprintf(text, sizeof(text), "expert 1 gets %d rows, beyond its capacity of %d",
                   2 * api_n(), 2 * api_n() - 1);
    EXPECT_FAILS(chorusx_moe_route(moe, idx, 2, &route), CHORUS_ERR_ARG, text);
    EXPECT(chorusx_moe_route(moe, idx, 1, &route) == CHORUS_OK);
    EXPECT(chorusx_moe_route_free(route) == CHORUS_OK);
    EXPECT(chorusx_moe_destroy(moe) == CHORUS_OK);
}

static void calls__out_of_turn__are_refused(void)
{
    const chorusx_moe_config_t config = small_config();
    const int32_t idx[2] = {2 * api_me(), -1};
    float x = 1.5f, row = 0, sum = 0;
    chorusx_moe_route_t route, other;
    chorusx_moe_t moe;
    uint64_t dropped;

    EXPECT(chorusx_moe_create(WORLD, &config, &moe) == CHORUS_OK);
    EXPECT(chorusx_moe_route(moe, idx, 1, &route) == CHORUS_OK);
    EXPECT_FAILS(chorusx_moe_dispatch(NULL, &x, NULL, &row, NULL), CHORUS_ERR_ARG,
                 "the route is null");
    EXPECT_FAILS(chorusx_moe_dispatch(route, NULL, NULL, &row, NULL), CHORUS_ERR_ARG,
                 "x is null");
    EXPECT_FAILS(chorusx_moe_dispatch(route, &x, NULL, NULL, NULL), CHORUS_ERR_ARG,
                 "out is null");
    EXPECT_FAILS(chorusx_moe_combine(route, NULL, CHORUS_TYPE_f32, NULL, &sum), CHORUS_ERR_ARG,
                 "y is null");
    EXPECT_FAILS(chorusx_moe_combine(route, &row, CHORUS_TYPE_f64, NULL, &sum), CHORUS_ERR_ARG,
                 "the type is not f32, bf16 or f16");
    EXPECT_FAILS(chorusx_moe_dispatch_end(route), CHORUS_ERR_STATE, "no such call");
    EXPECT_FAILS(chorusx_moe_dropped(NULL, &dropped), CHORUS_ERR_ARG, "the object is null");
    EXPECT_FAILS(chorusx_moe_destroy(moe), CHORUS_ERR_STATE, "a route of the object");
    EXPECT(chorusx_moe_dispatch_begin(route, &x, NULL, &row, NULL) == CHORUS_OK);
    EXPECT_FAILS(chorusx_moe_combine_end(route), CHORUS_ERR_STATE, "no such call");
    EXPECT_FAILS(chorusx_moe_combine(route, &row, CHORUS_TYPE_f32, NULL, &sum),
                 CHORUS_ERR_STATE, "a call is under way");
    EXPECT_FAILS(chorusx_moe_route(moe, idx, 1, &other), CHORUS_ERR_STATE,
                 "a call is under way");
    EXPECT_FAILS(chorusx_moe_set_active(moe, NULL, NULL), CHORUS_ERR_STATE,
                 "a call is under way");
    EXPECT_FAILS(chorusx_moe_route_free(route), CHORUS_ERR_STATE, "a call with the route");
    EXPECT_FAILS(chorusx_moe_destroy(moe), CHORUS_ERR_STATE, "a call is under way");
    EXPECT(chorusx_moe_dispatch_end(route) == CHORUS_OK && row == 1.5f);
    EXPECT(chorusx_moe_route_free(route) == CHORUS_OK);
    EXPECT(chorusx_moe_destroy(moe) == CHORUS_OK);
    EXPECT(chorusx_moe_route_free(NULL) == CHORUS_OK &&
           chorusx_moe_destroy(CHORUSX_MOE_INVALID) == CHORUS_OK);
}

#define MOE_LIST(X)                                   \
    X(moe__random_tokens__are_as_in_the_reference)    \
    X(dispatch__receiver_is_late__gets_each_call)     \
    X(create__team_in_another_order__has_its_numbers) \
    X(set_active__pe_is_off__others_go_on_without_it) \
    X(route__masks_differ__fails_on_all)              \
    X(create__config_is_wrong__all_say_so)            \
    X(route__tokens_are_wrong__all_say_so)            \
    X(route__beyond_capacity__fails_on_all)           \
    X(calls__out_of_turn__are_refused)
API_MAIN(MOE_LIST)
