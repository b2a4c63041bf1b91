/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c: allocation from the symmetric heap by the calls of the standard, with a barrier
 * where it requires one, and by the functions that PyTorch's allocators call.
 */
#include "chorus/chorusx.h"

#include "api/check.h"
#include "api/modules.h"
#include "team/table.h"

#include <stdlib.h>
#include <string.h>

/* Objects of different calls share no cache line, so that polling one does not slow accesses to
 * another. */
#define ALIGN_DEFAULT ((size_t)CH_CACHE_LINE_BYTES)

/* An allocation that the program requests. */
struct wanted {
    size_t align, bytes;
    bool zeroed;
};

/* Allocate a block, and fill it with zeros if requested; then synchronise, so that all PEs have
 * the block on return. */
static chorus_status make_block(struct ch_context *context, const char *function,
                                const struct wanted *w, void **ptr_out)
{
    void *ptr;

    ch_modules_give(context);
    CH_TRY(
        ch_heap_alloc(context->heap, w->align, ch_guard_block_bytes(context, w->bytes), &ptr));
    ch_guard_forget_freed(context, function, ptr);
    if (w->zeroed) CH_TRY(ch_heap_zero(context->heap, ptr, w->bytes));
    ch_guard_set(context, ptr, w->bytes);
    CH_TRY(ch_context_quiet_and_sync(context));
    *ptr_out = ptr;
    return CHORUS_OK;
}

/* Allocate an object on all PEs, with an entry in the record. zeroed: fill it with zeros. */
static chorus_status allocate(const char *function, size_t align, size_t bytes, bool zeroed,
                              void **ptr_out)
{
    const struct wanted wanted = {align, bytes, zeroed};
    struct ch_context *context;
    chorus_status status;
    uint64_t index;

    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_doing_begin_all(context, function, CH_DOING_malloc, bytes, &index));
    status = make_block(context, function, &wanted, ptr_out);
    return ch_error_prefix_if_failed(function, ch_doing_end(context, index, status));
}

/* Returns null after reporting a failure: a full heap as CHORUS_ERRORS selects, other failures
 * to the error handler. CHORUS_OK is not reported. */
static void *report_and_null(const char *function, chorus_status status)
{
    if (status == CHORUS_ERR_NOMEM)
        (void)ch_handle_status(function, status);
    else
        ch_report(status);
    return NULL;
}

void *chorus_malloc(size_t bytes)
{
    void *ptr = NULL;
    chorus_status status;

    if (bytes == 0) return NULL;
    status = allocate(__func__, ALIGN_DEFAULT, bytes, false, &ptr);
    return status == CHORUS_OK ? ptr : report_and_null(__func__, status);
}

void *chorus_calloc(size_t count, size_t bytes)
{
    void *ptr = NULL;
    size_t total;
    chorus_status status = ch_check_count(__func__, count, bytes, &total);

    if (ch_handle_status(__func__, status) != CHORUS_OK || total == 0) return NULL;
    status = allocate(__func__, ALIGN_DEFAULT, total, true, &ptr);
    return status == CHORUS_OK ? ptr : report_and_null(__func__, status);
}

static chorus_status check_alignment(const char *function, size_t alignment)
{
    const bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;

    if (is_power && alignment <= CH_HEAP_ALIGN_MAX) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG, "%s: alignment is %zu; expected a power of two up to %zu",
                   function, alignment, CH_HEAP_ALIGN_MAX);
}

void *chorus_align(size_t alignment, size_t bytes)
{
    void *ptr = NULL;
    chorus_status status;

    status = check_alignment(__func__, alignment);
    if (ch_handle_status(__func__, status) != CHORUS_OK || bytes == 0) return NULL;
    status = allocate(__func__, alignment, bytes, false, &ptr);
    return status == CHORUS_OK ? ptr : report_and_null(__func__, status);
}

void *chorus_malloc_with_hints(size_t bytes, long hints)
{
    void *ptr = NULL;
    chorus_status status;

    (void)hints;
    if (bytes == 0) return NULL;
    status = allocate(__func__, ALIGN_DEFAULT, bytes, false, &ptr);
    return status == CHORUS_OK ? ptr : report_and_null(__func__, status);
}

/* Free a block; the failure of its guard is returned after that. Synchronise first: a peer may
 * still write to the block until it makes this call. */
