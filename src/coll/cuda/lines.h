/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.h: does the link between GPUs keep lines of 128 bytes whole? No documentation says so,
 * but NCCL relies on it over NVLink. Lines are therefore used only if NVLink connects all GPUs
 * and a trial at the start succeeds. lines_cuda.c runs kernels_lines.cu; in builds without
 * CUDA lines_none.c is never called.
 */
#ifndef CH_LINES_H
#define CH_LINES_H

#include "base/error.h"
#include "boot/boot.h"
#include "heap/heap.h"

#include <stdbool.h>

/*
 * Send some thousand lines to every peer, let peers read as many, and check whether any is seen
 * incomplete; takes a few milliseconds. Collective over the job, for a heap on GPUs; all PEs
 * get the same result, which is "no" if a PE has no room for the test, or if two of their GPUs
 * are not known to be linked by NVLink. If CUDA refuses the test on a PE, or the test fails
 * there, it ends at once on all PEs, and so does the job: the waits of all are aborted, and all
 * get that PE's failure.
 */
CH_MUST_CHECK chorus_status ch_lines_try(struct ch_boot *boot, struct ch_heap *heap,
                                         uint64_t timeout_ns, bool *are_whole_out);

#endif /* CH_LINES_H */
