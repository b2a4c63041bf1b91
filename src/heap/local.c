/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local.c: the part of the segment that this PE manages by itself.
 *
 * The file is as long as the limit of the part, but the kernel allocates a page when it is
 * first stored to: a team has sync memory for every algorithm and peer, of which a program may
 * use little. For the same reason, memory that an earlier team had is cleared only where it
 * has pages.
 */
#include "heap/heap_state.h"
#include "heap/machine.h"

#include <errno.h>
#include <string.h>

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
