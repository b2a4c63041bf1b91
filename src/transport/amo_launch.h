/* SPDX-License-Identifier: Apache-2.0 */
/* amo_launch.h: one atomic on GPU memory, by a kernel of one thread. */
#ifndef CH_AMO_LAUNCH_H
#define CH_AMO_LAUNCH_H

#include "device/device.h"
#include "transport/amo.h"

#include <stdint.h>

struct ch_amo_request {
    enum ch_amo op;
    unsigned bytes; /* 4 or 8 */
    void *word;     /* aligned, on any GPU that the device has mapped */
    uint64_t value, compare;
    uint64_t *fetched; /* [out] what was there; pinned host memory, or null */
};

/* Load the kernel before others run, for which loading waits. */
CH_MUST_CHECK chorus_status ch_amo_load(const struct ch_device *device);

/* Put it on a cudaStream_t, such as ch_device_stream, for ch_device_wait. */
CH_MUST_CHECK chorus_status ch_amo_launch(const struct ch_device *device, void *stream,
                                          const struct ch_amo_request *request);

#endif /* CH_AMO_LAUNCH_H */
