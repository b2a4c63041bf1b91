/* SPDX-License-Identifier: Apache-2.0 */
/* amo.h: the atomic operations that a link offers, and how the CPU performs each access;
 * kernels that perform them on GPU memory, and waits for words there. */
#ifndef CH_AMO_H
#define CH_AMO_H

#include "base/amo.h"
#include "base/error.h"
#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fail with ERR_ARG unless bytes is 4 or 8, and the word is aligned to it. */
CH_MUST_CHECK chorus_status ch_amo_check(const void *word, size_t bytes);

/* Perform op on a word of 4 bytes, and return its old value. Inlined: if op is a constant, only
 * the instruction remains. */
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

/* Perform op on a word of 8 bytes, and return its old value. */
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

/* Perform op on an aligned word of 4 or 8 bytes, and return its old value. */
static inline uint64_t ch_amo_access(enum ch_amo op, void *word, size_t bytes, uint64_t value,
                                     uint64_t compare)
{
    if (bytes == 4)
        return ch_amo_on_4((uint32_t *)word, op, (uint32_t)value, (uint32_t)compare);
    return ch_amo_on_8((uint64_t *)word, op, value, compare);
}

/* Do the same as ch_amo_access, not inlined. */
uint64_t ch_amo_apply(enum ch_amo op, void *word, size_t bytes, uint64_t value,
                      uint64_t compare);

/* Copy to memory that PEs share (put), or from it (get): if both sides are one aligned word of
 * 1, 2, 4 or 8 bytes, the copy is one access, with release (put) or acquire (get). */
void ch_put_any(void *dest, const void *source, size_t bytes);
void ch_get_any(void *dest, const void *source, size_t bytes);

/* Are the bytes at a and at b one aligned word of 8 bytes each? */
static inline bool ch_is_word_of_8(const void *a, const void *b, size_t bytes)
{
    return bytes == 8 && (((uintptr_t)a | (uintptr_t)b) & 7) == 0;
}

/* Do the same as ch_put_any; for an aligned word of 8 bytes, without a call. */
static inline void ch_put_bytes(void *dest, const void *source, size_t bytes)
{
    if (ch_is_word_of_8(dest, source, bytes))
        __atomic_store_n((uint64_t *)dest, *(const uint64_t *)source, __ATOMIC_RELEASE);
    else
        ch_put_any(dest, source, bytes);
}

/* Do the same as ch_get_any; for an aligned word of 8 bytes, without a call. */
static inline void ch_get_bytes(void *dest, const void *source, size_t bytes)
{
    if (ch_is_word_of_8(dest, source, bytes))
        *(uint64_t *)dest = __atomic_load_n((const uint64_t *)source, __ATOMIC_ACQUIRE);
    else
        ch_get_any(dest, source, bytes);
}

/* ---- kernels of one thread, on GPU memory ---- */

struct ch_amo_request {
    enum ch_amo op;
    unsigned bytes; /* 4 or 8 */
    void *word;     /* aligned, on any GPU that the device has mapped */
    uint64_t value, compare;
    uint64_t *fetched; /* [out] the old value; pinned host memory, or null */
};

/* In host memory: the first wait on a stream that ended otherwise, or the first operation there
 * on a peer that is not near. */
struct ch_wait_report {
    int status;       /* written last */
    uint32_t claimed; /* 1: set by the kernel that reports */
    const void *word; /* of the wait; null: it was an operation */
    uint32_t pe;      /* whose peer this is; UINT32_MAX: a quiet, of all PEs */
};

/* How waits end; the addresses are those for kernels. */
struct ch_wait_limit {
    const uint32_t *aborted; /* in host memory: not 0 when the job is ending */
    uint64_t timeout_ns;     /* 0: wait without limit */
    struct ch_wait_report *report;
};

/* Wait until each word meets its condition. */
struct ch_wait_request {
    unsigned bytes; /* of a word: 2, 4 or 8 */
    bool is_signed; /* words and values are */
    int cmp;        /* a CHORUS_CMP_ constant */
    const void *words;
    size_t count;
    const int *status;  /* words with a value other than 0 are skipped; null: none is */
    const void *values; /* one for each word; null: `value`, in its first bytes, is for all */
    uint64_t value;
    struct ch_wait_limit limit;
};

/* Load the kernels before others run, since loading would wait for them. */
CH_MUST_CHECK chorus_status ch_amo_load(const struct ch_device *device);

/* Queue the kernel that performs an atomic operation on a cudaStream_t. If that is
 * ch_device_stream, ch_device_wait waits for it. */
CH_MUST_CHECK chorus_status ch_amo_launch(const struct ch_device *device, void *stream,
                                          const struct ch_amo_request *request);

/* Queue a kernel that waits for words on a cudaStream_t. Later work there sees the writes that
 * precede the words; it also runs after a wait that failed, which is reported in limit.report.
 */
CH_MUST_CHECK chorus_status ch_wait_launch(const struct ch_device *device, void *stream,
                                           const struct ch_wait_request *request);

#endif /* CH_AMO_H */
