/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorus/ctx.h: contexts, domains of ordering and completion, and the one-sided calls on them.
 * chorus.h includes it.
 *
 * A fence or quiet on a context covers the operations on that context alone; chorus_fence,
 * chorus_quiet and the barriers cover the default one. A PE of a call on a context is a number
 * in the context's team.
 */
#ifndef CHORUS_CTX_H
#define CHORUS_CTX_H

#include "chorus/lists.h"
#include "chorus/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef CHORUS_API
#define CHORUS_API __attribute__((visibility("default")))
#endif

/* Not a type of data, so that generic names distinguish contexts from data; never
 * dereferenced. / */
typedef struct chorus_ctx {
    int number;
} * chorus_ctx_t;
#define CHORUS_CTX_DEFAULT ((chorus_ctx_t)0)
#define CHORUS_CTX_INVALID ((chorus_ctx_t)-1)

/* What a program promises of a context: one thread at a time, its maker alone, no stores to be
 * ordered besides. Each may be given; contexts here need none of them. */
#define CHORUS_CTX_SERIALIZED 1L
#define CHORUS_CTX_PRIVATE 2L
#define CHORUS_CTX_NOSTORE 4L

/* What a session may be told; hints, which change nothing yet. */
#define CHORUS_CTX_SESSION_BATCH 1L
#define CHORUS_CTX_SESSION_TOTAL_OPS 1L
typedef struct chorus_ctx_session_config_t {
    size_t total_ops; /* operations that are expected before the session stops */
} chorus_ctx_session_config_t;

/* --- contexts ------------------------------------------------------------------------- */
/**
 * Make a context for operations to all PEs of the job, or to those of a team.
 *
 * @param team     a team that this PE is in
 * @param options  CHORUS_CTX_ constants, ored, or 0
 * @param ctx      [out] the context; CHORUS_CTX_INVALID on failure
 *
 * Collective: no, any PE; a PE can have 1024 at once.
 * Threads:    any, at any time.
 * Ordering:   implies no barrier.
 * Errors:     ERR_ARG for a bad team or option, ERR_NOMEM when there are as many already.
 * Source:     OpenSHMEM 1.5, shmem_ctx_create and shmem_team_create_ctx.
 * Since:      0.1
 */
CHORUS_CODE int chorus_ctx_create(long options, chorus_ctx_t *ctx);
CHORUS_CODE int chorus_team_create_ctx(int32_t team, long options, chorus_ctx_t *ctx);

/**
 * Complete a context's operations and give it back.
 *
 * @param ctx  made by this PE; CHORUS_CTX_INVALID does nothing
 *
 * Collective: no, any PE.
 * Threads:    any, with no other in a call on it.
 * Ordering:   as of chorus_ctx_quiet.
 * Errors:     ERR_ARG for the default context, and for one that is not there.
 * Source:     OpenSHMEM 1.5, shmem_ctx_destroy.
 * Since:      0.1
 */
CHORUS_API void chorus_ctx_destroy(chorus_ctx_t ctx);

/**
 * Get the team that a context was made from.
 *
 * @param ctx   of this PE
 * @param team  [out] the team: CHORUS_TEAM_WORLD for the default context and for those of
 *              chorus_ctx_create, CHORUS_TEAM_INVALID on failure
 *
 * Collective: no, any PE.
 * Threads:    any, at any time.
 * Ordering:   implies no barrier.
 * Errors:     ERR_ARG for a context that is not there, CHORUS_CTX_INVALID included.
 * Source:     OpenSHMEM 1.5, shmem_ctx_get_team.
 * Since:      0.1
 */
CHORUS_CODE int chorus_ctx_get_team(chorus_ctx_t ctx, int32_t *team);

/**
 * Say that a series of operations on a context begins, or that it is over.
 *
 * @param ctx          of this PE
 * @param options      CHORUS_CTX_SESSION_BATCH or 0
 * @param config       [in] the fields of the mask, or null when that is 0
 * @param config_mask  CHORUS_CTX_SESSION_TOTAL_OPS or 0
 *
 * Collective: no, any PE.
 * Threads:    any, at any time.
 * Ordering:   none: operations go out in a session as they do outside of one.
 * Errors:     ERR_ARG for a context that is not there.
 * Source:     OpenSHMEM 1.6, shmem_ctx_session_start and _stop.
 * Since:      0.1
 */
CHORUS_API void chorus_ctx_session_start(chorus_ctx_t ctx, long options,
                                         const chorus_ctx_session_config_t *config,
                                         long config_mask);
CHORUS_API void chorus_ctx_session_stop(chorus_ctx_t ctx);

