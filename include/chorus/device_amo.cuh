/* SPDX-License-Identifier: Apache-2.0 */
/* device_amo.cuh: atomics inside kernels; part of chorus_device.cuh. */
#ifndef CHORUS_DEVICE_AMO_CUH
#define CHORUS_DEVICE_AMO_CUH

/* --- what the calls are made of --------------------------------------------------------- */
/* At a peer whose bit is set. asks: the old value is the result, else 0 is. */
template <typename T>
CH_FN T ch_change_slow(T *dest, int pe, enum ch_amo op, T value, T compare, int asks)
{
    const struct ch_away_change change = {pe, (uint32_t)op, sizeof(T), asks != 0};
    uint64_t packed;

    memcpy(&packed, &change, sizeof(packed));
    return ch_from_bits<T>((typename ch_bits_of<sizeof(T)>::type)ch_change_away(
        dest, ch_to_bits(value), ch_to_bits(compare), packed));
}

template <typename T> CH_FN T ch_amo_swap(T *dest, int pe, T value)
{
    T *const near = ch_at_near(dest, pe);

    if (ch_far_bit(pe)) return ch_change_slow(dest, pe, CH_AMO_SWAP, value, (T)0, 1);
    return ch_from_bits<T>(ch_bits_swap(ch_bits_at(near), ch_to_bits(value)));
}

/* asks: a constant. */
#define CH_DEFINE_AMO(OP, NAME)                                                          \
    template <typename T> CH_FN T ch_amo_##OP(T *dest, int pe, T value, int asks)        \
    {                                                                                    \
        T *const near = ch_at_near(dest, pe);                                            \
                                                                                         \
        if (ch_far_bit(pe)) return ch_change_slow(dest, pe, NAME, value, (T)0, asks);    \
        return ch_from_bits<T>(ch_bits_##OP(ch_bits_at(near), ch_to_bits(value), asks)); \
    }
CH_DEFINE_AMO(add, CH_AMO_ADD)
CH_DEFINE_AMO(and, CH_AMO_AND)
CH_DEFINE_AMO(or, CH_AMO_OR)
CH_DEFINE_AMO(xor, CH_AMO_XOR)
#undef CH_DEFINE_AMO

template <typename T> CH_FN T ch_amo_compare_swap(T *dest, int pe, T cond, T value)
{
    T *const near = ch_at_near(dest, pe);

    if (ch_far_bit(pe)) return ch_change_slow(dest, pe, CH_AMO_COMPARE_SWAP, value, cond, 1);
    return ch_from_bits<T>(
        ch_bits_compare_swap(ch_bits_at(near), ch_to_bits(cond), ch_to_bits(value)));
}

template <typename T> CH_FN T ch_amo_fetch(const T *source, int pe)
{
    const T *const near = ch_at_near(source, pe);

    if (ch_far_bit(pe))
        return ch_change_slow((T *)(uintptr_t)source, pe, CH_AMO_FETCH, (T)0, (T)0, 1);
    return ch_element_load(near);
}

template <typename T> CH_FN void ch_amo_set(T *dest, int pe, T value)
{
    T *const near = ch_at_near(dest, pe);

    if (ch_far_bit(pe))
        (void)ch_change_slow(dest, pe, CH_AMO_SET, value, (T)0, 0);
    else
        ch_element_store(near, value);
}

/* --- atomics ---------------------------------------------------------------------------- */
#ifdef __CUDA_ARCH__
/**
 * Change an element at a peer in one step, as the functions of these names in chorus.h; those
 * that fetch give what was there.
 *
 * @param fetch   [out] what was there, of the nbi forms, on return
 * @param dest, source  symmetric, one element
 * @param cond    of compare_swap: dest becomes value if it was this
 * @param value   operand, or what dest becomes
 * @param pe      number in the job
 *
 * Collective: no, any PE.
 * Threads:    one thread, diverged or not; any number at once.
 * Ordering:   atomic for all atomics, p, g, signals and waits of all PEs, those of hosts too.
 *             Not ordered with other accesses, but by chorus_fence. Implies no barrier.
 * Errors:     none are found.
 * Source:     NVSHMEM, nvshmem_T_atomic_fetch_add and related calls; the nbi forms are complete
 *             on return.
 * Since:      0.1
 */
#define CHORUS_DEFINE_AMO_EXTENDED(NAME, T, kind)                                        \
    CHORUS_BOTH T chorus_##NAME##_atomic_fetch(const T *source, int pe)                  \
    {                                                                                    \
        return ch_amo_fetch(source, pe);                                                 \
    }                                                                                    \
    CHORUS_BOTH void chorus_##NAME##_atomic_set(T *dest, T value, int pe)                \
    {                                                                                    \
        ch_amo_set(dest, pe, value);                                                     \
    }                                                                                    \
    CHORUS_BOTH T chorus_##NAME##_atomic_swap(T *dest, T value, int pe)                  \
    {                                                                                    \
        return ch_amo_swap(dest, pe, value);                                             \
    }                                                                                    \
    CHORUS_BOTH void chorus_##NAME##_atomic_fetch_nbi(T *fetch, const T *source, int pe) \
    {                                                                                    \
        *fetch = ch_amo_fetch(source, pe);                                               \
    }                                                                                    \
    CHORUS_BOTH void chorus_##NAME##_atomic_swap_nbi(T *fetch, T *dest, T value, int pe) \
    {                                                                                    \
        *fetch = ch_amo_swap(dest, pe, value);                                           \
    }
CHORUS_AMO_EXTENDED_TYPES(CHORUS_DEFINE_AMO_EXTENDED)
#undef CHORUS_DEFINE_AMO_EXTENDED

#define CHORUS_DEFINE_AMO_STANDARD(NAME, T, kind)                                             \
    CHORUS_BOTH T chorus_##NAME##_atomic_compare_swap(T *dest, T cond, T value, int pe)       \
    {                                                                                         \
        return ch_amo_compare_swap(dest, pe, cond, value);                                    \
    }                                                                                         \
    CHORUS_BOTH T chorus_##NAME##_atomic_fetch_inc(T *dest, int pe)                           \
    {                                                                                         \
        return ch_amo_add(dest, pe, (T)1, 1);                                                 \
    }                                                                                         \
    CHORUS_BOTH void chorus_##NAME##_atomic_inc(T *dest, int pe)                              \
    {                                                                                         \
        (void)ch_amo_add(dest, pe, (T)1, 0);                                                  \
    }                                                                                         \
    CHORUS_BOTH T chorus_##NAME##_atomic_fetch_add(T *dest, T value, int pe)                  \
    {                                                                                         \
        return ch_amo_add(dest, pe, value, 1);                                                \
    }                                                                                         \
    CHORUS_BOTH void chorus_##NAME##_atomic_add(T *dest, T value, int pe)                     \
    {                                                                                         \
        (void)ch_amo_add(dest, pe, value, 0);                                                 \
    }                                                                                         \
    CHORUS_BOTH void chorus_##NAME##_atomic_compare_swap_nbi(T *fetch, T *dest, T cond,       \
                                                             T value, int pe)                 \
    {                                                                                         \
        *fetch = ch_amo_compare_swap(dest, pe, cond, value);                                  \
    }                                                                                         \
    CHORUS_BOTH void chorus_##NAME##_atomic_fetch_inc_nbi(T *fetch, T *dest, int pe)          \
    {                                                                                         \
        *fetch = ch_amo_add(dest, pe, (T)1, 1);                                               \
    }                                                                                         \
    CHORUS_BOTH void chorus_##NAME##_atomic_fetch_add_nbi(T *fetch, T *dest, T value, int pe) \
    {                                                                                         \
        *fetch = ch_amo_add(dest, pe, value, 1);                                              \
    }
