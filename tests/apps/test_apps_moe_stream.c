/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch and combine on streams, whose kernels run on a CPU, against the calls of hosts: the
 * same rows in the same places, and sums with the same bits.
 */
#include "chorus/apps/moe.h"

#include "apps/moe_gpu_fake.h"

#include "api_pes.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORLD CHORUS_TEAM_WORLD

enum {
    SEEDS = 8,
    CALLS = 3,
    TOKENS_MAX = 24,
    TOPK_MAX = 6,
    EACH_MAX = 5,
    EXPERTS_MAX = EACH_MAX * API_PES_MAX,
    POISON = 0xa5,
    GUARD = 64, /* bytes behind an array */
    LATE_US = 300,
};

/* The same on all PEs, from a seed, but for `own`. */
struct job {
    uint32_t state, own; /* of random numbers */
    chorusx_moe_config_t config;
    chorus_type type;
    bool is_cut; /* by rows_max */
    chorusx_moe_t host, gpu;
    unsigned char *out, *out_scales, *y; /* symmetric */
    size_t rows;                         /* of each */
    int32_t idx[TOKENS_MAX * TOPK_MAX];
    float weights[TOKENS_MAX * TOPK_MAX];
    size_t n_tokens;
};

static uint32_t below(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)*state * n) >> 32);
}

static void dawdle(struct job *job)
{
    if (below(&job->own, 4) == 0) (void)usleep(below(&job->own, LATE_US));
}

/* --- a job -------------------------------------------------------------------------------- */
static void choose_config(struct job *job, uint32_t seed)
{
    static const chorus_type types[] = {CHORUS_TYPE_f32, CHORUS_TYPE_bf16, CHORUS_TYPE_f16};
    static const size_t units[] = {1, 4, 16};
    chorusx_moe_config_t *c = &job->config;
    uint32_t *state = &job->state;

    job->type = types[seed % 3];
    c->experts = api_n() * (1 + (int)below(state, EACH_MAX));
    c->topk = 1 + (int)below(state, c->experts < TOPK_MAX ? (uint32_t)c->experts : TOPK_MAX);
    c->tokens_max = TOKENS_MAX;
    c->hidden_bytes = units[below(state, 3)] * (1 + below(state, 100));
    c->scale_bytes = below(state, 2) * units[below(state, 3)] * (1 + below(state, 3));
    c->combine_bytes = units[1 + below(state, 2)] * (1 + below(state, 60));
    if (job->type != CHORUS_TYPE_f32 && below(state, 3) == 0) c->combine_bytes += 2;
    c->layout = seed % 2 == 0 ? CHORUSX_MOE_EXPERT_MAJOR : CHORUSX_MOE_COMPACT;
    c->capacity = below(state, 3) == 0 ? TOKENS_MAX * (size_t)api_n() : 1 + below(state, 20);
    if (c->layout == CHORUSX_MOE_COMPACT && below(state, 2) == 0) c->capacity = 0;
    c->renormalise = (int)below(state, 2);
    job->is_cut = c->layout == CHORUSX_MOE_COMPACT && below(state, 3) == 0;
    if (job->is_cut) c->rows_max = 1 + below(state, 30);
    if (job->is_cut) c->renormalise = 0;
}

/* Rows of an array, as the header says. */
static size_t array_rows(const chorusx_moe_config_t *c)
{
    const size_t by_capacity = (size_t)(c->experts / api_n()) * c->capacity;
    size_t rows = (size_t)api_n() * c->tokens_max * (size_t)c->topk;

    if (c->layout == CHORUSX_MOE_EXPERT_MAJOR) return by_capacity;
    if (c->capacity > 0 && by_capacity < rows) rows = by_capacity;
    return c->rows_max > 0 && c->rows_max < rows ? c->rows_max : rows;
}

static chorusx_moe_t create(const chorusx_moe_config_t *config, chorus_heap heap)
{
    chorusx_moe_t moe;

    moe_fake()->heap = heap;
    EXPECT(chorusx_moe_create(WORLD, config, &moe) == CHORUS_OK);
    return moe;
}

