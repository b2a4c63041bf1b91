/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_access.cuh: single accesses to memory that other PEs use; part of chorus_device.cuh.
 */
#ifndef CHORUS_DEVICE_ACCESS_CUH
#define CHORUS_DEVICE_ACCESS_CUH

/* The unsigned type of as many bytes as an element, which is moved as its bits. */
template <size_t BYTES> struct ch_bits_of;
template <> struct ch_bits_of<1> {
    typedef uint8_t type;
};
template <> struct ch_bits_of<2> {
    typedef uint16_t type;
};
template <> struct ch_bits_of<4> {
    typedef unsigned type;
};
template <> struct ch_bits_of<8> {
    typedef unsigned long long type;
};

template <typename T> CH_FN typename ch_bits_of<sizeof(T)>::type ch_to_bits(T value)
{
    typename ch_bits_of<sizeof(T)>::type bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

template <typename T> CH_FN T ch_from_bits(typename ch_bits_of<sizeof(T)>::type bits)
{
    T value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Stores and loads that are whole and seen by all PEs. An acquire: what the one who stored the
 * value had released is then there. */
/* clang-format off */
#define CH_ACCESS_LIST(X) X(uint8_t, u8, "r", uint32_t) X(uint16_t, u16, "h", uint16_t) \
    X(unsigned, u32, "r", unsigned) X(unsigned long long, u64, "l", unsigned long long)
/* clang-format on */
#define CH_DEFINE_ACCESS(TYPE, SUFFIX, REGISTER, HOLDER)                      \
    CH_FN void ch_bits_store(TYPE *at, TYPE bits)                             \
    {                                                                         \
        asm volatile("st.relaxed.sys.global." #SUFFIX " [%0], %1;" ::"l"(at), \
                     REGISTER((HOLDER)bits)                                   \
                     : "memory");                                             \
    }                                                                         \
    CH_FN TYPE ch_bits_load(const TYPE *at)                                   \
    {                                                                         \
        HOLDER bits;                                                          \
                                                                              \
        asm volatile("ld.relaxed.sys.global." #SUFFIX " %0, [%1];"            \
                     : "=" REGISTER(bits)                                     \
                     : "l"(at)                                                \
                     : "memory");                                             \
        return (TYPE)bits;                                                    \
    }                                                                         \
    CH_FN TYPE ch_bits_acquire(const TYPE *at)                                \
    {                                                                         \
        HOLDER bits;                                                          \
                                                                              \
        asm volatile("ld.acquire.sys.global." #SUFFIX " %0, [%1];"            \
                     : "=" REGISTER(bits)                                     \
                     : "l"(at)                                                \
                     : "memory");                                             \
        return (TYPE)bits;                                                    \
    }
CH_ACCESS_LIST(CH_DEFINE_ACCESS)
#undef CH_DEFINE_ACCESS

/* Changes in one step, of memory that is global: of a generic address, as CUDA's functions have
 * it, ptxas tests whether it is shared memory, and waits for the old value in any case. asks: a
 * constant; the old value is the result, else 0 is, and nothing waits. */
#define CH_DEFINE_CHANGE(OP, TYPE, FORM, REGISTER)                                       \
    CH_FN TYPE ch_bits_##OP(TYPE *at, TYPE bits, int asks)                               \
    {                                                                                    \
        TYPE old = 0;                                                                    \
                                                                                         \
        if (asks)                                                                        \
            asm volatile("atom.relaxed.sys.global." #OP "." #FORM " %0, [%1], %2;"       \
                         : "=" REGISTER(old)                                             \
                         : "l"(at), REGISTER(bits)                                       \
                         : "memory");                                                    \
        else                                                                             \
            asm volatile("red.relaxed.sys.global." #OP "." #FORM " [%0], %1;" ::"l"(at), \
                         REGISTER(bits)                                                  \
                         : "memory");                                                    \
        return old;                                                                      \
    }
#define CH_DEFINE_CHANGES(TYPE, BITS, REGISTER)                                 \
    CH_DEFINE_CHANGE(add, TYPE, u##BITS, REGISTER)                              \
    CH_DEFINE_CHANGE(and, TYPE, b##BITS, REGISTER)                              \
    CH_DEFINE_CHANGE(or, TYPE, b##BITS, REGISTER)                               \
    CH_DEFINE_CHANGE(xor, TYPE, b##BITS, REGISTER)                              \
    CH_FN TYPE ch_bits_swap(TYPE *at, TYPE bits)                                \
    {                                                                           \
        TYPE old;                                                               \
                                                                                \
        asm volatile("atom.relaxed.sys.global.exch.b" #BITS " %0, [%1], %2;"    \
                     : "=" REGISTER(old)                                        \
                     : "l"(at), REGISTER(bits)                                  \
                     : "memory");                                               \
        return old;                                                             \
    }                                                                           \
    CH_FN TYPE ch_bits_compare_swap(TYPE *at, TYPE cond, TYPE bits)             \
    {                                                                           \
        TYPE old;                                                               \
                                                                                \
        asm volatile("atom.relaxed.sys.global.cas.b" #BITS " %0, [%1], %2, %3;" \
                     : "=" REGISTER(old)                                        \
                     : "l"(at), REGISTER(cond), REGISTER(bits)                  \
                     : "memory");                                               \
        return old;                                                             \
    }
CH_DEFINE_CHANGES(unsigned, 32, "r")
CH_DEFINE_CHANGES(unsigned long long, 64, "l")
#undef CH_DEFINE_CHANGES
#undef CH_DEFINE_CHANGE

template <typename T> CH_FN typename ch_bits_of<sizeof(T)>::type *ch_bits_at(T *at)
{
    return (typename ch_bits_of<sizeof(T)>::type *)at;
}

template <typename T> CH_FN const typename ch_bits_of<sizeof(T)>::type *ch_bits_at(const T *at)
{
    return (const typename ch_bits_of<sizeof(T)>::type *)at;
}

template <typename T> CH_FN void ch_element_store(T *at, T value)
{
    ch_bits_store(ch_bits_at(at), ch_to_bits(value));
}

template <typename T> CH_FN T ch_element_load(const T *at)
{
    return ch_from_bits<T>(ch_bits_load(ch_bits_at(at)));
}

template <typename T> CH_FN T ch_element_acquire(const T *at)
{
    return ch_from_bits<T>(ch_bits_acquire(ch_bits_at(at)));
}

#endif /* CHORUS_DEVICE_ACCESS_CUH */
