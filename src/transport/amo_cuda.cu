/* SPDX-License-Identifier: Apache-2.0 */
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include "chorus/chorus.h"
#include "transport/amo_launch.h"
}

enum { WAIT_NS = 100 }; /* between two polls: well below a message's time */

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

/* The fence orders work after the kernel behind the words that it has read. */
extern "C" __global__ void __launch_bounds__(1) ch_k_wait(const struct ch_wait_request r)
{
    for (size_t i = 0; i < r.count; i++) {
        const uint64_t value =
            r.values != NULL ? key_of(&r, r.values, i) : key_of(&r, &r.value, 0);

        if (r.status != NULL && r.status[i] != 0) continue;
        while (!compares(key_of(&r, r.words, i), r.cmp, value))
            __nanosleep(WAIT_NS);
    }
    __threadfence_system();
}

static chorus_status checked(cudaError_t error)
{
    if (error == cudaSuccess) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_SYSTEM, "a kernel for words of GPU memory does not start: %s",
                   cudaGetErrorString(error));
}

chorus_status ch_amo_load(const struct ch_device *device)
{
    const int before = ch_device_enter(device);
    struct cudaFuncAttributes is;
    cudaError_t error = cudaFuncGetAttributes(&is, (const void *)ch_k_amo);

    if (error == cudaSuccess) error = cudaFuncGetAttributes(&is, (const void *)ch_k_wait);
    (void)cudaGetLastError();
    ch_device_leave(device, before);
    return checked(error);
}

chorus_status ch_amo_launch(const struct ch_device *device, void *stream,
                            const struct ch_amo_request *request)
{
    const int before = ch_device_enter(device);
    cudaError_t error;

    ch_k_amo<<<1, 1, 0, (cudaStream_t)stream>>>(*request);
    error = cudaGetLastError();
    ch_device_leave(device, before);
    return checked(error);
}

chorus_status ch_wait_launch(const struct ch_device *device, void *stream,
                             const struct ch_wait_request *request)
{
    const int before = ch_device_enter(device);
    cudaError_t error;

    ch_k_wait<<<1, 1, 0, (cudaStream_t)stream>>>(*request);
    error = cudaGetLastError();
    ch_device_leave(device, before);
    return checked(error);
}
