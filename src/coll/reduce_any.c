/* SPDX-License-Identifier: Apache-2.0 */
/* Architectures with one table. */
#include "coll/reduce.h"

const struct ch_reduce_table *ch_reduce_here(void)
{
    return &ch_reduce_base;
}
