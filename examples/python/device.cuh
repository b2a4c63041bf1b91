/* SPDX-License-Identifier: Apache-2.0 */
/* device.cuh: the kernel of device_nvrtc.py and device_cupy.py, which NVRTC compiles. */
#include <nvshmem_calls.cuh>

/* The elements of each array; one block, with a thread for each. */
#define COUNT 128

/* What element i of a PE is in a round. */
static __device__ int element(int pe, int round, int i)
{
    return 1 + pe * 37 + round * 11 + i;
}

/* Poison what peers write, exchange data in three ways, and count what arrives wrong. */
extern "C" __global__ void exchange(int *words, int *message, int *source, float *sums,
                                    float *terms, unsigned long *sig, int round, int *n_wrong)
{
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes(), i = (int)threadIdx.x;
    const int next = (me + 1) % n_pes, before = (me + n_pes - 1) % n_pes;
    float sum = 0;

    words[i] = message[i] = -1;
    sums[i] = -1;
    source[i] = element(me, round, i);
    terms[i] = (float)element(me, round, i);
    nvshmemx_barrier_all_block();

    nvshmem_int_p(words + i, element(me, round, i), next);
    nvshmemx_putmem_signal_block(message, source, COUNT * sizeof(int), sig,
                                 (unsigned long)round, NVSHMEM_SIGNAL_SET, next);
    if (i == 0) nvshmem_signal_wait_until(sig, NVSHMEM_CMP_EQ, (unsigned long)round);
    __syncthreads();
    if (message[i] != element(before, round, i)) atomicAdd(n_wrong, 1);

    nvshmemx_barrier_all_block();
    if (words[i] != element(before, round, i)) atomicAdd(n_wrong, 1);

    nvshmemx_float_sum_reduce_block(NVSHMEM_TEAM_WORLD, sums, terms, COUNT);
    for (int pe = 0; pe < n_pes; pe++)
        sum += (float)element(pe, round, i);
    if (sums[i] != sum) atomicAdd(n_wrong, 1);
    nvshmemx_barrier_all_block();
}
