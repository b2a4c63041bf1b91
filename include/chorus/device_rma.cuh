/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_rma.cuh: put, get, signals and their order inside kernels; part of chorus_device.cuh.
 */
#ifndef CHORUS_DEVICE_RMA_CUH
#define CHORUS_DEVICE_RMA_CUH

#include "coll/primitives/batch.h"

#include "chorus/device_far.cuh"

/* --- what the forms are made of --------------------------------------------------------- */
/* Of words, one for each lane at the most: little code, which is what a short call takes. */
template <typename WORD>
CH_FN void ch_move_words(void *dest, const void *source, size_t bytes, struct ch_lanes g)
{
    if (g.lane < bytes / sizeof(WORD)) ((WORD *)dest)[g.lane] = ((const WORD *)source)[g.lane];
}

CH_FN void ch_move(void *dest, const void *source, size_t bytes, struct ch_lanes g)
{
    const size_t all = (uintptr_t)dest | (uintptr_t)source | bytes;

    ch_lanes_sync(g); /* what any lane wrote to source is moved */
    if (all % 16 == 0 && bytes <= 16 * (size_t)g.width)
        ch_move_words<ulonglong2>(dest, source, bytes, g);
    else if (all % 8 == 0 && bytes <= 8 * (size_t)g.width)
        ch_move_words<uint64_t>(dest, source, bytes, g);
    else if (all % 4 == 0 && bytes <= 4 * (size_t)g.width)
        ch_move_words<uint32_t>(dest, source, bytes, g);
    else
        ch_copy_ahead(dest, source, bytes, CH_COPY_AHEAD_MAX, g);
    ch_lanes_sync(g); /* source may be written, the dest of a get read */
}

CH_FN void ch_put_as(void *dest, const void *source, size_t bytes, int pe, int waits,
                     struct ch_lanes g)
{
    const struct ch_far_signal none = {0, 0, 0};

    if (ch_is_far(pe))
        ch_put_far(dest, source, bytes, none, pe, waits, g);
    else
        ch_move(ch_at_pe((char *)dest, pe), source, bytes, g);
}

CH_FN void ch_get_as(void *dest, const void *source, size_t bytes, int pe, int waits,
                     struct ch_lanes g)
{
    if (ch_is_far(pe))
        ch_get_far(dest, source, bytes, pe, waits, g);
    else
        ch_move(dest, ch_at_pe((const char *)source, pe), bytes, g);
}

CH_FN void ch_put(void *dest, const void *source, size_t bytes, int pe, struct ch_lanes g)
{
    ch_put_as(dest, source, bytes, pe, 1, g);
}

CH_FN void ch_put_nbi(void *dest, const void *source, size_t bytes, int pe, struct ch_lanes g)
{
    ch_put_as(dest, source, bytes, pe, 0, g);
}

CH_FN void ch_get(void *dest, const void *source, size_t bytes, int pe, struct ch_lanes g)
{
    ch_get_as(dest, source, bytes, pe, 1, g);
}

CH_FN void ch_get_nbi(void *dest, const void *source, size_t bytes, int pe, struct ch_lanes g)
{
    ch_get_as(dest, source, bytes, pe, 0, g);
}

/* One thread: what it wrote before, and has seen of others, is there for the peers that hear
 * what it stores next; and it sees what was there for what it has heard. Not a fence for all,
 * as a quiet is, which waits longer. */
CH_FN void ch_publish(void)
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/* One thread. */
CH_FN void ch_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    uint64_t *const near = ch_at_near(sig_addr, pe);

    if (ch_far_bit(pe))
        ch_signal_away(sig_addr, signal, sig_op == CHORUS_SIGNAL_ADD, pe);
    else
        ch_signal_at(near, signal, sig_op == CHORUS_SIGNAL_ADD);
}

CH_FN void ch_put_signal_as(void *dest, const void *source, size_t bytes, uint64_t *sig_addr,
                            uint64_t signal, int sig_op, int pe, int waits, struct ch_lanes g)
{
    if (ch_is_far(pe)) {
        const struct ch_far_signal with = {ch_there_of(sig_addr, pe).at, signal,
                                           sig_op == CHORUS_SIGNAL_ADD};

        ch_put_far(dest, source, bytes, with, pe, waits, g);
        return;
    }
    ch_move(ch_at_pe((char *)dest, pe), source, bytes, g);
    if (g.lane == 0) {
        ch_publish(); /* all lanes' stores, which the sync put before this */
        ch_signal_at(ch_at_pe(sig_addr, pe), signal, sig_op == CHORUS_SIGNAL_ADD);
    }
}

