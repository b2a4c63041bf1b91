/* SPDX-License-Identifier: Apache-2.0 */
/* heap.c: the symmetric and the local part of a heap, and queries about all parts. */
#include "heap/inside.h"

#include <errno.h>
#include <string.h>

/* ---- the symmetric part ---- */

/* Fail with ERR_NOMEM: the request exceeds the limit of the heap. To raise the limit only helps
 * if there is memory. */
static chorus_status fail_over_limit(const struct ch_heap *heap, size_t bytes)
{
    struct ch_memory memory;
    size_t has;

    ch_memory_left("", &memory);
    has = memory.bytes;
    if (heap->data != NULL && ch_device_free_bytes(heap->data->device, &has) != CHORUS_OK)
        has = SIZE_MAX; /* unknown */
    return ch_heap_fail_no_room(heap, bytes,
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
    if (bytes > most) return fail_over_limit(heap, bytes);
    while (!ch_arena_alloc(&heap->arena, align, bytes, &offset)) {
        const size_t limit = ch_arena_limit_for(&heap->arena, 0, align, bytes);

        if (limit > most)
            return ch_heap_fail_no_room(heap, bytes, "free some, or raise CHORUS_HEAP_MAX");
        CH_TRY(ch_heap_grow(heap, limit, bytes));
    }
    *ptr_out = heap->extent.symmetric + offset;
    return CHORUS_OK;
}

/* Find the block that begins at ptr; an error says why none does. */
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

/* Copy within this PE's objects, on the GPU or in host memory. */
static chorus_status copy_data(const struct ch_heap *heap, void *dst, const void *src,
                               size_t bytes)
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
    if (bytes > heap->symmetric_bytes) return fail_over_limit(heap, bytes);
    if (ch_arena_resize(&heap->arena, offset, bytes)) {
        *ptr_out = ptr;
        return CHORUS_OK;
    }
    CH_TRY(ch_heap_alloc(heap, CH_ARENA_GRANULE, bytes, &moved));
    /* A block that can be resized in place was resized above: this one moves. */
    CH_TRY(copy_data(heap, moved, ptr, old_bytes));
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

/* ---- the local part, which this PE manages by itself ---- */

/*
 * The file is as long as the limit of the part, but the kernel allocates a page when it is
 * first stored to: a team has sync memory for every algorithm and peer, of which a program may
 * use little. For the same reason, memory that an earlier team had is cleared only where it
 * has pages.
 */

#define LOCAL_ALIGN ((size_t)128) /* of a struct ch_line */

/* Raise the limit of the local part to at least `limit`. */
static chorus_status grow_local(struct ch_heap *heap, size_t limit, size_t bytes_asked)
{
    const struct ch_layout *const layout = &heap->layout;
    const size_t old = heap->local.limit;
    struct ch_memory memory;
    size_t next = (limit + CH_HEAP_PAGE_BYTES - 1) / CH_HEAP_PAGE_BYTES * CH_HEAP_PAGE_BYTES;
    int error;

    if (next > layout->local_bytes) next = layout->local_bytes;
    if (limit > next)
        return CH_FAIL(
            CHORUS_ERR_NOMEM,
            "%zu bytes of sync memory were requested; %zu of %zu are in use; destroy teams, "
            "lower CHORUS_CTAS or CHORUS_CHUNK, or raise CHORUS_SYNC_MAX",
            bytes_asked, heap->local.used_bytes, layout->local_bytes);
    CH_TRY(ch_arena_reserve(&heap->local));
    ch_memory_left("", &memory);
    if (next - old > memory.bytes)
        return CH_FAIL(CHORUS_ERR_NOMEM,
                       "%zu bytes of sync memory were requested; %s has %zu left", bytes_asked,
                       memory.of, memory.bytes);
    error = ch_segment_extend(&heap->segments[heap->me], layout->local_offset + next);
    if (error != 0)
        return CH_FAIL(CHORUS_ERR_NOMEM,
                       "%zu bytes of sync memory were requested from the system: %s",
                       bytes_asked, strerror(error));
    ch_arena_grow(&heap->local, next);
    return CHORUS_OK;
}

/* Allocate in the local part at an offset that is not below `from`. The caller has locked
 * it. */
static chorus_status alloc_locked(struct ch_heap *heap, size_t from, size_t bytes,
                                  size_t *offset_out)
{
    if (bytes == 0 || bytes > heap->layout.local_bytes)
        return CH_FAIL(bytes == 0 ? CHORUS_ERR_ARG : CHORUS_ERR_NOMEM,
                       "%zu bytes of sync memory were requested; expected 1 to %zu", bytes,
                       heap->layout.local_bytes);
    while (!ch_arena_alloc_from(&heap->local, from, LOCAL_ALIGN, bytes, offset_out)) {
        const size_t limit = ch_arena_limit_for(&heap->local, from, LOCAL_ALIGN, bytes);

        CH_TRY(grow_local(heap, limit, bytes));
    }
    return CHORUS_OK;
}

/* Allocate zeroed memory in the local part, at an offset that is not below `from`. */
static chorus_status alloc_from(struct ch_heap *heap, size_t from, size_t bytes, void **ptr_out)
{
    const struct ch_segment *const own = &heap->segments[heap->me];
    size_t offset = 0;
    chorus_status st;

    (void)pthread_mutex_lock(&heap->local_lock);
    st = alloc_locked(heap, from, bytes, &offset);
    (void)pthread_mutex_unlock(&heap->local_lock);
    CH_TRY(st);
    offset += heap->layout.local_offset;
    ch_segment_zero(own, offset, offset + bytes);
    *ptr_out = own->base + offset;
    return CHORUS_OK;
}

chorus_status ch_heap_local_alloc(struct ch_heap *heap, size_t bytes, void **ptr_out)
{
    return alloc_from(heap, 0, bytes, ptr_out);
}

void ch_heap_local_free(struct ch_heap *heap, void *ptr)
{
    char *const local = heap->segments[heap->me].base + heap->layout.local_offset;

    if (ptr == NULL) return;
    (void)pthread_mutex_lock(&heap->local_lock);
    ch_arena_free(&heap->local, (size_t)((char *)ptr - local));
    (void)pthread_mutex_unlock(&heap->local_lock);
}

chorus_status ch_heap_sync_alloc(struct ch_heap *heap, size_t bytes, void **ptr_out)
{
    if (heap->data != NULL) return ch_data_sync_alloc(heap->data, 0, bytes, ptr_out);
    return ch_heap_local_alloc(heap, bytes, ptr_out);
}

chorus_status ch_heap_sync_alloc_from(struct ch_heap *heap, size_t from, size_t bytes,
                                      void **ptr_out)
{
    const struct ch_segment *const own = &heap->segments[heap->me];
    void *block;
    size_t at;
    int error;

    if (heap->data != NULL) return ch_data_sync_alloc(heap->data, from, bytes, ptr_out);
    CH_TRY(alloc_from(heap, from, bytes, &block));
    at = (size_t)((char *)block - own->base);
    error = ch_segment_commit(own, at, at + bytes);
    if (error != 0) {
        ch_heap_local_free(heap, block);
        return CH_FAIL(CHORUS_ERR_NOMEM, "could not get %zu bytes of memory from its host: %s",
                       bytes, strerror(error));
    }
    *ptr_out = block;
    return CHORUS_OK;
}

size_t ch_heap_sync_offset(const struct ch_heap *heap, const void *ptr)
{
    const size_t at = (size_t)((const char *)ptr - ch_heap_data_base(heap, heap->me));

    return heap->data != NULL ? at : at - heap->layout.local_offset;
}

void ch_heap_sync_free(struct ch_heap *heap, void *ptr)
{
    if (heap->data == NULL)
        ch_heap_local_free(heap, ptr);
    else if (ptr != NULL)
        ch_data_sync_free(heap->data, ptr);
}

/* ---- queries ---- */

uint32_t ch_heap_me(const struct ch_heap *heap)
{
    return heap->me;
}

uint32_t ch_heap_n_pes(const struct ch_heap *heap)
{
    return heap->n;
}

char *ch_heap_base_at_owner(const struct ch_heap *heap, uint32_t pe)
{
    return (char *)(uintptr_t)heap->homes[pe];
}

void ch_heap_set_registration(struct ch_heap *heap,
                              const struct ch_heap_registration *registration)
{
    heap->registration = *registration;
}

char *ch_heap_base(const struct ch_heap *heap, uint32_t pe)
{
    return heap->segments[pe].base;
}

char *ch_heap_mapped_at(const struct ch_heap *heap, uint32_t pe, const void *there,
                        size_t bytes)
{
    const struct ch_segment *segment = &heap->segments[pe];
    const size_t at = (uintptr_t)there - (uintptr_t)heap->homes[pe];

    if (segment->base == NULL || at > segment->bytes || bytes > segment->bytes - at)
        return NULL;
    return segment->base + at;
}

char *ch_heap_data_base(const struct ch_heap *heap, uint32_t pe)
{
    return heap->data != NULL ? heap->data->bases[pe] : heap->segments[pe].base;
}

char *ch_heap_data_at_owner(const struct ch_heap *heap, uint32_t pe)
{
    return heap->data != NULL ? heap->data->homes[pe] : ch_heap_base_at_owner(heap, pe);
}

bool ch_heap_is_near(const struct ch_heap *heap, uint32_t pe)
{
    return ch_heap_data_base(heap, pe) != NULL;
}

const uint32_t *ch_heap_groups(const struct ch_heap *heap)
{
    return heap->data->groups;
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

char *ch_heap_record_at_owner(const struct ch_heap *heap, uint32_t pe)
{
    return ch_heap_base_at_owner(heap, pe) + CH_DOOR_BYTES;
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
