/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/names.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { LETTERS_MAX = 40, NAMES_MAX = 256 };

const char *ch_names_nearest(const struct ch_typed_name *known, size_t n, const char *text,
                             size_t length)
{
    char found[LETTERS_MAX + 1];
    const char *names[NAMES_MAX];

    if (length > LETTERS_MAX || n > NAMES_MAX) return NULL;
    (void)snprintf(found, sizeof(found), "%.*s", (int)length, text);
    for (size_t i = 0; i < n; i++)
        names[i] = known[i].name;
    return ch_name_nearest(names, n, found);
}

/* The names, each number once, in the order of the list. */
static void list_names(const struct ch_typed_name *known, size_t n, char *out, size_t bytes)
{
    uint32_t shown = 0;
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < n && used < bytes; i++) {
        const uint32_t bit = 1u << known[i].number;

        if ((shown & bit) != 0) continue;
        used += (size_t)snprintf(out + used, bytes - used, "%s, ", known[i].name);
        shown |= bit;
    }
}

static void explain_unknown(const struct ch_typed_name *known, size_t n, const char *what,
                            const char *text, size_t length, char *error, size_t bytes)
{
    const char *const nearest = ch_names_nearest(known, n, text, length);
    char all[512];

    list_names(known, n, all, sizeof(all));
    if (nearest != NULL)
        (void)snprintf(error, bytes, "%s: unknown \"%.*s\"; did you mean \"%s\"? Known: %sall",
                       what, (int)length, text, nearest, all);
    else
        (void)snprintf(error, bytes, "%s: unknown \"%.*s\"; expected a list of: %sall", what,
                       (int)length, text, all);
}

bool ch_names_read(const struct ch_typed_name *known, size_t n, const char *what,
                   const char *text, uint32_t *bits_out, char *error, size_t bytes)
{
    const bool is_all = strcmp(text, "all") == 0;
    uint32_t bits = 0;

    for (const char *at = text;; at += strspn(at, ",")) {
        const size_t length = strcspn(at, ",");
        uint32_t found = 0;

        for (size_t i = 0; i < n; i++) {
            const bool is_same =
                strncmp(known[i].name, at, length) == 0 && known[i].name[length] == '\0';
            if (is_all || is_same) found |= 1u << known[i].number;
        }
        if (found == 0) {
            explain_unknown(known, n, what, at, length, error, bytes);
            return false;
        }
        bits |= found;
        at += length;
        if (*at == '\0') break;
    }
    *bits_out = bits;
    return true;
}
