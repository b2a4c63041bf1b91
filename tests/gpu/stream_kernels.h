/* SPDX-License-Identifier: Apache-2.0 */
/* stream_kernels.h: fresh data for a call, and its check, as kernels that a graph can replay.
 */
#ifndef STREAM_KERNELS_H
#define STREAM_KERNELS_H

#include "stream_oracle.h"

/* In the GPU's memory; zero at first. */
struct stream_found {
    unsigned long long checked, wrong; /* elements */
    /* The first that was wrong. */
    unsigned long long tag, round, i, got, want;
};

/* A check, in order; `round` is in the GPU's memory, and data differs by tag and *round. */
struct stream_check {
    struct oracle_call call;
    uint64_t
        margin; /* elements before and after dest that are to stay; 0: they are not looked at */
    unsigned long long tag;
    const unsigned long long *round;
    struct stream_found *found;
};

/* Each puts one kernel on a cudaStream_t and gives a cudaError_t: each element of this PE's
 * dest gets another value than the call gives it, and its margins get a pattern; its source is
 * filled; dest and margins are compared; a round ends. */
int stream_put_poison(const struct stream_check *check, void *dest, void *stream);
int stream_put_fill(const struct stream_check *check, void *source, void *stream);
int stream_put_check(const struct stream_check *check, const void *dest, void *stream);
int stream_put_next(unsigned long long *round, void *stream);

/* Load them, so that no first launch waits for what runs. */
int stream_load_kernels(void);

#endif /* STREAM_KERNELS_H */
