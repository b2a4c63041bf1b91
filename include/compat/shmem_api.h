/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shmem_api.h: types, constants and functions of OpenSHMEM 1.6 over Chorus; shmem.h, which
 * includes it, adds the names without a type.
 *
 * What each call does, its arguments and its errors stand at the call of chorus/chorus.h by the
 * same name; what is particular to programs of OpenSHMEM, in docs/openshmem.md. Each function
 * shmem_x is a weak name of pshmem_x, so that tools can put their own before it.
 */
#ifndef SHMEM_API_H
#define SHMEM_API_H

#include "shmem_lists.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
#define SHMEM_VENDOR_STRING "Chorus"
#define SHMEM_MAX_NAME_LEN 64

enum {
    SHMEM_THREAD_SINGLE,
    SHMEM_THREAD_FUNNELED,
    SHMEM_THREAD_SERIALIZED,
    SHMEM_THREAD_MULTIPLE
};
#define SHMEM_THREAD_SINGLE SHMEM_THREAD_SINGLE /* programs ask by #ifdef */
#define SHMEM_THREAD_FUNNELED SHMEM_THREAD_FUNNELED
#define SHMEM_THREAD_SERIALIZED SHMEM_THREAD_SERIALIZED
#define SHMEM_THREAD_MULTIPLE SHMEM_THREAD_MULTIPLE

enum {
#define X(name, operator) SHMEM_CMP_##name,
    CHORUS_CMP_LIST(X)
#undef X
};
#define SHMEM_CMP_EQ SHMEM_CMP_EQ
#define SHMEM_CMP_NE SHMEM_CMP_NE
#define SHMEM_CMP_GT SHMEM_CMP_GT
#define SHMEM_CMP_GE SHMEM_CMP_GE
#define SHMEM_CMP_LT SHMEM_CMP_LT
#define SHMEM_CMP_LE SHMEM_CMP_LE

#define SHMEM_SIGNAL_SET 0
#define SHMEM_SIGNAL_ADD 1

#define SHMEM_MALLOC_ATOMICS_REMOTE 1L
#define SHMEM_MALLOC_SIGNAL_REMOTE 2L

/* A team; pointers, so that names without a type distinguish it from a number. */
typedef struct shmem_team *shmem_team_t;
#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
#define SHMEM_TEAM_WORLD ((shmem_team_t)1)
#define SHMEM_TEAM_SHARED ((shmem_team_t)2)
#define SHMEM_TEAM_NODE ((shmem_team_t)3)

typedef struct {
    int num_contexts;
} shmem_team_config_t;
#define SHMEM_TEAM_NUM_CONTEXTS 1L

/* A context: a pointer to what no data is, for the same reason. */
typedef struct shmem_ctx {
    int number;
} * shmem_ctx_t;
#define SHMEM_CTX_DEFAULT ((shmem_ctx_t)0)
#define SHMEM_CTX_INVALID ((shmem_ctx_t)-1)
#define SHMEM_CTX_SERIALIZED 1L
#define SHMEM_CTX_PRIVATE 2L
#define SHMEM_CTX_NOSTORE 4L

typedef struct {
    size_t total_ops;
} shmem_ctx_session_config_t;
#define SHMEM_CTX_SESSION_BATCH 1L
#define SHMEM_CTX_SESSION_TOTAL_OPS 1L

/* Active sets: longs of a pSync, elements of a pWrk, and what a pSync is filled with. The
 * library keeps nothing in either. */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 1
#define SHMEM_BARRIER_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_BCAST_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1

/* Names of versions before 1.2. */
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_GE SHMEM_CMP_GE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_LE SHMEM_CMP_LE
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_ALLTOALL_SYNC_SIZE SHMEM_ALLTOALL_SYNC_SIZE
#define _SHMEM_ALLTOALLS_SYNC_SIZE SHMEM_ALLTOALLS_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE

/* Declare both names of a function. */
#define SHMEM_API __attribute__((visibility("default")))
#define SHMEM_DECLARE(R, name, ...)         \
    SHMEM_API R pshmem_##name(__VA_ARGS__); \
    SHMEM_API R shmem_##name(__VA_ARGS__);
