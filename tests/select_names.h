/* SPDX-License-Identifier: Apache-2.0 */
/* select_names.h: messages that list the algorithms of a collective, or the element types,
 * whichever there are. */
#ifndef SELECT_NAMES_H
#define SELECT_NAMES_H

#include "coll/algorithm.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* Appends to a text of 1024 bytes. */
static inline void append(char *text, const char *more, size_t bytes)
{
    const size_t used = strlen(text);

    (void)snprintf(text + used, 1024 - used, "%.*s", (int)bytes, more);
}

/* "a, b or c" */
static inline void append_names(char *text, const char *const names[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        append(text, i == 0 ? "" : i + 1 < count ? ", " : " or ", 4);
        append(text, names[i], strlen(names[i]));
    }
}

/* The names of a collective's algorithms, as messages list them. */
static inline void append_algos(char *text, chorus_coll coll)
{
    const char *names[CH_ALGO_COUNT];
    size_t count = 0;

    for (size_t i = 0; i < CH_ALGO_COUNT; i++)
        if (ch_algos[i].coll == coll &&
            (count == 0 || strcmp(names[count - 1], ch_algos[i].name) != 0))
            names[count++] = ch_algos[i].name;
    append_names(text, names, count);
}

/* A message, with the names of all its algorithms in place of an @ and a collective, and those
 * of all types in place of @types. */
static inline const char *with_algos(const char *message)
{
    static char text[1024];
    const char *at;

    text[0] = '\0';
    while ((at = strchr(message, '@')) != NULL) {
        size_t coll = 0, length = strcspn(at + 1, " ;\n");

        append(text, message, (size_t)(at - message));
        message = at + 1 + length;
        if (length == strlen("types") && memcmp(at + 1, "types", length) == 0) {
            append_names(text, ch_type_names, CHORUS_TYPE_COUNT);
            continue;
        }
        while (coll < CHORUS_COLL_COUNT && (strlen(ch_coll_names[coll]) != length ||
                                            memcmp(ch_coll_names[coll], at + 1, length) != 0))
            coll++;
        ck_assert_uint_lt(coll, CHORUS_COLL_COUNT);
        append_algos(text, (chorus_coll)coll);
    }
    append(text, message, strlen(message));
    return text;
}

#endif /* SELECT_NAMES_H */
