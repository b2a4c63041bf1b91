/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of one team at once, with CHORUS_CHECK=1: those that the program keeps apart go on, and
 * those that it does not are reported. */
#include "gpu_pes.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

#define CASES(X)                                  \
    X(calls__one_after_another__are_not_reported) \
    X(graphs__two_of_a_team_at_once__are_reported)

int main(int argc, char **argv)
{
    static const struct gpu_case cases[] = {CASES(GPU_CASE)};

    if (setenv("CHORUS_CHECK", "1", 1) != 0) return EXIT_FAILURE;
    return gpu_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
