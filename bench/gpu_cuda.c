/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/gpu.h"

#include "chorus/status.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The GPU in use. Events order and time what is on the stream. */
static struct {
    bool is_open;
    cudaStream_t stream;
    cudaEvent_t start, stop;
    char reason[256];
} gpu;

struct ch_bench_gpu_graph {
    cudaGraphExec_t exec;
};

static int check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return CHORUS_OK;
    (void)snprintf(gpu.reason, sizeof(gpu.reason), "%s: %s (%s)", what,
                   cudaGetErrorString(error), cudaGetErrorName(error));
    (void)cudaGetLastError();
    return CHORUS_ERR_SYSTEM;
}

const char *ch_bench_gpu_reason(void)
{
    return gpu.reason;
}

/* --- setup -------------------------------------------------------------------------------- */

static int create(int device)
{
    int code = check(cudaSetDevice(device), "cudaSetDevice");

    if (code == 0)
        code = check(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking), "stream");
    if (code == 0) code = check(cudaEventCreate(&gpu.start), "event");
    if (code == 0) code = check(cudaEventCreate(&gpu.stop), "event");
    return code;
}

int ch_bench_gpu_open(int device, void **stream_out)
{
    const int code = create(device);

    if (code != 0) {
        ch_bench_gpu_close();
        return code;
    }
    gpu.is_open = true;
    *stream_out = gpu.stream;
    return CHORUS_OK;
}

void ch_bench_gpu_close(void)
{
    if (gpu.stop != NULL) (void)cudaEventDestroy(gpu.stop);
    if (gpu.start != NULL) (void)cudaEventDestroy(gpu.start);
    if (gpu.stream != NULL) (void)cudaStreamDestroy(gpu.stream);
    gpu.stop = gpu.start = NULL;
    gpu.stream = NULL;
    gpu.is_open = false;
}

/* --- memory ------------------------------------------------------------------------------- */

void *ch_bench_gpu_allocate(size_t bytes)
{
    void *area = NULL;

    return check(cudaMalloc(&area, bytes), "cudaMalloc") == 0 ? area : NULL;
}

void ch_bench_gpu_release(void *area)
{
    (void)cudaFree(area);
}

void *ch_bench_gpu_stage_allocate(size_t bytes)
{
    void *area = NULL;

    return check(cudaMallocHost(&area, bytes), "cudaMallocHost") == 0 ? area : NULL;
}

void ch_bench_gpu_stage_release(void *area)
{
    (void)cudaFreeHost(area);
}

int ch_bench_gpu_flush(void)
{
    return check(cudaStreamSynchronize(gpu.stream), "cudaStreamSynchronize");
}

int ch_bench_gpu_copy(void *to, const void *from, size_t bytes)
{
    const int code =
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, gpu.stream), "copy");

    return code == 0 ? ch_bench_gpu_flush() : code;
}

int ch_bench_gpu_fill(void *to, int byte, size_t bytes)
{
    const int code = check(cudaMemsetAsync(to, byte, bytes, gpu.stream), "fill");

    return code == 0 ? ch_bench_gpu_flush() : code;
}

/* --- time --------------------------------------------------------------------------------- */

int ch_bench_gpu_start(void)
{
    return check(cudaEventRecord(gpu.start, gpu.stream), "cudaEventRecord");
}

int ch_bench_gpu_stop(double *us_out)
{
    const double us_of_ms = 1e3;
    float ms = 0.0f;
    int code = check(cudaEventRecord(gpu.stop, gpu.stream), "cudaEventRecord");

    if (code == 0) code = ch_bench_gpu_flush();
    if (code == 0) code = check(cudaEventElapsedTime(&ms, gpu.start, gpu.stop), "events");
    *us_out = (double)ms * us_of_ms;
    return code;
}

/* --- graphs ------------------------------------------------------------------------------- */

int ch_bench_gpu_capture(void)
{
    return check(cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeThreadLocal),
                 "cudaStreamBeginCapture");
}

int ch_bench_gpu_captured(struct ch_bench_gpu_graph **graph_out)
{
    struct ch_bench_gpu_graph *const graph = calloc(1, sizeof(*graph));
    cudaGraph_t captured = NULL;
    int code = check(cudaStreamEndCapture(gpu.stream, &captured), "cudaStreamEndCapture");

    if (code == 0 && graph == NULL) code = check(cudaErrorMemoryAllocation, "a graph's handle");
    if (code == 0)
        code = check(cudaGraphInstantiate(&graph->exec, captured, 0), "cudaGraphInstantiate");
    /* The executable graph is uploaded ahead, so that the first replay costs what others do. */
    if (code == 0) code = check(cudaGraphUpload(graph->exec, gpu.stream), "cudaGraphUpload");
    if (code == 0) code = ch_bench_gpu_flush();
    if (captured != NULL) (void)cudaGraphDestroy(captured);
    if (code == 0)
        *graph_out = graph;
    else
        ch_bench_gpu_forget(graph);
    return code;
}

int ch_bench_gpu_replay(const struct ch_bench_gpu_graph *graph)
{
    return check(cudaGraphLaunch(graph->exec, gpu.stream), "cudaGraphLaunch");
}

void ch_bench_gpu_forget(struct ch_bench_gpu_graph *graph)
{
    if (graph == NULL) return;
    if (graph->exec != NULL) (void)cudaGraphExecDestroy(graph->exec);
    free(graph);
}

/* --- facts -------------------------------------------------------------------------------- */

/* The version of the kernel's driver; that of its CUDA where the system does not tell it. */
static void describe_driver(char *out, size_t bytes)
{
    FILE *const file = fopen("/sys/module/nvidia/version", "r");
    int version = 0;

    out[0] = '\0';
    if (file != NULL) {
        if (fgets(out, (int)bytes, file) == NULL) out[0] = '\0';
        out[strcspn(out, "\n")] = '\0';
        (void)fclose(file);
    }
    if (out[0] != '\0' || cudaDriverGetVersion(&version) != cudaSuccess) return;
    (void)snprintf(out, bytes, "of CUDA %d.%d", version / 1000, version % 1000 / 10);
}

bool ch_bench_gpu_describe(struct ch_bench_gpu_facts *facts_out)
{
    struct cudaDeviceProp properties;
    int device = 0, version = 0, n = 0;

    if (!gpu.is_open || cudaGetDevice(&device) != cudaSuccess ||
        cudaGetDeviceCount(&n) != cudaSuccess || cudaRuntimeGetVersion(&version) != cudaSuccess)
        return false;
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) return false;
    (void)snprintf(facts_out->gpu, sizeof(facts_out->gpu), "%s; PE 0 sees %d", properties.name,
                   n);
    describe_driver(facts_out->driver, sizeof(facts_out->driver));
    (void)snprintf(facts_out->cuda, sizeof(facts_out->cuda), "%d.%d", version / 1000,
                   version % 1000 / 10);
    return true;
}
