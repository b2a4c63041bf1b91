/* SPDX-License-Identifier: Apache-2.0 */
/* graph.cu: a step of kernels and collectives, captured once in a CUDA graph, run many times.
 */
#include "program.cuh"

static const size_t count = 4096;

__global__ void next_data(double *source, int *round, int me)
{
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        source[i] = element(me, *round, i);
}

__global__ void send(double *dest, const double *source, uint64_t *sig)
{
    const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();

    nvshmemx_double_put_signal_block(dest, source, count, sig, 1, NVSHMEM_SIGNAL_ADD, next);
}

__global__ void check(const double *dest, const double *sums, int *round, int me, int n_pes)
{
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) {
        int sum = 0;
        for (int pe = 0; pe < n_pes; pe++)
            sum += element(pe, *round, i);
        if (dest[i] != element((me + n_pes - 1) % n_pes, *round, i) || sums[i] != sum)
            atomicAdd(&n_wrong, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) (*round)++;
}

int main(void)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t step;
    int *round;

    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    use_gpu_of_node();
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc(&round, sizeof(int)));
    CUDA(cudaMemset(round, 0, sizeof(int)));
    CUDA(cudaDeviceSynchronize());
    double *const source = (double *)nvshmem_malloc(count * sizeof(double));
    double *const dest = (double *)nvshmem_malloc(count * sizeof(double));
    double *const sums = (double *)nvshmem_malloc(count * sizeof(double));
    uint64_t *const sig = (uint64_t *)nvshmem_calloc(1, sizeof(uint64_t));
    nvshmem_barrier_all();

    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    next_data<<<1, 256, 0, stream>>>(source, round, me);
    CUDA(cudaMemsetAsync(dest, 0xa5, count * sizeof(double), stream));
    CUDA(cudaMemsetAsync(sums, 0xa5, count * sizeof(double), stream));
    CUDA(cudaMemsetAsync(sig, 0, sizeof(uint64_t), stream));
    nvshmemx_barrier_all_on_stream(stream);
    send<<<1, 256, 0, stream>>>(dest, source, sig);
    nvshmemx_signal_wait_until_on_stream(sig, NVSHMEM_CMP_EQ, 1, stream);
    nvshmemx_double_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, sums, source, count, stream);
    check<<<1, 256, 0, stream>>>(dest, sums, round, me, n_pes);
    nvshmemx_barrier_all_on_stream(stream);
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&step, graph, 0));

    for (int i = 0; i < 50; i++)
        CUDA(cudaGraphLaunch(step, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaGraphExecDestroy(step));
    CUDA(cudaGraphDestroy(graph));
    nvshmem_free(sig);
    nvshmem_free(sums);
    nvshmem_free(dest);
    nvshmem_free(source);
    return end_job("graph");
}
