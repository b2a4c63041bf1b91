/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c: symmetric memory by the functions that PyTorch's allocators call. PyTorch frees
 * memory at unpredictable times, also on threads that make no calls. These functions therefore
 * only note a freed block; a later collective call fetches the notes and frees the blocks.
 */
#include "api/context.h"
#include "chorus/chorusx.h"

#include <stdlib.h>
#include <string.h>

void ch_pool_open(struct ch_pool *pool)
{
    (void)pthread_mutex_init(&pool->lock, NULL);
}

void ch_pool_close(struct ch_pool *pool)
{
    free(pool->notes);
    (void)pthread_mutex_destroy(&pool->lock);
}

static bool make_room(struct ch_pool *pool)
{
    const size_t room = pool->room != 0 ? 2 * pool->room : 64;
    chorusx_pool_note *const notes = realloc(pool->notes, room * sizeof(*notes));

    if (notes == NULL) return false;
    pool->notes = notes;
    pool->room = room;
    return true;
}

/* Without memory for a note, the block remains allocated. */
static void note(struct ch_pool *pool, void *ptr, size_t bytes)
{
    (void)pthread_mutex_lock(&pool->lock);
    if (pool->count < pool->room || make_room(pool))
        pool->notes[pool->count++] = (chorusx_pool_note){ptr, bytes};
    (void)pthread_mutex_unlock(&pool->lock);
}

void *chorusx_pool_malloc(ptrdiff_t bytes, int device, void *stream)
{
    struct ch_context *context;
    void *ptr;

    (void)device; /* the heap has a device, on which the caller's tensors are */
    (void)stream;
    if (bytes <= 0 || ch_context_require(__func__, &context) != CHORUS_OK) return NULL;
    ptr = chorus_malloc((size_t)bytes);
    if (ptr != NULL) note(&context->pool, ptr, (size_t)bytes);
    return ptr;
}

void chorusx_pool_free(void *ptr, ptrdiff_t bytes, int device, void *stream)
{
    struct ch_context *const context = ch_context_get();

    (void)bytes;
    (void)device;
    (void)stream;
    if (ptr != NULL && context != NULL) note(&context->pool, ptr, 0);
}

size_t chorusx_pool_take(chorusx_pool_note *notes_out, size_t most)
{
    struct ch_context *const context = ch_context_get();
    struct ch_pool *pool;
    size_t taken;

    if (context == NULL) return 0;
    pool = &context->pool;
    (void)pthread_mutex_lock(&pool->lock);
    taken = pool->count < most ? pool->count : most;
    if (taken != 0) {
        memcpy(notes_out, pool->notes, taken * sizeof(*notes_out));
        pool->count -= taken;
        memmove(pool->notes, pool->notes + taken, pool->count * sizeof(*notes_out));
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return taken;
}
