/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch and combine on streams of GPUs, as calls and as graphs that are launched again, with
 * fresh tokens each time. Experts give back what they get: rows of dispatch are those of
 * combine.
 */
#include "chorus/apps/moe.h"

#include "gpu_pes.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

enum {
    EACH = 4,
    TOPK = 4,
    TOKENS = 150,
    VALUES = 100,
    SCALE_BYTES = 8,
    ROUNDS = 6,
    POISON = 0xa5
};

/* Memory of this PE's GPU, that of out symmetric, and what is on the host. */
struct job {
    chorusx_moe_config_t config;
    chorusx_moe_t moe;
    cudaStream_t stream;
    size_t rows;
    int32_t *idx;
    float *x, *weights, *out, *sums;
    char *scales, *out_scales;
    uint32_t *counts;
    uint32_t round;
};

static uint32_t mix(uint32_t a, uint32_t b)
{
    uint32_t h = (a ^ 0x9e3779b9u) * 0x85ebca6bu + b;

    h = (h ^ (h >> 15)) * 0xc2b2ae35u;
    return h ^ (h >> 13);
}

/* --- what PEs have -------------------------------------------------------------------------
 */
/* Experts with low numbers are chosen most often, and each once in a token. */
static int32_t entry_of(const struct job *job, int pe, size_t token, int slot)
{
    const uint32_t bits =
                       mix(mix(mix(job->round, (uint32_t)pe), (uint32_t)token), (uint32_t)slot),
                   each = (uint32_t)(EACH * gpu_n()) / TOPK;

    if (bits % 7 == 0) return -1;
    return (int32_t)((uint32_t)slot * each + (bits >> 8) % (1 + (bits >> 20) % each));
}

static float value_of(const struct job *job, int pe, size_t token, size_t i)
{
    return (float)(int32_t)mix(mix(job->round + 77, (uint32_t)pe),
                               (uint32_t)(token * VALUES + i)) /
           65536.0f / 7.0f;
}

static char scale_of(const struct job *job, int pe, size_t token)
{
    return (char)mix(mix(job->round + 99, (uint32_t)pe), (uint32_t)token);
}

static float weight_of(const struct job *job, size_t token, int slot)
{
    return (float)(1 + mix(mix(job->round, (uint32_t)token), (uint32_t)slot) % 1000) / 3.0f;
}

static void store_tokens(struct job *job)
{
    static int32_t idx[TOKENS][TOPK];
    static float x[TOKENS][VALUES], weights[TOKENS][TOPK];
    static char scales[TOKENS][SCALE_BYTES];

    for (size_t t = 0; t < TOKENS; t++) {
        for (int k = 0; k < TOPK; k++) {
            idx[t][k] = entry_of(job, gpu_me(), t, k);
            weights[t][k] = weight_of(job, t, k);
        }
        for (size_t i = 0; i < VALUES; i++)
            x[t][i] = value_of(job, gpu_me(), t, i);
        (void)memset(scales[t], scale_of(job, gpu_me(), t), SCALE_BYTES);
    }
    gpu_copy(job->idx, idx, sizeof(idx));
    gpu_copy(job->x, x, sizeof(x));
    gpu_copy(job->weights, weights, sizeof(weights));
    gpu_copy(job->scales, scales, sizeof(scales));
    gpu_fill(job->out, POISON, job->rows * sizeof(x[0]));
    gpu_fill(job->out_scales, POISON, job->rows * SCALE_BYTES);
    gpu_fill(job->sums, POISON, sizeof(x));
}

/* --- what they get -------------------------------------------------------------------------
 */
/* Calls `visit` for each entry of the tokens of all PEs, in order, with its row among those of
 * its expert, or -1. */
typedef void (*visit_t)(void *arg, int pe, size_t token, int slot, int32_t expert, long row);

static void visit_entries(const struct job *job, visit_t visit, void *arg)
{
    long *n = calloc((size_t)(EACH * gpu_n()), sizeof(*n));

    for (int pe = 0; pe < gpu_n(); pe++)
        for (size_t t = 0; t < TOKENS; t++)
            for (int k = 0; k < TOPK; k++) {
                const int32_t e = entry_of(job, pe, t, k);

                if (e == -1) continue;
                visit(arg, pe, t, k, e, n[e] < (long)job->config.capacity ? n[e] : -1);
                n[e]++;
            }
    free(n);
}

