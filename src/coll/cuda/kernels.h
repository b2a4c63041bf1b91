/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h: the kernels of the library, as the host finds and launches them; only for this
 * folder. Kernels are numbered by themselves, and files of CUDA do not include algorithm.h: a
 * change of a row that has no kernel, or of a formula, compiles none again.
 */
#ifndef CH_KERNELS_H
#define CH_KERNELS_H

#include "chorus/lists.h"
#include "coll/cuda/kernel.h"
#include "coll/kernel_list.h"

/* --- kernels of collectives --------------------------------------------------------------- */
enum ch_kernel_id {
    CH_KERNEL_ID_none, /* of algorithms that no GPU runs */
#define X(coll, work, dest, proto, fn, kind, parts) CH_KERNEL_ID_##fn,
    CH_KERNEL_ROWS(X)
#undef X
        CH_KERNEL_ID_COUNT
};

/* By number: of the collectives that move, and, by element type, of those that combine; null
 * where there is none. */
typedef const void *ch_kernel_table[CH_KERNEL_ID_COUNT];

#ifdef __cplusplus
extern "C" {
#endif

/* The kernels before and after the copies of an algorithm for copy engines. */
extern const void *const ch_kernel_engine_enter;
extern const void *const ch_kernel_engine_leave;

/* The kernels before and after those of a call with CHORUS_CHECK, of one lane each. */
extern const void *const ch_kernel_check_begin;
extern const void *const ch_kernel_check_end;

/* The kernel of an algorithm for multicast in hardware; null: it has none, or the switch
 * does not combine this type by this operator as the library promises. */
const void *ch_nvls_kernel(enum ch_kernel_id id, chorus_type type, chorus_op op);

#ifdef __cplusplus
}
#endif

/* --- the trial of lines, see lines_cuda.c ------------------------------------------------- */
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

#endif /* CH_KERNELS_H */