/* --- ordering ------------------------------------------------------------------------- */
/**
 * As chorus_fence, chorus_quiet and chorus_pe_quiet, of the operations on a context.
 *
 * @param ctx         of this PE; CHORUS_CTX_INVALID: the call does nothing
 * @param target_pes  [in] numbers in the context's team
 * @param npes        how many there are of them
 *
 * Collective: no, any PE.
 * Threads:    any, unless the context's options say otherwise.
 * Ordering:   covers what is on this context; other contexts' operations are not.
 * Errors:     ERR_ARG for ctx or a PE.
 * Source:     OpenSHMEM 1.5, shmem_ctx_fence and shmem_ctx_quiet; 1.6, shmem_ctx_pe_quiet.
 * Since:      0.1
 */
CHORUS_API void chorus_ctx_fence(chorus_ctx_t ctx);
CHORUS_API void chorus_ctx_quiet(chorus_ctx_t ctx);
CHORUS_API void chorus_ctx_pe_quiet(chorus_ctx_t ctx, const int *target_pes, size_t npes);

/* --- remote memory access on a context ------------------------------------------------- */
/**
 * As the calls of these names without ctx, on a context.
 *
 * @param ctx                      of this PE
 * @param dest, value, source      as of the call without ctx
 * @param dst, sst, bsize          as of the call without ctx
 * @param nblocks, nelems, bytes   as of the call without ctx
 * @param sig_addr, signal, sig_op as of the call without ctx
 * @param pe                       number in the context's team
 *
 * Collective: no, any PE.
 * Threads:    any, unless the context's options say otherwise.
 * Ordering:   as of the call without ctx; ordered and completed by chorus_ctx_fence and
 *             chorus_ctx_quiet.
 * Errors:     those of the call without ctx, and ERR_ARG for ctx.
 * Source:     OpenSHMEM 1.5, shmem_ctx_put and related calls; 1.6, shmem_ctx_ibput and
 *             shmem_ctx_signal_set.
 * Since:      0.1
 */
#define CHORUS_DECLARE_CTX_RMA(NAME, T, kind)                                                  \
    CHORUS_API void chorus_ctx_##NAME##_p(chorus_ctx_t ctx, T *dest, T value, int pe);         \
    CHORUS_API T chorus_ctx_##NAME##_g(chorus_ctx_t ctx, const T *source, int pe);             \
    CHORUS_API void chorus_ctx_##NAME##_put(chorus_ctx_t ctx, T *dest, const T *source,        \
                                            size_t nelems, int pe);                            \
    CHORUS_API void chorus_ctx_##NAME##_get(chorus_ctx_t ctx, T *dest, const T *source,        \
                                            size_t nelems, int pe);                            \
    CHORUS_API void chorus_ctx_##NAME##_put_nbi(chorus_ctx_t ctx, T *dest, const T *source,    \
                                                size_t nelems, int pe);                        \
    CHORUS_API void chorus_ctx_##NAME##_get_nbi(chorus_ctx_t ctx, T *dest, const T *source,    \
                                                size_t nelems, int pe);                        \
    CHORUS_API void chorus_ctx_##NAME##_iput(chorus_ctx_t ctx, T *dest, const T *source,       \
                                             ptrdiff_t dst, ptrdiff_t sst, size_t nelems,      \
                                             int pe);                                          \
    CHORUS_API void chorus_ctx_##NAME##_iget(chorus_ctx_t ctx, T *dest, const T *source,       \
                                             ptrdiff_t dst, ptrdiff_t sst, size_t nelems,      \
                                             int pe);                                          \
    CHORUS_API void chorus_ctx_##NAME##_ibput(chorus_ctx_t ctx, T *dest, const T *source,      \
                                              ptrdiff_t dst, ptrdiff_t sst, size_t bsize,      \
                                              size_t nblocks, int pe);                         \
    CHORUS_API void chorus_ctx_##NAME##_ibget(chorus_ctx_t ctx, T *dest, const T *source,      \
                                              ptrdiff_t dst, ptrdiff_t sst, size_t bsize,      \
                                              size_t nblocks, int pe);                         \
    CHORUS_API void chorus_ctx_##NAME##_put_signal(chorus_ctx_t ctx, T *dest, const T *source, \
                                                   size_t nelems, uint64_t *sig_addr,          \
                                                   uint64_t signal, int sig_op, int pe);       \
    CHORUS_API void chorus_ctx_##NAME##_put_signal_nbi(                                        \
        chorus_ctx_t ctx, T *dest, const T *source, size_t nelems, uint64_t *sig_addr,         \
        uint64_t signal, int sig_op, int pe);
