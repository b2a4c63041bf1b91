/* SPDX-License-Identifier: Apache-2.0 */
#include "chorus/apps/halo_device.cuh"

#include "halo_kernels.h"

/* A block of two dimensions, as programs have them. */
static __global__ void __launch_bounds__(256)
    walk(const __grid_constant__ chorusx_halo_device_t halo, void *array)
{
    for (int i = 0; i < (int)halo.n; i++) {
        chorusx_halo_pack_put_block(&halo, i, array);
        chorusx_halo_unpack_block(&halo, i, array);
    }
}

int halo_walk(chorusx_halo_device_t halo, void *array, chorus_stream_t stream)
{
    void *args[] = {&halo, &array};

    return chorusx_collective_launch((const void *)walk, dim3(1), dim3(32, 8), args, 0,
                                     (cudaStream_t)stream);
}
