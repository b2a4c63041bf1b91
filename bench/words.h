/* SPDX-License-Identifier: Apache-2.0 */
/* words.h: names that users type, the numbers they stand for, and help where they do not. */
#ifndef CH_WORDS_H
#define CH_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A name and its number, below 32. Several names may share a number; the first is shown. */
struct ch_word {
    const char *name;
    int number;
};

/* The word nearest to `text`, as of ch_name_nearest; or null. */
const char *ch_words_nearest(const struct ch_word *words, size_t n, const char *text,
                             size_t length);

/*
 * Read "all" or a list with commas into a bit per number. False: a message in error[bytes],
 * which begins with `what`, says what was found and expected, and suggests the nearest word.
 */
bool ch_words_read(const struct ch_word *words, size_t n, const char *what, const char *text,
                   uint32_t *bits_out, char *error, size_t bytes);

#endif /* CH_WORDS_H */
