/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/words.h"

#include <stdio.h>
#include <string.h>

enum { LETTERS_MAX = 40 };

static size_t least(size_t a, size_t b, size_t c)
{
    const size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* Letters to add, drop or change to make `a` of `b`: Levenshtein's distance. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[LETTERS_MAX + 1];

    if (a_length > LETTERS_MAX || b_length > LETTERS_MAX) return LETTERS_MAX;
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            const size_t change = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            row[j] = least(row[j] + 1, row[j - 1] + 1, change);
        }
    }
    return row[b_length];
}

const char *ch_words_nearest(const struct ch_word *words, size_t n, const char *text,
                             size_t length)
{
    const char *nearest = NULL;
    size_t best = length / 3 + 1;

    for (size_t i = 0; i < n; i++) {
        const size_t far = distance(text, length, words[i].name, strlen(words[i].name));

        if (far < best || (far == best && nearest == NULL)) {
            nearest = words[i].name;
            best = far;
        }
    }
    return nearest;
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
