/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe_gpu.c: times dispatch and combine on streams beside alltoalls of as many bytes, in turn,
 * in the same processes: of all rows, and of tokens that go once to each PE. Each time is of
 * one call behind a barrier, which is timed too. PE 0 prints a CSV.
 *
 *     GBps = bytes that leave PE 0 for others / median time
 *
 * usage: CHORUS_HEAP=cuda chorusrun -n N moe_gpu [TOKENS [HIDDEN [TOPK [EXPERTS_EACH
 * [ROUNDS]]]]]
 */
#include "chorus/apps/moe.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum what {
    DISPATCH,
    DISPATCH_COMPACT,
    COMBINE,
    COMBINE_COMPACT,
    ALLTOALL_ROWS,
    ALLTOALL_TOKENS,
    BARRIER,
    N_WHAT
};

static const char *const names[N_WHAT] = {
    "dispatch",      "dispatch_compact", "combine", "combine_compact",
    "alltoall_rows", "alltoall_tokens",  "barrier"};

struct bench {
    int me, n_pes, rounds;
    size_t tokens, hidden, topk, each, row_bytes; /* hidden: values of a token, of bf16 */
    size_t rows;                                  /* that leave this PE */
    chorusx_moe_t moe, compact;
    chorus_stream_t stream;
    int32_t *idx;
    float *weights;
    uint16_t *x, *sums;
    uint32_t *counts;
    char *out, *to, *from;                   /* symmetric: rows; of alltoalls */
    size_t capacity, pair_rows, pair_tokens; /* bytes for each PE */
    float *times[N_WHAT];                    /* of each round, in milliseconds */
};

static void fail(const char *why)
{
    (void)fprintf(stderr, "moe_gpu: %s\n", why);
    chorus_global_exit(1);
}

static void require(int code)
{
    if (code != CHORUS_OK) fail(chorusx_last_error());
}

static void require_cuda(cudaError_t error)
{
    if (error != cudaSuccess) fail(cudaGetErrorString(error));
}

static void *allocate(size_t n, size_t bytes)
{
    void *memory = calloc(n + 1, bytes);

    if (memory == NULL) fail("no memory");
    return memory;
}

static void *to_gpu(const void *here, size_t bytes)
{
    void *there = NULL;

    require_cuda(cudaMalloc(&there, bytes + 1));
    require_cuda(cudaMemcpy(there, here, bytes, cudaMemcpyHostToDevice));
    return there;
}

static void *symmetric(size_t bytes)
{
    void *memory = chorus_malloc(bytes);

    if (memory == NULL) fail(chorusx_last_error());
    return memory;
}

/* --- tokens ------------------------------------------------------------------------------- */
static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Whether one of the entries before has this expert. */
static bool is_before(const int32_t *entries, size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (entries[i] == entries[k]) return true;
    return false;
}

static void choose_experts(struct bench *b, int32_t *entries, uint32_t *state)
{
    for (size_t k = 0; k < b->topk; k++) {
        do
            entries[k] = (int32_t)(next_random(state) % (b->each * (size_t)b->n_pes));
        while (is_before(entries, k));
        if ((size_t)entries[k] / b->each != (size_t)b->me) b->rows++;
    }
}

/* How many tokens a PE has for another one, on average. */
static size_t tokens_of_pair(const struct bench *b)
{
    const double all = (double)b->each * b->n_pes;
    double none = 1; /* the chance that a token has no expert there */

    for (size_t k = 0; k < b->topk; k++)
        none *= (all - (double)b->each - (double)k) / (all - (double)k);
    return (size_t)((double)b->tokens * (1 - (none > 0 ? none : 0))) + 1;
}

