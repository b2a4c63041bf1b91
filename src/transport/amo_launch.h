/* SPDX-License-Identifier: Apache-2.0 */
/* amo_launch.h: kernels of one thread: an atomic operation on GPU memory, and a wait for words
 * there. */
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
    uint64_t *fetched; /* [out] the old value; pinned host memory, or null */
};

/* In host memory: the first wait on a stream that ended otherwise. */
struct ch_wait_report {
    int status;       /* written last */
    uint32_t claimed; /* 1: set by the kernel that reports */
    const void *word;
};

/* How waits end; the addresses are those for kernels. */
struct ch_wait_limit {
    const uint32_t *aborted; /* in host memory: not 0 when the job is ending */
    uint64_t timeout_ns;     /* 0: wait without limit */
    struct ch_wait_report *report;
};

/* Wait until each word meets its condition. */
struct ch_wait_request {
    unsigned bytes; /* of a word: 2, 4 or 8 */
    bool is_signed; /* words and values are */
    int cmp;        /* a CHORUS_CMP_ constant */
    const void *words;
    size_t count;
    const int *status;  /* words with a value other than 0 are skipped; null: none is */
    const void *values; /* one for each word; null: `value`, in its first bytes, is for all */
    uint64_t value;
    struct ch_wait_limit limit;
};

/* Load the kernels before others run, since loading would wait for them. */
CH_MUST_CHECK chorus_status ch_amo_load(const struct ch_device *device);

/* Queue it on a cudaStream_t, such as ch_device_stream, for ch_device_wait. */
CH_MUST_CHECK chorus_status ch_amo_launch(const struct ch_device *device, void *stream,
                                          const struct ch_amo_request *request);

/* The same. Later work sees the writes that precede the words; it also runs after a wait that
 * failed, which is reported. */
CH_MUST_CHECK chorus_status ch_wait_launch(const struct ch_device *device, void *stream,
                                           const struct ch_wait_request *request);

#endif /* CH_AMO_LAUNCH_H */