static struct job *make_job(uint32_t seed)
{
    struct job *job = calloc(1, sizeof(*job));
    unsigned char is_on[EXPERTS_MAX];

    job->state = seed * 2654435761u + 4711;
    job->own = seed * 7919u + (uint32_t)api_me() * 104729u;
    choose_config(job, seed);
    job->host = create(&job->config, CHORUS_HEAP_host);
    job->gpu = create(&job->config, CHORUS_HEAP_cuda);
    job->rows = array_rows(&job->config);
    job->out = chorus_malloc(job->rows * job->config.hidden_bytes + GUARD);
    job->out_scales = chorus_malloc(job->rows * job->config.scale_bytes + GUARD);
    job->y = chorus_malloc(job->rows * job->config.combine_bytes + GUARD);
    if (below(&job->state, 3) > 0) return job;
    for (int e = 0; e < job->config.experts; e++)
        is_on[e] = below(&job->state, 4) != 0;
    EXPECT(chorusx_moe_set_active(job->host, NULL, is_on) == CHORUS_OK);
    EXPECT(chorusx_moe_set_active(job->gpu, NULL, is_on) == CHORUS_OK);
    return job;
}

static void free_job(struct job *job)
{
    EXPECT(chorusx_moe_destroy(job->gpu) == CHORUS_OK);
    EXPECT(chorusx_moe_destroy(job->host) == CHORUS_OK);
    chorus_free(job->y);
    chorus_free(job->out_scales);
    chorus_free(job->out);
    free(job);
}

/* Tokens of this PE. Experts with low numbers are chosen most often. */
static void choose_tokens(struct job *job)
{
    const int topk = job->config.topk;

    job->n_tokens = below(&job->own, 5) == 0 ? 0 : below(&job->own, TOKENS_MAX + 1);
    for (size_t t = 0; t < job->n_tokens; t++) {
        int32_t *entries = job->idx + t * (size_t)topk;

        for (int k = 0; k < topk; k++) {
            const uint32_t most = 1 + below(&job->own, (uint32_t)job->config.experts);

            entries[k] = below(&job->own, 6) == 0 ? -1 : (int32_t)below(&job->own, most);
            for (int i = 0; i < k; i++)
                if (entries[i] == entries[k]) entries[k] = -1;
            job->weights[t * (size_t)topk + (size_t)k] =
                (float)(1 + below(&job->own, 1000)) / 777.0f;
        }
    }
}

/* --- dispatch ----------------------------------------------------------------------------- */
static unsigned char *random_bytes(struct job *job, size_t bytes)
{
    unsigned char *all = malloc(bytes + 1);

    for (size_t i = 0; i < bytes; i++)
        all[i] = (unsigned char)below(&job->own, 256);
    return all;
}

static unsigned char *poisoned(size_t bytes)
{
    return memset(malloc(bytes + 1), POISON, bytes + 1);
}

/* The rows are those of the host as far as there are any, and nothing is behind them. */
static void check_rows(const struct job *job, const unsigned char *rows,
                       const unsigned char *host, size_t host_rows, size_t row_bytes)
{
    const size_t n = host_rows < job->rows ? host_rows : job->rows;

    EXPECT(memcmp(rows, host, n * row_bytes) == 0);
    for (size_t i = n * row_bytes; i < job->rows * row_bytes + GUARD; i++)
        EXPECT(rows[i] == POISON);
}

static void run_dispatch(struct job *job, const void *x, const void *scales, uint32_t *counts)
{
    if (below(&job->own, 2) == 0) {
        EXPECT(chorusx_moe_dispatch_on_stream(job->gpu, job->idx, job->n_tokens, x, scales,
                                              job->out, job->out_scales, counts,
                                              NULL) == CHORUS_OK);
        return;
    }
    EXPECT(chorusx_moe_dispatch_begin_on_stream(job->gpu, job->idx, job->n_tokens, x, scales,
                                                job->out, job->out_scales, counts,
                                                NULL) == CHORUS_OK);
    dawdle(job);
    EXPECT(chorusx_moe_dispatch_end_on_stream(job->gpu, NULL) == CHORUS_OK);
}