CHORUS_RMA_TYPES(CHORUS_DECLARE_CTX_RMA)
#undef CHORUS_DECLARE_CTX_RMA

#define CHORUS_DECLARE_CTX_SIZED(BITS, bytes)                                                \
    CHORUS_API void chorus_ctx_put##BITS(chorus_ctx_t ctx, void *dest, const void *source,   \
                                         size_t nelems, int pe);                             \
    CHORUS_API void chorus_ctx_get##BITS(chorus_ctx_t ctx, void *dest, const void *source,   \
                                         size_t nelems, int pe);                             \
    CHORUS_API void chorus_ctx_put##BITS##_nbi(chorus_ctx_t ctx, void *dest,                 \
                                               const void *source, size_t nelems, int pe);   \
    CHORUS_API void chorus_ctx_get##BITS##_nbi(chorus_ctx_t ctx, void *dest,                 \
                                               const void *source, size_t nelems, int pe);   \
    CHORUS_API void chorus_ctx_iput##BITS(chorus_ctx_t ctx, void *dest, const void *source,  \
                                          ptrdiff_t dst, ptrdiff_t sst, size_t nelems,       \
                                          int pe);                                           \
    CHORUS_API void chorus_ctx_iget##BITS(chorus_ctx_t ctx, void *dest, const void *source,  \
                                          ptrdiff_t dst, ptrdiff_t sst, size_t nelems,       \
                                          int pe);                                           \
    CHORUS_API void chorus_ctx_ibput##BITS(chorus_ctx_t ctx, void *dest, const void *source, \
                                           ptrdiff_t dst, ptrdiff_t sst, size_t bsize,       \
                                           size_t nblocks, int pe);                          \
    CHORUS_API void chorus_ctx_ibget##BITS(chorus_ctx_t ctx, void *dest, const void *source, \
                                           ptrdiff_t dst, ptrdiff_t sst, size_t bsize,       \
                                           size_t nblocks, int pe);                          \
    CHORUS_API void chorus_ctx_put##BITS##_signal(                                           \
        chorus_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr, \
        uint64_t signal, int sig_op, int pe);                                                \
    CHORUS_API void chorus_ctx_put##BITS##_signal_nbi(                                       \
        chorus_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr, \
        uint64_t signal, int sig_op, int pe);
CHORUS_SIZES(CHORUS_DECLARE_CTX_SIZED)
#undef CHORUS_DECLARE_CTX_SIZED

CHORUS_API void chorus_ctx_putmem(chorus_ctx_t ctx, void *dest, const void *source,
                                  size_t bytes, int pe);
CHORUS_API void chorus_ctx_getmem(chorus_ctx_t ctx, void *dest, const void *source,
                                  size_t bytes, int pe);
CHORUS_API void chorus_ctx_putmem_nbi(chorus_ctx_t ctx, void *dest, const void *source,
                                      size_t bytes, int pe);
CHORUS_API void chorus_ctx_getmem_nbi(chorus_ctx_t ctx, void *dest, const void *source,
                                      size_t bytes, int pe);
CHORUS_API void chorus_ctx_putmem_signal(chorus_ctx_t ctx, void *dest, const void *source,
                                         size_t bytes, uint64_t *sig_addr, uint64_t signal,
                                         int sig_op, int pe);
CHORUS_API void chorus_ctx_putmem_signal_nbi(chorus_ctx_t ctx, void *dest, const void *source,
                                             size_t bytes, uint64_t *sig_addr, uint64_t signal,
                                             int sig_op, int pe);
CHORUS_API void chorus_ctx_signal_set(chorus_ctx_t ctx, uint64_t *sig_addr, uint64_t signal,
                                      int pe);
CHORUS_API void chorus_ctx_signal_add(chorus_ctx_t ctx, uint64_t *sig_addr, uint64_t signal,
                                      int pe);

/* --- atomics on a context ------------------------------------------------------------- */
/**
 * As the atomics of these names without ctx, on a context.
 *
 * @param ctx                as of the puts on a context
 * @param fetch, source      as of the call without ctx
 * @param dest, cond, value  as of the call without ctx
 * @param pe                 number in the context's team
 *
 * Collective: no, any PE.
 * Threads:    any, unless the context's options say otherwise.
 * Ordering:   as of the call without ctx; ordered with puts and completed by chorus_ctx_fence
 *             and chorus_ctx_quiet.
 * Errors:     those of the call without ctx, and ERR_ARG for ctx.
 * Source:     OpenSHMEM 1.5, shmem_ctx_atomic_fetch and related calls.
 * Since:      0.1
 */
