/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/amo.h"

#include <string.h>

chorus_status ch_amo_check(const void *word, size_t bytes)
{
    if ((bytes == 4 || bytes == 8) && ((uintptr_t)word & (bytes - 1)) == 0) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "an atomic operation on %zu bytes at %p; expected 4 or 8 bytes, aligned to "
                   "their number",
                   bytes, word);
}

uint64_t ch_amo_apply(enum ch_amo op, void *word, size_t bytes, uint64_t value,
                      uint64_t compare)
{
    return ch_amo_access(op, word, bytes, value, compare);
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
        memmove(
            dest, source,
            bytes); /* for an operation of a PE on its own memory, the two may be the same */
}

void ch_get_any(void *dest, const void *source, size_t bytes)
{
    if (is_word(dest, source, bytes))
        load_word(dest, source, bytes);
    else if (bytes != 0)
        memmove(dest, source, bytes);
}
