/* SPDX-License-Identifier: Apache-2.0 */
/* nvls_none.c: no kernels, for builds without multicast in hardware. */
#include "coll/cuda/kernels_nvls.h"

#include <stddef.h>

const void *ch_nvls_kernel(enum ch_algo_id algo, chorus_type type, chorus_op op)
{
    (void)algo, (void)type, (void)op;
    return NULL;
}
