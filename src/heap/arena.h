/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h: a first-fit allocator over the offsets [0, limit). It accesses only its own data
 * structures, and the same sequence of calls gives the same offsets on every PE.
 *
 * Blocks, in use or free, cover the range without gaps, and are stored in one array in order
 * of their offset: a block is found by bisection, its neighbours are the entries next to it,
 * and two free blocks are never adjacent. An insertion moves the rest of the array, 16 bytes
 * for each block, which is cheap for the thousands of blocks of a symmetric heap.
 */
#ifndef CH_ARENA_H
#define CH_ARENA_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Offsets and sizes are multiples of this: two blocks never share a cache line. */
#define CH_ARENA_GRANULE ((size_t)64)

/* A block ends at the next block's offset. */
struct ch_arena_block {
    size_t offset;
    bool is_used;
};

struct ch_arena {
    struct ch_arena_block *blocks; /* [n_blocks + 1], owned; the last is at limit, and used */
    size_t n_blocks, capacity;     /* capacity includes the last entry */
    size_t limit;
    size_t n_used, used_bytes, high_water_bytes;
};

/* An empty arena, limit 0. */
CH_MUST_CHECK chorus_status ch_arena_init(struct ch_arena *a);
void ch_arena_clear(struct ch_arena *a); /* undoes init; a zeroed arena is a no-op */

/* Ensure room in the array for one ch_arena_grow and one ch_arena_alloc. ERR_SYSTEM if there is
 * no memory. */
CH_MUST_CHECK chorus_status ch_arena_reserve(struct ch_arena *a);

/* Raise the limit, a multiple of the granule. After ch_arena_reserve. */
void ch_arena_grow(struct ch_arena *a, size_t limit);

/*
 * Allocate at the lowest offset that fits. align is a power of two; bytes is not 0 and far
 * below SIZE_MAX. False if no block fits, or the array is full: raise the limit to
 * ch_arena_limit_for, reserve, and call again.
 */
bool ch_arena_alloc(struct ch_arena *a, size_t align, size_t bytes, size_t *offset_out);
/* The same at the lowest offset that fits and is not below `from`. */
bool ch_arena_alloc_from(struct ch_arena *a, size_t from, size_t align, size_t bytes,
                         size_t *offset_out);
/* The last so many bytes below the limit, a multiple of the granule, all of them free. After
 * ch_arena_reserve. */
void ch_arena_take_last(struct ch_arena *a, size_t bytes);
size_t ch_arena_limit_for(const struct ch_arena *a, size_t from, size_t align, size_t bytes);

/* The kind of an offset below limit. In all cases *start_out and *bytes_out describe the block
 * that contains it. */
enum ch_arena_place { CH_PLACE_BLOCK, CH_PLACE_INNER, CH_PLACE_FREE };
enum ch_arena_place ch_arena_find(const struct ch_arena *a, size_t offset, size_t *start_out,
                                  size_t *bytes_out);

/* offset must be a CH_PLACE_BLOCK. Resizes in place; false if that is not possible. */
void ch_arena_free(struct ch_arena *a, size_t offset);
bool ch_arena_resize(struct ch_arena *a, size_t offset, size_t bytes);

/* The size of the largest free block if the limit were raised to `ceiling`. */
size_t ch_arena_largest(const struct ch_arena *a, size_t ceiling);

/* Check all blocks: no gaps, order, granule, coalescing, counts. ERR_STATE at the first
 * violation. */
CH_MUST_CHECK chorus_status ch_arena_check(const struct ch_arena *a);

#endif /* CH_ARENA_H */
