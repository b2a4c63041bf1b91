/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h: which kernel runs a call; all kernels are loaded before the first call. */
#ifndef CH_KERNELS_H
#define CH_KERNELS_H

#include "coll/cuda/kernel.h"
#include "coll/host/launch.h"
#include "device/device.h"

/* What stands around the copies of an algorithm for copy engines. */
extern const void *const ch_kernel_engine_enter;
extern const void *const ch_kernel_engine_leave;

/* What stands around the kernels of a call with CHORUS_CHECK; a lane each. */
extern const void *const ch_kernel_check_begin;
extern const void *const ch_kernel_check_end;

/* Null: no GPU combines this type. */
const void *ch_kernel_of(const struct ch_call *call);

/*
 * Load them all, with the device current. A kernel that is loaded when it is first launched
 * waits for all that run, and so, perhaps, for a peer that waits for this launch. *ctas_out:
 * CTAs that a multiprocessor has room for at the least, whichever kernels they are of.
 */
CH_MUST_CHECK chorus_status ch_kernels_load(const struct ch_device *device, uint32_t *ctas_out);

#endif /* CH_KERNELS_H */
