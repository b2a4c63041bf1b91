/* SPDX-License-Identifier: Apache-2.0 */
/* apart_kernels.cu: kernels and their launch in a file of CUDA; apart_main.cpp has the rest. */
#include "apart.h"
#include "program.cuh"

__global__ void send_rows(float *dest, const float *source, size_t count, int n_pes, int me)
{
    const int pe = (int)blockIdx.x;

    nvshmemx_float_put_nbi_block(dest + (size_t)me * count, source, count, pe);
    if (threadIdx.x == 0) nvshmem_quiet();
}

void apart_exchange(float *dest, float *source, size_t count, int round, cudaStream_t stream)
{
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();

    fill<<<4, 128, 0, stream>>>(source, count, me, round);
    CUDA(cudaMemsetAsync(dest, 0xa5, (size_t)n_pes * count * sizeof(float), stream));
    nvshmemx_barrier_all_on_stream(stream);
    send_rows<<<n_pes, 128, 0, stream>>>(dest, source, count, n_pes, me);
    nvshmemx_barrier_all_on_stream(stream);
    for (int pe = 0; pe < n_pes; pe++)
        compare<<<4, 128, 0, stream>>>(dest + (size_t)pe * count, count, pe, round);
    CUDA(cudaStreamSynchronize(stream));
}

int apart_wrong(void)
{
    int wrong = -1;

    CUDA(cudaMemcpyFromSymbol(&wrong, n_wrong, sizeof(wrong)));
    return wrong;
}
