/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shmemx.h: calls that other implementations had under names of their own before they became
 * the standard's, and a clock.
 */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds since some moment of the past. */
SHMEM_API double shmemx_wtime(void);

/* Teams. */
typedef shmem_team_t shmemx_team_t;
typedef shmem_team_config_t shmemx_team_config_t;
#define SHMEMX_TEAM_INVALID SHMEM_TEAM_INVALID
#define SHMEMX_TEAM_WORLD SHMEM_TEAM_WORLD
#define SHMEMX_TEAM_SHARED SHMEM_TEAM_SHARED
#define SHMEMX_TEAM_NODE SHMEM_TEAM_NODE
#define SHMEMX_TEAM_HOST SHMEM_TEAM_NODE
#define SHMEMX_TEAM_NUM_CONTEXTS SHMEM_TEAM_NUM_CONTEXTS
#define shmemx_team_my_pe shmem_team_my_pe
#define shmemx_team_n_pes shmem_team_n_pes
#define shmemx_team_get_config shmem_team_get_config
#define shmemx_team_translate_pe shmem_team_translate_pe
#define shmemx_team_split_strided shmem_team_split_strided
#define shmemx_team_split_2d shmem_team_split_2d
#define shmemx_team_destroy shmem_team_destroy
#define shmemx_team_sync shmem_team_sync
#define shmemx_team_create_ctx shmem_team_create_ctx
#define shmemx_ctx_get_team shmem_ctx_get_team

/* Signals. */
#define SHMEMX_SIGNAL_SET SHMEM_SIGNAL_SET
#define SHMEMX_SIGNAL_ADD SHMEM_SIGNAL_ADD
#define shmemx_putmem_signal shmem_putmem_signal
#define shmemx_putmem_signal_nbi shmem_putmem_signal_nbi
#define shmemx_signal_fetch shmem_signal_fetch
#define shmemx_signal_set shmem_signal_set
#define shmemx_signal_add shmem_signal_add
#define shmemx_signal_wait_until shmem_signal_wait_until

/* Names without a type, for C11 and C++. */
#define shmemx_put_signal shmem_put_signal
#define shmemx_put_signal_nbi shmem_put_signal_nbi
#define shmemx_ibput shmem_ibput
#define shmemx_ibget shmem_ibget
#define shmemx_sum_inscan shmem_sum_inscan
#define shmemx_sum_exscan shmem_sum_exscan

/* Rows of shmem_lists.h by the older names: blocks with strides, puts with signals, and scans.
 */
#define OWN(address) address
#define SHMEMX_BARE(...) __VA_ARGS__
#define SHMEMX_NAME(A, name, arguments, ...)                               \
    static __inline__ void shmemx_##name(__VA_ARGS__)                      \
    {                                                                      \
        shmem_##name arguments;                                            \
    }                                                                      \
    static __inline__ void shmemx_ctx_##name(shmem_ctx_t ctx, __VA_ARGS__) \
    {                                                                      \
        shmem_ctx_##name(ctx, SHMEMX_BARE arguments);                      \
    }
#define SHMEMX_NAMES(NAME, T, kind)                             \
    SHMEM_BLOCK_CALLS(SHMEMX_NAME, , NAME##_put, NAME##_get, T) \
    SHMEM_STRIDED_BLOCK_CALLS(SHMEMX_NAME, , NAME##_ibput, NAME##_ibget, T)
SHMEM_RMA_TYPES(SHMEMX_NAMES)
#define SHMEMX_SIZED_NAMES(N, bytes) \
    SHMEM_STRIDED_BLOCK_CALLS(SHMEMX_NAME, , ibput##N, ibget##N, void)
CHORUS_SIZES(SHMEMX_SIZED_NAMES)
#define SHMEMX_TEAM_NAME(A, name, arguments, ...)                       \
    static __inline__ int shmemx_##name(shmem_team_t team, __VA_ARGS__) \
    {                                                                   \
        return shmem_##name(team, SHMEMX_BARE arguments);               \
    }
#define SHMEMX_SCAN_NAMES(NAME, T, kind) SHMEM_SCAN_CALLS(SHMEMX_TEAM_NAME, , NAME##_, T)
SHMEM_ARITHMETIC_TYPES(SHMEMX_SCAN_NAMES)
#undef OWN

#ifdef __cplusplus
}
#endif

#endif /* SHMEMX_H */
