/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number.h: numbers in the environment, in rule tables and on command lines; and hashes.
 *
 * A number consists of decimal digits: no sign, no blanks, no other base, in any locale. A
 * function returns false if the text has not this form, or if its value is not in [lo, hi],
 * both included; *out is then unchanged.
 */
#ifndef CH_NUMBER_H
#define CH_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "12" */
bool ch_number_whole(const char *text, uint64_t lo, uint64_t hi, uint64_t *out);

/* "64", "64K", "2M", "1G": powers of 1024. */
bool ch_number_bytes(const char *text, uint64_t lo, uint64_t hi, uint64_t *out);

/* "30", "0.5", less than 10^9 seconds. A number that is not 0 becomes at least a nanosecond. */
bool ch_number_seconds(const char *text, uint64_t *ns_out);

/* The end of a message that refuses bytes: "; did you mean "64K"?" for 64k or 64KiB, else
 * nothing. */
struct ch_number_hint {
    char text[64];
};
const char *ch_number_hint(const char *text, struct ch_number_hint *hint);

/* FNV-1a of 64 bits (Fowler, Noll, Vo), to compare texts and settings, not secrets. */
#define CH_HASH_START UINT64_C(0xcbf29ce484222325)

uint64_t ch_hash(uint64_t hash, const void *bytes, size_t count);

#endif /* CH_NUMBER_H */
