/* SPDX-License-Identifier: Apache-2.0 */
/* separate_main.cu: a kernel whose communication is in another file; needs -rdc=true. */
#include "program.cuh"
#include "separate.cuh"

static const size_t count = 900;

__global__ void exchange(int *dest, const int *source, unsigned long long *sig, int round)
{
    separate_exchange(dest, source, count, sig, (unsigned long long)round);
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        if (dest[i] != element(separate_pe_before(), round, i)) atomicAdd(&n_wrong, 1);
}

int main(void)
{
    nvshmem_init();
    const int me = nvshmem_my_pe();
    use_gpu_of_node();
    int *const dest = (int *)nvshmem_malloc(count * sizeof(int));
    int *const source = (int *)nvshmem_malloc(count * sizeof(int));
    unsigned long long *const sig = (unsigned long long *)nvshmem_calloc(1, sizeof(*sig));
    for (int round = 1; round <= 5; round++) {
        fill<<<2, 128>>>(source, count, me, round);
        poison(dest, count);
        nvshmem_barrier_all();
        exchange<<<1, 128>>>(dest, source, sig, round);
        CUDA(cudaDeviceSynchronize());
        nvshmem_barrier_all();
    }
    nvshmem_free(sig);
    nvshmem_free(source);
    nvshmem_free(dest);
    return end_job("separate");
}
