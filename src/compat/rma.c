/* SPDX-License-Identifier: Apache-2.0 */
/* rma.c: remote memory access, atomics, signals, and their order. */
#include "compat/setup.h"

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
