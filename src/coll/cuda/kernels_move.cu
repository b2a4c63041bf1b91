/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_move.cu: kernels of the collectives that move bytes, for every type. */
#include "coll/cuda/kernel_shell.cuh"

/* The kernels before and after the copies of an algorithm for copy engines: a kind of
 * barriers. */
CH_KERNEL(ch_engine_enter, u8, engine, signal)
CH_KERNEL(ch_engine_leave, u8, engine, signal)
extern "C" const void *const ch_kernel_engine_enter;
extern "C" const void *const ch_kernel_engine_leave;
const void *const ch_kernel_engine_enter = (const void *)ch_k_ch_engine_enter_u8;
const void *const ch_kernel_engine_leave = (const void *)ch_k_ch_engine_leave_u8;

#define KERNEL_barrier(fn, kind, proto) CH_KERNEL(fn, u8, kind, proto)
#define KERNEL_broadcast KERNEL_barrier
#define KERNEL_fcollect KERNEL_barrier
#define KERNEL_alltoall KERNEL_barrier
#define KERNEL_gather KERNEL_barrier
#define KERNEL_scatter KERNEL_barrier
#define KERNEL_alltoalls(fn, kind, proto) CH_KERNEL_OF_PATTERN(fn, u8, kind, proto, 0)
#define KERNEL_collect(fn, kind, proto) CH_KERNEL_OF_PATTERN(fn, u8, kind, proto, 1)
#define KERNEL_alltoallv KERNEL_collect
#define KERNEL_reduce(fn, kind, proto)
#define KERNEL_reducescatter KERNEL_reduce
#define KERNEL_reduce_to KERNEL_reduce
#define KERNEL_inscan KERNEL_reduce
#define KERNEL_exscan KERNEL_reduce
#define X(coll, proto, fn, kind, parts) CH_KERNEL_IF_##kind(KERNEL_##coll(fn, kind, proto), )
CH_KERNEL_ROWS(X)
#undef X

#define ENTRY_barrier(fn) (const void *)ch_k_##fn##_u8
#define ENTRY_broadcast ENTRY_barrier
#define ENTRY_fcollect ENTRY_barrier
#define ENTRY_alltoall ENTRY_barrier
#define ENTRY_gather ENTRY_barrier
#define ENTRY_scatter ENTRY_barrier
#define ENTRY_collect ENTRY_barrier
#define ENTRY_alltoalls ENTRY_barrier
#define ENTRY_alltoallv ENTRY_barrier
#define ENTRY_reduce(fn) 0
#define ENTRY_reducescatter ENTRY_reduce
#define ENTRY_reduce_to ENTRY_reduce
#define ENTRY_inscan ENTRY_reduce
#define ENTRY_exscan ENTRY_reduce
extern "C" const ch_kernel_table ch_kernels_move;
#define X(coll, proto, fn, kind, parts) CH_KERNEL_IF_##kind(ENTRY_##coll(fn), 0),
const ch_kernel_table ch_kernels_move = {0 /* none */, CH_KERNEL_ROWS(X)};
#undef X

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

extern "C" __global__ void __launch_bounds__(1)
    ch_k_check_end(const __grid_constant__ struct ch_kernel_args a)
{
    ((struct ch_dup *)a.dups)->running = CH_RUNS_NOT;
    if (a.ended != 0) ch_call_ended(&a);
}

extern "C" const void *const ch_kernel_check_begin;
extern "C" const void *const ch_kernel_check_end;
const void *const ch_kernel_check_begin = (const void *)ch_k_check_begin;
const void *const ch_kernel_check_end = (const void *)ch_k_check_end;
