/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c: two collectives captured into a CUDA graph, which is launched ten times. Start it
 * with CHORUS_HEAP=cuda; all PEs capture and launch alike.
 */
#include <chorus/chorusx.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000, ROUNDS = 10 };

static void must(int is_well, const char *what)
{
    if (is_well) return;
    (void)fprintf(stderr, "%s: %s; %s\n", what, chorusx_last_error(),
                  cudaGetErrorString(cudaGetLastError()));
    exit(1);
}

int main(void)
{
    float host[COUNT], *values, *sums;
    cudaGraphExec_t launchable;
    cudaStream_t stream;
    cudaGraph_t graph;

    must(chorus_init() == 0, "chorus_init");
    values = chorus_malloc(sizeof(host));
    sums = chorus_malloc(sizeof(host));
    must(values != NULL && sums != NULL, "chorus_malloc");
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)(i % 10);
    must(cudaMemcpy(values, host, sizeof(host), cudaMemcpyDefault) == cudaSuccess, "copy");
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "stream");

    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess,
         "capture");
    must(chorusx_float_max_reduce_on_stream(CHORUS_TEAM_WORLD, sums, values, COUNT,
                                            (chorus_stream_t)stream) == 0,
         "reduce");
    must(chorusx_float_broadcast_on_stream(CHORUS_TEAM_WORLD, values, sums, COUNT, 0,
                                           (chorus_stream_t)stream) == 0,
         "broadcast");
    must(cudaStreamEndCapture(stream, &graph) == cudaSuccess, "end of capture");
    must(cudaGraphInstantiate(&launchable, graph, 0) == cudaSuccess, "instantiate");

    for (int round = 0; round < ROUNDS; round++)
        must(cudaGraphLaunch(launchable, stream) == cudaSuccess, "launch");
    /* A failure of a call in the graph is returned here. */
    must(chorusx_stream_synchronize((chorus_stream_t)stream) == 0, "synchronize");
    must(cudaMemcpy(host, values, sizeof(host), cudaMemcpyDefault) == cudaSuccess, "copy");
    printf("PE %d: %s\n", chorus_my_pe(), host[9] == 9 ? "right" : "WRONG");

    must(cudaGraphExecDestroy(launchable) == cudaSuccess &&
             cudaGraphDestroy(graph) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess,
         "end");
    chorus_free(sums);
    chorus_free(values);
    chorus_finalize();
    return host[9] == 9 ? 0 : 1;
}
