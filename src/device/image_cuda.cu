/* SPDX-License-Identifier: Apache-2.0 */
/* image_cuda.cu: the build defines CH_IMAGE_ARCHS. */
#include "device/driver_cuda.h"

#include <cuda_runtime.h>

/* This kernel is never launched. */
extern "C" __global__ void ch_k_image(void)
{
}

const char *ch_image_archs(void)
{
    return CH_IMAGE_ARCHS;
}

int ch_image_find(int *compute_out)
{
    cudaFuncAttributes is;
    const cudaError_t error = cudaFuncGetAttributes(&is, (const void *)ch_k_image);

    if (error == cudaSuccess) *compute_out = is.ptxVersion;
    return (int)error;
}
