/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h: checks of the arguments of public calls, of contexts by their handles, and of
 * objects in host memory. A message names the function, the argument, what was found and what
 * is expected.
 */
#ifndef CH_API_CHECK_H
#define CH_API_CHECK_H

#include "api/context.h"
#include "chorus/ctx.h"

/* --- CHORUS_CHECK=2 ----------------------------------------------------------------------- */

/* For objects in host memory: a pattern behind the end of each object, a pattern in freed
 * objects, and a check that a buffer is in one object. */

#define CH_GUARD_BYTES ((size_t)72)

static inline bool ch_guard_is_on(const struct ch_context *context)
{
    return context->options.check > 1;
}

/* Returns the bytes to allocate for an object of `bytes`; with CHORUS_CHECK=2, the object is
 * followed by a guard. */
size_t ch_guard_block_bytes(const struct ch_context *context, size_t bytes);

/* Fill the guard behind the object's end; a no-op without CHORUS_CHECK=2. */
void ch_guard_set(const struct ch_context *context, void *ptr, size_t bytes);

/* Check the guard of the object at ptr; ERR_ARG if the guard was overwritten. */
CH_MUST_CHECK chorus_status ch_guard_check(const struct ch_context *context,
                                           const char *function, const void *ptr);

/* Check the guards of all objects, and that no freed object was written. Each failure is passed
 * to the error handler. */
void ch_guard_check_all(const struct ch_context *context, const char *function);

/* The part [lo, hi) of a freed object's block that was not allocated again since. */
struct ch_freed {
    char *lo, *hi;
    const char *object;
    size_t bytes; /* of the object */
};

/* Fill an object that is about to be freed, and remember its block. */
void ch_guard_fill_freed(struct ch_context *context, void *ptr);
/* Returns the block of an object; without CHORUS_CHECK=2 an empty one. */
struct ch_freed ch_guard_extent(const struct ch_context *context, void *ptr);

/* After a realloc: fill the part of the block `old` that the object, which is now at ptr, does
 * not have any more, and remember that part as freed. */
void ch_guard_fill_remainder(struct ch_context *context, struct ch_freed old, void *ptr);

/* Forget the freed memory that is now in the block of ptr, which has just been allocated. Each
 * freed object that was written is first reported to the error handler; not if `function` is
 * null, for a block that may have been written since its allocation. */
void ch_guard_forget_freed(struct ch_context *context, const char *function, const void *ptr);

/* Free the list of freed memory. */
void ch_guard_close(struct ch_guard *guard);

/* ERR_ARG: [address, address + bytes) is not inside one object that was not freed. */
CH_MUST_CHECK chorus_status ch_guard_check_inside(const struct ch_context *context,
                                                  const char *function, const char *name,
                                                  const void *address, size_t bytes);
/* ERR_ARG: the calling thread may not make calls at the thread level of this PE. */
CH_MUST_CHECK chorus_status ch_guard_check_thread(const struct ch_context *context,
                                                  const char *function);

/* --- arguments ---------------------------------------------------------------------------- */

/* Fail with ERR_ARG and the message of ch_check_pe, and of ch_check_count. */
CH_COLD chorus_status ch_refuse_pe(const struct ch_context *context, const char *function,
                                   int pe);
CH_COLD chorus_status ch_refuse_count(const char *function, size_t count, size_t element_bytes);
/* Do what ch_check_symmetric does, in all cases: memory of a team is symmetric, too, and with
 * CHORUS_CHECK=2 the bytes must be in one object. */
CH_COLD chorus_status ch_check_symmetric_slow(const struct ch_context *context,
                                              const char *function, const char *name,
                                              const void *address, size_t bytes);

/* ERR_ARG unless 0 <= pe < PEs of the job. */
CH_MUST_CHECK static inline chorus_status ch_check_pe(const struct ch_context *context,
                                                      const char *function, int pe)
{
    return pe >= 0 && (uint32_t)pe < context->boot->n ? CHORUS_OK
                                                      : ch_refuse_pe(context, function, pe);
}

