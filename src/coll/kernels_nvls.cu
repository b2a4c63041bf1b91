/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_nvls.cu: the algorithms of multicast once more, for switches that do it (the build
 * defines CH_NVLS). Compiled and read, never run. */
#include "coll/kernels_nvls.h"

#include "coll/kernel_shell.cuh"

/* clang-format off */
/*
 * Algorithm, element type. In reduce by one shot every PE combines for itself, so the switch is
 * left only what has the same bits in any order. Those that move have one kernel for all types.
 */
#define INTEGERS(X, fn) X(fn, i32) X(fn, u32) X(fn, i64) X(fn, u64)
#define ALL_TYPES(X, fn) INTEGERS(X, fn) X(fn, f16) X(fn, bf16) X(fn, f32) X(fn, f64)
#define NVLS_LIST(X)                        \
    X(ch_broadcast_multicast, u8)           \
    X(ch_fcollect_multicast, u8)            \
    INTEGERS(X, ch_reduce_multicast_one)    \
    ALL_TYPES(X, ch_reduce_multicast_two)   \
    ALL_TYPES(X, ch_reducescatter_multicast)
/* clang-format on */

#define X(fn, T) CH_KERNEL_NAMED(ch_k_nvls_##fn##_##T, fn, T, CH_KERNEL_LANES_MAX, simple, 0)
NVLS_LIST(X)
#undef X

static bool combines(chorus_type type, chorus_op op)
{
#define X(T, OP, accesses, ins) \
    if (type == CHORUS_TYPE_##T && op == CHORUS_OP_##OP) return true;
    CH_MULTIMEM_LIST(X)
#undef X
    return false;
}

const void *ch_nvls_kernel(enum ch_algo_id algo, chorus_type type, chorus_op op)
{
#define X(fn, T)                                                                   \
    if (algo == CH_ALGO_##fn && (CHORUS_TYPE_##T == CHORUS_TYPE_u8 ||              \
                                 (CHORUS_TYPE_##T == type && combines(type, op)))) \
        return (const void *)ch_k_nvls_##fn##_##T;
    NVLS_LIST(X)
#undef X
    return NULL;
}
