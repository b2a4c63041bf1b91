/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h: numbers in texts, hashes of texts, names in lists, and the names in messages.
 *
 * Numbers are in the environment, in rule tables and on command lines.
 * A number consists of decimal digits: no sign, no blanks, no other base, in any locale. A
 * function returns false if the text has not this form, or if its value is not in [lo, hi],
 * both included; *out is then unchanged.
 */
#ifndef CH_TEXT_H
#define CH_TEXT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parse a whole number: "12". */
bool ch_number_whole(const char *text, uint64_t lo, uint64_t hi, uint64_t *out);

/* Parse a number of bytes: "64", "64K", "2M", "1G", where K, M and G are powers of 1024. */
bool ch_number_bytes(const char *text, uint64_t lo, uint64_t hi, uint64_t *out);

/* Parse seconds: "30", "0.5", less than 10^9. A number that is not 0 becomes at least 1 ns. */
bool ch_number_seconds(const char *text, uint64_t *ns_out);

/* Returns the end of a message that refuses bytes: "; did you mean "64K"?" for 64k or 64KiB,
 * else nothing. */
struct ch_number_hint {
    char text[64];
};
const char *ch_number_hint(const char *text, struct ch_number_hint *hint);

/* FNV-1a of 64 bits (Fowler, Noll, Vo), to compare texts and settings, not secrets. */
#define CH_HASH_START UINT64_C(0xcbf29ce484222325)

/* Add `count` bytes to a hash, which is CH_HASH_START before the first ones. */
uint64_t ch_hash(uint64_t hash, const void *bytes, size_t count);

/* --- names in lists ------------------------------------------------------------------------
 */

/*
 * Finds a name that a user wrote in a list of names, and composes the message if it is
 * not in the list.
 */

/* The text that was found and what is expected; the caller puts a position or a variable before
 * it. */
struct ch_reason {
    char text[640];
};

/* Set the text, as printf does. */
void ch_why_set(struct ch_reason *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append the names to the text, as "a, b or c". */
void ch_why_list(struct ch_reason *why, const char *const names[], size_t count);

/* Returns the one of the names that means the same as `found`, a name of other libraries, or
 * else the one that is most similar to it; null: none is similar. */
const char *ch_name_nearest(const char *const names[], size_t count, const char *found);

/*
 * Set *index_out to the index of `found` among names[0, count). If it is not there, return
 * false; *why_out then lists the names and suggests the nearest. `kind` is the kind of the
 * names, such as "collective".
 */
CH_MUST_CHECK bool ch_name_find(const char *kind, const char *const names[], size_t count,
                                const char *found, size_t *index_out,
                                struct ch_reason *why_out);

/* --- the names of calls and constants in messages ----------------------------------------- */

/*
 * The library words its messages with its own names. A program written for OpenSHMEM or NVSHMEM
 * makes calls by the names of another header. Where a message becomes text, those names replace
 * the library's: shmem_x for chorus_x, SHMEM_X for CHORUS_X, if the header has them.
 */

/* Of the prefix of an interface, with the terminating null. */
enum { CH_NAMES_BYTES = 8 };

/* Set whose names messages of this process use: prefix "shmem", "nvshmem", or "" for those of
 * the library. heap_max: the variable from which CHORUS_HEAP_MAX was set; null: as before. Both
 * strings are kept. */
void ch_names_set(const char *prefix, const char *heap_max);

/* Returns the prefix that ch_names_set was given. */
const char *ch_names_prefix(void);

/* Replace the library's names in `text` by those with this prefix; what then exceeds `bytes`,
 * the size of its memory, is cut off. */
void ch_names_replace(const char *prefix, char *text, size_t bytes);

/* Returns the length of the name of a call, in the library or in an interface, with which the
 * text begins; 0 if it begins otherwise. */
size_t ch_names_call_bytes(const char *text);

#endif /* CH_TEXT_H */
