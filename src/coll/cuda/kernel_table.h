/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_table.h: the kernels of algorithms. Kernels are numbered by themselves, and files of
 * CUDA do not include algorithm.h: a change of a row that has no kernel, or of a formula,
 * compiles none again.
 */
#ifndef CH_KERNEL_TABLE_H
#define CH_KERNEL_TABLE_H

#include "coll/kernel_list.h"

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

#endif /* CH_KERNEL_TABLE_H */
