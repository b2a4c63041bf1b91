/* SPDX-License-Identifier: Apache-2.0 */
/* moe_gpu_none.c: a build without CUDA, whose jobs have no heap on GPUs. */
#include "chorus/status.h"

#include "apps/moe_gpu.h"

int ch_moe_gpu_dispatch(const struct ch_moe_gpu *moe, const struct ch_moe_gpu_dispatch *call,
                        void *stream)
{
    (void)moe, (void)call, (void)stream;
    return CHORUS_ERR_UNSUPPORTED;
}

int ch_moe_gpu_combine(const struct ch_moe_gpu *moe, const struct ch_moe_gpu_combine *call,
                       void *stream)
{
    (void)moe, (void)call, (void)stream;
    return CHORUS_ERR_UNSUPPORTED;
}

int ch_moe_gpu_end(const struct ch_moe_gpu *moe, void *stream)
{
    (void)moe, (void)stream;
    return CHORUS_ERR_UNSUPPORTED;
}
