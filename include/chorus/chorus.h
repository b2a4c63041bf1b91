/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorus.h: the standard API, OpenSHMEM's and NVSHMEM's with the prefix chorus_.
 *
 * Words: a *PE* is a member of the job; a *team* is an ordered group of PEs; a *symmetric*
 * object is one that chorus_malloc and its kin gave every PE at once; a *block* is what one PE
 * contributes to, or gets from, each other PE.
 */
#ifndef CHORUS_H
#define CHORUS_H

#include "chorus/lists.h"
#include "chorus/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CHORUS_API __attribute__((visibility("default")))

#define CHORUS_MAJOR_VERSION 0
#define CHORUS_MINOR_VERSION 1
#define CHORUS_VENDOR_STRING "Chorus"
#define CHORUS_MAX_NAME_LEN 64

/* A team. Valid on the PE that made it; handles of destroyed teams are recognised. */
typedef int32_t chorus_team_t;
#define CHORUS_TEAM_INVALID ((chorus_team_t)-1)
#define CHORUS_TEAM_WORLD ((chorus_team_t)0)  /* all PEs of the job */
#define CHORUS_TEAM_SHARED ((chorus_team_t)1) /* PEs whose memory this PE can load and store */
#define CHORUS_TEAM_NODE ((chorus_team_t)2)   /* PEs of this host */

typedef struct chorus_team_config_t {
    int num_contexts; /* contexts to be created from the team; kept, not yet used */
} chorus_team_config_t;
#define CHORUS_TEAM_NUM_CONTEXTS 1L

enum { CHORUS_THREAD_SINGLE, CHORUS_THREAD_FUNNELED, CHORUS_THREAD_SERIALIZED, CHORUS_THREAD_MULTIPLE };

enum {
#define X(name, operator) CHORUS_CMP_##name,
    CHORUS_CMP_LIST(X)
#undef X
};

enum { CHORUS_SIGNAL_SET, CHORUS_SIGNAL_ADD };

/* --- setup --------------------------------------------------------------------------- */
CHORUS_API int chorus_init(void);
CHORUS_API int chorus_init_thread(int requested, int *provided);
CHORUS_API void chorus_query_thread(int *provided);
CHORUS_API void chorus_finalize(void);
CHORUS_API void chorus_global_exit(int status);
CHORUS_API int chorus_my_pe(void);
CHORUS_API int chorus_n_pes(void);
CHORUS_API int chorus_pe_accessible(int pe);
CHORUS_API int chorus_addr_accessible(const void *addr, int pe);
CHORUS_API void chorus_info_get_version(int *major, int *minor);
CHORUS_API void chorus_info_get_name(char *name);

/* --- memory -------------------------------------------------------------------------- */
CHORUS_API void *chorus_malloc(size_t bytes);
CHORUS_API void *chorus_calloc(size_t count, size_t bytes);
CHORUS_API void *chorus_align(size_t alignment, size_t bytes);
CHORUS_API void *chorus_realloc(void *ptr, size_t bytes);
CHORUS_API void chorus_free(void *ptr);
CHORUS_API void *chorus_ptr(const void *addr, int pe);

/* --- teams --------------------------------------------------------------------------- */
CHORUS_API int chorus_team_my_pe(chorus_team_t team);
CHORUS_API int chorus_team_n_pes(chorus_team_t team);
CHORUS_API int chorus_team_get_config(chorus_team_t team, long config_mask, chorus_team_config_t *config);
CHORUS_API int chorus_team_translate_pe(chorus_team_t src_team, int src_pe, chorus_team_t dest_team);
CHORUS_API int chorus_team_split_strided(chorus_team_t parent, int start, int stride, int count,
                                         const chorus_team_config_t *config, long config_mask,
                                         chorus_team_t *new_team);
CHORUS_API int chorus_team_split_2d(chorus_team_t parent, int xrange,
                                    const chorus_team_config_t *xaxis_config, long xaxis_mask,
                                    chorus_team_t *xaxis_team,
                                    const chorus_team_config_t *yaxis_config, long yaxis_mask,
                                    chorus_team_t *yaxis_team);
CHORUS_API void chorus_team_destroy(chorus_team_t team);

