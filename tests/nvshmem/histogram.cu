/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.cu: bins that are spread over the PEs, incremented by atomics from all threads. */
#include "program.cuh"

static const int n_bins = 64, n_samples = 20000; /* bins, and samples, of each PE */

static __host__ __device__ int bin_of(int sample, int pe, int round, int n_pes)
{
    return (int)((unsigned)(sample * 2654435761u + (unsigned)(pe * 97 + round)) %
                 (unsigned)(n_bins * n_pes));
}

__global__ void count_samples(unsigned long long *bins, int me, int round, int n_pes)
{
    for (int i = (int)thread_of_grid(); i < n_samples; i += (int)threads_of_grid()) {
        const int bin = bin_of(i, me, round, n_pes);
        nvshmem_ulonglong_atomic_add(bins + bin % n_bins, 1 + (unsigned)me, bin / n_bins);
    }
}

/* A bin for each thread. */
__global__ void check(const unsigned long long *bins, int me, int round, int n_pes)
{
    unsigned long long sum = 0;

    for (int pe = 0; pe < n_pes; pe++)
        for (int i = 0; i < n_samples; i++)
            if (bin_of(i, pe, round, n_pes) == me * n_bins + (int)threadIdx.x)
                sum += 1 + (unsigned)pe;
    if (bins[threadIdx.x] != sum) atomicAdd(&n_wrong, 1);
}

int main(void)
{
    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    use_gpu_of_node();
    unsigned long long *const bins =
        (unsigned long long *)nvshmem_malloc(n_bins * sizeof(unsigned long long));
    for (int round = 0; round < 3; round++) {
        CUDA(cudaMemset(bins, 0, n_bins * sizeof(unsigned long long)));
        CUDA(cudaDeviceSynchronize());
        nvshmem_barrier_all();
        count_samples<<<16, 256>>>(bins, me, round, n_pes);
        nvshmemx_barrier_all_on_stream(0);
        check<<<1, n_bins>>>(bins, me, round, n_pes);
        CUDA(cudaDeviceSynchronize());
    }
    nvshmem_barrier_all();
    nvshmem_free(bins);
    return end_job("histogram");
}
