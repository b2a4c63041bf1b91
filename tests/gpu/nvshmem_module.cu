/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that test_gpu_nvshmem loads by the driver's API. */
#include <nvshmem.h>

extern "C" __global__ void pass_on(int *word, int value)
{
    nvshmem_int_p(word, value + nvshmem_my_pe(), (nvshmem_my_pe() + 1) % nvshmem_n_pes());
    nvshmem_quiet();
}
