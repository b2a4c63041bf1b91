/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/words.h"

#include "select/name.h"

#include <stdio.h>
#include <string.h>

enum { LETTERS_MAX = 40, WORDS_MAX = 256 };

const char *ch_words_nearest(const struct ch_word *words, size_t n, const char *text,
                             size_t length)
{
    char found[LETTERS_MAX + 1];
    const char *names[WORDS_MAX];

    if (length > LETTERS_MAX || n > WORDS_MAX) return NULL;
    (void)snprintf(found, sizeof(found), "%.*s", (int)length, text);
    for (size_t i = 0; i < n; i++)
        names[i] = words[i].name;
    return ch_name_nearest(names, n, found);
}

/* The words, each number once, in the order of the list. */
static void list_words(const struct ch_word *words, size_t n, char *out, size_t bytes)
{
    uint32_t shown = 0;
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < n && used < bytes; i++) {
        const uint32_t bit = 1u << words[i].number;

        if ((shown & bit) != 0) continue;
        used += (size_t)snprintf(out + used, bytes - used, "%s, ", words[i].name);
        shown |= bit;
    }
}

static void explain_unknown(const struct ch_word *words, size_t n, const char *what,
                            const char *text, size_t length, char *error, size_t bytes)
{
    const char *const nearest = ch_words_nearest(words, n, text, length);
    char known[512];

    list_words(words, n, known, sizeof(known));
    if (nearest != NULL)
        (void)snprintf(error, bytes, "%s: unknown \"%.*s\"; did you mean \"%s\"? Known: %sall",
                       what, (int)length, text, nearest, known);
    else
        (void)snprintf(error, bytes, "%s: unknown \"%.*s\"; expected a list of: %sall", what,
                       (int)length, text, known);
}

bool ch_words_read(const struct ch_word *words, size_t n, const char *what, const char *text,
                   uint32_t *bits_out, char *error, size_t bytes)
{
    const bool is_all = strcmp(text, "all") == 0;
    uint32_t bits = 0;

    for (const char *at = text;; at += strspn(at, ",")) {
        const size_t length = strcspn(at, ",");
        uint32_t found = 0;

        for (size_t i = 0; i < n; i++) {
            const bool is_same =
                strncmp(words[i].name, at, length) == 0 && words[i].name[length] == '\0';
            if (is_all || is_same) found |= 1u << words[i].number;
        }
        if (found == 0) {
            explain_unknown(words, n, what, at, length, error, bytes);
            return false;
        }
        bits |= found;
        at += length;
        if (*at == '\0') break;
    }
    *bits_out = bits;
    return true;
}