CH_FN void ch_put_signal(void *dest, const void *source, size_t bytes, uint64_t *sig_addr,
                         uint64_t signal, int sig_op, int pe, struct ch_lanes g)
{
    ch_put_signal_as(dest, source, bytes, sig_addr, signal, sig_op, pe, 1, g);
}

CH_FN void ch_put_signal_nbi(void *dest, const void *source, size_t bytes, uint64_t *sig_addr,
                             uint64_t signal, int sig_op, int pe, struct ch_lanes g)
{
    ch_put_signal_as(dest, source, bytes, sig_addr, signal, sig_op, pe, 0, g);
}

/* One thread, an element. */
template <typename T> CH_FN void ch_store_at(T *dest, T value, int pe)
{
    T *const near = ch_at_near(dest, pe);

    if (ch_far_bit(pe))
        ch_store_away(dest, ch_to_bits(value), sizeof(T), pe);
    else
        ch_element_store(near, value);
}

template <typename T> CH_FN T ch_load_at(const T *source, int pe)
{
    const T *const near = ch_at_near(source, pe);

    if (!ch_far_bit(pe)) return ch_element_load(near);
    return ch_from_bits<T>(
        (typename ch_bits_of<sizeof(T)>::type)ch_load_away(source, sizeof(T), pe));
}

/* --- remote memory access --------------------------------------------------------------- */
/**
 * Copy between this PE's memory and a peer's, as the functions of these names in chorus.h,
 * without _warp and _block.
 *
 * @param dest    [out] nelems elements (bytes of the mem forms); symmetric in a put, any memory
 *                that the kernel may write in a get
 * @param source  [in] as many, disjoint of dest; symmetric in a get, in a put any memory that
 *                the kernel may read: a local variable, shared, constant or pinned memory too.
 *                Of local variables in a _warp or _block form, all threads have the same values
 * @param nelems  elements, or bytes of the mem forms; 0 moves nothing
 * @param pe      number in the job
 *
 * Collective: no, any PE.
 * Threads:    one thread, diverged or not; _warp: all lanes of a warp; _block: all threads of a
 *             block. Any number of calls at once.
 * Ordering:   source of a put may be reused, dest of a get is complete on return, to the
 *             threads that called; of the nbi forms after chorus_quiet of one of them. A put
 *             is complete after that, too. Implies no barrier.
 * Errors:     a call to a peer that is not near, which waits until CHORUS_TIMEOUT, is reported.
 * Source:     NVSHMEM, nvshmem_T_put and nvshmemx_T_put_block and related calls. To near peers
 *             the nbi forms do not differ from the others.
 * Since:      0.1
 */
#define CHORUS_DEFINE_COPY(KIND, FUNCTION, WHICH, T, ELEMENT, LANES)    \
    KIND void FUNCTION(T *dest, const T *source, size_t nelems, int pe) \
    {                                                                   \
        ch_##WHICH(dest, source, nelems *(ELEMENT), pe, LANES());       \
    }