/* *bytes_out = count * element_bytes; ERR_ARG when that does not fit. */
CH_MUST_CHECK static inline chorus_status
ch_check_count(const char *function, size_t count, size_t element_bytes, size_t *bytes_out)
{
    return __builtin_mul_overflow(count, element_bytes, bytes_out)
               ? ch_refuse_count(function, count, element_bytes)
               : CHORUS_OK;
}

/* ERR_NOT_SYMMETRIC unless [address, address + bytes) is in the symmetric heap; bytes 0 passes.
 */
CH_MUST_CHECK static inline chorus_status ch_check_symmetric(const struct ch_context *context,
                                                             const char *function,
                                                             const char *name,
                                                             const void *address, size_t bytes)
{
    if (ch_heap_contains(context->heap, address, bytes) && context->options.check < 2)
        return CHORUS_OK;
    return ch_check_symmetric_slow(context, function, name, address, bytes);
}

/* ERR_NOT_SYMMETRIC for memory of a team that PE `pe` of the job is not in. */
CH_COLD chorus_status ch_check_owner_slow(const struct ch_context *context,
                                          const char *function, const char *name,
                                          const void *address, uint32_t pe);
CH_MUST_CHECK static inline chorus_status ch_check_owner(const struct ch_context *context,
                                                         const char *function, const char *name,
                                                         const void *address, uint32_t pe)
{
    return ch_heap_contains(context->heap, address, 1)
               ? CHORUS_OK
               : ch_check_owner_slow(context, function, name, address, pe);
}

/* ERR_ARG unless address is a multiple of `bytes`, a power of two, as atomics need. */
CH_MUST_CHECK chorus_status ch_check_aligned(const char *function, const char *name,
                                             const void *address, size_t bytes);

/* --- contexts ----------------------------------------------------------------------------- */

/* Find a context that the program created: the transport's number of it, and its team. ERR_ARG
 * if it does not exist. */
CH_MUST_CHECK chorus_status ch_ctx_find(const struct ch_context *context, const char *function,
                                        chorus_ctx_t ctx, uint32_t *number_out,
                                        ch_team_handle *team_out);
/* Set *world_out to the number in the job of PE `pe` of the team; ERR_ARG without such a PE. */
CH_MUST_CHECK chorus_status ch_ctx_translate(const struct ch_context *context,
                                             const char *function, ch_team_handle team, int pe,
                                             uint32_t *world_out);

/* Set *number_out to the transport's number of a context; ERR_ARG if it does not exist. */
CH_MUST_CHECK static inline chorus_status ch_ctx_number(const struct ch_context *context,
                                                        const char *function, chorus_ctx_t ctx,
                                                        uint32_t *number_out)
{
    ch_team_handle team;

    *number_out = CH_CTX_DEFAULT;
    return ctx == CHORUS_CTX_DEFAULT ? CHORUS_OK
                                     : ch_ctx_find(context, function, ctx, number_out, &team);
}

/* Set *number_out to the transport's number of a context, and *world_out to the number in the
 * job of PE `pe` of its team. ERR_ARG if the context or the PE does not exist. */
CH_MUST_CHECK static inline chorus_status ch_ctx_resolve(const struct ch_context *context,
                                                         const char *function, chorus_ctx_t ctx,
                                                         int pe, uint32_t *number_out,
                                                         uint32_t *world_out)
{
    ch_team_handle team;

    if (ctx == CHORUS_CTX_DEFAULT) {
        *number_out = CH_CTX_DEFAULT;
        *world_out = (uint32_t)pe;
        return ch_check_pe(context, function, pe);
    }
    CH_TRY(ch_ctx_find(context, function, ctx, number_out, &team));
    return ch_ctx_translate(context, function, team, pe, world_out);
}

#endif /* CH_API_CHECK_H */