/* --- remote memory access ------------------------------------------------------------ */
#define CHORUS_DECLARE_RMA(NAME, T, kind)                                                         \
    CHORUS_API void chorus_##NAME##_p(T *dest, T value, int pe);                                  \
    CHORUS_API T chorus_##NAME##_g(const T *source, int pe);                                      \
    CHORUS_API void chorus_##NAME##_put(T *dest, const T *source, size_t nelems, int pe);         \
    CHORUS_API void chorus_##NAME##_get(T *dest, const T *source, size_t nelems, int pe);         \
    CHORUS_API void chorus_##NAME##_put_nbi(T *dest, const T *source, size_t nelems, int pe);     \
    CHORUS_API void chorus_##NAME##_get_nbi(T *dest, const T *source, size_t nelems, int pe);     \
    CHORUS_API void chorus_##NAME##_iput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,  \
                                         size_t nelems, int pe);                                  \
    CHORUS_API void chorus_##NAME##_iget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,  \
                                         size_t nelems, int pe);                                  \
    CHORUS_API void chorus_##NAME##_put_signal(T *dest, const T *source, size_t nelems,           \
                                               uint64_t *sig_addr, uint64_t signal, int sig_op,   \
                                               int pe);                                           \
    CHORUS_API void chorus_##NAME##_put_signal_nbi(T *dest, const T *source, size_t nelems,       \
                                                   uint64_t *sig_addr, uint64_t signal,           \
                                                   int sig_op, int pe);
CHORUS_RMA_TYPES(CHORUS_DECLARE_RMA)
#undef CHORUS_DECLARE_RMA

#define CHORUS_DECLARE_SIZED(BITS, bytes)                                                         \
    CHORUS_API void chorus_put##BITS(void *dest, const void *source, size_t nelems, int pe);      \
    CHORUS_API void chorus_get##BITS(void *dest, const void *source, size_t nelems, int pe);      \
    CHORUS_API void chorus_put##BITS##_nbi(void *dest, const void *source, size_t nelems, int pe); \
    CHORUS_API void chorus_get##BITS##_nbi(void *dest, const void *source, size_t nelems, int pe); \
    CHORUS_API void chorus_iput##BITS(void *dest, const void *source, ptrdiff_t dst,              \
                                      ptrdiff_t sst, size_t nelems, int pe);                      \
    CHORUS_API void chorus_iget##BITS(void *dest, const void *source, ptrdiff_t dst,              \
                                      ptrdiff_t sst, size_t nelems, int pe);                      \
    CHORUS_API void chorus_put##BITS##_signal(void *dest, const void *source, size_t nelems,      \
                                              uint64_t *sig_addr, uint64_t signal, int sig_op,    \
                                              int pe);                                            \
    CHORUS_API void chorus_put##BITS##_signal_nbi(void *dest, const void *source, size_t nelems,  \
                                                  uint64_t *sig_addr, uint64_t signal,            \
                                                  int sig_op, int pe);
CHORUS_SIZES(CHORUS_DECLARE_SIZED)
#undef CHORUS_DECLARE_SIZED

CHORUS_API void chorus_putmem(void *dest, const void *source, size_t bytes, int pe);
CHORUS_API void chorus_getmem(void *dest, const void *source, size_t bytes, int pe);
CHORUS_API void chorus_putmem_nbi(void *dest, const void *source, size_t bytes, int pe);
CHORUS_API void chorus_getmem_nbi(void *dest, const void *source, size_t bytes, int pe);
CHORUS_API void chorus_putmem_signal(void *dest, const void *source, size_t bytes, uint64_t *sig_addr,
                                     uint64_t signal, int sig_op, int pe);
CHORUS_API void chorus_putmem_signal_nbi(void *dest, const void *source, size_t bytes,
                                         uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
CHORUS_API uint64_t chorus_signal_fetch(const uint64_t *sig_addr);
CHORUS_API uint64_t chorus_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value);

CHORUS_API void chorus_fence(void);
CHORUS_API void chorus_quiet(void);

/* --- atomics ------------------------------------------------------------------------- */
#define CHORUS_DECLARE_AMO_EXTENDED(NAME, T, kind)                                                \
    CHORUS_API T chorus_##NAME##_atomic_fetch(const T *source, int pe);                           \
    CHORUS_API void chorus_##NAME##_atomic_set(T *dest, T value, int pe);                         \
    CHORUS_API T chorus_##NAME##_atomic_swap(T *dest, T value, int pe);                           \
    CHORUS_API void chorus_##NAME##_atomic_fetch_nbi(T *fetch, const T *source, int pe);          \
    CHORUS_API void chorus_##NAME##_atomic_swap_nbi(T *fetch, T *dest, T value, int pe);