struct found {
    const struct job *job;
    const float *rows;
    const char *scales;
    float *sums;
    bool *has_sum;
    size_t counts[EACH], first[EACH];
};

static void count_row(void *arg, int pe, size_t token, int slot, int32_t expert, long row)
{
    struct found *found = arg;

    (void)pe, (void)token, (void)slot;
    if (row >= 0 && expert / EACH == gpu_me()) found->counts[expert % EACH]++;
}

static void add_row(struct found *found, size_t token, int slot)
{
    float *sums = found->sums + token * VALUES;
    const float weight = weight_of(found->job, token, slot);

    for (size_t i = 0; i < VALUES; i++) {
        const float product = weight * value_of(found->job, gpu_me(), token, i);

        sums[i] = found->has_sum[token] ? sums[i] + product : product;
    }
    found->has_sum[token] = true;
}

static void check_row(void *arg, int pe, size_t token, int slot, int32_t expert, long row)
{
    struct found *found = arg;
    bool is_right = true;
    size_t at;

    if (row < 0) return;
    if (pe == gpu_me()) add_row(found, token, slot);
    if (expert / EACH != gpu_me()) return;
    at = found->first[expert % EACH] + (size_t)row;
    for (size_t i = 0; i < VALUES; i++)
        is_right =
            is_right && found->rows[at * VALUES + i] == value_of(found->job, pe, token, i);
    for (size_t i = 0; i < SCALE_BYTES; i++)
        is_right =
            is_right && found->scales[at * SCALE_BYTES + i] == scale_of(found->job, pe, token);
    EXPECT(is_right);
}

static void *fetch(const void *from, size_t bytes)
{
    void *here = malloc(bytes);

    gpu_copy(here, from, bytes);
    return here;
}

static void check_all(const struct job *job)
{
    const size_t bytes = (size_t)TOKENS * VALUES * sizeof(float);
    float *rows = fetch(job->out, job->rows * VALUES * sizeof(float)),
          *sums = fetch(job->sums, bytes);
    char *scales = fetch(job->out_scales, job->rows * SCALE_BYTES);
    uint32_t *counts = fetch(job->counts, EACH * sizeof(*counts));
    struct found found = {.job = job,
                          .rows = rows,
                          .scales = scales,
                          .sums = calloc(1, bytes),
                          .has_sum = calloc(TOKENS, sizeof(bool))};

    visit_entries(job, count_row, &found);
    for (int e = 0; e < EACH; e++) {
        EXPECT(counts[e] == found.counts[e]);
        found.first[e] = job->config.layout == CHORUSX_MOE_EXPERT_MAJOR
                             ? (size_t)e * job->config.capacity
                         : e == 0 ? 0
                                  : found.first[e - 1] + found.counts[e - 1];
    }
    visit_entries(job, check_row, &found);
    EXPECT(memcmp(sums, found.sums, bytes) == 0);
    free(rows), free(sums), free(scales), free(counts), free(found.sums), free(found.has_sum);
}

/* --- calls ---------------------------------------------------------------------------------
 */
static struct job make_job(chorusx_moe_layout_t layout, size_t capacity)
{
    struct job job = {.config = {.experts = EACH * gpu_n(),
                                 .topk = TOPK,
                                 .tokens_max = TOKENS,
                                 .hidden_bytes = VALUES * sizeof(float),
                                 .scale_bytes = SCALE_BYTES,
                                 .capacity = capacity,
                                 .layout = layout}};

