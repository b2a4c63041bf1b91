/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe_gpu_fake.h: dispatch and combine on streams, on a CPU: moe_gpu_fake.c is linked in place
 * of moe_gpu.cu. Calls on streams run at once. The sources of the library are compiled so that
 * they ask moe_fake_heap_info where the heap is.
 */
#ifndef CH_TEST_MOE_GPU_FAKE_H
#define CH_TEST_MOE_GPU_FAKE_H

#include "chorus/chorusx.h"

/* Of this PE. */
struct moe_fake {
    chorus_heap heap; /* of objects that are created from now on */
    unsigned blocks, threads;
};
struct moe_fake *moe_fake(void);

#endif /* CH_TEST_MOE_GPU_FAKE_H */
