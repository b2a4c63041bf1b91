/* SPDX-License-Identifier: Apache-2.0 */
/* moe_gpu.cu: the kernels of dispatch and combine, and their launches. */
#include "apps/moe_kernel_cuda.h"

#define CH_MOE_KERNEL CH_KERNEL __launch_bounds__(CH_MOE_GPU_THREADS, 1)

CH_MOE_KERNEL ch_moe_k_dispatch(const __grid_constant__ struct ch_moe_gpu moe,
                                const __grid_constant__ struct ch_moe_gpu_dispatch call)
{
    ch_moe_dispatch_kernel(&moe, &call);
}

CH_MOE_KERNEL ch_moe_k_combine(const __grid_constant__ struct ch_moe_gpu moe,
                               const __grid_constant__ struct ch_moe_gpu_combine call)
{
    ch_moe_combine_kernel(&moe, &call);
}

CH_MOE_KERNEL ch_moe_k_end(const __grid_constant__ struct ch_moe_gpu moe)
{
    ch_moe_end_kernel(&moe);
}

static int launch(const void *kernel, unsigned blocks, void **args, void *stream)
{
    return chorusx_collective_launch(kernel, blocks, CH_MOE_GPU_THREADS, args, 0,
                                     (cudaStream_t)stream);
}

int ch_moe_gpu_dispatch(const struct ch_moe_gpu *moe, const struct ch_moe_gpu_dispatch *call,
                        void *stream)
{
    void *args[] = {(void *)moe, (void *)call};

    return launch((const void *)ch_moe_k_dispatch, CH_MOE_GPU_BLOCKS, args, stream);
}

int ch_moe_gpu_combine(const struct ch_moe_gpu *moe, const struct ch_moe_gpu_combine *call,
                       void *stream)
{
    void *args[] = {(void *)moe, (void *)call};

    return launch((const void *)ch_moe_k_combine, CH_MOE_GPU_BLOCKS, args, stream);
}

int ch_moe_gpu_end(const struct ch_moe_gpu *moe, void *stream)
{
    void *args[] = {(void *)moe};

    return launch((const void *)ch_moe_k_end, 1, args, stream);
}
