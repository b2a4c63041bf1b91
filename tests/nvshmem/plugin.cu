/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.cu: a library with kernels, which plugin_main.cpp loads while the job runs. */
#include "program.cuh"

__global__ void rotate(long long *dest, const long long *source, size_t count)
{
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();

    for (size_t i = thread_of_grid(); i < count; i += threads_of_grid())
        nvshmem_longlong_p(dest + i, source[i], (me + 1) % n_pes);
}

/* The number of wrong values. */
extern "C" int plugin_run(void)
{
    const size_t count = 777;
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    int wrong = -1;
    long long *const dest = (long long *)nvshmem_malloc(count * sizeof(*dest));
    long long *const source = (long long *)nvshmem_malloc(count * sizeof(*source));

    for (int round = 0; round < 3; round++) {
        fill<<<2, 128>>>(source, count, me, round);
        poison(dest, count);
        nvshmem_barrier_all();
        rotate<<<3, 64>>>(dest, source, count);
        nvshmemx_barrier_all_on_stream(0);
        compare<<<2, 128>>>(dest, count, (me + n_pes - 1) % n_pes, round);
        CUDA(cudaDeviceSynchronize());
    }
    CUDA(cudaMemcpyFromSymbol(&wrong, n_wrong, sizeof(wrong)));
    nvshmem_free(source);
    nvshmem_free(dest);
    return wrong;
}
