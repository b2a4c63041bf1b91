/* SPDX-License-Identifier: Apache-2.0 */
/* halo_launch_none.c: in place of halo_launch.cu where there is no CUDA, and no heap on GPUs.
 */
#include "apps/halo_task.h"

int ch_halo_launch(const struct ch_halo_task *task, chorus_stream_t stream)
{
    (void)task, (void)stream;
    return CHORUS_ERR_UNSUPPORTED;
}