static void check_counts(const struct job *job, const chorusx_moe_route_info_t *info,
                         const uint32_t *counts)
{
    for (int e = 0; e < info->n_experts; e++) {
        const size_t first = info->firsts[e], room = first < job->rows ? job->rows - first : 0;

        EXPECT(counts[e] == (info->counts[e] < room ? info->counts[e] : room));
    }
}

static void try_dispatch(struct job *job, chorusx_moe_route_t route)
{
    const chorusx_moe_config_t *c = &job->config;
    unsigned char *x = random_bytes(job, job->n_tokens * c->hidden_bytes),
                  *scales = random_bytes(job, job->n_tokens * c->scale_bytes), *rows,
                  *row_scales;
    chorusx_moe_route_info_t info;
    uint32_t counts[EACH_MAX];

    EXPECT(chorusx_moe_route_info(route, &info) == CHORUS_OK);
    rows = poisoned(info.array_rows * c->hidden_bytes);
    row_scales = poisoned(info.array_rows * c->scale_bytes);
    EXPECT(chorusx_moe_dispatch(route, x, scales, rows, row_scales) == CHORUS_OK);
    (void)memset(job->out, POISON, job->rows * c->hidden_bytes + GUARD);
    (void)memset(job->out_scales, POISON, job->rows * c->scale_bytes + GUARD);
    dawdle(job);
    run_dispatch(job, x, scales, counts);
    check_rows(job, job->out, rows, info.array_rows, c->hidden_bytes);
    check_rows(job, job->out_scales, row_scales, info.array_rows, c->scale_bytes);
    check_counts(job, &info, counts);
    free(x), free(scales), free(rows), free(row_scales);
}

/* --- combine ------------------------------------------------------------------------------ */
/* Values that are finite, and not 0. */
static void fill_values(struct job *job, unsigned char *to, size_t bytes)
{
    for (size_t i = 0; i + 1 < bytes; i += 2) {
        uint16_t half = (uint16_t)(below(&job->own, 65536) | 1);

        if (job->type == CHORUS_TYPE_f16) half &= 0xbfffu;
        if (job->type != CHORUS_TYPE_f16) half = (uint16_t)((half & 0x87ffu) | 0x3c00u);
        (void)memcpy(to + i, &half, sizeof(half));
    }
}

static void run_combine(struct job *job, const float *weights, void *out)
{
    if (below(&job->own, 2) == 0) {
        EXPECT(chorusx_moe_combine_on_stream(job->gpu, job->y, job->type, weights, out, NULL) ==
               CHORUS_OK);
        return;
    }
    EXPECT(chorusx_moe_combine_begin_on_stream(job->gpu, job->y, job->type, weights, out,
                                               NULL) == CHORUS_OK);
    dawdle(job);
    EXPECT(chorusx_moe_combine_end_on_stream(job->gpu, NULL) == CHORUS_OK);
}

/* Rows that were cut off are 0 on hosts, and weights are positive, so that they add nothing. */
static void try_combine(struct job *job, chorusx_moe_route_t route, bool has_weights)
{
    const size_t row = job->config.combine_bytes, bytes = job->n_tokens * row;
    const float *weights = has_weights ? job->weights : NULL;
    unsigned char *sums = poisoned(bytes), *host_sums = poisoned(bytes), *y;
    chorusx_moe_route_info_t info;

    EXPECT(chorusx_moe_route_info(route, &info) == CHORUS_OK);
    (void)memset(job->y, POISON, job->rows * row);
    dawdle(job);
    fill_values(job, job->y, job->rows * row);
    y = calloc(info.array_rows * row + 1, 1);
    (void)memcpy(y, job->y, (info.array_rows < job->rows ? info.array_rows : job->rows) * row);
    run_combine(job, weights, sums);
    (void)memset(job->y, POISON, job->rows * row); /* all have read it */
    EXPECT(chorusx_moe_combine(route, y, job->type, weights, host_sums) == CHORUS_OK);
    EXPECT(memcmp(sums, host_sums, bytes + 1) == 0);
    free(sums), free(host_sums), free(y);
}