    job.rows = EACH * capacity;
    EXPECT(chorusx_moe_create(CHORUS_TEAM_WORLD, &job.config, &job.moe) == CHORUS_OK);
    EXPECT(cudaStreamCreateWithFlags(&job.stream, cudaStreamNonBlocking) == cudaSuccess);
    job.idx = gpu_alloc(TOKENS * TOPK * sizeof(*job.idx));
    job.x = gpu_alloc((size_t)TOKENS * VALUES * sizeof(*job.x));
    job.sums = gpu_alloc((size_t)TOKENS * VALUES * sizeof(*job.sums));
    job.weights = gpu_alloc(TOKENS * TOPK * sizeof(*job.weights));
    job.scales = gpu_alloc(TOKENS * SCALE_BYTES);
    job.counts = gpu_alloc(EACH * sizeof(*job.counts));
    job.out = chorus_malloc(job.rows * VALUES * sizeof(*job.out));
    job.out_scales = chorus_malloc(job.rows * SCALE_BYTES);
    return job;
}

static void free_job(struct job *job)
{
    EXPECT(chorusx_moe_destroy(job->moe) == CHORUS_OK);
    EXPECT(cudaStreamDestroy(job->stream) == cudaSuccess);
    chorus_free(job->out_scales);
    chorus_free(job->out);
    gpu_free(job->idx), gpu_free(job->x), gpu_free(job->sums), gpu_free(job->weights);
    gpu_free(job->scales), gpu_free(job->counts);
}

static void queue_calls(struct job *job, bool is_divided)
{
    chorus_stream_t stream = (chorus_stream_t)job->stream;

    if (!is_divided) {
        EXPECT(chorusx_moe_dispatch_on_stream(job->moe, job->idx, TOKENS, job->x, job->scales,
                                              job->out, job->out_scales, job->counts,
                                              stream) == CHORUS_OK);
        EXPECT(chorusx_moe_combine_on_stream(job->moe, job->out, CHORUS_TYPE_f32, job->weights,
                                             job->sums, stream) == CHORUS_OK);
        return;
    }
    EXPECT(chorusx_moe_dispatch_begin_on_stream(job->moe, job->idx, TOKENS, job->x, job->scales,
                                                job->out, job->out_scales, job->counts,
                                                stream) == CHORUS_OK);
    EXPECT(chorusx_moe_dispatch_end_on_stream(job->moe, stream) == CHORUS_OK);
    EXPECT(chorusx_moe_combine_begin_on_stream(job->moe, job->out, CHORUS_TYPE_f32,
                                               job->weights, job->sums, stream) == CHORUS_OK);
    EXPECT(chorusx_moe_combine_end_on_stream(job->moe, stream) == CHORUS_OK);
}

static void run_rounds(struct job *job, cudaGraphExec_t graph)
{
    for (job->round = 0; job->round < ROUNDS; job->round++) {
        store_tokens(job);
        if (graph != NULL)
            EXPECT(cudaGraphLaunch(graph, job->stream) == cudaSuccess);
        else
            queue_calls(job, job->round % 2 == 1);
        EXPECT(chorusx_stream_synchronize((chorus_stream_t)job->stream) == CHORUS_OK);
        check_all(job);
    }
}

static void moe__expert_major__has_rows_and_sums(void)
{
    struct job job;

    if (gpu_are_threads()) return;
    job = make_job(CHORUSX_MOE_EXPERT_MAJOR, 90);
    run_rounds(&job, NULL);
    free_job(&job);
}

static void moe__compact__has_rows_and_sums(void)
{
    struct job job;

    if (gpu_are_threads()) return;
    job = make_job(CHORUSX_MOE_COMPACT, 1000);
    run_rounds(&job, NULL);
    free_job(&job);
}

static void moe__graph__is_launched_again(void)
{
    cudaGraphExec_t exec = NULL;
    cudaGraph_t graph = NULL;
    struct job job;

    if (gpu_are_threads()) return;
    job = make_job(CHORUSX_MOE_COMPACT, 90);
    EXPECT(cudaStreamBeginCapture(job.stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    queue_calls(&job, false);
    EXPECT(cudaStreamEndCapture(job.stream, &graph) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    EXPECT(cudaGraphDestroy(graph) == cudaSuccess);
    run_rounds(&job, exec);
    EXPECT(cudaGraphExecDestroy(exec) == cudaSuccess);
    free_job(&job);
}

#define MOE_LIST(X)                         \
    X(moe__expert_major__has_rows_and_sums) \
    X(moe__compact__has_rows_and_sums)      \
    X(moe__graph__is_launched_again)
GPU_MAIN(MOE_LIST)
