/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.c: CHORUS_CHECK=2, for objects in host memory.
 *
 * A guarded object is longer by at least CH_GUARD_BYTES. The bytes behind its end contain the
 * pattern, except the last 8 bytes of its block, which contain the object's end. The block of a
 * freed object keeps its pattern until it is allocated again, which is when a store to it is
 * found, or at chorus_finalize.
 */
#include "api/check.h"

#include "chorus/chorus.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD_PATTERN = 0xa5, FREED_PATTERN = 0xdf };

/* Objects on a GPU are not checked: the host cannot access them by their addresses. */
static bool is_memory_guarded(const struct ch_context *context)
{
    return ch_guard_is_on(context) && ch_heap_device(context->heap) == NULL;
}

size_t ch_guard_block_bytes(const struct ch_context *context, size_t bytes)
{
    size_t more;

    if (!is_memory_guarded(context) || __builtin_add_overflow(bytes, CH_GUARD_BYTES, &more))
        return bytes;
    return more;
}

/* The block of an object, and the place where its end is stored. */
struct guarded {
    char *start, *end_at;
    size_t bytes; /* of the object */
};

/* Find the object in whose block ptr is. False: there is none. */
static bool find_object(const struct ch_context *context, const void *ptr, struct guarded *out)
{
    size_t block_bytes;

    if (!ch_heap_block(context->heap, ptr, &out->start, &block_bytes)) return false;
    out->end_at = out->start + block_bytes - sizeof(size_t);
    memcpy(&out->bytes, out->end_at, sizeof(size_t));
    return true;
}

void ch_guard_set(const struct ch_context *context, void *ptr, size_t bytes)
{
    struct guarded object;

    if (ptr == NULL || !is_memory_guarded(context) || !find_object(context, ptr, &object))
        return;
    memset(object.start + bytes, GUARD_PATTERN, (size_t)(object.end_at - object.start) - bytes);
    memcpy(object.end_at, &bytes, sizeof(bytes));
}

chorus_status ch_guard_check(const struct ch_context *context, const char *function,
                             const void *ptr)
{
    struct guarded object;

    if (!is_memory_guarded(context) || !find_object(context, ptr, &object)) return CHORUS_OK;
    if (object.bytes > (size_t)(object.end_at - object.start))
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: the program wrote far beyond the end of the object at %p, so that "
                       "its length is lost",
                       function, (void *)object.start);
    for (const char *at = object.start + object.bytes; at < object.end_at; at++)
        if ((unsigned char)*at != GUARD_PATTERN)
            return CH_FAIL(CHORUS_ERR_ARG,
                           "%s: the program wrote beyond the end of the object at %p, which "
                           "has %zu bytes: the first such byte is number %zu",
                           function, (void *)object.start, object.bytes,
                           (size_t)(at - object.start));
    return CHORUS_OK;
}

/* ERR_ARG: a byte of [lo, hi), of a freed object, was written. */
static chorus_status check_freed(const char *function, const struct ch_freed *f, const char *lo,
                                 const char *hi)
{
    for (const char *at = lo; at < hi; at++)
        if ((unsigned char)*at != FREED_PATTERN)
            return CH_FAIL(CHORUS_ERR_ARG,
                           "%s: the program wrote to the object at %p, which had %zu bytes, "
                           "after it was freed: the first such byte is number %zu",
                           function, (const void *)f->object, f->bytes,
                           (size_t)(at - f->object));
    return CHORUS_OK;
}

void ch_guard_check_all(const struct ch_context *context, const char *function)
{
    char *object = NULL;

    if (!is_memory_guarded(context)) return;
    while (ch_heap_next_block(context->heap, &object))
        ch_report(ch_guard_check(context, function, object));
    for (size_t i = 0; i < context->guard.n; i++) {
        const struct ch_freed *const f = &context->guard.freed[i];

        ch_report(check_freed(function, f, f->lo, f->hi));
    }
}

/* Add an entry to the list of freed memory. If there is no memory for it, that part is not
 * checked. */
static void add_freed(struct ch_guard *guard, const struct ch_freed *freed)
{
    if (freed->lo == freed->hi) return;
    if (guard->n == guard->room) {
        const size_t room = 2 * guard->room + 16;
        struct ch_freed *const more = realloc(guard->freed, room * sizeof(*more));

        if (more == NULL) return;
        guard->freed = more;
        guard->room = room;
    }
    guard->freed[guard->n++] = *freed;
}