/* --- random jobs -------------------------------------------------------------------------- */
static void run_job(struct job *job)
{
    uint64_t dropped, host_dropped;

    for (int call = 0; call < CALLS; call++) {
        chorusx_moe_route_t route;
        bool is_again = below(&job->state, 2) == 0;

        moe_fake()->blocks = 1 + below(&job->own, 3);
        moe_fake()->threads = 32 * (1 + below(&job->own, 2));
        choose_tokens(job);
        EXPECT(chorusx_moe_route(job->host, job->idx, job->n_tokens, &route) == CHORUS_OK);
        try_dispatch(job, route);
        try_combine(job, route, true);
        if (is_again) try_combine(job, route, false);
        EXPECT(chorusx_moe_route_free(route) == CHORUS_OK);
    }
    EXPECT(chorusx_moe_dropped(job->host, &host_dropped) == CHORUS_OK);
    EXPECT(chorusx_moe_dropped(job->gpu, &dropped) == CHORUS_OK);
    EXPECT(job->is_cut ? dropped >= host_dropped : dropped == host_dropped);
}

static void stream__random_tokens__are_as_of_hosts(void)
{
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        struct job *job = make_job(seed);

        run_job(job);
        free_job(job);
    }
}

/* --- what is not active, and what is wrong ------------------------------------------------ */
static chorusx_moe_config_t small_config(void)
{
    return (chorusx_moe_config_t){.experts = 2 * api_n(),
                                  .topk = 2,
                                  .tokens_max = 4,
                                  .hidden_bytes = 4,
                                  .renormalise = 1};
}

/* A token for expert 0, with weight 0.25, and for the last one, with 0.75. */
static void pass_on(chorusx_moe_t moe, float *rows, float token, float *sum_out)
{
    const int32_t idx[2] = {0, 2 * api_n() - 1};
    const float weights[2] = {0.25f, 0.75f};
    uint32_t counts[2];

    EXPECT(chorusx_moe_dispatch_on_stream(moe, idx, 1, &token, NULL, rows, NULL, counts,
                                          NULL) == CHORUS_OK);
    EXPECT(chorusx_moe_combine_on_stream(moe, rows, CHORUS_TYPE_f32, weights, sum_out, NULL) ==
           CHORUS_OK);
}

static void set_active__pe_is_off__others_go_on_without_it(void)
{
    const chorusx_moe_config_t config = small_config();
    const bool is_off = api_n() > 1 && api_me() == api_n() - 1;
    chorusx_moe_t moe = create(&config, CHORUS_HEAP_cuda);
    float sum = 0, token = (float)api_me() + 1,
          *rows = chorus_malloc(array_rows(&config) * sizeof(*rows));
    unsigned char pes[API_PES_MAX];
    uint32_t counts[2];

    pass_on(moe, rows, token, &sum);
    EXPECT(sum == token);
    memset(pes, 1, sizeof(pes));
    if (api_n() > 1) pes[api_n() - 1] = 0;
    EXPECT(chorusx_moe_set_active(moe, pes, NULL) == CHORUS_OK);
    if (is_off)
        EXPECT_FAILS(
            chorusx_moe_dispatch_on_stream(moe, NULL, 0, NULL, NULL, rows, NULL, counts, NULL),
            CHORUS_ERR_STATE, "this PE is not active");
    for (int call = 0; call < 3 && !is_off; call++) {
        pass_on(moe, rows, token + 10, &sum); /* all of the weight is that of expert 0 */
        EXPECT(sum == token + 10);
    }
    EXPECT(chorusx_moe_set_active(moe, NULL, NULL) == CHORUS_OK);
    pass_on(moe, rows, token + 20, &sum);
    EXPECT(sum == token + 20);
    EXPECT(chorusx_moe_destroy(moe) == CHORUS_OK);
    chorus_free(rows);
}

