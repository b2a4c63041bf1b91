/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_loop.h: loop as a network that also accesses GPU memory, that of late_gpu.h, as an
 * adapter does: puts and gets in any order, only in parts that were attached, and no words. If
 * GPUs must flush, what is put to them is seen only then.
 */
#ifndef CH_TEST_GPU_LOOP_H
#define CH_TEST_GPU_LOOP_H

#include "transport/link.h"
#include "transport/staged/staged.h"

enum { GPU_LOOP_PES = 8 };

struct gpu_loop {
    uint64_t refused[GPU_LOOP_PES]; /* bit i: part i that this PE attaches on its GPU */
    bool gives_bad_key;             /* that of memory which is staged */
    enum ch_staged_flush flush;
    uint32_t attached, known;    /* parts now, and keys of peers' parts; atomic, as are: */
    uint32_t transfers, flushes; /* puts and gets in GPU memory, and flushes, ever */
};
extern struct gpu_loop gpu_loop;

/* A GPU flushes; for fake.flush. */
void gpu_loop_flush(int ordinal);

/* Change operations of loop; those of a PE are called by threads that call gpu_loop_begin. */
void gpu_loop_change(struct ch_link_ops *ops);
/* This thread is this PE. */
void gpu_loop_begin(uint32_t me);
void gpu_loop_end(void); /* frees the lists of this thread */

#endif /* CH_TEST_GPU_LOOP_H */
