/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_lines.h: the trial of lines.h, as launched by the host. */
#ifndef CH_KERNELS_LINES_H
#define CH_KERNELS_LINES_H

#include "coll/cuda/kernel.h"

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

/* Of a PE, that it is there: to take what is sent to it, and to read this one's board. */
struct ch_lines_words {
    uint64_t takes, unused[7];
    uint64_t reads, padding[7];
};

/* Of a PE in another's area: its words, what it stores there to keep the link busy, and its
 * lines. Of the PE itself: its board. */
struct ch_lines_pair {
    struct ch_lines_words words;
    char busy[CH_LINES_LANES * 16 * 8];
    char source[2048]; /* where the area's PE loads from what it sends to that PE */
    struct ch_line lines[CH_LINES_OF_PAIR];
};

/* A PE's area, zero at first. */
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

/* Put it on a cudaStream_t of the current device; gives a cudaError_t. */
int ch_lines_launch(void *stream, const struct ch_lines_args *args);

#ifdef __cplusplus
}
#endif

#endif /* CH_KERNELS_LINES_H */
