/* SPDX-License-Identifier: Apache-2.0 */
#include "heap/inside.h"

#include <stdlib.h>
#include <string.h>

enum {
    CAPACITY_INITIAL = 64,
    ROOM_GROW = 1,  /* entries that growth may add: a free block at the end */
    ROOM_ALLOC = 2, /* entries that an allocation may add: the rest before it and after it */
};

static size_t round_up(size_t value, size_t multiple)
{
    return (value + multiple - 1) & ~(multiple - 1);
}

/* Does the array have room for so many more entries? */
static bool has_room(const struct ch_arena *a, size_t entries)
{
    return a->n_blocks + 1 + entries <= a->capacity;
}

/* Bytes of the block of entry `at`. */
static size_t block_bytes(const struct ch_arena *a, size_t at)
{
    return a->blocks[at + 1].offset - a->blocks[at].offset;
}

chorus_status ch_arena_init(struct ch_arena *a)
{
    memset(a, 0, sizeof(*a));
    a->blocks = malloc(CAPACITY_INITIAL * sizeof(*a->blocks));
    if (a->blocks == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the data of a heap");
    a->capacity = CAPACITY_INITIAL;
    a->blocks[0] = (struct ch_arena_block){0, true};
    return CHORUS_OK;
}

void ch_arena_clear(struct ch_arena *a)
{
    free(a->blocks);
    memset(a, 0, sizeof(*a));
}

chorus_status ch_arena_reserve(struct ch_arena *a)
{
    const size_t capacity = 2 * a->capacity;
    struct ch_arena_block *blocks;

    if (has_room(a, ROOM_GROW + ROOM_ALLOC)) return CHORUS_OK;
    blocks = realloc(a->blocks, capacity * sizeof(*blocks));
    if (blocks == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the data of %zu heap blocks",
                       capacity);
    a->blocks = blocks;
    a->capacity = capacity;
    return CHORUS_OK;
}

/* Insert a free block at `offset`, before entry `at`. */
static void insert_free(struct ch_arena *a, size_t at, size_t offset)
{
    memmove(&a->blocks[at + 1], &a->blocks[at], (a->n_blocks + 1 - at) * sizeof(*a->blocks));
    a->blocks[at] = (struct ch_arena_block){offset, false};
    a->n_blocks++;
}

/* Remove entry `at`; the block before it takes its range. */
static void remove_entry(struct ch_arena *a, size_t at)
{
    memmove(&a->blocks[at], &a->blocks[at + 1], (a->n_blocks - at) * sizeof(*a->blocks));
    a->n_blocks--;
}

/* Add to the number of bytes in use, and keep its largest value. */
static void count_used(struct ch_arena *a, size_t bytes)
{
    a->used_bytes += bytes;
    if (a->used_bytes > a->high_water_bytes) a->high_water_bytes = a->used_bytes;
}

void ch_arena_grow(struct ch_arena *a, size_t limit)
{
    const size_t last = a->n_blocks;

    if (limit == a->limit) return;
    if (last == 0 || a->blocks[last - 1].is_used) insert_free(a, last, a->limit);
    a->blocks[a->n_blocks].offset = limit;
    a->limit = limit;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Index of the first free block that fits at an offset from `from` on, and that offset;
 * n_blocks if there is none. */
static size_t first_fit(const struct ch_arena *a, size_t from, size_t align, size_t need,
                        size_t *start_out)
{
    for (size_t at = 0; at < a->n_blocks; at++) {
        const size_t end = a->blocks[at + 1].offset;
        size_t start;

        if (a->blocks[at].is_used || end - a->blocks[at].offset < need) continue;
        start = round_up(larger(a->blocks[at].offset, from), align);
        if (start < end && end - start >= need) {
            *start_out = start;
            return at;
        }
    }
    return a->n_blocks;
}

bool ch_arena_alloc(struct ch_arena *a, size_t align, size_t bytes, size_t *offset_out)
{
    return ch_arena_alloc_from(a, 0, align, bytes, offset_out);
}

bool ch_arena_alloc_from(struct ch_arena *a, size_t from, size_t align, size_t bytes,
                         size_t *offset_out)
{
    const size_t need = round_up(bytes, CH_ARENA_GRANULE);
    const size_t step = align > CH_ARENA_GRANULE ? align : CH_ARENA_GRANULE;
    size_t start = 0, at;

    if (!has_room(a, ROOM_ALLOC)) return false;
    at = first_fit(a, from, step, need, &start);
    if (at == a->n_blocks) return false;
    if (start != a->blocks[at].offset) insert_free(a, ++at, start);
    if (block_bytes(a, at) != need) insert_free(a, at + 1, start + need);
    a->blocks[at].is_used = true;
    a->n_used++;
    count_used(a, need);
    *offset_out = start;
    return true;
}

void ch_arena_use_last(struct ch_arena *a, size_t bytes)
{
    const size_t start = a->limit - bytes;
    size_t at = a->n_blocks - 1;

    if (a->blocks[at].offset != start) insert_free(a, ++at, start);
    a->blocks[at].is_used = true;
    a->n_used++;
    count_used(a, bytes);
}

size_t ch_arena_limit_for(const struct ch_arena *a, size_t from, size_t align, size_t bytes)
{
    const size_t need = round_up(bytes, CH_ARENA_GRANULE);
    const size_t step = align > CH_ARENA_GRANULE ? align : CH_ARENA_GRANULE;
    size_t start = 0, tail = a->limit;

    if (first_fit(a, from, step, need, &start) != a->n_blocks) return a->limit;
    if (a->n_blocks != 0 && !a->blocks[a->n_blocks - 1].is_used)
        tail = a->blocks[a->n_blocks - 1].offset;
    return round_up(larger(tail, from), step) + need;
}

/* Index of the entry whose block contains an offset below limit. */
static size_t index_of(const struct ch_arena *a, size_t offset)
{
    size_t lo = 0, hi = a->n_blocks;

    while (hi - lo > 1) {
        const size_t middle = lo + (hi - lo) / 2;

        if (a->blocks[middle].offset <= offset)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

enum ch_arena_place ch_arena_find(const struct ch_arena *a, size_t offset, size_t *start_out,
                                  size_t *bytes_out)
{
    const size_t at = index_of(a, offset);

    *start_out = a->blocks[at].offset;
    *bytes_out = block_bytes(a, at);
    if (!a->blocks[at].is_used) return CH_PLACE_FREE;
    return *start_out == offset ? CH_PLACE_BLOCK : CH_PLACE_INNER;
}

void ch_arena_free(struct ch_arena *a, size_t offset)
{
    const size_t at = index_of(a, offset);

    a->used_bytes -= block_bytes(a, at);
    a->n_used--;
    a->blocks[at].is_used = false;
    if (!a->blocks[at + 1].is_used) remove_entry(a, at + 1);
    if (at != 0 && !a->blocks[at - 1].is_used) remove_entry(a, at);
}

/* Cut the block of entry `at` to `need` bytes. If the array is full, the block keeps the
 * surplus; the same happens on every PE. */
static void shrink(struct ch_arena *a, size_t at, size_t need)
{
    const size_t end = a->blocks[at].offset + need;
    const size_t surplus = block_bytes(a, at) - need;

    if (surplus == 0) return;
    if (!a->blocks[at + 1].is_used)
        a->blocks[at + 1].offset = end;
    else if (has_room(a, ROOM_ALLOC))
        insert_free(a, at + 1, end);
    else
        return;
    a->used_bytes -= surplus;
}

bool ch_arena_resize(struct ch_arena *a, size_t offset, size_t bytes)
{
    const size_t need = round_up(bytes, CH_ARENA_GRANULE);
    const size_t at = index_of(a, offset);
    const size_t have = block_bytes(a, at);

    if (need <= have) {
        shrink(a, at, need);
        return true;
    }
    if (a->blocks[at + 1].is_used || have + block_bytes(a, at + 1) < need) return false;
    if (have + block_bytes(a, at + 1) == need)
        remove_entry(a, at + 1);
    else
        a->blocks[at + 1].offset = offset + need;
    count_used(a, need - have);
    return true;
}

size_t ch_arena_largest(const struct ch_arena *a, size_t ceiling)
{
    size_t largest = 0, tail = ceiling - a->limit;

    for (size_t at = 0; at < a->n_blocks; at++) {
        if (a->blocks[at].is_used) continue;
        if (at + 1 == a->n_blocks) tail += block_bytes(a, at);
        if (block_bytes(a, at) > largest) largest = block_bytes(a, at);
    }
    return tail > largest ? tail : largest;
}

/* ERR_STATE unless the arena's counts are these, which were counted in its blocks. */
static chorus_status check_totals(const struct ch_arena *a, size_t n_used, size_t used_bytes)
{
    if (n_used != a->n_used || used_bytes != a->used_bytes)
        return CH_FAIL(CHORUS_ERR_STATE,
                       "heap counts %zu blocks of %zu bytes in use; its blocks say %zu of %zu",
                       a->n_used, a->used_bytes, n_used, used_bytes);
    if (a->used_bytes > a->high_water_bytes || a->high_water_bytes > a->limit)
        return CH_FAIL(CHORUS_ERR_STATE,
                       "heap high water %zu is not between use %zu and limit %zu",
                       a->high_water_bytes, a->used_bytes, a->limit);
    return CHORUS_OK;
}

chorus_status ch_arena_check(const struct ch_arena *a)
{
    size_t n_used = 0, used_bytes = 0;

    if (a->n_blocks + 1 > a->capacity || a->blocks[0].offset != 0 ||
        a->blocks[a->n_blocks].offset != a->limit || !a->blocks[a->n_blocks].is_used)
        return CH_FAIL(CHORUS_ERR_STATE,
                       "heap blocks do not begin at 0 and end at the limit %zu", a->limit);
    for (size_t at = 0; at < a->n_blocks; at++) {
        const struct ch_arena_block *b = &a->blocks[at];

        if (b[1].offset <= b->offset || b->offset % CH_ARENA_GRANULE != 0)
            return CH_FAIL(CHORUS_ERR_STATE, "heap block %zu at %zu ends at %zu", at, b->offset,
                           b[1].offset);
        if (!b->is_used && !b[1].is_used)
            return CH_FAIL(CHORUS_ERR_STATE, "free heap blocks at %zu and %zu are not one",
                           b->offset, b[1].offset);
        if (b->is_used) n_used++, used_bytes += block_bytes(a, at);
    }
    return check_totals(a, n_used, used_bytes);
}
