/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_gpu.h: tcp as a network that also accesses GPU memory, that of cuda_fake.h, which the
 * CPU can access: puts and gets, and no words. CHORUS_TRANSPORT selects it by the name
 * "adapter".
 */
#ifndef CH_TEST_LINK_GPU_H
#define CH_TEST_LINK_GPU_H

#include <stdint.h>

/* Of this process. */
struct link_gpu {
    uint32_t sound;     /* the first so many parts of GPUs are attached, the others are not */
    uint32_t refused;   /* the others, ever */
    uint32_t transfers; /* puts and gets in GPU memory, ever */
    uint64_t delay_ns;  /* so much later puts in GPU memory are sent, unless an operation of
                           their context follows: those of other contexts overtake them */
};
extern struct link_gpu link_gpu;

#endif /* CH_TEST_LINK_GPU_H */
