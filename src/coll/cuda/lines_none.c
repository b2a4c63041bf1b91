/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines_none.c: a build without CUDA. No heap is on a GPU, so these functions are never
 * called.
 */
#include "coll/cuda/lines.h"

chorus_status ch_lines_try(struct ch_boot *boot, struct ch_heap *heap, uint64_t timeout_ns,
                           bool *are_whole_out)
{
    (void)boot, (void)heap, (void)timeout_ns, (void)are_whole_out;
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "this library was built without CUDA");
}
