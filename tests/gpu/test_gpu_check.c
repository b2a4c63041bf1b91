/* SPDX-License-Identifier: Apache-2.0 */
/* With CHORUS_CHECK=1: calls of one team at once go on if the program keeps them apart, and are
 * reported if it does not; so are calls with other algorithms because of their buffers. */
#include "gpu_pes.h"

#include <cuda_runtime_api.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMEOUT_S = 10 };
#define TIMEOUT_TEXT "10" /* as TIMEOUT_S */

static cudaStream_t make_stream(void)
{
    cudaStream_t stream = NULL;

    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    return stream;
}

static chorus_team_t make_team(void)
{
    chorus_team_t team = CHORUS_TEAM_INVALID;

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), NULL, 0, &team) ==
           CHORUS_OK);
    return team;
}

static cudaGraphExec_t capture(chorus_team_t team, cudaStream_t stream)
{
    cudaGraphExec_t exec = NULL;
    cudaGraph_t graph = NULL;

    EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    EXPECT(chorusx_team_sync_on_stream(team, (void *)stream) == CHORUS_OK);
    EXPECT(chorusx_team_sync_on_stream(team, (void *)stream) == CHORUS_OK);
    EXPECT(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    EXPECT(cudaGraphUpload(exec, stream) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    EXPECT(cudaGraphDestroy(graph) == cudaSuccess);
    gpu_meet(); /* PEs that are threads: none is in a capture */
    return exec;
}

static void calls__one_after_another__are_not_reported(void)
{
    enum { ROUNDS = 20 };
    const cudaStream_t a = make_stream(), b = make_stream();
    const chorus_team_t team = make_team();
    const cudaGraphExec_t graph = capture(team, a);

    for (int i = 0; i < ROUNDS; i++) {
        EXPECT(cudaGraphLaunch(graph, a) == cudaSuccess);
        EXPECT(cudaGraphLaunch(graph, a) == cudaSuccess);
        EXPECT(chorusx_team_sync_on_stream(team, (void *)a) == CHORUS_OK);
        EXPECT(chorusx_team_sync_on_stream(team, (void *)b) == CHORUS_OK);
        EXPECT(chorus_team_sync(team) == CHORUS_OK);
    }
    EXPECT(chorusx_stream_synchronize((void *)a) == CHORUS_OK);
    EXPECT(chorusx_stream_synchronize((void *)b) == CHORUS_OK);
    EXPECT(cudaGraphExecDestroy(graph) == cudaSuccess);
    chorus_team_destroy(team);
    EXPECT(cudaStreamDestroy(b) == cudaSuccess);
    EXPECT(cudaStreamDestroy(a) == cudaSuccess);
}

/* PE 0 starts two graphs while no other PE comes. Whichever is second is skipped; the calls of
 * the others are for the first. */
static void start_both(chorus_team_t team, const cudaGraphExec_t graphs[2],
                       const cudaStream_t streams[2], int *flag)
{
    enum { STEP_US = 10000, STEPS = 1000 };

    for (int i = 0; i < 2; i++)
        EXPECT(cudaGraphLaunch(graphs[i], streams[i]) == cudaSuccess);
    for (int i = 0; i < STEPS && chorusx_team_status(team) == CHORUS_OK; i++)
        (void)usleep(STEP_US);
    EXPECT(chorusx_team_status(team) == CHORUS_ERR_STATE);
    for (int pe = 1; pe < gpu_n(); pe++)
        chorus_int_p(flag, 1, pe);
    for (int i = 0; i < 2; i++)
        EXPECT(cudaStreamSynchronize(streams[i]) == cudaSuccess);
    EXPECT(chorusx_stream_synchronize((void *)streams[0]) == CHORUS_ERR_STATE);
    EXPECT(strstr(chorusx_last_error(), "began while another on its team ran") != NULL);
}

static void graphs__two_of_a_team_at_once__are_reported(void)
{
    const cudaStream_t streams[2] = {make_stream(), make_stream()};
    const chorus_team_t team = make_team();
    const cudaGraphExec_t graphs[2] = {capture(team, streams[0]), capture(team, streams[1])};
    int *flag = chorus_calloc(1, sizeof(*flag));

    if (gpu_n() > 1 && gpu_me() == 0) {
        start_both(team, graphs, streams, flag);
        EXPECT(chorusx_team_status(team) == CHORUS_ERR_STATE);
    } else if (gpu_n() > 1) {
        chorus_int_wait_until(flag, CHORUS_CMP_EQ, 1);
        EXPECT(chorusx_team_sync_on_stream(team, (void *)streams[0]) == CHORUS_OK);
        EXPECT(chorusx_stream_synchronize((void *)streams[0]) == CHORUS_OK);
    }
    for (int i = 0; i < 2; i++) {
        EXPECT(cudaGraphExecDestroy(graphs[i]) == cudaSuccess);
        EXPECT(cudaStreamDestroy(streams[i]) == cudaSuccess);
    }
    chorus_free(flag);
    chorus_team_destroy(team);
    EXPECT(chorus_team_sync(CHORUS_TEAM_WORLD) == CHORUS_OK);
}

/* The algorithm of the reduce with this dest. */
static chorusx_plan plan_of(chorus_team_t team, int *dest, const int *source, size_t nreduce)
{
    const chorusx_call call = {.coll = CHORUS_COLL_reduce,
                               .team = team,
                               .dest = dest,
                               .source = source,
                               .count = nreduce,
                               .type = CHORUS_TYPE_i32,
                               .op = CHORUS_OP_sum};
    chorusx_plan plan = {0};

    EXPECT(chorusx_explain_call(&call, &plan) == CHORUS_OK);
    return plan;
}

static bool are_equal(const chorusx_plan *a, const chorusx_plan *b)
{
    return strcmp(a->algo, b->algo) == 0 && strcmp(a->proto, b->proto) == 0 &&
           a->ctas == b->ctas;
}

/* PE 1 makes a reduce that needs another algorithm. A PE whose call is queued before that is
 * found learns of it when its kernel has waited for CHORUS_TIMEOUT. */
static int reduce_apart(chorus_team_t team, int *dest, const int *source, size_t nreduce)
{
    const cudaStream_t stream = make_stream();
    int status = chorusx_int_sum_reduce_on_stream(team, dest, source, nreduce, (void *)stream);

    if (status == CHORUS_OK)
        status = chorusx_stream_synchronize((void *)stream);
    else
        (void)sleep(TIMEOUT_S); /* else the next wait for the others would fail before theirs */
    EXPECT(strstr(chorusx_last_error(),
                  "dest of PE 1 is outside the symmetric heap, that of PE ") != NULL);
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
    return status;
}

/* Of this length on all GPUs there is a better algorithm if dest is inside. */
static void reduce__dest_of_one_pe_is_outside_the_heap__is_refused(void)
{
    enum { COUNT = 1 << 20 };
    const chorus_team_t team = make_team();
    int *inside = chorus_calloc(COUNT, sizeof(*inside));
    int *source = chorus_calloc(COUNT, sizeof(*source));
    int *outside = gpu_alloc(COUNT * sizeof(*outside));
    const chorusx_plan in = plan_of(team, inside, source, COUNT);
    const chorusx_plan out = plan_of(team, outside, source, COUNT);

    const bool is_near = gpu_ctas(INT_MAX) == INT_MAX; /* there, other algorithms serve both */

    if (gpu_n() > 1 && is_near && EXPECT(!are_equal(&in, &out))) {
        EXPECT(reduce_apart(team, gpu_me() == 1 ? outside : inside, source, COUNT) ==
               CHORUS_ERR_ARG);
        EXPECT(chorusx_team_status(team) != CHORUS_OK);
    }
    gpu_meet(); /* no kernel uses the memory any more */
    chorus_team_destroy(team);
    gpu_free(outside);
    chorus_free(source);
    chorus_free(inside);
}

#define CASES(X)                                   \
    X(calls__one_after_another__are_not_reported)  \
    X(graphs__two_of_a_team_at_once__are_reported) \
    X(reduce__dest_of_one_pe_is_outside_the_heap__is_refused)

int main(int argc, char **argv)
{
    static const struct gpu_case cases[] = {CASES(GPU_CASE)};

    if (setenv("CHORUS_CHECK", "1", 1) != 0 || setenv("CHORUS_TIMEOUT", TIMEOUT_TEXT, 1) != 0)
        return EXIT_FAILURE;
    return gpu_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
