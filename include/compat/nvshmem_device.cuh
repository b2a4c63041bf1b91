/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvshmem_device.cuh: calls of NVSHMEM's device API by warps and blocks, of nvshmemx.h: each is
 * the call of chorus_device.cuh by the same name. Those by a thread stand in nvshmem.h, for
 * hosts and kernels.
 */
#ifndef NVSHMEM_DEVICE_CUH
#define NVSHMEM_DEVICE_CUH

#include "nvshmem.h"

#define nvshmemx_barrier_warp chorusx_barrier_warp
#define nvshmemx_barrier_block chorusx_barrier_block
#define nvshmemx_barrier_all_warp chorusx_barrier_all_warp
#define nvshmemx_barrier_all_block chorusx_barrier_all_block
#define nvshmemx_team_sync_warp chorusx_team_sync_warp
#define nvshmemx_team_sync_block chorusx_team_sync_block
#define nvshmemx_sync_all_warp chorusx_sync_all_warp
#define nvshmemx_sync_all_block chorusx_sync_all_block

/* clang-format off */
#define OWN(address) address
#define NVSHMEMX_BY(scope, name, arguments, ...)                                               \
    CHORUS_DEVICE void nvshmemx_##name##_##scope(__VA_ARGS__) { chorusx_##name##_##scope arguments; }
#define NVSHMEMX_SCOPED_P(A, name, arguments, ...)                                             \
    NVSHMEMX_BY(warp, name, arguments, __VA_ARGS__)                                            \
    NVSHMEMX_BY(block, name, arguments, __VA_ARGS__)
#define NVSHMEMX_OF_TEAM_BY(scope, name, arguments, ...)                                       \
    CHORUS_DEVICE int nvshmemx_##name##_##scope(nvshmem_team_t team, __VA_ARGS__)              \
    {                                                                                          \
        return chorusx_##name##_##scope(team, NVSHMEM_BARE arguments);                         \
    }
#define NVSHMEMX_SCOPED_C(A, name, arguments, ...)                                             \
    NVSHMEMX_OF_TEAM_BY(warp, name, arguments, __VA_ARGS__)                                    \
    NVSHMEMX_OF_TEAM_BY(block, name, arguments, __VA_ARGS__)