struct ch_freed ch_guard_extent(const struct ch_context *context, void *ptr)
{
    struct ch_freed extent = {.bytes = 0};
    struct guarded object;

    if (!is_memory_guarded(context) || !find_object(context, ptr, &object)) return extent;
    extent.object = extent.lo = object.start;
    extent.hi = object.end_at + sizeof(size_t);
    extent.bytes = object.bytes;
    return extent;
}

static void fill_and_remember(struct ch_context *context, const struct ch_freed *freed)
{
    if (freed->lo == freed->hi) return;
    memset(freed->lo, FREED_PATTERN, (size_t)(freed->hi - freed->lo));
    add_freed(&context->guard, freed);
}

void ch_guard_fill_freed(struct ch_context *context, void *ptr)
{
    const struct ch_freed freed = ch_guard_extent(context, ptr);

    fill_and_remember(context, &freed);
}

void ch_guard_fill_remainder(struct ch_context *context, struct ch_freed old, void *ptr)
{
    const struct ch_freed now = ch_guard_extent(context, ptr);

    if (now.lo <= old.lo && now.hi > old.lo)
        old.lo = now.hi < old.hi ? now.hi : old.hi;
    else if (now.lo > old.lo && now.lo < old.hi)
        old.hi = now.lo;
    fill_and_remember(context, &old);
}

/* Remove the entries that have become empty. */
static void drop_empty(struct ch_guard *guard)
{
    size_t kept = 0;

    for (size_t i = 0; i < guard->n; i++)
        if (guard->freed[i].lo < guard->freed[i].hi) guard->freed[kept++] = guard->freed[i];
    guard->n = kept;
}

/* The entry becomes its part before [lo, hi); the part behind that becomes a new entry. */
static void split_freed(struct ch_guard *guard, size_t index, char *lo, char *hi)
{
    struct ch_freed behind = guard->freed[index];

    behind.lo = hi;
    guard->freed[index].hi = lo;
    add_freed(guard, &behind);
}

void ch_guard_forget_freed(struct ch_context *context, const char *function, const void *ptr)
{
    struct ch_guard *const guard = &context->guard;
    size_t block_bytes;
    char *start;

    if (guard->n == 0 || !ch_heap_block(context->heap, ptr, &start, &block_bytes)) return;
    for (size_t i = 0, n = guard->n; i < n; i++) {
        const struct ch_freed f = guard->freed[i];
        char *const lo = f.lo > start ? f.lo : start;
        char *const hi = f.hi < start + block_bytes ? f.hi : start + block_bytes;

        if (lo >= hi) continue;
        if (function != NULL) ch_report(check_freed(function, &f, lo, hi));
        split_freed(guard, i, lo, hi);
    }
    drop_empty(guard);
}

void ch_guard_close(struct ch_guard *guard)
{
    free(guard->freed);
}

/* The list of objects has no lock, so it is not read if other threads may allocate at the same
 * time. */
chorus_status ch_guard_check_inside(const struct ch_context *context, const char *function,
                                    const char *name, const void *address, size_t bytes)
{
    const char *at = address;
    struct guarded object;

    if (bytes == 0 || !is_memory_guarded(context) ||
        context->thread_level == CHORUS_THREAD_MULTIPLE)
        return CHORUS_OK;
    if (!find_object(context, address, &object))
        return CH_FAIL(
            CHORUS_ERR_ARG,
            "%s: %s is %p, which is in no object of the symmetric heap; was it freed?",
            function, name, address);
    if (at + bytes <= object.start + object.bytes) return CHORUS_OK;
    return CH_FAIL(
        CHORUS_ERR_ARG,
        "%s: %s is %p, and %zu bytes from there end past the object at %p, which has "
        "%zu bytes",
        function, name, address, bytes, (void *)object.start, object.bytes);
}

chorus_status ch_guard_check_thread(const struct ch_context *context, const char *function)
{
    if (context->thread_level > CHORUS_THREAD_FUNNELED ||
        pthread_equal(context->owner, pthread_self()))
        return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s: this call is made by another thread than the one that called "
                   "chorus_init, which CHORUS_THREAD_SINGLE and FUNNELED do not allow; request "
                   "a higher level with chorus_init_thread",
                   function);
}