#define CHORUS_TYPED_COPIES(KIND, PREFIX, NAME, T, TAIL, LANES)                             \
    CHORUS_DEFINE_COPY(KIND, PREFIX##_##NAME##_put##TAIL, put, T, sizeof(T), LANES)         \
    CHORUS_DEFINE_COPY(KIND, PREFIX##_##NAME##_get##TAIL, get, T, sizeof(T), LANES)         \
    CHORUS_DEFINE_COPY(KIND, PREFIX##_##NAME##_put_nbi##TAIL, put_nbi, T, sizeof(T), LANES) \
    CHORUS_DEFINE_COPY(KIND, PREFIX##_##NAME##_get_nbi##TAIL, get_nbi, T, sizeof(T), LANES)
#define CHORUS_UNTYPED_COPIES(KIND, PREFIX, WIDTH, ELEMENT, TAIL, LANES)                     \
    CHORUS_DEFINE_COPY(KIND, PREFIX##_put##WIDTH##TAIL, put, void, ELEMENT, LANES)           \
    CHORUS_DEFINE_COPY(KIND, PREFIX##_get##WIDTH##TAIL, get, void, ELEMENT, LANES)           \
    CHORUS_DEFINE_COPY(KIND, PREFIX##_put##WIDTH##_nbi##TAIL, put_nbi, void, ELEMENT, LANES) \
    CHORUS_DEFINE_COPY(KIND, PREFIX##_get##WIDTH##_nbi##TAIL, get_nbi, void, ELEMENT, LANES)

#define CHORUS_DEFINE_TYPED(NAME, T, kind)                                        \
    CHORUS_TYPED_COPIES(CHORUS_DEVICE, chorusx, NAME, T, _warp, ch_lanes_of_warp) \
    CHORUS_TYPED_COPIES(CHORUS_DEVICE, chorusx, NAME, T, _block, ch_lanes_of_block)
CHORUS_DEVICE_TYPES(CHORUS_DEFINE_TYPED)
#undef CHORUS_DEFINE_TYPED

#define CHORUS_DEFINE_SIZED(BITS, BYTES)                                                \
    CHORUS_UNTYPED_COPIES(CHORUS_DEVICE, chorusx, BITS, BYTES, _warp, ch_lanes_of_warp) \
    CHORUS_UNTYPED_COPIES(CHORUS_DEVICE, chorusx, BITS, BYTES, _block, ch_lanes_of_block)
CHORUS_SIZES(CHORUS_DEFINE_SIZED)
CHORUS_DEFINE_SIZED(mem, 1)
#undef CHORUS_DEFINE_SIZED

#ifdef __CUDA_ARCH__
#define CHORUS_DEFINE_TYPED(NAME, T, kind) \
    CHORUS_TYPED_COPIES(CHORUS_BOTH, chorus, NAME, T, , ch_lanes_of_thread)
CHORUS_DEVICE_TYPES(CHORUS_DEFINE_TYPED)
#undef CHORUS_DEFINE_TYPED

#define CHORUS_DEFINE_SIZED(BITS, BYTES) \
    CHORUS_UNTYPED_COPIES(CHORUS_BOTH, chorus, BITS, BYTES, , ch_lanes_of_thread)
CHORUS_SIZES(CHORUS_DEFINE_SIZED)
CHORUS_DEFINE_SIZED(mem, 1)
#undef CHORUS_DEFINE_SIZED

/**
 * Store one element in a peer's memory, or load it from there, as chorus_T_p and chorus_T_g.
 *
 * @param dest    [out] symmetric, one element
 * @param value   to be stored
 * @param source  [in] symmetric, one element
 * @param pe      number in the job
 *
 * Collective: no, any PE.
 * Threads:    one thread, diverged or not; any number at once.
 * Ordering:   the element is moved as a whole, and past the GPU's caches: one may poll with g,
 *             and wait for what p stores. Implies no fence, no barrier.
 * Errors:     none are found.
 * Source:     NVSHMEM, nvshmem_T_p and nvshmem_T_g.
 * Since:      0.1
 */
#define CHORUS_DEFINE_ELEMENT(NAME, T, kind)                     \
    CHORUS_BOTH void chorus_##NAME##_p(T *dest, T value, int pe) \
    {                                                            \
        ch_store_at(dest, value, pe);                            \
    }                                                            \
    CHORUS_BOTH T chorus_##NAME##_g(const T *source, int pe)     \
    {                                                            \
        return ch_load_at(source, pe);                           \
    }
CHORUS_DEVICE_TYPES(CHORUS_DEFINE_ELEMENT)
#undef CHORUS_DEFINE_ELEMENT
#endif /* __CUDA_ARCH__ */

/* --- elements with strides ------------------------------------------------------------- */
/* Element i * sst of source to element i * dst of dest, of this number of bytes each. */
CH_FN void ch_move_strided(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst,
                           size_t nelems, size_t bytes, struct ch_lanes g)
{
    ch_lanes_sync(g); /* what any lane wrote to source is moved */
    for (size_t i = g.lane; i < nelems; i += g.width)
        ch_copy(dest + (ptrdiff_t)i * dst * (ptrdiff_t)bytes,
                source + (ptrdiff_t)i * sst * (ptrdiff_t)bytes, bytes, ch_lanes_of_thread());
    ch_lanes_sync(g); /* source may be written, the dest of a get read */
}

/* The same to or from a peer that is not near, whose own address `there` is. */
CH_FN void ch_put_far_strided(struct ch_there to, const char *source, ptrdiff_t dst,
                              ptrdiff_t sst, size_t nelems, size_t bytes, struct ch_lanes g)
{
    const struct ch_far_signal none = {0, 0, 0};
    const struct ch_lanes alone = ch_lanes_of_thread();

    ch_lanes_sync(g);
    for (size_t i = g.lane; i < nelems; i += g.width) {
        const struct ch_there at = {to.pe,
                                    to.at + (uint64_t)((ptrdiff_t)i * dst * (ptrdiff_t)bytes)};

        ch_report_far(ch_far_put(ch_far_here(), at,
                                 source + (ptrdiff_t)i * sst * (ptrdiff_t)bytes, bytes, none, 1,
                                 alone),
                      (int)to.pe, alone);
    }
    ch_lanes_sync(g);
}

CH_FN void ch_get_far_strided(char *dest, struct ch_there from, ptrdiff_t dst, ptrdiff_t sst,
                              size_t nelems, size_t bytes, struct ch_lanes g)
{
    const struct ch_lanes alone = ch_lanes_of_thread();

    ch_lanes_sync(g);
    for (size_t i = g.lane; i < nelems; i += g.width) {
        const struct ch_there at = {
            from.pe, from.at + (uint64_t)((ptrdiff_t)i * sst * (ptrdiff_t)bytes)};

        ch_report_far(ch_far_get(ch_far_here(), dest + (ptrdiff_t)i * dst * (ptrdiff_t)bytes,
                                 at, bytes, 1, alone),
                      (int)from.pe, alone);
    }
    ch_lanes_sync(g);
}

CH_FN void ch_iput(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                   size_t bytes, int pe, struct ch_lanes g)
{
    if (ch_is_far(pe))
        ch_put_far_strided(ch_there_of(dest, pe), (const char *)source, dst, sst, nelems, bytes,
                           g);
    else
        ch_move_strided(ch_at_pe((char *)dest, pe), (const char *)source, dst, sst, nelems,
                        bytes, g);
}

CH_FN void ch_iget(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                   size_t bytes, int pe, struct ch_lanes g)
{
    if (ch_is_far(pe))
        ch_get_far_strided((char *)dest, ch_there_of(source, pe), dst, sst, nelems, bytes, g);
    else
        ch_move_strided((char *)dest, ch_at_pe((const char *)source, pe), dst, sst, nelems,
                        bytes, g);
}

/**
 * Copy elements with strides, as the functions of these names in chorus.h, without _warp and
 * _block: element i * sst of source to element i * dst of dest.
 *
 * @param dest    [out] symmetric in a put
 * @param source  [in] symmetric in a get; disjoint of dest
 * @param dst     stride in dest in elements, 1 or more
 * @param sst     stride in source in elements, 1 or more
 * @param nelems  elements copied; 0 moves nothing
 * @param pe      number in the job
 *
 * Collective: no, any PE.
 * Threads:    as of chorusx_T_put_block.
 * Ordering:   as of chorusx_T_put_block.
 * Errors:     none are found.
 * Source:     NVSHMEM, nvshmemx_T_iput_block and related calls.
 * Since:      0.1
 */
#define CHORUS_DEFINE_STRIDED(KIND, FUNCTION, WHICH, T, ELEMENT, LANES)                       \
    KIND void FUNCTION(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
                       int pe)                                                                \
    {                                                                                         \
        ch_##WHICH(dest, source, dst, sst, nelems, ELEMENT, pe, LANES());                     \
    }
#define CHORUS_TYPED_STRIDED(KIND, PREFIX, NAME, T, TAIL, LANES)                         \
    CHORUS_DEFINE_STRIDED(KIND, PREFIX##_##NAME##_iput##TAIL, iput, T, sizeof(T), LANES) \
    CHORUS_DEFINE_STRIDED(KIND, PREFIX##_##NAME##_iget##TAIL, iget, T, sizeof(T), LANES)
#define CHORUS_UNTYPED_STRIDED(KIND, PREFIX, BITS, BYTES, TAIL, LANES)               \
    CHORUS_DEFINE_STRIDED(KIND, PREFIX##_iput##BITS##TAIL, iput, void, BYTES, LANES) \
    CHORUS_DEFINE_STRIDED(KIND, PREFIX##_iget##BITS##TAIL, iget, void, BYTES, LANES)

#define CHORUS_DEFINE_TYPED(NAME, T, kind)                                         \
    CHORUS_TYPED_STRIDED(CHORUS_DEVICE, chorusx, NAME, T, _warp, ch_lanes_of_warp) \
    CHORUS_TYPED_STRIDED(CHORUS_DEVICE, chorusx, NAME, T, _block, ch_lanes_of_block)
CHORUS_DEVICE_TYPES(CHORUS_DEFINE_TYPED)
#undef CHORUS_DEFINE_TYPED

#define CHORUS_DEFINE_SIZED(BITS, BYTES)                                                 \
    CHORUS_UNTYPED_STRIDED(CHORUS_DEVICE, chorusx, BITS, BYTES, _warp, ch_lanes_of_warp) \
    CHORUS_UNTYPED_STRIDED(CHORUS_DEVICE, chorusx, BITS, BYTES, _block, ch_lanes_of_block)
CHORUS_SIZES(CHORUS_DEFINE_SIZED)
#undef CHORUS_DEFINE_SIZED

#ifdef __CUDA_ARCH__
#define CHORUS_DEFINE_TYPED(NAME, T, kind) \
    CHORUS_TYPED_STRIDED(CHORUS_BOTH, chorus, NAME, T, , ch_lanes_of_thread)
CHORUS_DEVICE_TYPES(CHORUS_DEFINE_TYPED)
#undef CHORUS_DEFINE_TYPED

#define CHORUS_DEFINE_SIZED(BITS, BYTES) \
    CHORUS_UNTYPED_STRIDED(CHORUS_BOTH, chorus, BITS, BYTES, , ch_lanes_of_thread)
CHORUS_SIZES(CHORUS_DEFINE_SIZED)
#undef CHORUS_DEFINE_SIZED
#endif /* __CUDA_ARCH__ */
#undef CHORUS_DEFINE_STRIDED
#undef CHORUS_TYPED_STRIDED
#undef CHORUS_UNTYPED_STRIDED

/* --- puts with a signal ----------------------------------------------------------------- */
/**
 * Put, then set or add to a signal at the same peer, which a wait there sees after the data.
 *
 * @param dest      [out] symmetric, nelems elements (bytes of the mem forms)
 * @param source    [in] as many, disjoint of dest; any memory, as of the puts
 * @param nelems    elements, or bytes of the mem forms; 0 moves nothing, but signals
 * @param sig_addr  symmetric, 8-byte aligned
 * @param signal    set there, or added
 * @param sig_op    CHORUS_SIGNAL_SET or CHORUS_SIGNAL_ADD
 * @param pe        number in the job
 *
 * Collective: no, any PE.
 * Threads:    as of the puts; a _warp or _block form signals once.
 * Ordering:   as of the puts; and what the calling threads put before, to this peer, is there
 *             before the signal. Implies no barrier.
 * Errors:     none are found.
 * Source:     NVSHMEM, nvshmemx_T_put_signal and related calls.
 * Since:      0.1
 */
#define CHORUS_DEFINE_PUT_SIGNAL(KIND, FUNCTION, WHICH, T, ELEMENT, LANES)                  \
    KIND void FUNCTION(T *dest, const T *source, size_t nelems, uint64_t *sig_addr,         \
                       uint64_t signal, int sig_op, int pe)                                 \
    {                                                                                       \
        ch_##WHICH(dest, source, nelems *(ELEMENT), sig_addr, signal, sig_op, pe, LANES()); \
    }
#define CHORUS_TYPED_SIGNALS(KIND, PREFIX, NAME, T, TAIL, LANES)                              \
    CHORUS_DEFINE_PUT_SIGNAL(KIND, PREFIX##_##NAME##_put_signal##TAIL, put_signal, T,         \
                             sizeof(T), LANES)                                                \
    CHORUS_DEFINE_PUT_SIGNAL(KIND, PREFIX##_##NAME##_put_signal_nbi##TAIL, put_signal_nbi, T, \
                             sizeof(T), LANES)
#define CHORUS_UNTYPED_SIGNALS(KIND, PREFIX, WIDTH, ELEMENT, TAIL, LANES)                  \
    CHORUS_DEFINE_PUT_SIGNAL(KIND, PREFIX##_put##WIDTH##_signal##TAIL, put_signal, void,   \
                             ELEMENT, LANES)                                               \
    CHORUS_DEFINE_PUT_SIGNAL(KIND, PREFIX##_put##WIDTH##_signal_nbi##TAIL, put_signal_nbi, \
                             void, ELEMENT, LANES)

#define CHORUS_DEFINE_TYPED(NAME, T, kind)                                         \
    CHORUS_TYPED_SIGNALS(CHORUS_DEVICE, chorusx, NAME, T, _warp, ch_lanes_of_warp) \
    CHORUS_TYPED_SIGNALS(CHORUS_DEVICE, chorusx, NAME, T, _block, ch_lanes_of_block)
CHORUS_DEVICE_TYPES(CHORUS_DEFINE_TYPED)
#undef CHORUS_DEFINE_TYPED

#define CHORUS_DEFINE_SIZED(BITS, BYTES)                                                 \
    CHORUS_UNTYPED_SIGNALS(CHORUS_DEVICE, chorusx, BITS, BYTES, _warp, ch_lanes_of_warp) \
    CHORUS_UNTYPED_SIGNALS(CHORUS_DEVICE, chorusx, BITS, BYTES, _block, ch_lanes_of_block)
CHORUS_SIZES(CHORUS_DEFINE_SIZED)
CHORUS_DEFINE_SIZED(mem, 1)
#undef CHORUS_DEFINE_SIZED

#ifdef __CUDA_ARCH__
#define CHORUS_DEFINE_TYPED(NAME, T, kind) \
    CHORUS_TYPED_SIGNALS(CHORUS_BOTH, chorus, NAME, T, , ch_lanes_of_thread)
CHORUS_DEVICE_TYPES(CHORUS_DEFINE_TYPED)
#undef CHORUS_DEFINE_TYPED

#define CHORUS_DEFINE_SIZED(BITS, BYTES) \
    CHORUS_UNTYPED_SIGNALS(CHORUS_BOTH, chorus, BITS, BYTES, , ch_lanes_of_thread)
CHORUS_SIZES(CHORUS_DEFINE_SIZED)
CHORUS_DEFINE_SIZED(mem, 1)
#undef CHORUS_DEFINE_SIZED
/* --- order ------------------------------------------------------------------------------ */
/**
 * Set or add to a signal at a peer, without a put.
 *
 * @param sig_addr  symmetric, 8-byte aligned
 * @param signal    set there, or added
 * @param sig_op    CHORUS_SIGNAL_SET or CHORUS_SIGNAL_ADD
 * @param pe        number in the job
 *
 * Collective: no, any PE.
 * Threads:    one thread, diverged or not.
 * Ordering:   an atomic; not ordered with puts from before, but by chorus_fence.
 * Errors:     none are found.
 * Source:     NVSHMEM, nvshmemx_signal_op; as that of hosts.
 * Since:      0.1
 */
CHORUS_BOTH void chorusx_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    ch_signal_op(sig_addr, signal, sig_op, pe);
}

/**
 * Order, and complete, what this thread stored, put and changed by atomics anywhere, as
 * chorus_fence and chorus_quiet.
 *
 * Collective: no, any PE.
 * Threads:    one thread, for itself and for what it has seen of others: after a barrier of the
 *             block, for the block.
 * Ordering:   what it covers is seen before anything this thread stores later, by PEs that see
 *             that; after a quiet, by all PEs before anything it does later. Imply no barrier.
 * Errors:     none are found.
 * Source:     NVSHMEM, nvshmem_fence and nvshmem_quiet.
 * Since:      0.1
 */
CHORUS_BOTH void chorus_fence(void)
{
    if (ch_state.fence_is_quiet != 0) ch_quiet_far();
    ch_publish();
}

CHORUS_BOTH void chorus_quiet(void)
{
    if (ch_state.has_far != 0) ch_quiet_far();
    __threadfence_system();
}
#endif /* __CUDA_ARCH__ */

#endif /* CHORUS_DEVICE_RMA_CUH */
