/* SPDX-License-Identifier: Apache-2.0 */
/* argument.h: arguments of public calls. Messages name function, argument, found, expected. */
#ifndef CH_ARGUMENT_H
#define CH_ARGUMENT_H

#include "api/context.h"

/* ERR_ARG unless 0 <= pe < PEs of the job. */
CH_MUST_CHECK chorus_status ch_check_pe(const struct ch_context *context, const char *function,
                                        int pe);

/* *bytes_out = count * element_bytes; ERR_ARG when that does not fit. */
CH_MUST_CHECK chorus_status ch_check_bytes(const char *function, size_t count,
                                           size_t element_bytes, size_t *bytes_out);

/* ERR_NOT_SYMMETRIC unless [address, address + bytes) is in the symmetric heap; bytes 0 passes.
 */
CH_MUST_CHECK chorus_status ch_check_symmetric(const struct ch_context *context,
                                               const char *function, const char *name,
                                               const void *address, size_t bytes);

/* ERR_ARG unless address is a multiple of bytes, a power of two: what atomics need. */
CH_MUST_CHECK chorus_status ch_check_aligned(const char *function, const char *name,
                                             const void *address, size_t bytes);

#endif /* CH_ARGUMENT_H */
