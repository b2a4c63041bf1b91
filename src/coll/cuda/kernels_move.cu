/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_move.cu: kernels of the collectives that move bytes, for every type; with CH_ROUTED,
 * of teams whose PEs are not all near. */
#include "coll/cuda/kernel_shell.cuh"

#if CH_ROUTED
#define ROWS CH_ROUTED_ROWS
#define TABLE_TYPE ch_routed_table
#define TABLE ch_routed_move
#else
#define ROWS CH_KERNEL_ROWS
#define TABLE_TYPE ch_kernel_table
#define TABLE ch_kernels_move
#endif

/* By the columns work and dest of the collective. */
#define KERNEL_copies(dest, fn, kind, proto) KERNEL_OF_##dest(fn, kind, proto)
#define KERNEL_combines(dest, fn, kind, proto)
#define KERNEL_scans KERNEL_combines
#define KERNEL_OF_none(fn, kind, proto) CH_KERNEL(fn, u8, kind, proto)
#define KERNEL_OF_one KERNEL_OF_none
#define KERNEL_OF_all KERNEL_OF_none
#define KERNEL_OF_strides(fn, kind, proto) CH_KERNEL_OF_PATTERN(fn, u8, kind, proto, 0)
#define KERNEL_OF_lengths(fn, kind, proto) CH_KERNEL_OF_PATTERN(fn, u8, kind, proto, 1)
#define X(coll, work, dest, proto, fn, kind, parts) \
    CH_KERNEL_IF_##kind(KERNEL_##work(dest, fn, kind, proto), )
ROWS(X)
#undef X

#define ENTRY_copies(fn) (const void *)CH_KERNEL_NAME(fn, u8)
#define ENTRY_combines(fn) 0
#define ENTRY_scans ENTRY_combines
extern "C" const TABLE_TYPE TABLE;
#define X(coll, work, dest, proto, fn, kind, parts) CH_KERNEL_IF_##kind(ENTRY_##work(fn), 0),
const TABLE_TYPE TABLE = {0 /* none */, ROWS(X)};
#undef X

#if !CH_ROUTED
/* The kernels before and after the copies of an algorithm for copy engines: a kind of
 * barriers. */
CH_KERNEL(ch_engine_enter, u8, engine, signal)
CH_KERNEL(ch_engine_leave, u8, engine, signal)
const void *const ch_kernel_engine_enter = (const void *)ch_k_ch_engine_enter_u8;
const void *const ch_kernel_engine_leave = (const void *)ch_k_ch_engine_leave_u8;

/* With CHORUS_CHECK, before and after the kernels of a call on a stream. Two calls of a team at
 * the same time would corrupt the epochs and slots that they share: the second one does not
 * begin. Calls inside kernels acquire the same word (device_check.cuh). */
extern "C" __global__ void __launch_bounds__(1)
    ch_k_check_begin(const __grid_constant__ struct ch_kernel_args a)
{
    struct ch_dup *dup = (struct ch_dup *)a.dups;

    if (dup->failed != 0) return;
    if (atomicExch((unsigned long long *)&dup->running, CH_RUNS_ON_STREAM) == CH_RUNS_NOT)
        return;
    ch_report_fault(&a, CH_FAULT_OVERLAP, CHORUS_ERR_STATE, a.me);
    dup->failed = 1;
}

/* The kernel after the call: the team's next call may begin. */
extern "C" __global__ void __launch_bounds__(1)
    ch_k_check_end(const __grid_constant__ struct ch_kernel_args a)
{
    ((struct ch_dup *)a.dups)->running = CH_RUNS_NOT;
    if (a.ended != 0) ch_call_count_end(&a);
}

const void *const ch_kernel_check_begin = (const void *)ch_k_check_begin;
const void *const ch_kernel_check_end = (const void *)ch_k_check_end;
#else
/* One lane for each PE of the part. The kernel of the call before, which reads the last lists,
 * has ended, since this one is not launched early. */
extern "C" __global__ void __launch_bounds__(CH_KERNEL_PES_MAX)
    ch_k_lists(const __grid_constant__ struct ch_lists_args a)
{
    const uint32_t pe = a.first + threadIdx.x;

    if (threadIdx.x >= a.count) return;
    for (uint32_t list = 0; list < CH_LISTS; list++)
        a.there[(size_t)list * a.n + pe] = a.part[list][threadIdx.x];
}

const void *const ch_kernel_lists = (const void *)ch_k_lists;
#endif
