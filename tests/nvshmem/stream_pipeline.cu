/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_pipeline.cu: puts with signals and waits on two streams, and events between them, as
 * in pipeline parallelism; kernels only compute.
 */
#include "program.cuh"

__global__ void compute(float *out, const float *in, size_t count)
{
    for (size_t i = thread_of_grid(); i < count; i += threads_of_grid())
        out[i] = 3 * in[i];
}

int main(void)
{
    const size_t count = 10000;
    cudaStream_t work, copies;
    cudaEvent_t computed;

    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    const int next = (me + 1) % n_pes, before = (me + n_pes - 1) % n_pes;
    use_gpu_of_node();
    CUDA(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&computed, cudaEventDisableTiming));
    float *const in = (float *)nvshmem_malloc(count * sizeof(float));
    float *const out = (float *)nvshmem_malloc(count * sizeof(float));
    float *const dest = (float *)nvshmem_malloc(count * sizeof(float));
    uint64_t *const arrived = (uint64_t *)nvshmem_calloc(2, sizeof(uint64_t));
    poison(dest, count);
    nvshmem_barrier_all();
    for (uint64_t round = 1; round <= 6; round++) {
        fill<<<8, 128, 0, work>>>(in, count, me, (int)round);
        compute<<<8, 128, 0, work>>>(out, in, count);
        CUDA(cudaEventRecord(computed, work));
        CUDA(cudaStreamWaitEvent(copies, computed, 0));
        if (round > 1)
            nvshmemx_uint64_wait_until_on_stream(arrived + 1, NVSHMEM_CMP_EQ, round - 1,
                                                 copies);
        nvshmemx_float_put_signal_on_stream(dest, out, count, arrived, round,
                                            NVSHMEM_SIGNAL_SET, next, copies);
        nvshmemx_quiet_on_stream(copies);
        nvshmemx_signal_wait_until_on_stream(arrived, NVSHMEM_CMP_EQ, round, copies);
        compare<<<8, 128, 0, copies>>>(dest, count, before, (int)round, 3);
        CUDA(cudaMemsetAsync(dest, 0xa5, count * sizeof(float), copies));
        nvshmemx_signal_op_on_stream(arrived + 1, round, NVSHMEM_SIGNAL_SET, before, copies);
        CUDA(cudaEventRecord(computed, copies));
        CUDA(cudaStreamWaitEvent(work, computed, 0));
    }
    CUDA(cudaStreamSynchronize(work));
    nvshmem_barrier_all();
    nvshmem_free(arrived);
    nvshmem_free(dest);
    nvshmem_free(out);
    nvshmem_free(in);
    return end_job("stream_pipeline");
}
