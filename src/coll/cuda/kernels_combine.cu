/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_combine.cu: kernels of the collectives that combine, for the type that the build
 * defines as CH_KERNEL_TYPE: one object for each type, so that they are compiled in
 * parallel; with CH_ROUTED, of teams whose PEs are not all near. */
#include "coll/cuda/kernel_shell.cuh"

#define CH_PASTE(a, b) CH_PASTE_(a, b)
#define CH_PASTE_(a, b) a##b
#define CH_KERNEL_OF(fn, T, kind, proto) CH_KERNEL(fn, T, kind, proto)
#define CH_NAME_OF(fn, T) CH_NAME_OF_(fn, T)
#define CH_NAME_OF_(fn, T) CH_KERNEL_NAME(fn, T)

#if CH_ROUTED
#define ROWS CH_ROUTED_ROWS
#define TABLE_TYPE ch_routed_table
#define TABLE CH_PASTE(ch_routed_, CH_KERNEL_TYPE)
#else
#define ROWS CH_KERNEL_ROWS
#define TABLE_TYPE ch_kernel_table
#define TABLE CH_PASTE(ch_kernels_, CH_KERNEL_TYPE)
#endif

/* Partial results of 16-bit floating types are rounded, so no call of them may use an algorithm
 * that needs whole ones. */
#ifdef CH_KERNEL_ROUNDS
#define KERNEL_IF_whole(yes, no) no
#else
#define KERNEL_IF_whole(yes, no) yes
#endif
#define KERNEL_IF_any(yes, no) yes

#define KERNEL_copies(fn, kind, proto)
#define KERNEL_combines(fn, kind, proto) CH_KERNEL_OF(fn, CH_KERNEL_TYPE, kind, proto)
#define KERNEL_scans KERNEL_combines
#define X(coll, work, dest, proto, fn, kind, parts) \
    CH_KERNEL_IF_##kind(KERNEL_IF_##parts(KERNEL_##work(fn, kind, proto), ), )
ROWS(X)
#undef X

#define ENTRY_copies(fn) 0
#define ENTRY_combines(fn) (const void *)CH_NAME_OF(fn, CH_KERNEL_TYPE)
#define ENTRY_scans ENTRY_combines
extern "C" const TABLE_TYPE TABLE;
#define X(coll, work, dest, proto, fn, kind, parts) \
    CH_KERNEL_IF_##kind(KERNEL_IF_##parts(ENTRY_##work(fn), 0), 0),
const TABLE_TYPE TABLE = {0 /* none */, ROWS(X)};
#undef X
