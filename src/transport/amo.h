/* SPDX-License-Identifier: Apache-2.0 */
/* amo.h: the atomic operations that a transport offers, and how the CPU performs each
 * access. */
#ifndef CH_AMO_H
#define CH_AMO_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ch_amo {
    CH_AMO_SET,
    CH_AMO_ADD,
    CH_AMO_AND,
    CH_AMO_OR,
    CH_AMO_XOR,
    CH_AMO_FETCH,
    CH_AMO_SWAP,
    CH_AMO_COMPARE_SWAP,
};

/* ERR_ARG unless a word of this size can be at that address. */
CH_MUST_CHECK chorus_status ch_amo_check(const void *word, size_t bytes);

/* Performed by the CPU, on an aligned word of 4 or 8 bytes; returns the old value. */
uint64_t ch_amo_apply(enum ch_amo op, void *word, size_t bytes, uint64_t value,
                      uint64_t compare);

/* Copy to, or from, memory that PEs share: if both sides are one aligned word of 1, 2, 4 or 8
 * bytes, the copy is one access, with release or acquire. */
void ch_put_any(void *dest, const void *source, size_t bytes);
void ch_get_any(void *dest, const void *source, size_t bytes);

static inline bool ch_is_word_of_8(const void *a, const void *b, size_t bytes)
{
    return bytes == 8 && (((uintptr_t)a | (uintptr_t)b) & 7) == 0;
}

static inline void ch_put_bytes(void *dest, const void *source, size_t bytes)
{
    if (ch_is_word_of_8(dest, source, bytes))
        __atomic_store_n((uint64_t *)dest, *(const uint64_t *)source, __ATOMIC_RELEASE);
    else
        ch_put_any(dest, source, bytes);
}

static inline void ch_get_bytes(void *dest, const void *source, size_t bytes)
{
    if (ch_is_word_of_8(dest, source, bytes))
        *(uint64_t *)dest = __atomic_load_n((const uint64_t *)source, __ATOMIC_ACQUIRE);
    else
        ch_get_any(dest, source, bytes);
}

#endif /* CH_AMO_H */