static void fill(struct bench *b)
{
    const size_t n = b->tokens * b->topk, values = b->tokens * b->hidden;
    int32_t *idx = allocate(n, sizeof(*idx));
    float *weights = allocate(n, sizeof(*weights));
    uint16_t *x = allocate(values, sizeof(*x));
    uint32_t state = 1 + (uint32_t)b->me;

    for (size_t t = 0; t < b->tokens; t++)
        choose_experts(b, idx + t * b->topk, &state);
    for (size_t i = 0; i < n; i++)
        weights[i] = (float)(next_random(&state) % 1000) / 1000.0f;
    for (size_t i = 0; i < values; i++)
        x[i] = (uint16_t)(0x3f00u | next_random(&state) % 256u); /* 0.5 to 2 */
    b->idx = to_gpu(idx, n * sizeof(*idx));
    b->weights = to_gpu(weights, n * sizeof(*weights));
    b->x = to_gpu(x, values * sizeof(*x));
    b->sums = to_gpu(x, values * sizeof(*x));
    require_cuda(cudaMalloc((void **)&b->counts, b->each * sizeof(*b->counts)));
    free(idx), free(weights), free(x);
}

/* --- objects ------------------------------------------------------------------------------ */
static chorusx_moe_t create(const struct bench *b, chorusx_moe_layout_t layout)
{
    const chorusx_moe_config_t config = {.experts = (int)b->each * b->n_pes,
                                         .topk = (int)b->topk,
                                         .tokens_max = b->tokens,
                                         .hidden_bytes = b->row_bytes,
                                         .capacity = b->capacity,
                                         .layout = layout,
                                         .renormalise = 1};
    chorusx_moe_t moe;

    require(chorusx_moe_create(CHORUS_TEAM_WORLD, &config, &moe));
    return moe;
}

/* Twice the rows that an expert has on average, so that hardly any is dropped. */
static void make_objects(struct bench *b)
{
    const size_t n = (size_t)b->n_pes;

    b->row_bytes = b->hidden * sizeof(*b->x);
    b->capacity = 2 * (b->tokens * b->topk / b->each + 8);
    fill(b);
    b->moe = create(b, CHORUSX_MOE_EXPERT_MAJOR);
    b->compact = create(b, CHORUSX_MOE_COMPACT);
    b->out = symmetric(b->each * b->capacity * b->row_bytes);
    b->pair_rows = ((b->tokens * b->topk + n - 1) / n + 1) * b->row_bytes;
    b->pair_tokens = tokens_of_pair(b) * b->row_bytes;
    b->to = symmetric(n * b->pair_rows);
    b->from = symmetric(n * b->pair_rows);
    require_cuda(cudaMemset(b->from, 0x3f, n * b->pair_rows));
    require(chorusx_stream_create(&b->stream));
    for (int w = 0; w < N_WHAT; w++)
        b->times[w] = allocate((size_t)b->rounds, sizeof(float));
}

/* --- times -------------------------------------------------------------------------------- */
static int call(struct bench *b, enum what what)
{
    chorusx_moe_t moe = what == DISPATCH || what == COMBINE ? b->moe : b->compact;

    switch (what) {
    case DISPATCH:
    case DISPATCH_COMPACT:
        return chorusx_moe_dispatch_on_stream(moe, b->idx, b->tokens, b->x, NULL, b->out, NULL,
                                              b->counts, b->stream);
    case COMBINE:
    case COMBINE_COMPACT:
        return chorusx_moe_combine_on_stream(moe, b->out, CHORUS_TYPE_bf16, b->weights, b->sums,
                                             b->stream);
    case ALLTOALL_ROWS:
        return chorusx_alltoallmem_on_stream(CHORUS_TEAM_WORLD, b->to, b->from, b->pair_rows,
                                             b->stream);
    case ALLTOALL_TOKENS:
        return chorusx_alltoallmem_on_stream(CHORUS_TEAM_WORLD, b->to, b->from, b->pair_tokens,
                                             b->stream);
    default:
        return chorusx_barrier_on_stream(CHORUS_TEAM_WORLD, b->stream);
    }
}

static float time_of(struct bench *b, enum what what, cudaEvent_t begin, cudaEvent_t end)
{
    cudaStream_t stream = (cudaStream_t)b->stream;
    float ms = 0;

    require(chorusx_barrier_on_stream(CHORUS_TEAM_WORLD, b->stream));
    require_cuda(cudaEventRecord(begin, stream));
    require(call(b, what));
    require_cuda(cudaEventRecord(end, stream));
    require(chorusx_stream_synchronize(b->stream));
    require_cuda(cudaEventElapsedTime(&ms, begin, end));
    return ms;
}

