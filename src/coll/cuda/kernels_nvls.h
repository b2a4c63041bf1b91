/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_nvls.h: kernels for teams whose PEs are all reached by multicast in hardware. */
#ifndef CH_KERNELS_NVLS_H
#define CH_KERNELS_NVLS_H

#include "base/collective.h"
#include "coll/cuda/kernel_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kernel of an algorithm for multicast in hardware; null: it has none, or the switch
 * does not combine this type by this operator as the library promises. */
const void *ch_nvls_kernel(enum ch_kernel_id id, chorus_type type, chorus_op op);

#ifdef __cplusplus
}
#endif

#endif /* CH_KERNELS_NVLS_H */
