/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_lines.h: the trial of lines.h as the host launches it. */
#ifndef CH_KERNELS_LINES_H
#define CH_KERNELS_LINES_H

#include "coll/kernel.h"

#define CH_LINES_LANES 128u
#define CH_LINES_ROUNDS 256u
/* Lines of a round, eight lanes each, and of all rounds from one PE to another: each lies in a
 * place of its own, so that nobody waits for room. */
#define CH_LINES_OF_ROUND (CH_LINES_LANES / 8)
#define CH_LINES_OF_PAIR (CH_LINES_ROUNDS * CH_LINES_OF_ROUND)

/* What was found, at the head of a PE's area. */
struct ch_lines_found {
    uint32_t torn; /* parts */
    uint32_t lost; /* peers that gave up, or did not come */
};

/* A PE's area, zero at first: what was found, a word for each peer, lines from each peer. */
#define CH_LINES_HEAD_BYTES 128u
#define CH_LINES_WORDS_BYTES(n) (128u * (size_t)(n))
#define CH_LINES_AREA_BYTES(n)                       \
    (CH_LINES_HEAD_BYTES + CH_LINES_WORDS_BYTES(n) + \
     (size_t)(n)*CH_LINES_OF_PAIR * sizeof(struct ch_line))

struct ch_lines_args {
    uint32_t me, n;
    const uint32_t *aborted; /* as kernels address it */
    uint64_t timeout_ns;
    char *areas[CH_KERNEL_PES_MAX];
};

#ifdef __cplusplus
extern "C" {
#endif

/* Put it on a cudaStream_t of the current device; gives a cudaError_t. */
int ch_lines_launch(void *stream, const struct ch_lines_args *args);

#ifdef __cplusplus
}
#endif

#endif /* CH_KERNELS_LINES_H */
