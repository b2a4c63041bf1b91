/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_combine.cu: kernels of the collectives that combine, for the type that the build
 * defines as CH_KERNEL_TYPE: one object for each type, so that they are compiled in
 * parallel. */
#include "coll/cuda/kernel_shell.cuh"

#define CH_PASTE(a, b) CH_PASTE_(a, b)
#define CH_PASTE_(a, b) a##b
#define CH_KERNEL_OF(fn, T, kind, proto) CH_KERNEL(fn, T, kind, proto)
#define CH_NAME_OF(fn, T) CH_NAME_OF_(fn, T)
#define CH_NAME_OF_(fn, T) ch_k_##fn##_##T

/* Partial results of 16-bit floating types are rounded, so no call of them may use an algorithm
 * that needs whole ones. */
#ifdef CH_KERNEL_ROUNDS
#define KERNEL_IF_whole(yes, no) no
#else
#define KERNEL_IF_whole(yes, no) yes
#endif
#define KERNEL_IF_any(yes, no) yes

#define KERNEL_barrier(fn, kind, proto)
#define KERNEL_broadcast KERNEL_barrier
#define KERNEL_fcollect KERNEL_barrier
#define KERNEL_alltoall KERNEL_barrier
#define KERNEL_gather KERNEL_barrier
#define KERNEL_scatter KERNEL_barrier
#define KERNEL_collect KERNEL_barrier
#define KERNEL_alltoalls KERNEL_barrier
#define KERNEL_alltoallv KERNEL_barrier
#define KERNEL_reduce(fn, kind, proto) CH_KERNEL_OF(fn, CH_KERNEL_TYPE, kind, proto)
#define KERNEL_reducescatter KERNEL_reduce
#define KERNEL_reduce_to KERNEL_reduce
#define KERNEL_inscan KERNEL_reduce
#define KERNEL_exscan KERNEL_reduce
#define X(coll, proto, fn, kind, parts) \
    CH_KERNEL_IF_##kind(KERNEL_IF_##parts(KERNEL_##coll(fn, kind, proto), ), )
CH_KERNEL_ROWS(X)
#undef X

#define ENTRY_barrier(fn) 0
#define ENTRY_broadcast ENTRY_barrier
#define ENTRY_fcollect ENTRY_barrier
#define ENTRY_alltoall ENTRY_barrier
#define ENTRY_gather ENTRY_barrier
#define ENTRY_scatter ENTRY_barrier
#define ENTRY_collect ENTRY_barrier
#define ENTRY_alltoalls ENTRY_barrier
#define ENTRY_alltoallv ENTRY_barrier
#define ENTRY_reduce(fn) (const void *)CH_NAME_OF(fn, CH_KERNEL_TYPE)
#define ENTRY_reducescatter ENTRY_reduce
#define ENTRY_reduce_to ENTRY_reduce
#define ENTRY_inscan ENTRY_reduce
#define ENTRY_exscan ENTRY_reduce
#define TABLE CH_PASTE(ch_kernels_, CH_KERNEL_TYPE)
extern "C" const ch_kernel_table TABLE;
#define X(coll, proto, fn, kind, parts) \
    CH_KERNEL_IF_##kind(KERNEL_IF_##parts(ENTRY_##coll(fn), 0), 0),
const ch_kernel_table TABLE = {0 /* none */, CH_KERNEL_ROWS(X)};
#undef X