#define NVSHMEMX_SCOPED_TYPE(NAME, T, kind)                                                    \
    SHMEM_BLOCK_CALLS(NVSHMEMX_SCOPED_P, , NAME##_put, NAME##_get, T)                          \
    SHMEM_STRIDE_CALLS(NVSHMEMX_SCOPED_P, , NAME##_iput, NAME##_iget, T)                       \
    SHMEM_TEAM_MOVE_CALLS(NVSHMEMX_SCOPED_C, , NAME##_, , T)
CHORUS_DEVICE_TYPES(NVSHMEMX_SCOPED_TYPE)
#define NVSHMEMX_SCOPED_SIZE(N, bytes)                                                         \
    SHMEM_BLOCK_CALLS(NVSHMEMX_SCOPED_P, , put##N, get##N, void)                               \
    SHMEM_STRIDE_CALLS(NVSHMEMX_SCOPED_P, , iput##N, iget##N, void)
CHORUS_SIZES(NVSHMEMX_SCOPED_SIZE)
SHMEM_MEM_CALLS(NVSHMEMX_SCOPED_P, )
SHMEM_TEAM_MOVE_CALLS(NVSHMEMX_SCOPED_C, , , mem, void)

#define NVSHMEMX_SCOPED_REDUCE(OP, NAME, T, kind)                                              \
    SHMEM_REDUCE_CALLS(NVSHMEMX_SCOPED_C, , NAME, T, OP)                                       \
    NVSHMEMX_SCOPED_C(, NAME##OP##_reducescatter, (dest, source, nreduce), T *dest,            \
                      const T *source, size_t nreduce)
#define NVSHMEMX_SCOPED_OP(OP, NAMES) NAMES(NVSHMEMX_SCOPED_REDUCE, OP)
CHORUS_DEVICE_REDUCE_LIST(NVSHMEMX_SCOPED_OP)
#undef OWN
/* clang-format on */

/* --- order and meetings ------------------------------------------------------------------- */
/* A quiet by one lane for all, which is more than a flush promises. */
CHORUS_DEVICE void nvshmemx_flush_warp(void)
{
    __syncwarp();
    if (ch_thread_in_block() % CH_WARP_LANES == 0) chorus_quiet();
    __syncwarp();
}

CHORUS_DEVICE void nvshmemx_flush_block(void)
{
    __syncthreads();
    if (ch_thread_in_block() == 0) chorus_quiet();
    __syncthreads();
}

/* The barrier of four warps of a block, one after the other, which are warps 4i to 4i + 3 of
 * it. Named barrier 1 + i is that of warpgroup i. */
enum { NVSHMEM_WARPGROUP_LANES = 128, NVSHMEM_WARPGROUPS_MOST = 8 };

CHORUS_DEVICE void nvshmem_sync_warpgroup(unsigned group)
{
    asm volatile("bar.sync %0, %1;" ::"r"(1 + group), "r"(NVSHMEM_WARPGROUP_LANES) : "memory");
}

CHORUS_DEVICE int nvshmemx_barrier_warpgroup(nvshmem_team_t team)
{
    __shared__ int codes[NVSHMEM_WARPGROUPS_MOST];
    const unsigned thread = ch_thread_in_block(), group = thread / NVSHMEM_WARPGROUP_LANES;

    nvshmem_sync_warpgroup(group); /* what any lane wrote is before the barrier */
    if (thread % NVSHMEM_WARPGROUP_LANES < CH_WARP_LANES) {
        const int code = chorusx_barrier_warp(team);

        if (thread % CH_WARP_LANES == 0) codes[group] = code;
    }
    nvshmem_sync_warpgroup(group); /* the code is there, for all lanes */
    return codes[group];
}

/* The largest x of all PEs, with its y; of several equal ones the least y. Each element is two
 * reductions: of x, and then of the y of those PEs that have this x. dest may be source. */
CHORUS_DEVICE int nvshmemx_double2_maxloc_reduce_block(nvshmem_team_t team, double2 *dest,
                                                       const double2 *source, size_t nreduce)
{
    int code = CHORUS_OK;

    for (size_t i = 0; i < nreduce && code == CHORUS_OK; i++) {
        const double2 mine = source[i];

        code = chorusx_double_max_reduce_block(team, &dest[i].x, &source[i].x, 1);
        if (code != CHORUS_OK) return code;
        if (ch_thread_in_block() == 0) {
            const double most = dest[i].x;
            const int has = mine.x == most || (mine.x != mine.x && most != most);

            dest[i].y = has ? mine.y : __longlong_as_double(0x7ff0000000000000LL);
        }
        code = chorusx_double_min_reduce_block(team, &dest[i].y, &dest[i].y, 1);
    }
    return code;
}

/* --- hints -------------------------------------------------------------------------------- */
#define nvshmemx_region_start_block nvshmemx_region_start
#define nvshmemx_region_stop_block nvshmemx_region_stop

/* Calls need no shared memory of the program: 0 bytes, and what is given is left alone. */
typedef enum {
    NVSHMEMX_SMEM_RECOMMENDED,
    NVSHMEMX_SMEM_MINIMUM,
    NVSHMEMX_SMEM_BARRIERS_ONLY
} nvshmemx_smem_amount_t;

static inline __host__ __device__ int nvshmemx_ask_smem(nvshmemx_smem_amount_t flag)
{
    (void)flag;
    return 0;
}

CHORUS_DEVICE void nvshmemx_give_smem(void *smem, size_t size)
{
    (void)smem;
    (void)size;
}

CHORUS_DEVICE void nvshmemx_release_smem(void)
{
}

#include "nvshmemx_qp.cuh"

#endif /* NVSHMEM_DEVICE_CUH */
