/* SPDX-License-Identifier: Apache-2.0 */
/* amo.h: the atomic operations that a link offers, and how the CPU performs each access. */
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

/* Inlined: if op and bytes are constants, only the instruction remains. Returns the old value
 * of *word. */
static inline uint32_t ch_amo_on_4(uint32_t *word, enum ch_amo op, uint32_t value,
                                   uint32_t compare)
{
    switch (op) {
    case CH_AMO_SET:
    case CH_AMO_SWAP:
        return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_ADD:
        return __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_AND:
        return __atomic_fetch_and(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_OR:
        return __atomic_fetch_or(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_XOR:
        return __atomic_fetch_xor(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_FETCH:
        return __atomic_load_n(word, __ATOMIC_SEQ_CST);
    case CH_AMO_COMPARE_SWAP:
        (void)__atomic_compare_exchange_n(word, &compare, value, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST);
    }
    return compare; /* a failed compare stores the old value here */
}

/* The same, twice as wide. */
static inline uint64_t ch_amo_on_8(uint64_t *word, enum ch_amo op, uint64_t value,
                                   uint64_t compare)
{
    switch (op) {
    case CH_AMO_SET:
    case CH_AMO_SWAP:
        return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_ADD:
        return __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_AND:
        return __atomic_fetch_and(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_OR:
        return __atomic_fetch_or(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_XOR:
        return __atomic_fetch_xor(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_FETCH:
        return __atomic_load_n(word, __ATOMIC_SEQ_CST);
    case CH_AMO_COMPARE_SWAP:
        (void)__atomic_compare_exchange_n(word, &compare, value, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST);
    }
    return compare; /* a failed compare stores the old value here */
}

/* On an aligned word of 4 or 8 bytes; returns the old value. */
static inline uint64_t ch_amo_access(enum ch_amo op, void *word, size_t bytes, uint64_t value,
                                     uint64_t compare)
{
    if (bytes == 4)
        return ch_amo_on_4((uint32_t *)word, op, (uint32_t)value, (uint32_t)compare);
    return ch_amo_on_8((uint64_t *)word, op, value, compare);
}

/* The same, not inlined. */
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
