/* SPDX-License-Identifier: Apache-2.0 */
/* apart_main.cpp: a program compiled by the compiler of C++; its kernels are in another file.
 */
#include "apart.h"
#include "program.h"

#include <nvshmem.h>
#include <nvshmemx.h>

int main()
{
    const size_t count = 3001;
    int n_gpus = 1;
    cudaStream_t stream;

    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    if (cudaGetDeviceCount(&n_gpus) != cudaSuccess ||
        cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % n_gpus) != cudaSuccess ||
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
        return EXIT_FAILURE;
    auto *dest = static_cast<float *>(nvshmem_malloc((size_t)n_pes * count * sizeof(float)));
    auto *source = static_cast<float *>(nvshmem_malloc(count * sizeof(float)));
    for (int round = 0; round < 5; round++)
        apart_exchange(dest, source, count, round, stream);
    const int wrong = apart_wrong();
    nvshmem_free(source);
    nvshmem_free(dest);
    nvshmem_finalize();
    return program_end("apart", me, n_pes, wrong);
}