#define CHORUS_DECLARE_CTX_EXTENDED(NAME, T, kind)                                            \
    CHORUS_API T chorus_ctx_##NAME##_atomic_fetch(chorus_ctx_t ctx, const T *source, int pe); \
    CHORUS_API void chorus_ctx_##NAME##_atomic_set(chorus_ctx_t ctx, T *dest, T value,        \
                                                   int pe);                                   \
    CHORUS_API T chorus_ctx_##NAME##_atomic_swap(chorus_ctx_t ctx, T *dest, T value, int pe); \
    CHORUS_API void chorus_ctx_##NAME##_atomic_fetch_nbi(chorus_ctx_t ctx, T *fetch,          \
                                                         const T *source, int pe);            \
    CHORUS_API void chorus_ctx_##NAME##_atomic_swap_nbi(chorus_ctx_t ctx, T *fetch, T *dest,  \
                                                        T value, int pe);
CHORUS_AMO_EXTENDED_TYPES(CHORUS_DECLARE_CTX_EXTENDED)
#undef CHORUS_DECLARE_CTX_EXTENDED

#define CHORUS_DECLARE_CTX_STANDARD(NAME, T, kind)                                          \
    CHORUS_API T chorus_ctx_##NAME##_atomic_compare_swap(chorus_ctx_t ctx, T *dest, T cond, \
                                                         T value, int pe);                  \
    CHORUS_API T chorus_ctx_##NAME##_atomic_fetch_inc(chorus_ctx_t ctx, T *dest, int pe);   \
    CHORUS_API void chorus_ctx_##NAME##_atomic_inc(chorus_ctx_t ctx, T *dest, int pe);      \
    CHORUS_API T chorus_ctx_##NAME##_atomic_fetch_add(chorus_ctx_t ctx, T *dest, T value,   \
                                                      int pe);                              \
    CHORUS_API void chorus_ctx_##NAME##_atomic_add(chorus_ctx_t ctx, T *dest, T value,      \
                                                   int pe);                                 \
    CHORUS_API void chorus_ctx_##NAME##_atomic_compare_swap_nbi(                            \
        chorus_ctx_t ctx, T *fetch, T *dest, T cond, T value, int pe);                      \
    CHORUS_API void chorus_ctx_##NAME##_atomic_fetch_inc_nbi(chorus_ctx_t ctx, T *fetch,    \
                                                             T *dest, int pe);              \
    CHORUS_API void chorus_ctx_##NAME##_atomic_fetch_add_nbi(chorus_ctx_t ctx, T *fetch,    \
                                                             T *dest, T value, int pe);
CHORUS_AMO_STANDARD_TYPES(CHORUS_DECLARE_CTX_STANDARD)
#undef CHORUS_DECLARE_CTX_STANDARD

#define CHORUS_DECLARE_CTX_BITWISE(NAME, T, kind)                                              \
    CHORUS_API T chorus_ctx_##NAME##_atomic_fetch_and(chorus_ctx_t ctx, T *dest, T value,      \
                                                      int pe);                                 \
    CHORUS_API void chorus_ctx_##NAME##_atomic_and(chorus_ctx_t ctx, T *dest, T value,         \
                                                   int pe);                                    \
    CHORUS_API void chorus_ctx_##NAME##_atomic_fetch_and_nbi(chorus_ctx_t ctx, T *fetch,       \
                                                             T *dest, T value, int pe);        \
    CHORUS_API T chorus_ctx_##NAME##_atomic_fetch_or(chorus_ctx_t ctx, T *dest, T value,       \
                                                     int pe);                                  \
    CHORUS_API void chorus_ctx_##NAME##_atomic_or(chorus_ctx_t ctx, T *dest, T value, int pe); \
    CHORUS_API void chorus_ctx_##NAME##_atomic_fetch_or_nbi(chorus_ctx_t ctx, T *fetch,        \
                                                            T *dest, T value, int pe);         \
    CHORUS_API T chorus_ctx_##NAME##_atomic_fetch_xor(chorus_ctx_t ctx, T *dest, T value,      \
                                                      int pe);                                 \
    CHORUS_API void chorus_ctx_##NAME##_atomic_xor(chorus_ctx_t ctx, T *dest, T value,         \
                                                   int pe);                                    \
    CHORUS_API void chorus_ctx_##NAME##_atomic_fetch_xor_nbi(chorus_ctx_t ctx, T *fetch,       \
                                                             T *dest, T value, int pe);
CHORUS_AMO_BITWISE_TYPES(CHORUS_DECLARE_CTX_BITWISE)
#undef CHORUS_DECLARE_CTX_BITWISE

#ifdef __cplusplus
}
#endif

#endif /* CHORUS_CTX_H */
