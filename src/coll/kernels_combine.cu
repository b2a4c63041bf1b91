/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_combine.cu: kernels of the collectives that combine, for the type that the build
 * names in CH_KERNEL_TYPE: an object a type, so that they compile side by side. */
#include "coll/kernel_shell.cuh"

#define CH_PASTE(a, b) CH_PASTE_(a, b)
#define CH_PASTE_(a, b) a##b
#define CH_KERNEL_OF(fn, T, proto) \
    CH_KERNEL(fn, T, CH_KERNEL_LANES(CH_ALGO_##fn), proto, CH_KERNEL_IS_DUE(CH_ALGO_##fn))
#define CH_NAME_OF(fn, T) CH_NAME_OF_(fn, T)
#define CH_NAME_OF_(fn, T) ch_k_##fn##_##T

#define KERNEL_barrier(fn, proto)
#define KERNEL_broadcast(fn, proto)
#define KERNEL_fcollect(fn, proto)
#define KERNEL_alltoall(fn, proto)
#define KERNEL_reduce(fn, proto) CH_KERNEL_OF(fn, CH_KERNEL_TYPE, proto)
#define KERNEL_reducescatter(fn, proto) CH_KERNEL_OF(fn, CH_KERNEL_TYPE, proto)
#define X(coll, name, proto, fn, needs, radix, steps, wire) KERNEL_##coll(fn, proto)
CH_ALGO_LIST(X)
#undef X

#define ENTRY_barrier(fn) 0
#define ENTRY_broadcast(fn) 0
#define ENTRY_fcollect(fn) 0
#define ENTRY_alltoall(fn) 0
#define ENTRY_reduce(fn) (const void *)CH_NAME_OF(fn, CH_KERNEL_TYPE)
#define ENTRY_reducescatter(fn) (const void *)CH_NAME_OF(fn, CH_KERNEL_TYPE)
#define TABLE CH_PASTE(ch_kernels_, CH_KERNEL_TYPE)
extern "C" const ch_kernel_table TABLE;
const ch_kernel_table TABLE = {
#define X(coll, name, proto, fn, needs, radix, steps, wire) ENTRY_##coll(fn),
    CH_ALGO_LIST(X)
#undef X
};
