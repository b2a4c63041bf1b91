/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h: CHORUS_CHECK=2, for objects in host memory: a pattern behind the end of each object,
 * a pattern in freed objects, and a check that a buffer is in one object.
 *
 * A guarded object is longer by at least CH_GUARD_BYTES. The bytes behind its end contain the
 * pattern, except the last 8 bytes of its block, which contain the object's end. The block of a
 * freed object keeps its pattern until it is allocated again, which is when a store to it is
 * found, or at chorus_finalize.
 */
#ifndef CH_API_GUARD_H
#define CH_API_GUARD_H

#include "api/context.h"

#define CH_GUARD_BYTES ((size_t)72)

static inline bool ch_guards(const struct ch_context *context)
{
    return context->options.check > 1;
}

/* Bytes of the block for an object. */
size_t ch_guard_block_bytes(const struct ch_context *context, size_t bytes);

/* Fill the guard behind the object's end; a no-op without CHORUS_CHECK=2. */
void ch_guard_set(const struct ch_context *context, void *ptr, size_t bytes);

/* ERR_ARG: the guard of the object was overwritten. */
CH_MUST_CHECK chorus_status ch_guard_check(const struct ch_context *context,
                                           const char *function, const void *ptr);

/* The same for all objects, and for freed ones; passes each failure to the error handler. */
void ch_guard_check_all(const struct ch_context *context, const char *function);

/* The part [lo, hi) of a freed object's block that was not allocated again since. */
struct ch_freed {
    char *lo, *hi;
    const char *object;
    size_t bytes; /* of the object */
};

/* Fill an object that is about to be freed, and remember its block. */
void ch_guard_fill_freed(struct ch_context *context, void *ptr);
/* The block of an object; without CHORUS_CHECK=2 no memory. The same for the part of an old
 * block that its object, which is now at ptr, no longer has. */
struct ch_freed ch_guard_extent(const struct ch_context *context, void *ptr);
void ch_guard_fill_left(struct ch_context *context, struct ch_freed old, void *ptr);

/* The block of ptr has been allocated, and was not written since: was it written while it was
 * free? Each such store is passed to the error handler. If `function` is null, the block may
 * have been written since, and is not examined. */
void ch_guard_take_freed(struct ch_context *context, const char *function, const void *ptr);

void ch_guard_close(struct ch_guard *guard);

/* ERR_ARG: [address, address + bytes) is not inside one object that was not freed, or the
 * calling thread may not make calls. */
CH_MUST_CHECK chorus_status ch_guard_inside(const struct ch_context *context,
                                            const char *function, const char *name,
                                            const void *address, size_t bytes);
CH_MUST_CHECK chorus_status ch_guard_thread(const struct ch_context *context,
                                            const char *function);

#endif /* CH_API_GUARD_H */
