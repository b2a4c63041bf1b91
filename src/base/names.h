/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h: the names of calls and constants in messages.
 *
 * The library words its messages with its own names. A program written for OpenSHMEM or NVSHMEM
 * makes calls by the names of another header. Where a message becomes text, those names replace
 * the library's: shmem_x for chorus_x, SHMEM_X for CHORUS_X, if the header has them.
 */
#ifndef CH_NAMES_H
#define CH_NAMES_H

#include <stddef.h>

/* Of the prefix of an interface, with the terminating null. */
enum { CH_NAMES_BYTES = 8 };

/* The names of this process: "shmem", "nvshmem", or "" for those of the library. heap_max: the
 * variable from which CHORUS_HEAP_MAX was set; null: as before. Both strings are kept. */
void ch_names_set(const char *prefix, const char *heap_max);

const char *ch_names_prefix(void);

/* Replace names in the text; what then exceeds `bytes` is cut off. */
void ch_names_put(const char *prefix, char *text, size_t bytes);

/* Bytes of the name of a call, in the library or in an interface, with which the text begins; 0
 * if it begins otherwise. */
size_t ch_names_call(const char *text);

#endif /* CH_NAMES_H */
