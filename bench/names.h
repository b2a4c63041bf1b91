/* SPDX-License-Identifier: Apache-2.0 */
/* names.h: names that users type, the numbers that they represent, and suggestions for mistyped
 * ones. */
#ifndef CH_NAMES_H
#define CH_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A name and its number, below 32. Several names may share a number; the first is shown. */
struct ch_typed_name {
    const char *name;
    int number;
};

/* The name that is most similar to `text`, as for ch_name_nearest; or null. */
const char *ch_names_nearest(const struct ch_typed_name *known, size_t n, const char *text,
                             size_t length);

/*
 * Read "all" or a comma-separated list into a bit per number. False: a message in error[bytes],
 * which begins with `what`, states what was found and expected, and suggests the nearest name.
 */
bool ch_names_read(const struct ch_typed_name *known, size_t n, const char *what,
                   const char *text, uint32_t *bits_out, char *error, size_t bytes);

#endif /* CH_NAMES_H */
