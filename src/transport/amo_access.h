/* SPDX-License-Identifier: Apache-2.0 */
/* amo_access.h: an atomic operation by the CPU, inlined: if op and bytes are constants, only
 * the instruction remains. */
#ifndef CH_AMO_ACCESS_H
#define CH_AMO_ACCESS_H

#include "transport/amo.h"

/* Returns the old value of *word. */
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

/* As ch_amo_apply. */
static inline uint64_t ch_amo_access(enum ch_amo op, void *word, size_t bytes, uint64_t value,
                                     uint64_t compare)
{
    if (bytes == 4)
        return ch_amo_on_4((uint32_t *)word, op, (uint32_t)value, (uint32_t)compare);
    return ch_amo_on_8((uint64_t *)word, op, value, compare);
}

#endif /* CH_AMO_ACCESS_H */
