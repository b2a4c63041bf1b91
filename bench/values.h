/* SPDX-License-Identifier: Apache-2.0 */
/* values.h: numbers and byte counts on the command line, and the messages that reject them. */
#ifndef CH_VALUES_H
#define CH_VALUES_H

#include "bench/options.h"

/* Keep a message for the user; false. */
#define CH_REFUSE(options, ...) \
    (snprintf((options)->error, sizeof((options)->error), __VA_ARGS__), false)

/* From 1, with a suffix K, M or G for powers of 1024. */
bool ch_read_bytes(struct ch_sweep_options *options, char letter, const char *text,
                   uint64_t *out);

/* A whole number, both bounds allowed; lo is -1 or more. */
bool ch_read_number(struct ch_sweep_options *options, const char *name, const char *text,
                    long lo, long hi, long *out);

#endif /* CH_VALUES_H */
