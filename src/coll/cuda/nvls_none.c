/* SPDX-License-Identifier: Apache-2.0 */
/* nvls_none.c: no kernels, for builds without multicast in hardware. */
#include "coll/cuda/kernels.h"

#include <stddef.h>

const void *ch_nvls_kernel(enum ch_kernel_id id, chorus_type type, chorus_op op)
{
    (void)id, (void)type, (void)op;
    return NULL;
}
