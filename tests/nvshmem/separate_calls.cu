/* SPDX-License-Identifier: Apache-2.0 */
/* separate_calls.cu: functions of kernels of another file, which are linked with -rdc=true. */
#include "separate.cuh"

#include <nvshmem.h>
#include <nvshmemx.h>

__device__ void separate_exchange(int *dest, const int *source, size_t count,
                                  unsigned long long *sig, unsigned long long round)
{
    const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();

    nvshmemx_int_put_signal_block(dest, source, count, (uint64_t *)sig, round,
                                  NVSHMEM_SIGNAL_SET, next);
    if (threadIdx.x == 0) nvshmem_signal_wait_until((uint64_t *)sig, NVSHMEM_CMP_EQ, round);
    __syncthreads();
}

__device__ int separate_pe_before(void)
{
    return (nvshmem_my_pe() + nvshmem_n_pes() - 1) % nvshmem_n_pes();
}
