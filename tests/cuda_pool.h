/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_pool.h: how full the pool of a job is whose GPUs are not all near. */
#ifndef CH_TEST_CUDA_POOL_H
#define CH_TEST_CUDA_POOL_H

#include <stddef.h>

struct ch_heap;

size_t pool_used(const struct ch_heap *heap);
size_t pool_limit(const struct ch_heap *heap);

#endif /* CH_TEST_CUDA_POOL_H */
