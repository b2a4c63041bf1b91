/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_cuda.h: what kernels of libchorus-apps are made of; tests/apps/kernel_fake.h has the
 * same for a CPU. */
#ifndef CH_APPS_KERNEL_CUDA_H
#define CH_APPS_KERNEL_CUDA_H

#include "chorus/chorus_device.cuh"

#define CH_KERNEL extern "C" __global__ void

/* Memory of the block, for all of its threads; NAME is a pointer to it. */
#define CH_SHARED(TYPE, NAME)        \
    __shared__ TYPE NAME##_of_block; \
    TYPE *const NAME = &NAME##_of_block

#endif /* CH_APPS_KERNEL_CUDA_H */
