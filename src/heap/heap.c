/* SPDX-License-Identifier: Apache-2.0 */
/* heap.c: the symmetric part of a heap, and queries about all parts. */
#include "heap/heap_state.h"
#include "heap/machine.h"

#include <string.h>

/* The request exceeds the limit of the heap; to raise the limit only helps if there is
 * memory. */
static chorus_status refuse(const struct ch_heap *heap, size_t bytes)
{
    struct ch_memory memory;
    size_t has;

    ch_memory_left("", &memory);
    has = heap->data != NULL ? ch_device_free_bytes(heap->data->device) : memory.bytes;
    return ch_heap_no_room(heap, bytes,
                           bytes > has ? "request less: it is more memory than there is"
                                       : "raise CHORUS_HEAP_MAX");
}

chorus_status ch_heap_alloc(struct ch_heap *heap, size_t align, size_t bytes, void **ptr_out)
{
    const size_t most = heap->symmetric_bytes;
    size_t offset = 0;

    if (align == 0 || (align & (align - 1)) != 0 || align > CH_HEAP_ALIGN_MAX)
        return CH_FAIL(CHORUS_ERR_ARG, "alignment is %zu; expected a power of two, at most %zu",
                       align, CH_HEAP_ALIGN_MAX);
    if (bytes == 0) {
        *ptr_out = NULL;
        return CHORUS_OK;
    }
    if (bytes > most) return refuse(heap, bytes);
    while (!ch_arena_alloc(&heap->arena, align, bytes, &offset)) {
        const size_t limit = ch_arena_limit_for(&heap->arena, 0, align, bytes);

        if (limit > most)
            return ch_heap_no_room(heap, bytes, "free some, or raise CHORUS_HEAP_MAX");
        CH_TRY(ch_heap_grow(heap, limit, bytes));
    }
    *ptr_out = heap->extent.symmetric + offset;
    return CHORUS_OK;
}

/* Is ptr an allocated block? Then sets its offset and size. */
static chorus_status find_block(const struct ch_heap *heap, const void *ptr, size_t *offset_out,
                                size_t *bytes_out)
{
    const size_t offset = (uintptr_t)ptr - (uintptr_t)heap->extent.symmetric;
    size_t start, bytes;

    if (offset >= heap->arena.limit)
        return CH_FAIL(
            CHORUS_ERR_NOT_SYMMETRIC,
            "%p is not in the symmetric heap, which is [%p, %p); pass what an allocation "
            "returned",
            ptr, (void *)heap->extent.symmetric,
            (void *)(heap->extent.symmetric + heap->arena.limit));
    switch (ch_arena_find(&heap->arena, offset, &start, &bytes)) {
    case CH_PLACE_FREE:
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%p is in free memory of the symmetric heap; was it freed "
                       "already?",
                       ptr);
    case CH_PLACE_INNER:
        return CH_FAIL(
            CHORUS_ERR_ARG,
            "%p is %zu bytes inside the block at %p, of %zu bytes; pass the block's start", ptr,
            offset - start, (void *)(heap->extent.symmetric + start), bytes);
    case CH_PLACE_BLOCK:
        break;
    }
    *offset_out = offset;
    *bytes_out = bytes;
    return CHORUS_OK;
}

bool ch_heap_block(const struct ch_heap *heap, const void *ptr, char **start_out,
                   size_t *bytes_out)
{
    const size_t offset = (uintptr_t)ptr - (uintptr_t)heap->extent.symmetric;
    size_t start = 0;

    if (offset >= heap->arena.limit) return false;
    if (ch_arena_find(&heap->arena, offset, &start, bytes_out) == CH_PLACE_FREE) return false;
    *start_out = heap->extent.symmetric + start;
    return true;
}

bool ch_heap_next_block(const struct ch_heap *heap, char **start)
{
    size_t offset = 0, bytes = 0, next = 0;

    if (*start != NULL) {
        offset = ch_heap_offset(heap, *start);
        (void)ch_arena_find(&heap->arena, offset, &offset, &bytes);
        next = offset + bytes;
    }
    for (; next < heap->arena.limit; next = offset + bytes)
        if (ch_arena_find(&heap->arena, next, &offset, &bytes) != CH_PLACE_FREE) {
            *start = heap->extent.symmetric + offset;
            return true;
        }
    return false;
}

chorus_status ch_heap_free(struct ch_heap *heap, void *ptr)
{
    size_t offset = 0, bytes = 0;

    if (ptr == NULL) return CHORUS_OK;
    CH_TRY(find_block(heap, ptr, &offset, &bytes));
    ch_arena_free(&heap->arena, offset);
    return CHORUS_OK;
}

static chorus_status move(const struct ch_heap *heap, void *dst, const void *src, size_t bytes)
{
    if (heap->data != NULL) return ch_device_copy(heap->data->device, dst, src, bytes);
    memcpy(dst, src, bytes);
    return CHORUS_OK;
}

