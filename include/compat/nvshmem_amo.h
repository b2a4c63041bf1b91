/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvshmem_amo.h: atomics of nvshmem.h that chorus.h does not have: sums of floating numbers,
 * and elements of 16 bits. Each is a loop of compare_swap on the word that contains the
 * element, so it is atomic with all other atomics on that word, on every way to a peer.
 */
#ifndef NVSHMEM_AMO_H
#define NVSHMEM_AMO_H

#include "nvshmem_types.h"

/* clang-format off */
/* The sum of an element and value replaces it; the element from before is the result. WORD, word:
 * the unsigned type of as many bytes. */
#define NVSHMEM_SUM(NAME, T, WORD, word)                                                       \
    NVSHMEM_CALL T nvshmemx_##NAME##_atomic_fetch_add(T *dest, T value, int pe)                \
    {                                                                                          \
        WORD *const at = (WORD *)(void *)dest;                                                 \
        WORD bits = chorus_##word##_atomic_fetch(at, pe), found;                               \
        T before, sum;                                                                         \
                                                                                               \
        for (;;) {                                                                             \
            memcpy(&before, &bits, sizeof(before));                                            \
            sum = before + value;                                                              \
            memcpy(&found, &sum, sizeof(found));                                               \
            found = chorus_##word##_atomic_compare_swap(at, bits, found, pe);                  \
            if (found == bits) return before;                                                  \
            bits = found;                                                                      \
        }                                                                                      \
    }                                                                                          \
    NVSHMEM_CALL void nvshmemx_##NAME##_atomic_add(T *dest, T value, int pe)                   \
    {                                                                                          \
        (void)nvshmemx_##NAME##_atomic_fetch_add(dest, value, pe);                             \
    }
/* clang-format on */
NVSHMEM_SUM(float, float, uint32_t, uint32)
NVSHMEM_SUM(double, double, uint64_t, uint64)

#ifdef CHORUS_HALF
/* The word of 32 bits that contains an element, where that word has it, and the word with
 * another element there. */
NVSHMEM_CALL uint32_t *nvshmem_word_of(const __half *element)
{
    return (uint32_t *)((uintptr_t)element & ~(uintptr_t)3);
}

NVSHMEM_CALL unsigned nvshmem_shift_of(const __half *element)
{
    return (unsigned)((uintptr_t)element & 3) * 8;
}

NVSHMEM_CALL __half nvshmem_half_in(uint32_t word, unsigned shift)
{
    const uint16_t bits = (uint16_t)(word >> shift);
    __half element;

    memcpy((void *)&element, &bits, sizeof(element));
    return element;
}

NVSHMEM_CALL uint32_t nvshmem_with_half(uint32_t word, unsigned shift, __half element)
{
    uint16_t bits;

    memcpy(&bits, (const void *)&element, sizeof(bits));
    return (word & ~((uint32_t)0xffff << shift)) | (uint32_t)bits << shift;
}

/* A new element, or the sum of the old one and value, replaces an element; the old one is the
 * result. */
NVSHMEM_CALL __half nvshmem_half_change(__half *dest, __half value, int adds, int pe)
{
    uint32_t *const at = nvshmem_word_of(dest);
    const unsigned shift = nvshmem_shift_of(dest);
    uint32_t word = chorus_uint32_atomic_fetch(at, pe);

    for (;;) {
        const __half before = nvshmem_half_in(word, shift);
        const __half after =
            adds ? __float2half_rn(__half2float(before) + __half2float(value)) : value;
        const uint32_t found = chorus_uint32_atomic_compare_swap(
            at, word, nvshmem_with_half(word, shift, after), pe);

        if (found == word) return before;
        word = found;
    }
}

NVSHMEM_CALL __half nvshmemx_half_atomic_fetch_add(__half *dest, __half value, int pe)
{
    return nvshmem_half_change(dest, value, 1, pe);
}

NVSHMEM_CALL void nvshmemx_half_atomic_add(__half *dest, __half value, int pe)
{
    (void)nvshmem_half_change(dest, value, 1, pe);
}

NVSHMEM_CALL __half nvshmem_half_atomic_swap(__half *dest, __half value, int pe)
{
    return nvshmem_half_change(dest, value, 0, pe);
}

NVSHMEM_CALL void nvshmem_half_atomic_set(__half *dest, __half value, int pe)
{
    (void)nvshmem_half_change(dest, value, 0, pe);
}

NVSHMEM_CALL __half nvshmem_half_atomic_fetch(const __half *source, int pe)
{
    return nvshmem_half_in(chorus_uint32_atomic_fetch(nvshmem_word_of(source), pe),
                           nvshmem_shift_of(source));
}
#endif /* CHORUS_HALF */

#endif /* NVSHMEM_AMO_H */
