/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_routed.h: the kernels of teams whose PEs are not all near; only for this folder. */
#ifndef CH_KERNELS_ROUTED_H
#define CH_KERNELS_ROUTED_H

#include "coll/cuda/kernel.h"
#include "coll/routed_list.h"

enum ch_routed_id {
    CH_ROUTED_ID_none, /* of algorithms that such teams do not run on GPUs */
#define X(coll, work, dest, proto, fn, kind, parts) CH_ROUTED_ID_##fn,
    CH_ROUTED_ROWS(X)
#undef X
        CH_ROUTED_ID_COUNT
};

/* Properties of their kind, as in kind.h: all combine data that they forward, or might. */
enum { CH_LANES_routed = 256, CH_IS_DUE_routed = 0, CH_IS_WIDE_routed = 0 };

/* As ch_kernel_table. */
typedef const void *ch_routed_table[CH_ROUTED_ID_COUNT];

/* --- the lists of an alltoallv of a large team ---------------------------------------------
 */
/* They are too long for arguments. The kernels that precede the call's, one for each
 * CH_KERNEL_PES_MAX PEs, have a part of them in their arguments, as the program may change the
 * lists once the call is queued and a graph keeps arguments, and store it in the team's memory
 * on the GPU. The calls of a team run one at a time, so it has one such memory. */
enum { CH_LISTS = 4 };

struct ch_lists_args {
    size_t *there;  /* [CH_LISTS][n] */
    uint32_t n;     /* PEs of the team */
    uint32_t first; /* this part is that of PEs [first, first + count) */
    uint32_t count;
    uint32_t unused;
    size_t part[CH_LISTS][CH_KERNEL_PES_MAX];
};

#ifdef __cplusplus
extern "C" {
#endif
/* The kernel with these arguments, of CH_KERNEL_PES_MAX lanes. */
extern const void *const ch_kernel_lists;
#ifdef __cplusplus
}
#endif

#endif /* CH_KERNELS_ROUTED_H */
