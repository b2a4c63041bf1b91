/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Halo exchange on streams of GPUs: random links against arrays of all PEs on which they are
 * carried out one after another; in calls, in a graph that is launched again with fresh data,
 * and inside a kernel of the program.
 */
#define API_PES_H /* what halo_job.h has from there is here of gpu_pes.h */
#include "gpu_pes.h"

#define api_me gpu_me
#define api_n gpu_n
enum { API_PES_MAX = 16 };

#include "apps/halo_job.h"

#include "halo_kernels.h"

#include <cuda_runtime_api.h>

enum { STEPS = 9, SEEDS = 8 };

/* An object, and its array on the GPU. */
struct halo_case {
    struct job *job;
    chorusx_halo_t halo;
    chorusx_halo_device_t device;
    uint32_t *array, *copy; /* copy: on the host */
    cudaStream_t stream;
};

static void open_case(struct halo_case *c, uint32_t seed)
{
    c->job = make_job(seed);
    c->halo = make_halo(c->job);
    c->array = gpu_alloc(job_bytes(c->job));
    c->copy = malloc(job_bytes(c->job));
    EXPECT(chorusx_halo_device(c->halo, &c->device) == CHORUS_OK);
    EXPECT(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking) == cudaSuccess);
}

static void close_case(struct halo_case *c)
{
    EXPECT(cudaStreamDestroy(c->stream) == cudaSuccess);
    EXPECT(chorusx_halo_destroy(c->halo) == CHORUS_OK);
    gpu_free(c->array);
    free(c->copy);
    free(c->job);
}

static chorus_stream_t stream_of(const struct halo_case *c)
{
    return (chorus_stream_t)c->stream;
}

/* What the array holds after the work of the stream is what was carried out. */
static void expect_carried(struct halo_case *c)
{
    EXPECT(chorusx_stream_synchronize(stream_of(c)) == CHORUS_OK);
    gpu_copy(c->copy, c->array, job_bytes(c->job));
    EXPECT(memcmp(c->copy, c->job->values[gpu_me()], job_bytes(c->job)) == 0);
}

static void set_forward(struct halo_case *c, int step)
{
    set_array(c->job, c->copy, step);
    gpu_copy(c->array, c->copy, job_bytes(c->job));
    carry_out(c->job);
}

static void set_back(struct halo_case *c, int step, bool is_float)
{
    fill(c->job, 1000 + step, is_float);
    gpu_copy(c->array, c->job->values[gpu_me()], job_bytes(c->job));
    carry_back(c->job, is_float);
}

static void exchange(struct halo_case *c, int step)
{
    dawdle(c->job);
    if (step % 3 == 0) {
        EXPECT(chorusx_halo_exchange_on_stream(c->halo, c->array, stream_of(c)) == CHORUS_OK);
    } else if (step % 3 == 1) {
        EXPECT(chorusx_halo_begin_on_stream(c->halo, c->array, stream_of(c)) == CHORUS_OK);
        EXPECT(chorusx_halo_wait_on_stream(c->halo, stream_of(c)) == CHORUS_OK);
    } else {
        EXPECT(halo_walk(c->device, c->array, stream_of(c)) == CHORUS_OK);
    }
}

static void accumulate(struct halo_case *c, bool is_float)
{
    EXPECT(chorusx_halo_accumulate_on_stream(c->halo, c->array,
                                             is_float ? CHORUS_TYPE_f32 : CHORUS_TYPE_i32,
                                             stream_of(c)) == CHORUS_OK);
}

static void exchanges_are_as_one_after_another(void)
{
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        struct halo_case c;

        open_case(&c, seed);
        for (int step = 0; step < STEPS; step++) {
            set_forward(&c, step);
            exchange(&c, step);
            expect_carried(&c);
            set_back(&c, step, step % 2 == 0);
            accumulate(&c, step % 2 == 0);
            expect_carried(&c);
        }
        close_case(&c);
    }
}

/* --- graphs ------------------------------------------------------------------------------- */
static cudaGraphExec_t capture(struct halo_case *c, int step)
{
    cudaGraphExec_t exec = NULL;
    cudaGraph_t graph = NULL;

    EXPECT(cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    if (step >= 0)
        exchange(c, step);
    else
        accumulate(c, true);
    EXPECT(cudaStreamEndCapture(c->stream, &graph) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    EXPECT(cudaGraphDestroy(graph) == cudaSuccess);
    return exec;
}

/* Graphs of the four forms, launched in turns, between calls that are in no graph. */
static void graphs_are_launched_again(void)
{
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        struct halo_case c;
        cudaGraphExec_t execs[4];

        open_case(&c, 100 + seed);
        for (int i = 0; i < 4; i++)
            execs[i] = capture(&c, i < 3 ? i : -1);
        for (int step = 0; step < 2 * STEPS; step++) {
            const int form = step % 5;

            if (form == 3)
                set_back(&c, step, true);
            else
                set_forward(&c, step);
            if (form == 4)
                exchange(&c, step);
            else
                EXPECT(cudaGraphLaunch(execs[form], c.stream) == cudaSuccess);
            expect_carried(&c);
        }
        for (int i = 0; i < 4; i++)
            EXPECT(cudaGraphExecDestroy(execs[i]) == cudaSuccess);
        close_case(&c);
    }
}

/* --- long messages ------------------------------------------------------------------------ */
/* Many steps without a wait of the host, of messages that all blocks share. */
static void long_messages_arrive_in_each_step(void)
{
    enum { COUNT = 100003, MANY = 40 };
    const chorusx_halo_part_t own = {.extent = {COUNT}, .stride = {1}},
                              halo_of = {.first = COUNT, .extent = {COUNT}, .stride = {1}};
    chorusx_halo_link_t links[2] = {{.peer = gpu_next(), .send = own},
                                    {.peer = gpu_previous(), .recv = halo_of}};
    uint32_t *array = gpu_alloc(2 * COUNT * sizeof(*array)),
             *host = malloc(2 * COUNT * sizeof(*host));
    chorusx_halo_t halo;
    bool holds = true;

    if (gpu_n() < 3) links[0].recv = halo_of;
    EXPECT(chorusx_halo_create(WORLD, 2 * COUNT, sizeof(*array), gpu_n() < 3 ? 1 : 2, links,
                               &halo) == CHORUS_OK);
    for (uint32_t i = 0; i < 2 * COUNT; i++)
        host[i] = i * 2654435761u + (uint32_t)gpu_me();
    gpu_copy(array, host, 2 * COUNT * sizeof(*array));
    for (int step = 0; step < MANY; step++)
        EXPECT(chorusx_halo_exchange_on_stream(halo, array, NULL) == CHORUS_OK);
    EXPECT(chorusx_stream_synchronize(NULL) == CHORUS_OK);
    gpu_copy(host, array, 2 * COUNT * sizeof(*array));
    for (uint32_t i = 0; i < COUNT; i++)
        holds = holds && host[COUNT + i] == i * 2654435761u + (uint32_t)gpu_previous();
    EXPECT(holds);
    EXPECT(chorusx_halo_destroy(halo) == CHORUS_OK);
    gpu_free(array);
    free(host);
}

#define LIST(X)                           \
    X(exchanges_are_as_one_after_another) \
    X(graphs_are_launched_again)          \
    X(long_messages_arrive_in_each_step)
GPU_MAIN(LIST)
