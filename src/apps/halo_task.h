/* SPDX-License-Identifier: Apache-2.0 */
/* halo_task.h: what the kernel of halo exchanges is asked for, and its launch. */
#ifndef CH_APPS_HALO_TASK_H
#define CH_APPS_HALO_TASK_H

#include "chorus/apps/halo.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CH_HALO_LANES = 512, CH_HALO_BLOCKS_MAX = 32 }; /* of a kernel */

/* Parts of an exchange: begin it, and do what can be done at once; do the rest. */
enum { CH_HALO_BEGINS = 1, CH_HALO_ENDS = 2 };

struct ch_halo_task {
    chorusx_halo_device_t halo;
    char *array; /* null: that of the exchange which has begun */
    uint32_t way, parts, type;
};

/* Queue a kernel of task->halo.n_blocks blocks on a stream. */
int ch_halo_launch(const struct ch_halo_task *task, chorus_stream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* CH_APPS_HALO_TASK_H */
