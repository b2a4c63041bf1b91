/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name.h: finds a name that a user wrote in a list of names, and composes the message if it is
 * not in the list.
 */
#ifndef CH_NAME_H
#define CH_NAME_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The text that was found and what is expected; the caller puts a position or a variable before
 * it. */
struct ch_reason {
    char text[640];
};

void ch_why_set(struct ch_reason *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append "a, b or c". */
void ch_why_list(struct ch_reason *why, const char *const names[], size_t count);

/* The name that is most similar to the text that was found, or that is the equivalent of a name
 * of other libraries; null: none is similar. */
const char *ch_name_nearest(const char *const names[], size_t count, const char *found);

/*
 * The index of `found` among names[0, count). If it is not there, returns false, and *why_out
 * lists the names and suggests the nearest. `kind` is the kind of the names, such as
 * "collective".
 */
CH_MUST_CHECK bool ch_name_find(const char *kind, const char *const names[], size_t count,
                                const char *found, size_t *index_out,
                                struct ch_reason *why_out);

#endif /* CH_NAME_H */