/* Each dispatch is followed by the combine of its object. */
static void measure(struct bench *b)
{
    static const enum what order[] = {DISPATCH,       COMBINE,          BARRIER,
                                      ALLTOALL_ROWS,  DISPATCH_COMPACT, COMBINE_COMPACT,
                                      ALLTOALL_TOKENS};
    cudaEvent_t begin, end;

    require_cuda(cudaEventCreate(&begin));
    require_cuda(cudaEventCreate(&end));
    for (int round = -3; round < b->rounds; round++)
        for (int i = 0; i < N_WHAT; i++) {
            const float ms = time_of(b, order[i], begin, end);

            if (round >= 0) b->times[order[i]][round] = ms;
        }
    require_cuda(cudaEventDestroy(begin));
    require_cuda(cudaEventDestroy(end));
}

static int compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static size_t bytes_of(const struct bench *b, enum what what)
{
    const size_t others = (size_t)(b->n_pes - 1);

    if (what == BARRIER) return 0;
    if (what == ALLTOALL_ROWS) return others * b->pair_rows;
    if (what == ALLTOALL_TOKENS) return others * b->pair_tokens;
    return b->rows * b->row_bytes;
}

static void report(const struct bench *b)
{
    uint64_t dropped, dropped_compact;

    require(chorusx_moe_dropped(b->moe, &dropped));
    require(chorusx_moe_dropped(b->compact, &dropped_compact));
    if (b->me != 0) return;
    (void)printf(
        "# %d PEs, %zu tokens of %zu values of bf16, topk %zu, %zu experts of each PE; "
        "%" PRIu64 " entries were dropped\n",
        b->n_pes, b->tokens, b->hidden, b->topk, b->each, dropped + dropped_compact);
    (void)printf("call,bytes,time_us_min,time_us_p50,GBps\n");
    for (int w = 0; w < N_WHAT; w++) {
        float *times = b->times[w];
        double us;

        qsort(times, (size_t)b->rounds, sizeof(*times), compare);
        us = 1e3 * (double)times[b->rounds / 2];
        (void)printf("%s,%zu,%.1f,%.1f,%.1f\n", names[w], bytes_of(b, (enum what)w),
                     1e3 * (double)times[0], us, (double)bytes_of(b, (enum what)w) / us / 1e3);
    }
}

static void free_all(struct bench *b)
{
    require(chorusx_stream_destroy(b->stream));
    require(chorusx_moe_destroy(b->compact));
    require(chorusx_moe_destroy(b->moe));
    chorus_free(b->from);
    chorus_free(b->to);
    chorus_free(b->out);
    for (int w = 0; w < N_WHAT; w++)
        free(b->times[w]);
    (void)cudaFree(b->idx), (void)cudaFree(b->weights), (void)cudaFree(b->x);
    (void)cudaFree(b->sums), (void)cudaFree(b->counts);
}

static size_t argument(int argc, char **argv, int i, size_t default_value)
{
    return argc > i ? strtoull(argv[i], NULL, 10) : default_value;
}

int main(int argc, char **argv)
{
    struct bench b = {.tokens = argument(argc, argv, 1, 4096),
                      .hidden = argument(argc, argv, 2, 7168),
                      .topk = argument(argc, argv, 3, 8),
                      .rounds = (int)argument(argc, argv, 5, 30)};

    if (chorus_init() != CHORUS_OK) return 1;
    b.me = chorus_my_pe();
    b.n_pes = chorus_n_pes();
    b.each = argument(argc, argv, 4, 256 / (size_t)b.n_pes);
    if (b.each * (size_t)b.n_pes < b.topk || b.rounds < 1)
        fail("there are too few experts or rounds");
    make_objects(&b);
    measure(&b);
    report(&b);
    free_all(&b);
    chorus_finalize();
    return 0;
}
