/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvshmem.h: calls of NVSHMEM's API over Chorus, for C and C++, and in files of CUDA those
 * inside kernels too: each is the call of chorus.h or chorus_device.cuh by the same name. It
 * brings nvshmemx.h. docs/nvshmem.md says what is not here.
 *
 * Where CUDA's headers are found, its types are taken as they are: cudaStream_t, and in C++
 * __half and __nv_bfloat16.
 */
#ifndef NVSHMEM_H
#define NVSHMEM_H

#include "nvshmem_setup.h"

/* --- memory, teams -------------------------------------------------------------------- */
/* What has the same arguments is the call itself. */
#define nvshmem_global_exit chorus_global_exit
#define nvshmem_query_thread chorus_query_thread
#define nvshmem_my_pe chorus_my_pe
#define nvshmem_n_pes chorus_n_pes
#define nvshmem_pe_accessible chorus_pe_accessible
#define nvshmem_addr_accessible chorus_addr_accessible
#define nvshmem_ptr chorus_ptr
#define nvshmem_malloc chorus_malloc
#define nvshmem_calloc chorus_calloc
#define nvshmem_align chorus_align
#define nvshmem_free chorus_free
#define nvshmem_team_my_pe chorus_team_my_pe
#define nvshmem_team_n_pes chorus_team_n_pes
#define nvshmem_team_translate_pe chorus_team_translate_pe
#define nvshmem_team_destroy chorus_team_destroy
#define nvshmem_barrier_all chorus_barrier_all
#define nvshmem_sync_all chorus_sync_all
#define nvshmem_fence chorus_fence
#define nvshmem_quiet chorus_quiet
#define nvshmem_signal_fetch chorus_signal_fetch
#define nvshmem_signal_wait_until chorus_signal_wait_until

NVSHMEM_CALL void nvshmem_info_get_version(int *major, int *minor)
{
    *major = NVSHMEM_MAJOR_VERSION;
    *minor = NVSHMEM_MINOR_VERSION;
}

NVSHMEM_CALL void nvshmem_info_get_name(char *name)
{
    memcpy(name, NVSHMEM_VENDOR_STRING, sizeof(NVSHMEM_VENDOR_STRING));
}

/* What chorus.h needs of a configuration; null for none. */
static inline const chorus_team_config_t *nvshmem_config_of(const nvshmem_team_config_t *config,
                                                            chorus_team_config_t *room)
{
    if (config == NULL) return NULL;
    room->num_contexts = config->num_contexts;
    return room;
}

/* Functions, since compilers warn of calls of chorus.h whose code is ignored. */
static inline void nvshmem_team_get_config(nvshmem_team_t team, nvshmem_team_config_t *config)
{
    chorus_team_config_t found = {0};
    const int status = chorus_team_get_config(team, CHORUS_TEAM_NUM_CONTEXTS, &found);

    chorusx_raise_in("nvshmem_team_get_config", status);
    if (status == CHORUS_OK) config->num_contexts = found.num_contexts;
}

static inline int nvshmem_team_split_strided(nvshmem_team_t parent, int start, int stride,
                                             int count, const nvshmem_team_config_t *config,
                                             long config_mask, nvshmem_team_t *new_team)
{
    chorus_team_config_t room;

    return chorus_team_split_strided(parent, start, stride, count,
                                     nvshmem_config_of(config, &room),
                                     config_mask & CHORUS_TEAM_NUM_CONTEXTS, new_team);
}

static inline int nvshmem_team_split_2d(nvshmem_team_t parent, int xrange,
                                        const nvshmem_team_config_t *xaxis_config,
                                        long xaxis_mask, nvshmem_team_t *xaxis_team,
                                        const nvshmem_team_config_t *yaxis_config,
                                        long yaxis_mask, nvshmem_team_t *yaxis_team)
{
    chorus_team_config_t xaxis, yaxis;

    return chorus_team_split_2d(parent, xrange, nvshmem_config_of(xaxis_config, &xaxis),
                                xaxis_mask & CHORUS_TEAM_NUM_CONTEXTS, xaxis_team,
                                nvshmem_config_of(yaxis_config, &yaxis),
                                yaxis_mask & CHORUS_TEAM_NUM_CONTEXTS, yaxis_team);
}

