/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/amo.h"

#include <string.h>

/* What was in *word before. */
static uint32_t amo_on_4(uint32_t *word, enum ch_amo op, uint32_t value, uint32_t compare)
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
    return compare; /* where a failed compare leaves what was there */
}

/* The same, twice as wide. */
static uint64_t amo_on_8(uint64_t *word, enum ch_amo op, uint64_t value, uint64_t compare)
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
    return compare; /* where a failed compare leaves what was there */
}

chorus_status ch_amo_check(const void *word, size_t bytes)
{
    if ((bytes == 4 || bytes == 8) && ((uintptr_t)word & (bytes - 1)) == 0) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "an atomic of %zu bytes at %p; it must be 4 or 8, aligned to its size",
                   bytes, word);
}

uint64_t ch_amo_apply(enum ch_amo op, void *word, size_t bytes, uint64_t value,
                      uint64_t compare)
{
    if (bytes == 4) return amo_on_4(word, op, (uint32_t)value, (uint32_t)compare);
    return amo_on_8(word, op, value, compare);
}

static bool is_word(const void *a, const void *b, size_t bytes)
{
    const bool is_width = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;

    return is_width && (((uintptr_t)a | (uintptr_t)b) & (bytes - 1)) == 0;
}

static void store_word(void *dest, const void *source, size_t bytes)
{
    switch (bytes) {
    case 1:
        __atomic_store_n((uint8_t *)dest, *(const uint8_t *)source, __ATOMIC_RELEASE);
        return;
    case 2:
        __atomic_store_n((uint16_t *)dest, *(const uint16_t *)source, __ATOMIC_RELEASE);
        return;
    case 4:
        __atomic_store_n((uint32_t *)dest, *(const uint32_t *)source, __ATOMIC_RELEASE);
        return;
    default:
        __atomic_store_n((uint64_t *)dest, *(const uint64_t *)source, __ATOMIC_RELEASE);
    }
}

static void load_word(void *dest, const void *source, size_t bytes)
{
    switch (bytes) {
    case 1:
        *(uint8_t *)dest = __atomic_load_n((const uint8_t *)source, __ATOMIC_ACQUIRE);
        return;
    case 2:
        *(uint16_t *)dest = __atomic_load_n((const uint16_t *)source, __ATOMIC_ACQUIRE);
        return;
    case 4:
        *(uint32_t *)dest = __atomic_load_n((const uint32_t *)source, __ATOMIC_ACQUIRE);
        return;
    default:
        *(uint64_t *)dest = __atomic_load_n((const uint64_t *)source, __ATOMIC_ACQUIRE);
    }
}

void ch_put_any(void *dest, const void *source, size_t bytes)
{
    if (is_word(dest, source, bytes))
        store_word(dest, source, bytes);
    else if (bytes != 0)
        memmove(dest, source, bytes); /* of a PE to itself, they may be one */
}

void ch_get_any(void *dest, const void *source, size_t bytes)
{
    if (is_word(dest, source, bytes))
        load_word(dest, source, bytes);
    else if (bytes != 0)
        memmove(dest, source, bytes);
}
