/* SPDX-License-Identifier: Apache-2.0 */
/* separate.cuh: functions of separate_calls.cu, called by the kernel of separate_main.cu. */
#ifndef SEPARATE_CUH
#define SEPARATE_CUH

#include <stddef.h>

/* By a block: send elements to the next PE, and wait for those of the one before. */
__device__ void separate_exchange(int *dest, const int *source, size_t count,
                                  unsigned long long *sig, unsigned long long round);

__device__ int separate_pe_before(void);

#endif /* SEPARATE_CUH */
