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

#endif /* NVSHMEM_DEVICE_CUH */
