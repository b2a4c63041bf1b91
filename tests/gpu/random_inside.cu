/* SPDX-License-Identifier: Apache-2.0 */
#include "chorus/chorus_device.cuh"

#include "random_inside.h"

enum { THREADS = 128 };

static __device__ unsigned long long n_failed;

/* The call, by the threads whose form has this prefix and tail. */
#define DEFINE_CALL(NAME, T, PREFIX, TAIL)                                                   \
    static __device__ __forceinline__ int NAME##_by##TAIL(const struct random_inside &c)     \
    {                                                                                        \
        T *const dest = (T *)c.dest;                                                         \
        const T *const source = (const T *)c.source;                                         \
                                                                                             \
        switch (c.coll) {                                                                    \
        case CHORUS_COLL_barrier:                                                            \
            return PREFIX##_barrier##TAIL(c.team);                                           \
        case CHORUS_COLL_broadcast:                                                          \
            return PREFIX##_##NAME##_broadcast##TAIL(c.team, dest, source, c.count, c.root); \
        case CHORUS_COLL_fcollect:                                                           \
            return PREFIX##_##NAME##_fcollect##TAIL(c.team, dest, source, c.count);          \
        case CHORUS_COLL_alltoall:                                                           \
            return PREFIX##_##NAME##_alltoall##TAIL(c.team, dest, source, c.count);          \
        case CHORUS_COLL_reduce:                                                             \
            return PREFIX##_##NAME##_sum_reduce##TAIL(c.team, dest, source, c.count);        \
        case CHORUS_COLL_reducescatter:                                                      \
            return PREFIX##_##NAME##_sum_reducescatter##TAIL(c.team, dest, source, c.count); \
        default:                                                                             \
            return CHORUS_ERR_ARG;                                                           \
        }                                                                                    \
    }

DEFINE_CALL(int, int, chorusx, _block)
DEFINE_CALL(int, int, chorusx, _warp)
DEFINE_CALL(int, int, chorus, )
DEFINE_CALL(half, chorus_half, chorusx, _block)

/* By the block, by its second warp, or by its last thread. One kernel for all, as each would
 * have functions of its own for PEs that are not near. */
static __global__ void __launch_bounds__(THREADS, 1) make(const struct random_inside call)
{
    int code = CHORUS_OK;

    if (call.form == RANDOM_BLOCK && call.type == CHORUS_TYPE_i32)
        code = int_by_block(call);
    else if (call.form == RANDOM_BLOCK)
        code = half_by_block(call);
    else if (call.form == RANDOM_WARP && threadIdx.x / 32 == 1)
        code = int_by_warp(call);
    else if (call.form == RANDOM_THREAD && threadIdx.x == THREADS - 1)
        code = int_by(call);
    if (code != CHORUS_OK) (void)atomicAdd(&n_failed, 1ull);
}

/* CUDA's failure, as that of a launch of the library. */
static int code_of(cudaError_t error)
{
    if (error == cudaSuccess) return CHORUS_OK;
    return chorusx_device_failed("launching a kernel of one block", cudaGetErrorString(error));
}

int random_inside_launch(const struct random_inside *call, void *stream)
{
    enum cudaStreamCaptureStatus is = cudaStreamCaptureStatusNone;
    struct random_inside copy = *call;
    void *args[] = {&copy};
    int code = code_of(cudaStreamIsCapturing((cudaStream_t)stream, &is));

    if (code != CHORUS_OK) return code;
    if (call->team == CHORUS_TEAM_WORLD && is == cudaStreamCaptureStatusNone)
        return chorusx_collective_launch((const void *)make, 1, THREADS, args, 0,
                                         (cudaStream_t)stream);
    return code_of(
        cudaLaunchKernel((const void *)make, 1, THREADS, args, 0, (cudaStream_t)stream));
}

int random_inside_open(void)
{
    struct random_inside call = {};
    int code = chorusx_module_init();

    call.team = CHORUS_TEAM_WORLD;
    call.coll = CHORUS_COLL_barrier;
    call.type = CHORUS_TYPE_i32;
    if (code == CHORUS_OK) code = random_inside_launch(&call, 0);
    return code == CHORUS_OK ? chorusx_stream_synchronize(0) : code;
}

unsigned long long random_inside_failed(void)
{
    unsigned long long n = 0;

    return cudaMemcpyFromSymbol(&n, n_failed, sizeof(n)) == cudaSuccess ? n : ~0ull;
}