static chorus_status return_block(struct ch_context *context, const char *function, void *ptr)
{
    chorus_status status;

    CH_TRY(ch_context_quiet_and_sync(context));
    status = ch_guard_check(context, function, ptr);
    ch_guard_fill_freed(context, ptr);
    CH_TRY(ch_heap_free(context->heap,
                        ptr)); /* on all PEs, whether or not the guard of this PE is intact */
    return status;
}

/* Returns the offset of an object in the heap, by which the record names it. */
static uint64_t recorded_offset(const struct ch_context *context, const void *ptr)
{
    return ch_heap_contains(context->heap, ptr, 1) ? ch_heap_offset(context->heap, ptr)
                                                   : CH_DOING_OUTSIDE;
}

static chorus_status free_object(const char *function, void *ptr)
{
    struct ch_context *context;
    uint64_t index;

    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_doing_begin_all(context, function, CH_DOING_free, recorded_offset(context, ptr),
                              &index));
    return ch_error_prefix_if_failed(
        function, ch_doing_end(context, index, return_block(context, function, ptr)));
}

/* Change the length of a block, which may move to *ptr_out, with a barrier before and after. */
static chorus_status change_block(struct ch_context *context, void *ptr, size_t bytes,
                                  void **ptr_out)
{
    chorus_status status;
    struct ch_freed old;

    CH_TRY(ch_context_quiet_and_sync(context));
    status = ch_guard_check(context, "chorus_realloc", ptr);
    old = ch_guard_extent(context, ptr);
    CH_TRY(ch_heap_realloc(context->heap, ptr, ch_guard_block_bytes(context, bytes), ptr_out));
    ch_guard_forget_freed(context, NULL, *ptr_out);
    ch_guard_set(context, *ptr_out, bytes);
    ch_guard_fill_remainder(context, old, *ptr_out);
    CH_TRY(ch_context_quiet_and_sync(context));
    return status;
}

/* Resize an object to `bytes`, which is not 0, on all PEs, with an entry in the record. */
static chorus_status resize_object(const char *function, void *ptr, size_t bytes,
                                   void **ptr_out)
{
    struct ch_context *context;
    uint64_t index;

    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_doing_begin_all(context, function, CH_DOING_realloc, bytes, &index));
    return ch_error_prefix_if_failed(
        function, ch_doing_end(context, index, change_block(context, ptr, bytes, ptr_out)));
}

void *chorus_realloc(void *ptr, size_t bytes)
{
    void *moved = NULL;
    chorus_status status;

    if (ptr == NULL && bytes == 0) return NULL;
    if (ptr == NULL)
        status = allocate(__func__, ALIGN_DEFAULT, bytes, false, &moved);
    else if (bytes == 0)
        status = free_object(__func__, ptr);
    else
        status = resize_object(__func__, ptr, bytes, &moved);
    return status == CHORUS_OK ? moved : report_and_null(__func__, status);
}

void chorus_free(void *ptr)
{
    if (ptr != NULL) ch_report(free_object(__func__, ptr));
}

/* Returns the address at which this PE can access dest of PE `pe` of the team; else null. */
static void *team_ptr(const char *function, ch_team_handle team, const void *dest, int pe)
{
    struct ch_context *context;
    uint32_t world;

    if (ch_context_require(function, &context) != CHORUS_OK ||
        ch_ctx_translate(context, function, team, pe, &world) != CHORUS_OK ||
        ch_check_symmetric(context, function, "dest", dest, 1) != CHORUS_OK ||
        ch_check_owner(context, function, "dest", dest, world) != CHORUS_OK ||
        !ch_heap_is_near(context->heap, world))
        return NULL;
    return ch_links_peer_address(context->links, dest, world);
}

void *chorus_team_ptr(chorus_team_t team, const void *dest, int pe)
{
    return team_ptr(__func__, team, dest, pe);
}

void *chorus_ptr(const void *addr, int pe)
{
    struct ch_context *context;
    const chorus_status status = ch_context_require(__func__, &context);

    if (status != CHORUS_OK) {
        ch_report(status);
        return NULL;
    }
    if (ch_check_pe(context, __func__, pe) != CHORUS_OK ||
        ch_check_symmetric(context, __func__, "addr", addr, 1) != CHORUS_OK ||
        ch_check_owner(context, __func__, "addr", addr, (uint32_t)pe) != CHORUS_OK ||
        !ch_heap_is_near(context->heap, (uint32_t)pe))
        return NULL;
    return ch_links_peer_address(context->links, addr, (uint32_t)pe);
}