CHORUS_AMO_STANDARD_TYPES(CHORUS_DEFINE_AMO_STANDARD)
#undef CHORUS_DEFINE_AMO_STANDARD

#define CHORUS_DEFINE_AMO_BITWISE_OP(NAME, T, OP)                                        \
    CHORUS_BOTH T chorus_##NAME##_atomic_fetch_##OP(T *dest, T value, int pe)            \
    {                                                                                    \
        return ch_amo_##OP(dest, pe, value, 1);                                          \
    }                                                                                    \
    CHORUS_BOTH void chorus_##NAME##_atomic_##OP(T *dest, T value, int pe)               \
    {                                                                                    \
        (void)ch_amo_##OP(dest, pe, value, 0);                                           \
    }                                                                                    \
    CHORUS_BOTH void chorus_##NAME##_atomic_fetch_##OP##_nbi(T *fetch, T *dest, T value, \
                                                             int pe)                     \
    {                                                                                    \
        *fetch = ch_amo_##OP(dest, pe, value, 1);                                        \
    }
#define CHORUS_DEFINE_AMO_BITWISE(NAME, T, kind) \
    CHORUS_DEFINE_AMO_BITWISE_OP(NAME, T, and)   \
    CHORUS_DEFINE_AMO_BITWISE_OP(NAME, T, or)    \
    CHORUS_DEFINE_AMO_BITWISE_OP(NAME, T, xor)
CHORUS_AMO_BITWISE_TYPES(CHORUS_DEFINE_AMO_BITWISE)
#undef CHORUS_DEFINE_AMO_BITWISE
#undef CHORUS_DEFINE_AMO_BITWISE_OP
#endif /* __CUDA_ARCH__ */

#endif /* CHORUS_DEVICE_AMO_CUH */