NVSHMEM_CALL int nvshmem_team_sync(nvshmem_team_t team)
{
    return chorus_team_sync(team);
}

#define nvshmem_sync nvshmem_team_sync

NVSHMEM_CALL int nvshmem_barrier(nvshmem_team_t team)
{
    return chorus_barrier(team);
}

/* --- families of types, as shmem_lists.h has them --------------------------------------- */
/* clang-format off */
#define OWN(address) address
#define NVSHMEM_BARE(...) __VA_ARGS__
#define NVSHMEM_P(A, name, arguments, ...)                                                     \
    NVSHMEM_CALL void nvshmem_##name(__VA_ARGS__) { chorus_##name arguments; }
#define NVSHMEM_F(A, R, name, arguments, ...)                                                  \
    NVSHMEM_CALL R nvshmem_##name(__VA_ARGS__) { return chorus_##name arguments; }
#define NVSHMEM_C(A, name, arguments, ...)                                                     \
    NVSHMEM_CALL int nvshmem_##name(nvshmem_team_t team, __VA_ARGS__)                          \
    {                                                                                          \
        return chorus_##name(team, NVSHMEM_BARE arguments);                                    \
    }

#define NVSHMEM_RMA(NAME, T, kind)                                                             \
    SHMEM_ELEMENT_CALLS(NVSHMEM_P, NVSHMEM_F, , NAME##_, T)                                    \
    SHMEM_BLOCK_CALLS(NVSHMEM_P, , NAME##_put, NAME##_get, T)                                  \
    SHMEM_STRIDE_CALLS(NVSHMEM_P, , NAME##_iput, NAME##_iget, T)                               \
    SHMEM_MOVE_CALLS(NVSHMEM_C, , NAME##_, , T)
CHORUS_DEVICE_TYPES(NVSHMEM_RMA)
#define NVSHMEM_SIZED(N, bytes)                                                                \
    SHMEM_BLOCK_CALLS(NVSHMEM_P, , put##N, get##N, void)                                       \
    SHMEM_STRIDE_CALLS(NVSHMEM_P, , iput##N, iget##N, void)
CHORUS_SIZES(NVSHMEM_SIZED)
SHMEM_MEM_CALLS(NVSHMEM_P, )
SHMEM_MOVE_CALLS(NVSHMEM_C, , , mem, void)

#define NVSHMEM_EXTENDED(NAME, T, kind) SHMEM_AMO_EXTENDED_CALLS(NVSHMEM_P, NVSHMEM_F, , NAME##_, T)
CHORUS_AMO_EXTENDED_TYPES(NVSHMEM_EXTENDED)
#define NVSHMEM_STANDARD(NAME, T, kind) SHMEM_AMO_STANDARD_CALLS(NVSHMEM_P, NVSHMEM_F, , NAME##_, T)
CHORUS_AMO_STANDARD_TYPES(NVSHMEM_STANDARD)
#define NVSHMEM_BITWISE(NAME, T, kind) SHMEM_AMO_BITWISE_CALLS(NVSHMEM_P, NVSHMEM_F, , NAME##_, T)
CHORUS_AMO_BITWISE_TYPES(NVSHMEM_BITWISE)
#define NVSHMEM_WAIT(NAME, T, kind) SHMEM_WAIT_CALLS(NVSHMEM_P, NVSHMEM_F, , NAME##_, T)
CHORUS_WAIT_TYPES(NVSHMEM_WAIT)

#define NVSHMEM_REDUCE(OP, NAME, T, kind)                                                      \
    SHMEM_REDUCE_CALLS(NVSHMEM_C, , NAME, T, OP)                                               \
    NVSHMEM_C(, NAME##OP##_reducescatter, (dest, source, nreduce), T *dest, const T *source,   \
              size_t nreduce)
#define NVSHMEM_OP(OP, NAMES) NAMES(NVSHMEM_REDUCE, OP)
CHORUS_DEVICE_REDUCE_LIST(NVSHMEM_OP)
#undef OWN
/* clang-format on */

#include "nvshmem_amo.h"
#include "nvshmemx.h"

#endif /* NVSHMEM_H */
