/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_gpu.h: GPUs whose streams work only when a test lets them, a part of a copy at a time,
 * and in any order between streams; and GPU memory that the CPU cannot access. They are the
 * devices of device_fake.h. A device is used by one thread.
 */
#ifndef CH_TEST_LATE_GPU_H
#define CH_TEST_LATE_GPU_H

#include "device_fake.h"

struct late_gpu {
    bool claims;  /* any second address is said to be on a GPU; true at first */
    bool refuses; /* copies cannot be queued */
    bool breaks;  /* work that was queued fails */
    int streams;  /* 0 in the end */
};
extern struct late_gpu late_gpu;

/* Let the streams of a device work, on what a seed selects. */
void late_gpu_run(int ordinal, uint64_t *random);

/* Memory of a GPU, at an address that only streams can use. */
char *late_gpu_alloc(size_t bytes);
void late_gpu_free(char *memory);
/* Where the test may look at it, or change it. */
char *late_gpu_view(const void *memory);

#endif /* CH_TEST_LATE_GPU_H */