CHORUS_AMO_EXTENDED_TYPES(CHORUS_DECLARE_AMO_EXTENDED)
#undef CHORUS_DECLARE_AMO_EXTENDED

#define CHORUS_DECLARE_AMO_STANDARD(NAME, T, kind)                                                \
    CHORUS_API T chorus_##NAME##_atomic_compare_swap(T *dest, T cond, T value, int pe);           \
    CHORUS_API T chorus_##NAME##_atomic_fetch_inc(T *dest, int pe);                               \
    CHORUS_API void chorus_##NAME##_atomic_inc(T *dest, int pe);                                  \
    CHORUS_API T chorus_##NAME##_atomic_fetch_add(T *dest, T value, int pe);                      \
    CHORUS_API void chorus_##NAME##_atomic_add(T *dest, T value, int pe);                         \
    CHORUS_API void chorus_##NAME##_atomic_compare_swap_nbi(T *fetch, T *dest, T cond, T value,   \
                                                            int pe);                              \
    CHORUS_API void chorus_##NAME##_atomic_fetch_inc_nbi(T *fetch, T *dest, int pe);              \
    CHORUS_API void chorus_##NAME##_atomic_fetch_add_nbi(T *fetch, T *dest, T value, int pe);
CHORUS_AMO_STANDARD_TYPES(CHORUS_DECLARE_AMO_STANDARD)
#undef CHORUS_DECLARE_AMO_STANDARD

#define CHORUS_DECLARE_AMO_BITWISE_OP(NAME, T, OP)                                                \
    CHORUS_API T chorus_##NAME##_atomic_fetch_##OP(T *dest, T value, int pe);                     \
    CHORUS_API void chorus_##NAME##_atomic_##OP(T *dest, T value, int pe);                        \
    CHORUS_API void chorus_##NAME##_atomic_fetch_##OP##_nbi(T *fetch, T *dest, T value, int pe);
#define CHORUS_DECLARE_AMO_BITWISE(NAME, T, kind) \
    CHORUS_DECLARE_AMO_BITWISE_OP(NAME, T, and)   \
    CHORUS_DECLARE_AMO_BITWISE_OP(NAME, T, or)    \
    CHORUS_DECLARE_AMO_BITWISE_OP(NAME, T, xor)
CHORUS_AMO_BITWISE_TYPES(CHORUS_DECLARE_AMO_BITWISE)
#undef CHORUS_DECLARE_AMO_BITWISE
#undef CHORUS_DECLARE_AMO_BITWISE_OP

/* --- point-to-point synchronization -------------------------------------------------- */
#define CHORUS_DECLARE_WAIT(NAME, T, kind)                                                        \
    CHORUS_API void chorus_##NAME##_wait_until(T *ivar, int cmp, T cmp_value);                    \
    CHORUS_API void chorus_##NAME##_wait_until_all(T *ivars, size_t nelems, const int *status,    \
                                                   int cmp, T cmp_value);                         \
    CHORUS_API size_t chorus_##NAME##_wait_until_any(T *ivars, size_t nelems, const int *status,  \
                                                     int cmp, T cmp_value);                       \
    CHORUS_API size_t chorus_##NAME##_wait_until_some(T *ivars, size_t nelems, size_t *indices,   \
                                                      const int *status, int cmp, T cmp_value);   \
    CHORUS_API void chorus_##NAME##_wait_until_all_vector(T *ivars, size_t nelems,                \
                                                          const int *status, int cmp,             \
                                                          const T *cmp_values);                   \
    CHORUS_API size_t chorus_##NAME##_wait_until_any_vector(T *ivars, size_t nelems,              \
                                                            const int *status, int cmp,           \
                                                            const T *cmp_values);                 \
    CHORUS_API size_t chorus_##NAME##_wait_until_some_vector(T *ivars, size_t nelems,             \
                                                             size_t *indices, const int *status,  \
                                                             int cmp, const T *cmp_values);       \
    CHORUS_API int chorus_##NAME##_test(T *ivar, int cmp, T cmp_value);                           \
    CHORUS_API int chorus_##NAME##_test_all(T *ivars, size_t nelems, const int *status, int cmp,  \
                                            T cmp_value);                                         \
    CHORUS_API size_t chorus_##NAME##_test_any(T *ivars, size_t nelems, const int *status,        \
                                               int cmp, T cmp_value);                             \
    CHORUS_API size_t chorus_##NAME##_test_some(T *ivars, size_t nelems, size_t *indices,         \
                                                const int *status, int cmp, T cmp_value);         \
    CHORUS_API int chorus_##NAME##_test_all_vector(T *ivars, size_t nelems, const int *status,    \
                                                   int cmp, const T *cmp_values);                 \
    CHORUS_API size_t chorus_##NAME##_test_any_vector(T *ivars, size_t nelems, const int *status, \
                                                      int cmp, const T *cmp_values);              \
    CHORUS_API size_t chorus_##NAME##_test_some_vector(T *ivars, size_t nelems, size_t *indices,  \
                                                       const int *status, int cmp,                \
                                                       const T *cmp_values);