#define SHMEM_DECLARE_P(A, name, arguments, ...) SHMEM_DECLARE(void, name, __VA_ARGS__)
#define SHMEM_DECLARE_F(A, R, name, arguments, ...) SHMEM_DECLARE(R, name, __VA_ARGS__)
/* With and without a context. */
#define SHMEM_DECLARE_CTX_P(A, name, arguments, ...) \
    SHMEM_DECLARE(void, name, __VA_ARGS__)           \
    SHMEM_DECLARE(void, ctx_##name, shmem_ctx_t ctx, __VA_ARGS__)
#define SHMEM_DECLARE_CTX_F(A, R, name, arguments, ...) \
    SHMEM_DECLARE(R, name, __VA_ARGS__)                 \
    SHMEM_DECLARE(R, ctx_##name, shmem_ctx_t ctx, __VA_ARGS__)
#define SHMEM_DECLARE_C(A, name, arguments, ...) \
    SHMEM_DECLARE(int, name, shmem_team_t team, __VA_ARGS__)
#define SHMEM_DECLARE_OLD_P(A, name, today, arguments, ...) \
    SHMEM_DECLARE(void, name, __VA_ARGS__)
#define SHMEM_DECLARE_OLD_F(A, R, name, today, arguments, ...) \
    SHMEM_DECLARE(R, name, __VA_ARGS__)

/* --- setup and inquiry --------------------------------------------------------------- */
SHMEM_DECLARE(void, init, void)
SHMEM_DECLARE(int, init_thread, int requested, int *provided)
SHMEM_DECLARE(void, finalize, void)
SHMEM_DECLARE(void, query_initialized, int *initialized)
SHMEM_DECLARE(void, query_thread, int *provided)
SHMEM_DECLARE(void, global_exit, int status)
SHMEM_DECLARE(int, my_pe, void)
SHMEM_DECLARE(int, n_pes, void)
SHMEM_DECLARE(int, pe_accessible, int pe)
SHMEM_DECLARE(int, addr_accessible, const void *addr, int pe)
SHMEM_DECLARE(void, info_get_version, int *major, int *minor)
SHMEM_DECLARE(void, info_get_name, char *name)
SHMEM_DECLARE(void, pcontrol, int level, ...)

/* --- memory -------------------------------------------------------------------------- */
SHMEM_DECLARE(void *, malloc, size_t size)
SHMEM_DECLARE(void *, calloc, size_t count, size_t size)
SHMEM_DECLARE(void *, align, size_t alignment, size_t size)
SHMEM_DECLARE(void *, malloc_with_hints, size_t size, long hints)
SHMEM_DECLARE(void *, realloc, void *ptr, size_t size)
SHMEM_DECLARE(void, free, void *ptr)
SHMEM_DECLARE(void *, ptr, const void *dest, int pe)

/* --- teams --------------------------------------------------------------------------- */
SHMEM_DECLARE(int, team_my_pe, shmem_team_t team)
SHMEM_DECLARE(int, team_n_pes, shmem_team_t team)
SHMEM_DECLARE(int, team_get_config, shmem_team_t team, long config_mask,
              shmem_team_config_t *config)
SHMEM_DECLARE(int, team_translate_pe, shmem_team_t src_team, int src_pe, shmem_team_t dest_team)
SHMEM_DECLARE(int, team_split_strided, shmem_team_t parent_team, int start, int stride,
              int size, const shmem_team_config_t *config, long config_mask,
              shmem_team_t *new_team)
SHMEM_DECLARE(int, team_split_2d, shmem_team_t parent_team, int xrange,
              const shmem_team_config_t *xaxis_config, long xaxis_mask,
              shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config,
              long yaxis_mask, shmem_team_t *yaxis_team)
SHMEM_DECLARE(void, team_destroy, shmem_team_t team)
SHMEM_DECLARE(void *, team_ptr, shmem_team_t team, const void *dest, int pe)

/* --- contexts and locks -------------------------------------------------------------- */
SHMEM_DECLARE(int, ctx_create, long options, shmem_ctx_t *ctx)
SHMEM_DECLARE(int, team_create_ctx, shmem_team_t team, long options, shmem_ctx_t *ctx)
SHMEM_DECLARE(void, ctx_destroy, shmem_ctx_t ctx)
SHMEM_DECLARE(int, ctx_get_team, shmem_ctx_t ctx, shmem_team_t *team)
SHMEM_DECLARE(void, ctx_session_start, shmem_ctx_t ctx, long options,
              const shmem_ctx_session_config_t *config, long config_mask)
SHMEM_DECLARE(void, ctx_session_stop, shmem_ctx_t ctx)
SHMEM_DECLARE(void, set_lock, long *lock)
SHMEM_DECLARE(void, clear_lock, long *lock)
SHMEM_DECLARE(int, test_lock, long *lock)

/* --- remote memory access, atomics, signals ------------------------------------------ */
#define SHMEM_DECLARE_RMA(NAME, T, kind) \
    SHMEM_RMA_CALLS(SHMEM_DECLARE_CTX_P, SHMEM_DECLARE_CTX_F, , NAME##_, T)
SHMEM_RMA_TYPES(SHMEM_DECLARE_RMA)
#define SHMEM_DECLARE_SIZED(N, bytes) SHMEM_SIZED_CALLS(SHMEM_DECLARE_CTX_P, , N)
CHORUS_SIZES(SHMEM_DECLARE_SIZED)
SHMEM_MEM_CALLS(SHMEM_DECLARE_CTX_P, )
SHMEM_SIGNAL_CALLS(SHMEM_DECLARE_CTX_P, )

#define SHMEM_DECLARE_AMO_EXTENDED(NAME, T, kind) \
    SHMEM_AMO_EXTENDED_CALLS(SHMEM_DECLARE_CTX_P, SHMEM_DECLARE_CTX_F, , NAME##_, T)
CHORUS_AMO_EXTENDED_TYPES(SHMEM_DECLARE_AMO_EXTENDED)
#define SHMEM_DECLARE_AMO_STANDARD(NAME, T, kind) \
    SHMEM_AMO_STANDARD_CALLS(SHMEM_DECLARE_CTX_P, SHMEM_DECLARE_CTX_F, , NAME##_, T)
CHORUS_AMO_STANDARD_TYPES(SHMEM_DECLARE_AMO_STANDARD)
#define SHMEM_DECLARE_AMO_BITWISE(NAME, T, kind) \
    SHMEM_AMO_BITWISE_CALLS(SHMEM_DECLARE_CTX_P, SHMEM_DECLARE_CTX_F, , NAME##_, T)
CHORUS_AMO_BITWISE_TYPES(SHMEM_DECLARE_AMO_BITWISE)

SHMEM_DECLARE(uint64_t, signal_fetch, const uint64_t *sig_addr)
SHMEM_DECLARE(uint64_t, signal_wait_until, uint64_t *sig_addr, int cmp, uint64_t cmp_value)

/* --- ordering, waiting and testing --------------------------------------------------- */
SHMEM_DECLARE(void, fence, void)
SHMEM_DECLARE(void, quiet, void)
SHMEM_DECLARE(void, pe_quiet, const int *target_pes, size_t npes)
SHMEM_DECLARE(void, ctx_fence, shmem_ctx_t ctx)
SHMEM_DECLARE(void, ctx_quiet, shmem_ctx_t ctx)
SHMEM_DECLARE(void, ctx_pe_quiet, shmem_ctx_t ctx, const int *target_pes, size_t npes)
#define SHMEM_DECLARE_WAIT(NAME, T, kind) \
    SHMEM_WAIT_CALLS(SHMEM_DECLARE_P, SHMEM_DECLARE_F, , NAME##_, T)
CHORUS_WAIT_TYPES(SHMEM_DECLARE_WAIT)

/* --- collectives on teams ------------------------------------------------------------ */
/* 0, or the error handler's where it returns: a failure goes there first. */
SHMEM_DECLARE(void, barrier_all, void)
SHMEM_DECLARE(void, sync_all, void)
SHMEM_DECLARE(int, team_sync, shmem_team_t team)
#define SHMEM_DECLARE_MOVE(NAME, T, kind) SHMEM_MOVE_CALLS(SHMEM_DECLARE_C, , NAME##_, , T)
SHMEM_RMA_TYPES(SHMEM_DECLARE_MOVE)
SHMEM_MOVE_CALLS(SHMEM_DECLARE_C, , , mem, void)
#define SHMEM_DECLARE_SCAN(NAME, T, kind) SHMEM_SCAN_CALLS(SHMEM_DECLARE_C, , NAME##_, T)
SHMEM_ARITHMETIC_TYPES(SHMEM_DECLARE_SCAN)
#define SHMEM_DECLARE_REDUCE(OP, NAME, T, kind) \
    SHMEM_REDUCE_CALLS(SHMEM_DECLARE_C, , NAME, T, OP)
#define SHMEM_DECLARE_OP(OP, NAMES) NAMES(SHMEM_DECLARE_REDUCE, OP)
SHMEM_REDUCE_LIST(SHMEM_DECLARE_OP)

/* --- deprecated: active sets --------------------------------------------------------- */
/* PEs PE_start, PE_start + (1 << logPE_stride), ..., PE_size of them, and no other, call. */
#define SHMEM_ACTIVE_SET int PE_start, int logPE_stride, int PE_size
SHMEM_DECLARE(void, barrier, SHMEM_ACTIVE_SET, long *pSync)
SHMEM_DECLARE(void, sync, SHMEM_ACTIVE_SET, long *pSync)
#define SHMEM_DECLARE_ACTIVE(N)                                                      \
    SHMEM_DECLARE(void, broadcast##N, void *dest, const void *source, size_t nelems, \
                  int PE_root, SHMEM_ACTIVE_SET, long *pSync)                        \
    SHMEM_DECLARE(void, fcollect##N, void *dest, const void *source, size_t nelems,  \
                  SHMEM_ACTIVE_SET, long *pSync)                                     \
    SHMEM_DECLARE(void, collect##N, void *dest, const void *source, size_t nelems,   \
                  SHMEM_ACTIVE_SET, long *pSync)                                     \
    SHMEM_DECLARE(void, alltoalls##N, void *dest, const void *source, ptrdiff_t dst, \
                  ptrdiff_t sst, size_t nelems, SHMEM_ACTIVE_SET, long *pSync)       \
    SHMEM_DECLARE(void, alltoall##N, void *dest, const void *source, size_t nelems,  \
                  SHMEM_ACTIVE_SET, long *pSync)
SHMEM_DECLARE_ACTIVE(32)
SHMEM_DECLARE_ACTIVE(64)
#define SHMEM_DECLARE_TO_ALL(OP, NAME, T, kind)                                   \
    SHMEM_DECLARE(void, NAME##OP##_to_all, T *dest, const T *source, int nreduce, \
                  SHMEM_ACTIVE_SET, T *pWrk, long *pSync)
#define SHMEM_DECLARE_TO_ALL_OP(OP, NAMES) NAMES(SHMEM_DECLARE_TO_ALL, OP)
SHMEM_TO_ALL_LIST(SHMEM_DECLARE_TO_ALL_OP)

/* --- deprecated: names of what has others today -------------------------------------- */
#define SHMEM_DECLARE_OLD_AMO(NAME, T, kind) \
    SHMEM_OLD_AMO_CALLS(SHMEM_DECLARE_OLD_P, SHMEM_DECLARE_OLD_F, , NAME##_, T)
SHMEM_OLD_AMO_TYPES(SHMEM_DECLARE_OLD_AMO)
#define SHMEM_DECLARE_OLD_AMO_EXTENDED(NAME, T, kind) \
    SHMEM_OLD_AMO_EXTENDED_CALLS(SHMEM_DECLARE_OLD_P, SHMEM_DECLARE_OLD_F, , NAME##_, T)
SHMEM_OLD_AMO_EXTENDED_TYPES(SHMEM_DECLARE_OLD_AMO_EXTENDED)
/* Wait for another value than cmp_value. */
#define SHMEM_DECLARE_OLD_WAIT(NAME, T, kind) \
    SHMEM_DECLARE(void, NAME##_wait, T *ivar, T cmp_value)
SHMEM_OLD_INT_TYPES(SHMEM_DECLARE_OLD_WAIT)
SHMEM_DECLARE(void, wait, long *ivar, long cmp_value)
#ifndef __cplusplus /* there, the name without a type has this meaning too */
SHMEM_DECLARE(void, wait_until, long *ivar, int cmp, long cmp_value)
#endif

SHMEM_API void start_pes(int npes);
SHMEM_API int _my_pe(void);
SHMEM_API int _num_pes(void);
SHMEM_API void *shmalloc(size_t size);
SHMEM_API void *shmemalign(size_t alignment, size_t size);
SHMEM_API void *shrealloc(void *ptr, size_t size);
SHMEM_API void shfree(void *ptr);

/* Caches are coherent: nothing to do. */
SHMEM_DECLARE(void, set_cache_inv, void)
SHMEM_DECLARE(void, set_cache_line_inv, void *dest)
SHMEM_DECLARE(void, clear_cache_inv, void)
SHMEM_DECLARE(void, clear_cache_line_inv, void *dest)
SHMEM_DECLARE(void, udcflush, void)
SHMEM_DECLARE(void, udcflush_line, void *dest)

#ifdef __cplusplus
}
#endif

#endif /* SHMEM_API_H */
