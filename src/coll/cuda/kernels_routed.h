/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_routed.h: the kernels of teams whose PEs are not all near; only for this folder. */
#ifndef CH_KERNELS_ROUTED_H
#define CH_KERNELS_ROUTED_H

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

#endif /* CH_KERNELS_ROUTED_H */
