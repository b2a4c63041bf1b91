/* SPDX-License-Identifier: Apache-2.0 */
/* sized.c: put and get of elements that have a size but no type. */
#include "api/rma.h"
#include "chorus/chorus.h"

#define DEFINE_SIZED(BITS, bytes)                                                           \
    void chorus_put##BITS(void *dest, const void *source, size_t nelems, int pe)            \
    {                                                                                       \
        ch_rma_put(__func__, dest, source, nelems, (bytes), pe);                            \
    }                                                                                       \
    void chorus_get##BITS(void *dest, const void *source, size_t nelems, int pe)            \
    {                                                                                       \
        ch_rma_get(__func__, dest, source, nelems, (bytes), pe);                            \
    }                                                                                       \
    void chorus_put##BITS##_nbi(void *dest, const void *source, size_t nelems, int pe)      \
    {                                                                                       \
        ch_rma_put(__func__, dest, source, nelems, (bytes), pe);                            \
    }                                                                                       \
    void chorus_get##BITS##_nbi(void *dest, const void *source, size_t nelems, int pe)      \
    {                                                                                       \
        ch_rma_get(__func__, dest, source, nelems, (bytes), pe);                            \
    }                                                                                       \
    void chorus_iput##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,    \
                           size_t nelems, int pe)                                           \
    {                                                                                       \
        ch_rma_iput(__func__, dest, source, dst, sst, nelems, (bytes), pe);                 \
    }                                                                                       \
    void chorus_iget##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,    \
                           size_t nelems, int pe)                                           \
    {                                                                                       \
        ch_rma_iget(__func__, dest, source, dst, sst, nelems, (bytes), pe);                 \
    }                                                                                       \
    void chorus_put##BITS##_signal(void *dest, const void *source, size_t nelems,           \
                                   uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    {                                                                                       \
        const struct ch_signal_update update = {sig_addr, signal, sig_op};                  \
        ch_rma_put_signal(__func__, dest, source, nelems, (bytes), update, pe);             \
    }                                                                                       \
    void chorus_put##BITS##_signal_nbi(void *dest, const void *source, size_t nelems,       \
                                       uint64_t *sig_addr, uint64_t signal, int sig_op,     \
                                       int pe)                                              \
    {                                                                                       \
        const struct ch_signal_update update = {sig_addr, signal, sig_op};                  \
        ch_rma_put_signal(__func__, dest, source, nelems, (bytes), update, pe);             \
    }
CHORUS_SIZES(DEFINE_SIZED)
