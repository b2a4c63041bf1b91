/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_nvls.cu: the algorithms of multicast, for switches with multicast in hardware (the
 * build defines CH_NVLS). Compiled and reviewed, never run. */
#include "coll/cuda/kernels.h"

#include "coll/cuda/kernel_shell.cuh"

/* clang-format off */
/* Those that move have one kernel for all types. */
#define INTEGERS(Y, fn) Y(fn, i32) Y(fn, u32) Y(fn, i64) Y(fn, u64)
#define ALL_TYPES(Y, fn) INTEGERS(Y, fn) Y(fn, f16) Y(fn, bf16) Y(fn, f32) Y(fn, f64)
#define TYPES_copies(Y, fn, kind) Y(fn, u8)
#define TYPES_combines(Y, fn, kind) TYPES_##kind(Y, fn)
#define TYPES_multicast(Y, fn) ALL_TYPES(Y, fn)
#define TYPES_integers(Y, fn) INTEGERS(Y, fn)

#define ROW_plain(Y, work, fn)
#define ROW_wide(Y, work, fn)
#define ROW_folding(Y, work, fn)
#define ROW_due(Y, work, fn)
#define ROW_sliced(Y, work, fn)
#define ROW_engine(Y, work, fn)
#define ROW_multicast(Y, work, fn) TYPES_##work(Y, fn, multicast)
#define ROW_integers(Y, work, fn) TYPES_##work(Y, fn, integers)
/* clang-format on */

#define Y(fn, T) CH_KERNEL_NAMED(ch_k_nvls_##fn##_##T, fn, T, multicast, simple)
#define X(coll, work, dest, proto, fn, kind, parts) ROW_##kind(Y, work, fn)
CH_KERNEL_ROWS(X)
#undef X
#undef Y

const void *ch_nvls_kernel(enum ch_kernel_id id, chorus_type type, chorus_op op)
{
#define Y(fn, T)                                                       \
    if (id == CH_KERNEL_ID_##fn &&                                     \
        (CHORUS_TYPE_##T == CHORUS_TYPE_u8 ||                          \
         (CHORUS_TYPE_##T == type && ch_multimem_combines(type, op)))) \
        return (const void *)ch_k_nvls_##fn##_##T;
#define X(coll, work, dest, proto, fn, kind, parts) ROW_##kind(Y, work, fn)
    CH_KERNEL_ROWS(X)
#undef X
#undef Y
    return NULL;
}
