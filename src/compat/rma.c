/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rma.c: remote memory access, atomics, signals and their order, waits and tests, the symmetric
 * heap, contexts as such, and locks.
 */
#include "compat/setup.h"

/* --- access and order --------------------------------------------------------------------- */

#define DEFINE_RMA(NAME, T, kind) SHMEM_RMA_CALLS(DEFINE_CTX_P, DEFINE_CTX_F, , NAME##_, T)
SHMEM_RMA_TYPES(DEFINE_RMA)
#define DEFINE_SIZED(N, bytes) SHMEM_SIZED_CALLS(DEFINE_CTX_P, , N)
CHORUS_SIZES(DEFINE_SIZED)
SHMEM_MEM_CALLS(DEFINE_CTX_P, )
SHMEM_SIGNAL_CALLS(DEFINE_CTX_P, )

#define DEFINE_AMO_EXTENDED(NAME, T, kind) \
    SHMEM_AMO_EXTENDED_CALLS(DEFINE_CTX_P, DEFINE_CTX_F, , NAME##_, T)
CHORUS_AMO_EXTENDED_TYPES(DEFINE_AMO_EXTENDED)
#define DEFINE_AMO_STANDARD(NAME, T, kind) \
    SHMEM_AMO_STANDARD_CALLS(DEFINE_CTX_P, DEFINE_CTX_F, , NAME##_, T)
CHORUS_AMO_STANDARD_TYPES(DEFINE_AMO_STANDARD)
#define DEFINE_AMO_BITWISE(NAME, T, kind) \
    SHMEM_AMO_BITWISE_CALLS(DEFINE_CTX_P, DEFINE_CTX_F, , NAME##_, T)
CHORUS_AMO_BITWISE_TYPES(DEFINE_AMO_BITWISE)

DEFINE_F(, uint64_t, signal_fetch, (OWN(sig_addr)), const uint64_t *sig_addr)

DEFINE_P(, fence, (), void)
DEFINE_P(, quiet, (), void)
DEFINE_P(, pe_quiet, (target_pes, npes), const int *target_pes, size_t npes)
DEFINE_P(, ctx_fence, (ch_ctx_of(ctx)), shmem_ctx_t ctx)
DEFINE_P(, ctx_quiet, (ch_ctx_of(ctx)), shmem_ctx_t ctx)
DEFINE_P(, ctx_pe_quiet, (ch_ctx_of(ctx), target_pes, npes), shmem_ctx_t ctx,
         const int *target_pes, size_t npes)

#define DEFINE_OLD(NAME, T, kind) SHMEM_OLD_AMO_CALLS(DEFINE_OLD_P, DEFINE_OLD_F, , NAME##_, T)
SHMEM_OLD_AMO_TYPES(DEFINE_OLD)
#define DEFINE_OLD_EXTENDED(NAME, T, kind) \
    SHMEM_OLD_AMO_EXTENDED_CALLS(DEFINE_OLD_P, DEFINE_OLD_F, , NAME##_, T)
SHMEM_OLD_AMO_EXTENDED_TYPES(DEFINE_OLD_EXTENDED)

/* --- waits and tests ---------------------------------------------------------------------- */

#define DEFINE_WAIT(NAME, T, kind) SHMEM_WAIT_CALLS(DEFINE_P, DEFINE_F, , NAME##_, T)
CHORUS_WAIT_TYPES(DEFINE_WAIT)

DEFINE_F(, uint64_t, signal_wait_until, (OWN(sig_addr), cmp, cmp_value), uint64_t *sig_addr,
         int cmp, uint64_t cmp_value)

#define DEFINE_OLD_WAIT(NAME, T, kind)                                                   \
    DEFINE_OLD_P(, NAME##_wait, NAME##_wait_until, (OWN(ivar), SHMEM_CMP_NE, cmp_value), \
                 T *ivar, T cmp_value)
SHMEM_OLD_INT_TYPES(DEFINE_OLD_WAIT)
DEFINE_OLD_P(, wait, long_wait_until, (OWN(ivar), SHMEM_CMP_NE, cmp_value), long *ivar,
             long cmp_value)
DEFINE_OLD_P(, wait_until, long_wait_until, (OWN(ivar), cmp, cmp_value), long *ivar, int cmp,
             long cmp_value)

/* The deprecated cache functions do nothing. */
DEFINE(void, set_cache_inv, void)
{
}

DEFINE(void, set_cache_line_inv, void *dest)
{
    (void)dest;
}

DEFINE(void, clear_cache_inv, void)
{
}

DEFINE(void, clear_cache_line_inv, void *dest)
{
    (void)dest;
}

DEFINE(void, udcflush, void)
{
}

DEFINE(void, udcflush_line, void *dest)
{
    (void)dest;
}

/* --- the symmetric heap ------------------------------------------------------------------- */

DEFINE_F(, void *, malloc, (bytes), size_t bytes)
DEFINE_F(, void *, calloc, (count, bytes), size_t count, size_t bytes)
DEFINE_F(, void *, align, (alignment, bytes), size_t alignment, size_t bytes)
DEFINE_F(, void *, malloc_with_hints, (bytes, hints), size_t bytes, long hints)
DEFINE_F(, void *, realloc, (ptr, bytes), void *ptr, size_t bytes)
DEFINE_P(, free, (ptr), void *ptr)

/* A PE uses its own variables at the program's addresses. */
DEFINE(void *, ptr, const void *dest, int pe)
{
    void *const own = ch_heap_address_of(dest);

    return own != dest && pe == chorus_my_pe() ? (void *)(uintptr_t)dest : chorus_ptr(own, pe);
}

DEFINE(void *, team_ptr, shmem_team_t team, const void *dest, int pe)
{
    void *const own = ch_heap_address_of(dest);
    const bool is_own = own != dest && pe == chorus_team_my_pe(ch_team_of(team));

    return is_own ? (void *)(uintptr_t)dest : chorus_team_ptr(ch_team_of(team), own, pe);
}

/* The deprecated names. */
void *shmalloc(size_t bytes)
{
    return pshmem_malloc(bytes);
}

void *shmemalign(size_t alignment, size_t bytes)
{
    return pshmem_align(alignment, bytes);
}

void *shrealloc(void *ptr, size_t bytes)
{
    return pshmem_realloc(ptr, bytes);
}

void shfree(void *ptr)
{
    pshmem_free(ptr);
}

/* --- contexts and locks ------------------------------------------------------------------- */

/* Set *ctx to a context of chorus.h; returns `code`. */
static int set_shmem_ctx(int code, chorus_ctx_t made, shmem_ctx_t *ctx)
{
    *ctx = (shmem_ctx_t)(void *)made;
    return code;
}

DEFINE(int, ctx_create, long options, shmem_ctx_t *ctx)
{
    chorus_ctx_t made = CHORUS_CTX_INVALID;
    const int code = chorus_ctx_create(options, &made);

    return set_shmem_ctx(code, made, ctx);
}

DEFINE(int, team_create_ctx, shmem_team_t team, long options, shmem_ctx_t *ctx)
{
    chorus_ctx_t made = CHORUS_CTX_INVALID;
    const int code = chorus_team_create_ctx(ch_team_of(team), options, &made);

    return set_shmem_ctx(code, made, ctx);
}

DEFINE_P(, ctx_destroy, (ch_ctx_of(ctx)), shmem_ctx_t ctx)

DEFINE(int, ctx_get_team, shmem_ctx_t ctx, shmem_team_t *team)
{
    chorus_team_t found = CHORUS_TEAM_INVALID;
    const int code = chorus_ctx_get_team(ch_ctx_of(ctx), &found);

    *team = ch_team_for(found);
    return code;
}

DEFINE(void, ctx_session_start, shmem_ctx_t ctx, long options,
       const shmem_ctx_session_config_t *config, long config_mask)
{
    const chorus_ctx_session_config_t room = {config != NULL ? config->total_ops : 0};

    chorus_ctx_session_start(ch_ctx_of(ctx), options, config != NULL ? &room : NULL,
                             config_mask);
}

DEFINE_P(, ctx_session_stop, (ch_ctx_of(ctx)), shmem_ctx_t ctx)

DEFINE_P(, set_lock, (OWN(lock)), long *lock)
DEFINE_P(, clear_lock, (OWN(lock)), long *lock)
DEFINE_F(, int, test_lock, (OWN(lock)), long *lock)