/* The first entry that is no expert is named; the others are as if they were empty. */
static void dispatch__entries_are_wrong__are_empty(void)
{
    const chorusx_moe_config_t config = small_config();
    const int32_t idx[4] = {2 * api_me(), -1, 2 * api_n(), 2 * api_me()};
    const float x[2] = {1.5f, 2.5f};
    chorusx_moe_t moe = create(&config, CHORUS_HEAP_cuda);
    float *rows = chorus_calloc(array_rows(&config), sizeof(*rows)), sums[2];
    uint32_t counts[2];
    uint64_t dropped = 1;
    char text[100];

    EXPECT(chorusx_moe_dispatch_on_stream(moe, idx, 2, x, NULL, rows, NULL, counts, NULL) ==
           CHORUS_OK);
    EXPECT(counts[0] == 2 && counts[1] == 0 && rows[0] == 1.5f && rows[1] == 2.5f);
    EXPECT(chorusx_moe_combine_on_stream(moe, rows, CHORUS_TYPE_f32, NULL, sums, NULL) ==
           CHORUS_OK);
    EXPECT(sums[0] == 1.5f && sums[1] == 2.5f);
    (void)snprintf(text, sizeof(text), "the first of them entry 0 of token 1: %d", idx[2]);
    EXPECT_FAILS(chorusx_moe_dropped(moe, &dropped), CHORUS_ERR_ARG, text);
    EXPECT(dropped == 0);
    EXPECT(chorusx_moe_destroy(moe) == CHORUS_OK);
    chorus_free(rows);
}

/* An expert that a token has twice gets two rows. */
static void dispatch__expert_twice__has_two_rows(void)
{
    const chorusx_moe_config_t config = small_config();
    const int32_t idx[2] = {2 * api_me(), 2 * api_me()};
    const float x = 1.5f, weights[2] = {1, 2};
    chorusx_moe_t moe = create(&config, CHORUS_HEAP_cuda);
    float *rows = chorus_calloc(array_rows(&config), sizeof(*rows)), sum;
    uint32_t counts[2];

    EXPECT(chorusx_moe_dispatch_on_stream(moe, idx, 1, &x, NULL, rows, NULL, counts, NULL) ==
           CHORUS_OK);
    EXPECT(counts[0] == 2 && counts[1] == 0 && rows[0] == 1.5f && rows[1] == 1.5f);
    EXPECT(chorusx_moe_combine_on_stream(moe, rows, CHORUS_TYPE_f32, weights, &sum, NULL) ==
           CHORUS_OK);
    EXPECT(sum == 4.5f);
    EXPECT(chorusx_moe_destroy(moe) == CHORUS_OK);
    chorus_free(rows);
}

static void create__not_for_gpus__all_say_so(void)
{
    chorusx_moe_config_t c = small_config();
    chorusx_moe_t moe;

    moe_fake()->heap = CHORUS_HEAP_cuda;
    c.experts = 4096 * api_n();
    EXPECT_FAILS(chorusx_moe_create(WORLD, &c, &moe), CHORUS_ERR_UNSUPPORTED,
                 "where the heap is on GPUs, at most 2048");
    c.experts = 40 * api_n(), c.topk = 33;
    EXPECT_FAILS(chorusx_moe_create(WORLD, &c, &moe), CHORUS_ERR_UNSUPPORTED,
                 "topk is 33; where the heap is on GPUs, at most 32");
    c = small_config(), c.capacity = 1, c.overflow = CHORUSX_MOE_FAIL;
    EXPECT_FAILS(chorusx_moe_create(WORLD, &c, &moe), CHORUS_ERR_UNSUPPORTED,
                 "pass CHORUSX_MOE_DROP");
    c = small_config(), c.tokens_max = UINT32_MAX;
    EXPECT_FAILS(chorusx_moe_create(WORLD, &c, &moe), CHORUS_ERR_UNSUPPORTED,
                 "there are no numbers for so many rows");
    EXPECT(moe == CHORUSX_MOE_INVALID);
}

