/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h: which kernel runs a call; all kernels are loaded before the first call. */
#ifndef CH_KERNELS_H
#define CH_KERNELS_H

#include "coll/cuda/kernel.h"
#include "coll/host/launch.h"
#include "device/device.h"

/* The kernels before and after the copies of an algorithm for copy engines. */
extern const void *const ch_kernel_engine_enter;
extern const void *const ch_kernel_engine_leave;

/* The kernels before and after those of a call with CHORUS_CHECK, of one lane each. */
extern const void *const ch_kernel_check_begin;
extern const void *const ch_kernel_check_end;

/* Null: no GPU combines this type. */
const void *ch_kernel_of(const struct ch_call *call);

/*
 * Load all kernels, with the device current. A kernel that is loaded at its first launch waits
 * for all running kernels, which may wait for a peer that waits for this launch. *ctas_out: the
 * smallest number of CTAs for which a multiprocessor has room, over all kernels.
 */
CH_MUST_CHECK chorus_status ch_kernels_load(const struct ch_device *device, uint32_t *ctas_out);

#endif /* CH_KERNELS_H */
