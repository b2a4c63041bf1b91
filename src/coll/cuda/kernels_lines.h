/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_lines.h: the test of lines.h, as the host launches it. */
#ifndef CH_KERNELS_LINES_H
#define CH_KERNELS_LINES_H

#include "coll/cuda/kernel.h"

#define CH_LINES_LANES 128u
#define CH_LINES_ROUNDS 256u
/* Lines of a round, for eight lanes each, and of all rounds from one PE to another: each has a
 * separate place, so that no PE waits for room. */
#define CH_LINES_OF_ROUND (CH_LINES_LANES / 8)
#define CH_LINES_OF_PAIR (CH_LINES_ROUNDS * CH_LINES_OF_ROUND)

/* The results, at the beginning of a PE's area. */
struct ch_lines_found {
    uint32_t torn; /* incomplete parts */
    uint32_t lost; /* peers that did not arrive, or failed */
};

/* Words of a PE: it is ready to receive, and to read this PE's board. */
struct ch_lines_words {
    uint64_t takes, unused[7];
    uint64_t reads, padding[7];
};

/* The area of a PE in that of another: its words, the data that it stores there to keep the
 * link busy, and its lines. For the PE itself: its board. */
struct ch_lines_pair {
    struct ch_lines_words words;
    char busy[CH_LINES_LANES * 16 * 8];
    char source[2048]; /* the address from which the area's PE loads the data that it sends to
                          that PE */
    struct ch_line lines[CH_LINES_OF_PAIR];
};

/* A PE's area, which is zero before the test. */
struct ch_lines_area {
    struct ch_lines_found found;
    char padding[128 - sizeof(struct ch_lines_found)];
    struct ch_lines_pair pairs[]; /* [n] */
};
#define CH_LINES_AREA_BYTES(n) \
    (sizeof(struct ch_lines_area) + (size_t)(n) * sizeof(struct ch_lines_pair))

struct ch_lines_args {
    uint32_t me, n;
    const uint32_t *aborted; /* as kernels address it */
    uint64_t timeout_ns;
    struct ch_lines_area *areas[CH_KERNEL_PES_MAX];
};

#ifdef __cplusplus
extern "C" {
#endif

/* Queue the test on a cudaStream_t of the current device; returns a cudaError_t. */
int ch_lines_launch(void *stream, const struct ch_lines_args *args);

#ifdef __cplusplus
}
#endif

#endif /* CH_KERNELS_LINES_H */