CHORUS_WAIT_TYPES(CHORUS_DECLARE_WAIT)
#undef CHORUS_DECLARE_WAIT

/* --- collectives --------------------------------------------------------------------- */
CHORUS_API int chorus_barrier(chorus_team_t team);
CHORUS_API void chorus_barrier_all(void);
CHORUS_API int chorus_team_sync(chorus_team_t team);
CHORUS_API void chorus_sync_all(void);

CHORUS_API int chorus_broadcastmem(chorus_team_t team, void *dest, const void *source, size_t bytes,
                                   int root);
CHORUS_API int chorus_fcollectmem(chorus_team_t team, void *dest, const void *source, size_t bytes);
CHORUS_API int chorus_alltoallmem(chorus_team_t team, void *dest, const void *source, size_t bytes);

#define CHORUS_DECLARE_MOVE(NAME, T, kind)                                                        \
    CHORUS_API int chorus_##NAME##_broadcast(chorus_team_t team, T *dest, const T *source,        \
                                             size_t nelems, int root);                            \
    CHORUS_API int chorus_##NAME##_fcollect(chorus_team_t team, T *dest, const T *source,         \
                                            size_t nelems);                                       \
    CHORUS_API int chorus_##NAME##_alltoall(chorus_team_t team, T *dest, const T *source,         \
                                            size_t nelems);
CHORUS_RMA_TYPES(CHORUS_DECLARE_MOVE)
#undef CHORUS_DECLARE_MOVE

/* One operator over its types. */
#define CHORUS_DECLARE_REDUCE(NAME, T, OP)                                                        \
    CHORUS_API int chorus_##NAME##_##OP##_reduce(chorus_team_t team, T *dest, const T *source,    \
                                                 size_t nreduce);                                 \
    CHORUS_API int chorus_##NAME##_##OP##_reducescatter(chorus_team_t team, T *dest,              \
                                                        const T *source, size_t nreduce);
#define CHORUS_DECLARE_and(NAME, T, kind) CHORUS_DECLARE_REDUCE(NAME, T, and)
#define CHORUS_DECLARE_or(NAME, T, kind) CHORUS_DECLARE_REDUCE(NAME, T, or)
#define CHORUS_DECLARE_xor(NAME, T, kind) CHORUS_DECLARE_REDUCE(NAME, T, xor)
#define CHORUS_DECLARE_min(NAME, T, kind) CHORUS_DECLARE_REDUCE(NAME, T, min)
#define CHORUS_DECLARE_max(NAME, T, kind) CHORUS_DECLARE_REDUCE(NAME, T, max)
#define CHORUS_DECLARE_sum(NAME, T, kind) CHORUS_DECLARE_REDUCE(NAME, T, sum)
#define CHORUS_DECLARE_prod(NAME, T, kind) CHORUS_DECLARE_REDUCE(NAME, T, prod)
#define CHORUS_DECLARE_OP(OP, TYPES) TYPES(CHORUS_DECLARE_##OP)
CHORUS_REDUCE_LIST(CHORUS_DECLARE_OP)

#ifdef __cplusplus
}
#endif

#endif /* CHORUS_H */
