/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kernel_cuda.h"

extern "C" {
#include "chorus/chorus.h"
}

enum { WAIT_NS = 100 }; /* between two polls: well below a message's time */

/* Polls between two reads of host memory, each of which takes about a microsecond. */
enum { POLLS_QUIET = 1024 };

/* Returns the old value of *word. */
template <typename T> static __device__ T amo_on(T *word, enum ch_amo op, T value, T compare)
{
    switch (op) {
    case CH_AMO_SET:
    case CH_AMO_SWAP:
        return atomicExch_system(word, value);
    case CH_AMO_ADD:
        return atomicAdd_system(word, value);
    case CH_AMO_AND:
        return atomicAnd_system(word, value);
    case CH_AMO_OR:
        return atomicOr_system(word, value);
    case CH_AMO_XOR:
        return atomicXor_system(word, value);
    case CH_AMO_COMPARE_SWAP:
        return atomicCAS_system(word, compare, value);
    case CH_AMO_FETCH:
        break;
    }
    return atomicAdd_system(word, (T)0);
}

/* Between fences, so that it is ordered with the accesses of other PEs. */
extern "C" __global__ void __launch_bounds__(1) ch_k_amo(const struct ch_amo_request r)
{
    unsigned long long before;

    __threadfence_system();
    if (r.bytes == 4)
        before = amo_on((unsigned *)r.word, r.op, (unsigned)r.value, (unsigned)r.compare);
    else
        before = amo_on((unsigned long long *)r.word, r.op, (unsigned long long)r.value,
                        (unsigned long long)r.compare);
    if (r.fetched != NULL) *r.fetched = before;
    __threadfence_system();
}

/* Element i, as an unsigned number in the order of the type's values. */
static __device__ uint64_t key_of(const struct ch_wait_request *r, const volatile void *array,
                                  size_t i)
{
    const unsigned shift = 64 - 8 * r->bytes;
    uint64_t bits = 0;

    if (r->bytes == 2) bits = ((const volatile uint16_t *)array)[i];
    if (r->bytes == 4) bits = ((const volatile uint32_t *)array)[i];
    if (r->bytes == 8) bits = ((const volatile uint64_t *)array)[i];
    if (!r->is_signed) return bits;
    return (uint64_t)((int64_t)(bits << shift) >> shift) ^ ((uint64_t)1 << 63);
}

static __device__ bool compares(uint64_t a, int cmp, uint64_t b)
{
    switch (cmp) {
#define X(name, operator)   \
    case CHORUS_CMP_##name: \
        return a operator b;
        CHORUS_CMP_LIST(X)
#undef X
    }
    return false;
}

static __device__ uint64_t clock_ns(void)
{
    uint64_t ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/* CHORUS_OK: the wait that began at this time may go on. */
static __device__ chorus_status look_at_limit(const struct ch_wait_limit *limit,
                                              uint64_t start_ns)
{
    if (*(const volatile uint32_t *)limit->aborted != 0) return CHORUS_ERR_ABORTED;
    if (limit->timeout_ns != 0 && clock_ns() - start_ns > limit->timeout_ns)
        return CHORUS_ERR_TIMEOUT;
    return CHORUS_OK;
}

/* Until word i compares with `value` as asked. */
static __device__ chorus_status wait_for(const struct ch_wait_request *r, size_t i,
                                         uint64_t value)
{
    const uint64_t start_ns = clock_ns();
    chorus_status st = CHORUS_OK;

    for (uint32_t polls = 1; !compares(key_of(r, r->words, i), r->cmp, value); polls++) {
        if (polls % POLLS_QUIET == 0) st = look_at_limit(&r->limit, start_ns);
        if (st != CHORUS_OK) return st;
        __nanosleep(WAIT_NS);
    }
    return CHORUS_OK;
}

/* The fence orders work after the kernel behind the words that it has read. */
extern "C" __global__ void __launch_bounds__(1) ch_k_wait(const struct ch_wait_request r)
{
    for (size_t i = 0; i < r.count; i++) {
        const uint64_t value =
            r.values != NULL ? key_of(&r, r.values, i) : key_of(&r, &r.value, 0);
        chorus_status st;

        if (r.status != NULL && r.status[i] != 0) continue;
        st = wait_for(&r, i, value);
        if (st == CHORUS_OK) continue;
        ch_kernel_report(r.limit.report, st, (const char *)r.words + i * r.bytes, 0);
        break;
    }
    __threadfence_system();
}

chorus_status ch_amo_load(const struct ch_device *device)
{
    CH_TRY(ch_kernel_load(device, ch_k_amo));
    return ch_kernel_load(device, ch_k_wait);
}

chorus_status ch_amo_launch(const struct ch_device *device, void *stream,
                            const struct ch_amo_request *request)
{
    return ch_kernel_launch(device, stream, ch_k_amo, request);
}

chorus_status ch_wait_launch(const struct ch_device *device, void *stream,
                             const struct ch_wait_request *request)
{
    return ch_kernel_launch(device, stream, ch_k_wait, request);
}
