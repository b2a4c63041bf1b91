/* SPDX-License-Identifier: Apache-2.0 */
#include "select/table.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    NAME_CHARS_MAX = 40
}; /* longer text gets no suggestion; every name in the library is shorter */

void ch_why_set(struct ch_reason *why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
}

static void why_append(struct ch_reason *why, const char *before, const char *name,
                       const char *after)
{
    const size_t used = strlen(why->text);

    (void)snprintf(why->text + used, sizeof(why->text) - used, "%s%s%s", before, name, after);
}

void ch_why_list(struct ch_reason *why, const char *const names[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        why_append(why, i == 0 ? "" : i + 1 == count ? " or " : ", ", names[i], "");
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number of letters to insert, remove or change, or of neighbours to swap, that turns one
 * name into the other. */
static size_t edits(const char *a, const char *b)
{
    const size_t m = strlen(a), n = strlen(b);
    size_t row[3][NAME_CHARS_MAX + 1]; /* distances of prefixes of a: of lengths i - 2, i - 1
                                          and i, in rotation */

    if (m > NAME_CHARS_MAX || n > NAME_CHARS_MAX) return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t *now = row[i % 3];
        const size_t *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= n; j++) {
            now[j] = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = least(now[j], least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return row[m % 3][n];
}

/* Names of other libraries that are not similar to the name here; null: no such name. */
static const char *called_here(const char *found)
{
    static const char *const names[][2] = {
        {"allgather", "fcollect"}, {"all_gather", "fcollect"}, {"bcast", "broadcast"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasecmp(names[i][0], found) == 0) return names[i][1];
    return NULL;
}

const char *ch_name_nearest(const char *const names[], size_t count, const char *found)
{
    const char *best = NULL, *here = called_here(found);
    size_t best_edits = (strlen(found) + 2) / 3 + 1;

    for (size_t i = 0; i < count && here != NULL; i++)
        if (strcmp(names[i], here) == 0) return names[i];

    for (size_t i = 0; i < count; i++) {
        const size_t e = edits(names[i], found);

        if (e >= best_edits || e >= strlen(names[i])) continue;
        best_edits = e;
        best = names[i];
    }
    return best;
}

bool ch_name_find(const char *kind, const char *const names[], size_t count, const char *found,
                  size_t *index_out, struct ch_reason *why_out)
{
    const char *near;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], found) != 0) continue;
        *index_out = i;
        return true;
    }
    ch_why_set(why_out, "unknown %s \"%.*s\"; expected ", kind, NAME_CHARS_MAX, found);
    ch_why_list(why_out, names, count);
    near = ch_name_nearest(names, count, found);
    if (near != NULL) why_append(why_out, "; did you mean \"", near, "\"?");
    return false;
}