chorus_status ch_heap_realloc(struct ch_heap *heap, void *ptr, size_t bytes, void **ptr_out)
{
    size_t offset = 0, old_bytes = 0;
    void *moved = NULL;

    if (ptr == NULL) return ch_heap_alloc(heap, CH_ARENA_GRANULE, bytes, ptr_out);
    CH_TRY(find_block(heap, ptr, &offset, &old_bytes));
    if (bytes == 0) {
        ch_arena_free(&heap->arena, offset);
        *ptr_out = NULL;
        return CHORUS_OK;
    }
    if (bytes > heap->symmetric_bytes) return refuse(heap, bytes);
    if (ch_arena_resize(&heap->arena, offset, bytes)) {
        *ptr_out = ptr;
        return CHORUS_OK;
    }
    CH_TRY(ch_heap_alloc(heap, CH_ARENA_GRANULE, bytes, &moved));
    /* A block that can be resized in place was resized above: this one moves. */
    CH_TRY(move(heap, moved, ptr, old_bytes));
    ch_arena_free(&heap->arena, offset);
    *ptr_out = moved;
    return CHORUS_OK;
}

chorus_status ch_heap_zero(const struct ch_heap *heap, void *ptr, size_t bytes)
{
    if (heap->data != NULL) return ch_device_zero(heap->data->device, ptr, bytes);
    memset(ptr, 0, bytes);
    return CHORUS_OK;
}

uint32_t ch_heap_me(const struct ch_heap *heap)
{
    return heap->me;
}

uint32_t ch_heap_n_pes(const struct ch_heap *heap)
{
    return heap->n;
}

char *ch_heap_home(const struct ch_heap *heap, uint32_t pe)
{
    return (char *)(uintptr_t)heap->homes[pe];
}

void ch_heap_keep_doorman(struct ch_heap *heap, const struct ch_heap_doorman *doorman)
{
    heap->doorman = *doorman;
}

char *ch_heap_base(const struct ch_heap *heap, uint32_t pe)
{
    return heap->segments[pe].base;
}

char *ch_heap_data_base(const struct ch_heap *heap, uint32_t pe)
{
    return heap->data != NULL ? heap->data->bases[pe] : heap->segments[pe].base;
}

ptrdiff_t ch_heap_multicast_shift(const struct ch_heap *heap)
{
    if (heap->data == NULL || !heap->data->has_multicast) return 0;
    return heap->data->multicast - heap->data->bases[heap->me];
}

const struct ch_device *ch_heap_device(const struct ch_heap *heap)
{
    return heap->data != NULL ? heap->data->device : NULL;
}

uint32_t ch_heap_n_sharing(const struct ch_heap *heap)
{
    return heap->data != NULL ? heap->data->n_sharing : 0;
}

const char *ch_heap_gpu_name(const struct ch_heap *heap)
{
    return heap->data != NULL ? heap->data->gpu : "";
}

struct ch_door *ch_heap_door_on_device(const struct ch_heap *heap)
{
    return heap->data != NULL ? heap->data->door : NULL;
}

struct ch_door *ch_heap_door(const struct ch_heap *heap, uint32_t pe)
{
    return (struct ch_door *)(void *)heap->segments[pe].base;
}

struct ch_record *ch_heap_record(const struct ch_heap *heap, uint32_t pe)
{
    char *const base = heap->segments[pe].base;

    return base == NULL ? NULL : (struct ch_record *)(void *)(base + CH_DOOR_BYTES);
}

char *ch_heap_record_home(const struct ch_heap *heap, uint32_t pe)
{
    return ch_heap_home(heap, pe) + CH_DOOR_BYTES;
}

bool ch_heap_is_mapped(const struct ch_heap *heap, uint32_t pe)
{
    return heap->segments[pe].base != NULL;
}

void ch_heap_info_get(const struct ch_heap *heap, struct ch_heap_info *out)
{
    const size_t reserved = heap->symmetric_bytes;

    *out = (struct ch_heap_info){
        .reserved_bytes = reserved,
        .committed_bytes = heap->arena.limit,
        .used_bytes = heap->arena.used_bytes,
        .free_bytes = reserved - heap->arena.used_bytes,
        .largest_free_bytes = ch_arena_largest(&heap->arena, reserved),
        .high_water_bytes = heap->arena.high_water_bytes,
        .blocks = heap->arena.n_used,
        .local_used_bytes =
            heap->local.used_bytes + (heap->data != NULL ? heap->data->sync.used_bytes : 0),
    };
}

chorus_status ch_heap_check(const struct ch_heap *heap)
{
    CH_TRY(ch_arena_check(&heap->arena));
    CH_TRY(ch_arena_check(&heap->local));
    if (heap->data != NULL) CH_TRY(ch_arena_check(&heap->data->sync));
    if (heap->arena.limit != heap->extent.committed_bytes ||
        heap->arena.limit > heap->symmetric_bytes ||
        heap->local.limit > heap->layout.local_bytes)
        return CH_FAIL(CHORUS_ERR_STATE,
                       "heap limits %zu and %zu do not fit %zu committed, %zu and %zu reserved",
                       heap->arena.limit, heap->local.limit, heap->extent.committed_bytes,
                       heap->symmetric_bytes, heap->layout.local_bytes);
    return CHORUS_OK;
}
