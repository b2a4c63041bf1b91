/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_pool.c: apart, as inside.h and context.h have structs of one name. */
#include "cuda_pool.h"

#include "heap/inside.h"

size_t pool_used(const struct ch_heap *heap)
{
    return heap->pool.arena.used_bytes;
}

size_t pool_limit(const struct ch_heap *heap)
{
    return heap->pool.arena.limit;
}
