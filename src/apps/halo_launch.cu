/* SPDX-License-Identifier: Apache-2.0 */
/* halo_launch.cu: the kernel of halo exchanges on streams, and its launch. */
#include "apps/halo_kernel_cuda.h"

int ch_halo_launch(const struct ch_halo_task *task, chorus_stream_t stream)
{
    struct ch_halo_task copy = *task;
    void *args[] = {&copy};
    const void *kernel =
        task->halo.is_far ? (const void *)ch_halo_kernel_far : (const void *)ch_halo_kernel;

    return chorusx_collective_launch(kernel, dim3(task->halo.n_blocks), dim3(CH_HALO_LANES),
                                     args, 0, (cudaStream_t)stream);
}
