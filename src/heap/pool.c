/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c: the pool of a job on GPUs that are not all near each other: memory of each PE's
 * segment on its host, of fixed size, which the GPU of the PE and those of the PEs of the same
 * host load and store.
 */
#include "heap/inside.h"

#include "base/exec_host.h"

#include <string.h>

/* Of each PE. Pages of the pool stay in memory as long as the job. */
#define POOL_BYTES ((size_t)64 << 20)

/* The address at which PE pe's pool is mapped here; null: it is on another host. All pools are
 * at the same offset, as they are the first block of the local part. */
static char *pool_of(const struct ch_heap *heap, uint32_t pe)
{
    const struct ch_segment *of = &heap->segments[pe];

    if (of->base == NULL) return NULL;
    return of->base + (heap->pool.base - heap->segments[heap->me].base);
}

/* Allocate this PE's pool, with pages. */
static chorus_status make_pool(struct ch_heap *heap, size_t bytes)
{
    const struct ch_segment *own = &heap->segments[heap->me];
    struct ch_pool *pool = &heap->pool;
    void *base = NULL;
    size_t at;
    int error;

    CH_TRY(ch_arena_init(&pool->arena));
    CH_TRY(ch_arena_reserve(&pool->arena));
    CH_TRY(ch_heap_local_alloc(heap, bytes, &base));
    pool->base = base;
    at = (size_t)(pool->base - own->base);
    error = ch_segment_commit(own, at, at + bytes);
    if (error != 0)
        return CH_FAIL(CHORUS_ERR_NOMEM,
                       "could not get %zu bytes of memory for messages between GPUs: %s", bytes,
                       strerror(error));
    ch_arena_grow(&pool->arena, bytes);
    return CHORUS_OK;
}

/* Give the GPU access to this PE's pool, and to those of other processes of its host. The PEs
 * of one process share the mappings, so each registers its own. */
static chorus_status register_pools(struct ch_heap *heap, size_t bytes)
{
    const struct ch_data *data = heap->data;
    void *on_device = NULL;

    for (uint32_t pe = 0; pe < heap->n; pe++) {
        char *const there = pool_of(heap, pe);

        if (there == NULL || (data->is_here[pe] && pe != heap->me)) continue;
        CH_TRY(ch_device_register(data->device, there, bytes, &on_device));
        heap->pool.n_registered = pe + 1;
        if (on_device != there)
            return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                           "GPU %s has the memory of its host at other addresses than its "
                           "processes; set CHORUS_HEAP=host",
                           ch_device_id_of(data->device)->name);
    }
    return CHORUS_OK;
}

chorus_status ch_heap_pool_open(struct ch_heap *heap)
{
    const size_t most = heap->layout.local_bytes / 2,
                 bytes = most < POOL_BYTES ? most / CH_HEAP_PAGE_BYTES * CH_HEAP_PAGE_BYTES
                                           : POOL_BYTES;

    if (ch_data_is_one_group(heap->data)) return CHORUS_OK;
    CH_TRY(ch_data_vote(heap->data, make_pool(heap, bytes)));
    return ch_data_vote(heap->data, register_pools(heap, bytes));
}

void ch_heap_pool_close(struct ch_heap *heap)
{
    const struct ch_data *data = heap->data;

    for (uint32_t pe = 0; pe < heap->pool.n_registered; pe++) {
        char *const there = pool_of(heap, pe);

        if (there != NULL && (!data->is_here[pe] || pe == heap->me))
            ch_device_unregister(data->device, there);
    }
    ch_arena_clear(&heap->pool.arena);
    ch_heap_local_free(heap, heap->pool.base);
    heap->pool = (struct ch_pool){0};
}

bool ch_heap_has_pool(const struct ch_heap *heap)
{
    return heap->pool.base != NULL;
}

struct ch_memory_part ch_heap_pool_at_owner(const struct ch_heap *heap, uint32_t pe)
{
    const ptrdiff_t offset = heap->pool.base - heap->segments[heap->me].base;

    return (struct ch_memory_part){.base = ch_heap_base_at_owner(heap, pe) + offset,
                                   .bytes = heap->pool.arena.limit,
                                   .kind = CH_MEMORY_HOST,
                                   .dma_buf = -1};
}

chorus_status ch_heap_pool_alloc(struct ch_heap *heap, size_t bytes, void **ptr_out)
{
    struct ch_pool *pool = &heap->pool;
    size_t offset = 0;
    bool fits;
    chorus_status st;

    (void)pthread_mutex_lock(&heap->local_lock);
    st = ch_arena_reserve(&pool->arena);
    fits =
        st == CHORUS_OK && ch_arena_alloc(&pool->arena, sizeof(struct ch_line), bytes, &offset);
    (void)pthread_mutex_unlock(&heap->local_lock);
    CH_TRY(st);
    if (!fits)
        return CH_FAIL(
            CHORUS_ERR_NOMEM,
            "%zu bytes were requested for messages between GPUs that are not near "
            "each other; %zu of %zu are in use; destroy teams, or lower CHORUS_CHUNK",
            bytes, pool->arena.used_bytes, pool->arena.limit);
    memset(pool->base + offset, 0, bytes);
    *ptr_out = pool->base + offset;
    return CHORUS_OK;
}

void ch_heap_pool_free(struct ch_heap *heap, void *ptr)
{
    if (ptr == NULL) return;
    (void)pthread_mutex_lock(&heap->local_lock);
    ch_arena_free(&heap->pool.arena, (size_t)((char *)ptr - heap->pool.base));
    (void)pthread_mutex_unlock(&heap->local_lock);
}
