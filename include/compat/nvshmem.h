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

#ifdef __has_include
#if __has_include(<cuda_runtime_api.h>)
#include <cuda.h>
#include <cuda_runtime_api.h>
#define NVSHMEM_HAS_CUDA
#endif
#if defined(__cplusplus) && !defined(CHORUS_H) && __has_include(<cuda_bf16.h>)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define CHORUS_HALF __half
#define CHORUS_BFLOAT16 __nv_bfloat16
#endif
#endif
#ifndef NVSHMEM_HAS_CUDA
typedef struct CUstream_st *cudaStream_t; /* as CUDA declares it */
#endif

#ifdef __CUDACC__
#include "chorus/chorus_device.cuh"
#endif
#include "chorus/chorusx.h"
#include "shmem_lists.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __cplusplus
extern "C" char **environ;
#else
extern char **environ; /* -std=c11 hides these two */
int setenv(const char *name, const char *value, int overwrite);
#endif

#define NVSHMEM_MAJOR_VERSION 1 /* of OpenSHMEM, as NVSHMEM has it */
#define NVSHMEM_MINOR_VERSION 3
#define NVSHMEM_VENDOR_MAJOR_VERSION 3
#define NVSHMEM_VENDOR_MINOR_VERSION 8
#define NVSHMEM_VENDOR_PATCH_VERSION 0
#define NVSHMEM_VENDOR_VERSION                                                          \
    (NVSHMEM_VENDOR_MAJOR_VERSION * 10000 + NVSHMEM_VENDOR_MINOR_VERSION * 100 +        \
     NVSHMEM_VENDOR_PATCH_VERSION)
#define NVSHMEM_VENDOR_STRING CHORUS_VENDOR_STRING
#define NVSHMEM_MAX_NAME_LEN CHORUS_MAX_NAME_LEN

typedef enum {
#define X(name, operator) NVSHMEM_CMP_##name = CHORUS_CMP_##name,
    CHORUS_CMP_LIST(X)
#undef X
} nvshmemx_cmp_type_t;
typedef enum {
    NVSHMEM_SIGNAL_SET = CHORUS_SIGNAL_SET,
    NVSHMEM_SIGNAL_ADD = CHORUS_SIGNAL_ADD
} nvshmemx_signal_op_t;
typedef enum {
    NVSHMEM_THREAD_SINGLE = CHORUS_THREAD_SINGLE,
    NVSHMEM_THREAD_FUNNELED = CHORUS_THREAD_FUNNELED,
    NVSHMEM_THREAD_SERIALIZED = CHORUS_THREAD_SERIALIZED,
    NVSHMEM_THREAD_MULTIPLE = CHORUS_THREAD_MULTIPLE
} nvshmemx_thread_support_t;
typedef enum { NVSHMEM_PE_INVALID = -1, NVSHMEMX_PE_ANY = 1 << 15, NVSHMEMX_PE_ALL = 1 << 15 } nvshmem_pe_index_t;

typedef chorus_team_t nvshmem_team_t;
typedef nvshmem_team_t nvshmemx_team_t;
typedef uint64_t nvshmemx_team_uniqueid_t;
#define NVSHMEM_TEAM_INVALID CHORUS_TEAM_INVALID
#define NVSHMEM_TEAM_WORLD CHORUS_TEAM_WORLD
#define NVSHMEM_TEAM_SHARED CHORUS_TEAM_SHARED
#define NVSHMEMX_TEAM_NODE CHORUS_TEAM_NODE
#define NVSHMEMX_TEAM_SAME_MYPE_NODE CHORUS_TEAM_SAME_MYPE_NODE
#define NVSHMEM_TEAM_WORLD_INDEX NVSHMEM_TEAM_WORLD
#define NVSHMEM_TEAM_SHARED_INDEX NVSHMEM_TEAM_SHARED
#define NVSHMEM_TEAM_NODE_INDEX NVSHMEMX_TEAM_NODE
#define NVSHMEM_TEAM_SAME_MYPE_NODE_INDEX NVSHMEMX_TEAM_SAME_MYPE_NODE

typedef struct nvshmem_team_config {
    int version;      /* not looked at */
    int num_contexts; /* stored, without an effect */
    nvshmemx_team_uniqueid_t uniqueid;
} nvshmem_team_config_t;
typedef nvshmem_team_config_t nvshmem_team_config_v1, nvshmem_team_config_v2;
#define NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS CHORUS_TEAM_NUM_CONTEXTS
#define NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID 2
#define NVSHMEM_TEAM_UNIQUID_INITIALIZER 0
#define NVSHMEM_TEAM_CONFIG_INITIALIZER          \
    {                                            \
        2, -1, NVSHMEM_TEAM_UNIQUID_INITIALIZER \
    }

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

/* By kernels too, in a file of CUDA. */
#ifdef __CUDACC__
#define NVSHMEM_CALL static inline __host__ __device__
#else
#define NVSHMEM_CALL static inline
#endif

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
