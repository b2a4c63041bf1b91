/* SPDX-License-Identifier: Apache-2.0 */
/* sized.c: put and get of elements given by their size. */
#include "api/near.h"
#include "api/rma.h"
#include "chorus/chorus.h"

#define DEFINE_SIZED(P, ARG, CTX, BITS, bytes)                                              \
    void P##put##BITS(ARG void *dest, const void *source, size_t nelems, int pe)            \
    {                                                                                       \
        CH_PUT(ch_rma_put, CTX, dest, source, nelems, (bytes), pe);                         \
    }                                                                                       \
    void P##get##BITS(ARG void *dest, const void *source, size_t nelems, int pe)            \
    {                                                                                       \
        CH_GET(ch_rma_get, CTX, dest, source, nelems, (bytes), pe);                         \
    }                                                                                       \
    void P##put##BITS##_nbi(ARG void *dest, const void *source, size_t nelems, int pe)      \
    {                                                                                       \
        CH_PUT(ch_rma_put_nbi, CTX, dest, source, nelems, (bytes), pe);                     \
    }                                                                                       \
    void P##get##BITS##_nbi(ARG void *dest, const void *source, size_t nelems, int pe)      \
    {                                                                                       \
        CH_GET(ch_rma_get_nbi, CTX, dest, source, nelems, (bytes), pe);                     \
    }                                                                                       \
    void P##iput##BITS(ARG void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,    \
                       size_t nelems, int pe)                                               \
    {                                                                                       \
        ch_rma_iput(__func__, CTX, dest, source, (struct ch_strides){dst, sst, 1, nelems},  \
                    (bytes), pe);                                                           \
    }                                                                                       \
    void P##iget##BITS(ARG void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,    \
                       size_t nelems, int pe)                                               \
    {                                                                                       \
        ch_rma_iget(__func__, CTX, dest, source, (struct ch_strides){dst, sst, 1, nelems},  \
                    (bytes), pe);                                                           \
    }                                                                                       \
    void P##ibput##BITS(ARG void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,   \
                        size_t bsize, size_t nblocks, int pe)                               \
    {                                                                                       \
        ch_rma_iput(__func__, CTX, dest, source,                                            \
                    (struct ch_strides){dst, sst, bsize, nblocks}, (bytes), pe);            \
    }                                                                                       \
    void P##ibget##BITS(ARG void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,   \
                        size_t bsize, size_t nblocks, int pe)                               \
    {                                                                                       \
        ch_rma_iget(__func__, CTX, dest, source,                                            \
                    (struct ch_strides){dst, sst, bsize, nblocks}, (bytes), pe);            \
    }                                                                                       \
    void P##put##BITS##_signal(ARG void *dest, const void *source, size_t nelems,           \
                               uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)     \
    {                                                                                       \
        const struct ch_signal_update update = {sig_addr, signal, sig_op, false};           \
        ch_rma_put_signal(__func__, CTX, dest, source, nelems, (bytes), update, pe);        \
    }                                                                                       \
    void P##put##BITS##_signal_nbi(ARG void *dest, const void *source, size_t nelems,       \
                                   uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    {                                                                                       \
        const struct ch_signal_update update = {sig_addr, signal, sig_op, true};            \
        ch_rma_put_signal(__func__, CTX, dest, source, nelems, (bytes), update, pe);        \
    }
#define X(BITS, bytes)                                       \
    DEFINE_SIZED(chorus_, , CHORUS_CTX_DEFAULT, BITS, bytes) \
    DEFINE_SIZED(chorus_ctx_, CH_CTX_ARG, ctx, BITS, bytes)
CHORUS_SIZES(X)
#undef X
