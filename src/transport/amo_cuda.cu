/* SPDX-License-Identifier: Apache-2.0 */
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include "transport/amo_launch.h"
}

/* What was in *word before. */
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

/* Between fences, so that it is ordered with what other PEs see and do. */
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

static chorus_status checked(cudaError_t error)
{
    if (error == cudaSuccess) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_SYSTEM, "an atomic on GPU memory does not start: %s",
                   cudaGetErrorString(error));
}

chorus_status ch_amo_load(const struct ch_device *device)
{
    const int before = ch_device_enter(device);
    struct cudaFuncAttributes is;
    const cudaError_t error = cudaFuncGetAttributes(&is, (const void *)ch_k_amo);

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
