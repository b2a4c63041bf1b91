/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name.h: finds a name that a user wrote in a list of names, and words the message if it is
 * not there.
 */
#ifndef CH_NAME_H
#define CH_NAME_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* What was found and what is expected, for the caller to put a position or a variable before.
 */
struct ch_why {
    char text[640];
};

void ch_why_set(struct ch_why *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append "a, b or c". */
void ch_why_list(struct ch_why *why, const char *const names[], size_t count);

/* The name that shares most of its letters with what was found, or stands for what other
 * libraries call so; null: none is near. */
const char *ch_name_nearest(const char *const names[], size_t count, const char *found);

/*
 * Where is `found` among names[0, count)? If nowhere, false, and *why_out lists the names and
 * suggests the nearest. `kind` says what the names are: "collective".
 */
CH_MUST_CHECK bool ch_name_find(const char *kind, const char *const names[], size_t count,
                                const char *found, size_t *index_out, struct ch_why *why_out);

#endif /* CH_NAME_H */