/* Find the context of this thread, and the team of a handle. */
static chorus_status find_team(const char *function, ch_team_handle handle,
                               struct ch_context **context_out, struct ch_team **team_out)
{
    CH_TRY(ch_context_require(function, context_out));
    return ch_error_prefix_if_failed(function,
                                     ch_team_get((*context_out)->teams, handle, team_out));
}

static chorus_status team_alloc(const char *function, ch_team_handle handle, size_t bytes,
                                void **ptr_out)
{
    struct ch_context *context;
    struct ch_team *team;
    chorus_status status;
    uint64_t index;

    CH_TRY(find_team(function, handle, &context, &team));
    CH_TRY(ch_doing_begin(context, function, CH_DOING_team_malloc, team, bytes, &index));
    status = ch_team_object_alloc(context->teams, team, bytes, ptr_out);
    return ch_error_prefix_if_failed(function, ch_doing_end(context, index, status));
}

void *chorusx_team_malloc(chorus_team_t team, size_t bytes)
{
    void *ptr = NULL;

    if (bytes == 0) return NULL;
    return ch_handle_status(__func__, team_alloc(__func__, team, bytes, &ptr)) == CHORUS_OK
               ? ptr
               : NULL;
}

static chorus_status team_free(const char *function, chorus_team_t team, void *ptr)
{
    struct ch_context *context;
    struct ch_team *found;
    chorus_status status;
    uint64_t index;

    if (ptr == NULL) return CHORUS_OK;
    CH_TRY(find_team(function, team, &context, &found));
    CH_TRY(ch_doing_begin(context, function, CH_DOING_team_free, found, 0, &index));
    status = ch_team_object_free(context->teams, found, ptr);
    return ch_error_prefix_if_failed(function, ch_doing_end(context, index, status));
}

int chorusx_team_free(chorus_team_t team, void *ptr)
{
    return ch_handle_status(__func__, team_free(__func__, team, ptr));
}

/* Returns the address for multicast to addr on all PEs of the team; null if there is none. */
static void *mc_ptr(const char *function, ch_team_handle handle, const void *addr)
{
    struct ch_context *context;
    struct ch_team *team;

    if (ch_context_require(function, &context) != CHORUS_OK ||
        ch_error_prefix_if_failed(function, ch_team_get(context->teams, handle, &team)) !=
            CHORUS_OK ||
        ch_check_symmetric(context, function, "addr", addr, 1) != CHORUS_OK ||
        team->multicast == 0)
        return NULL;
    return (void *)((uintptr_t)addr + (uintptr_t)team->multicast);
}

void *chorusx_mc_ptr(chorus_team_t team, const void *addr)
{
    return mc_ptr(__func__, team, addr);
}

/* --- PyTorch's allocators ----------------------------------------------------------------- */

/* PyTorch frees memory at unpredictable times, also on threads that make no calls. These
 * functions therefore only note a freed block; a later collective call fetches the notes and
 * frees the blocks. */

void ch_pool_open(struct ch_pool *pool)
{
    (void)pthread_mutex_init(&pool->lock, NULL);
}

void ch_pool_close(struct ch_pool *pool)
{
    free(pool->notes);
    (void)pthread_mutex_destroy(&pool->lock);
}

static bool grow_pool_notes(struct ch_pool *pool)
{
    const size_t room = pool->room != 0 ? 2 * pool->room : 64;
    chorusx_pool_note *const notes = realloc(pool->notes, room * sizeof(*notes));

    if (notes == NULL) return false;
    pool->notes = notes;
    pool->room = room;
    return true;
}

/* Note that a block was allocated or, if bytes is 0, freed. If there is no memory for the note,
 * the block remains allocated. */
static void add_pool_note(struct ch_pool *pool, void *ptr, size_t bytes)
{
    (void)pthread_mutex_lock(&pool->lock);
    if (pool->count < pool->room || grow_pool_notes(pool))
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
    if (ptr != NULL) add_pool_note(&context->pool, ptr, (size_t)bytes);
    return ptr;
}

void chorusx_pool_free(void *ptr, ptrdiff_t bytes, int device, void *stream)
{
    struct ch_context *const context = ch_context_get();

    (void)bytes;
    (void)device;
    (void)stream;
    if (ptr != NULL && context != NULL) add_pool_note(&context->pool, ptr, 0);
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
