/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvshmem_types.h: types and constants of nvshmem.h, and the headers that it brings.
 *
 * Where CUDA's headers are found, its types are taken as they are: cudaStream_t, and in C++
 * __half and __nv_bfloat16.
 */
#ifndef NVSHMEM_TYPES_OF_CHORUS_H
#define NVSHMEM_TYPES_OF_CHORUS_H

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

#if defined(__CUDACC_RDC__) && __has_include(<nvshmem_device_library.h>)
#include <nvshmem_device_library.h>
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
#define NVSHMEM_VENDOR_VERSION                                                   \
    (NVSHMEM_VENDOR_MAJOR_VERSION * 10000 + NVSHMEM_VENDOR_MINOR_VERSION * 100 + \
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
typedef enum {
    NVSHMEM_PE_INVALID = -1,
    NVSHMEMX_PE_ANY = 1 << 15,
    NVSHMEMX_PE_ALL = 1 << 15
} nvshmem_pe_index_t;

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
#define NVSHMEM_TEAM_CONFIG_INITIALIZER         \
    {                                           \
        2, -1, NVSHMEM_TEAM_UNIQUID_INITIALIZER \
    }

/* By kernels too, in a file of CUDA. */
#ifdef __CUDACC__
#define NVSHMEM_CALL static inline __host__ __device__
#else
#define NVSHMEM_CALL static inline
#endif

#endif /* NVSHMEM_TYPES_OF_CHORUS_H */