static void calls__wrong_arguments__are_refused(void)
{
    const chorusx_moe_config_t config = small_config();
    const int32_t idx[2] = {0, -1};
    chorusx_moe_t moe = create(&config, CHORUS_HEAP_cuda),
                  host = create(&config, CHORUS_HEAP_host);
    float *rows = chorus_calloc(array_rows(&config), sizeof(*rows)), x = 1, sums[2];
    uint32_t counts[2];
    chorusx_moe_route_t route;

#define DISPATCH(MOE, IDX, N, X, OUT, COUNTS) \
    chorusx_moe_dispatch_on_stream(MOE, IDX, N, X, NULL, OUT, NULL, COUNTS, NULL)
    EXPECT_FAILS(DISPATCH(NULL, idx, 1, &x, rows, counts), CHORUS_ERR_ARG, "is null");
    EXPECT_FAILS(DISPATCH(host, idx, 1, &x, rows, counts), CHORUS_ERR_UNSUPPORTED,
                 "start the job with CHORUS_HEAP=cuda");
    EXPECT_FAILS(chorusx_moe_route(moe, idx, 1, &route), CHORUS_ERR_UNSUPPORTED,
                 "call chorusx_moe_dispatch_on_stream");
    EXPECT_FAILS(DISPATCH(moe, idx, 5, &x, rows, counts), CHORUS_ERR_ARG,
                 "there are 5 tokens; the object was created for 4");
    EXPECT_FAILS(DISPATCH(moe, NULL, 1, &x, rows, counts), CHORUS_ERR_ARG, "topk_idx is null");
    EXPECT_FAILS(DISPATCH(moe, idx, 1, NULL, rows, counts), CHORUS_ERR_ARG, "x is null");
    EXPECT_FAILS(DISPATCH(moe, idx, 1, &x, rows, NULL), CHORUS_ERR_ARG, "counts is null");
    EXPECT_FAILS(DISPATCH(moe, idx, 1, &x, sums, counts), CHORUS_ERR_NOT_SYMMETRIC,
                 "out is not in symmetric memory");
    EXPECT_FAILS(DISPATCH(moe, (const int32_t *)((const char *)idx + 1), 1, &x, rows, counts),
                 CHORUS_ERR_ARG, "topk_idx is not aligned to 4 bytes");
#undef DISPATCH
    EXPECT_FAILS(chorusx_moe_combine_on_stream(moe, rows, CHORUS_TYPE_f64, NULL, sums, NULL),
                 CHORUS_ERR_ARG, "the type is not f32");
    EXPECT_FAILS(chorusx_moe_combine_on_stream(moe, &x, CHORUS_TYPE_f32, NULL, sums, NULL),
                 CHORUS_ERR_NOT_SYMMETRIC, "y is not in symmetric memory");
    EXPECT_FAILS(chorusx_moe_dispatch_end_on_stream(moe, NULL), CHORUS_ERR_STATE,
                 "no such call");
    EXPECT(chorusx_moe_dispatch_begin_on_stream(moe, NULL, 0, NULL, NULL, rows, NULL, counts,
                                                NULL) == CHORUS_OK);
    EXPECT_FAILS(chorusx_moe_combine_on_stream(moe, rows, CHORUS_TYPE_f32, NULL, sums, NULL),
                 CHORUS_ERR_STATE, "a call is under way");
    EXPECT_FAILS(chorusx_moe_combine_end_on_stream(moe, NULL), CHORUS_ERR_STATE,
                 "no such call");
    EXPECT_FAILS(chorusx_moe_destroy(moe), CHORUS_ERR_STATE, "a call is under way");
    EXPECT(chorusx_moe_dispatch_end_on_stream(moe, NULL) == CHORUS_OK);
    EXPECT(chorusx_moe_destroy(moe) == CHORUS_OK && chorusx_moe_destroy(host) == CHORUS_OK);
    chorus_free(rows);
}

#define STREAM_LIST(X)                                \
    X(stream__random_tokens__are_as_of_hosts)         \
    X(set_active__pe_is_off__others_go_on_without_it) \
    X(dispatch__entries_are_wrong__are_empty)         \
    X(dispatch__expert_twice__has_two_rows)           \
    X(create__not_for_gpus__all_say_so)               \
    X(calls__wrong_arguments__are_refused)
API_MAIN(STREAM_LIST)
