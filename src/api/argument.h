/* SPDX-License-Identifier: Apache-2.0 */
/*
 * argument.h: checks of the arguments of public calls. A message names the function, the
 * argument, what was found and what is expected.
 */
#ifndef CH_ARGUMENT_H
#define CH_ARGUMENT_H

#include "api/context.h"

/* The messages of the three checks below. */
CH_COLD chorus_status ch_refuse_pe(const struct ch_context *context, const char *function,
                                   int pe);
CH_COLD chorus_status ch_refuse_bytes(const char *function, size_t count, size_t element_bytes);
/* Fails for an address that is not in the heap; for others, with CHORUS_CHECK=2, checks that it
 * is in an object. */
CH_COLD chorus_status ch_look_at_symmetric(const struct ch_context *context,
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
ch_check_bytes(const char *function, size_t count, size_t element_bytes, size_t *bytes_out)
{
    return __builtin_mul_overflow(count, element_bytes, bytes_out)
               ? ch_refuse_bytes(function, count, element_bytes)
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
    return ch_look_at_symmetric(context, function, name, address, bytes);
}

/* ERR_NOT_SYMMETRIC for memory of a team that PE `pe` of the job is not in. */
CH_COLD chorus_status ch_look_at_owner(const struct ch_context *context, const char *function,
                                       const char *name, const void *address, uint32_t pe);
CH_MUST_CHECK static inline chorus_status ch_check_owner(const struct ch_context *context,
                                                         const char *function, const char *name,
                                                         const void *address, uint32_t pe)
{
    return ch_heap_contains(context->heap, address, 1)
               ? CHORUS_OK
               : ch_look_at_owner(context, function, name, address, pe);
}

/* ERR_ARG unless address is a multiple of bytes, a power of two: what atomics need. */
CH_MUST_CHECK chorus_status ch_check_aligned(const char *function, const char *name,
                                             const void *address, size_t bytes);

#endif /* CH_ARGUMENT_H */
