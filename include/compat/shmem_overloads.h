/* SPDX-License-Identifier: Apache-2.0 */
/* shmem_overloads.h: the names without a type, for C++: as shmem_generic.h has them for C11. */
#ifndef SHMEM_OVERLOADS_H
#define SHMEM_OVERLOADS_H

#include "shmem_api.h"

#ifdef __cplusplus

/* clang-format off */
#define OWN(address) address
#define SHMEM_BARE(...) __VA_ARGS__
#define SHMEM_OVERLOAD_P(A, name, arguments, ...) \
    static inline void shmem_##name(__VA_ARGS__) { shmem_##A##_##name arguments; }
#define SHMEM_OVERLOAD_F(A, R, name, arguments, ...) \
    static inline R shmem_##name(__VA_ARGS__) { return shmem_##A##_##name arguments; }
#define SHMEM_OVERLOAD_CTX_P(A, name, arguments, ...)                \
    SHMEM_OVERLOAD_P(A, name, arguments, __VA_ARGS__)                \
    static inline void shmem_##name(shmem_ctx_t ctx, __VA_ARGS__)    \
    {                                                                \
        shmem_ctx_##A##_##name(ctx, SHMEM_BARE arguments);           \
    }
#define SHMEM_OVERLOAD_CTX_F(A, R, name, arguments, ...)             \
    SHMEM_OVERLOAD_F(A, R, name, arguments, __VA_ARGS__)             \
    static inline R shmem_##name(shmem_ctx_t ctx, __VA_ARGS__)       \
    {                                                                \
        return shmem_ctx_##A##_##name(ctx, SHMEM_BARE arguments);    \
    }
#define SHMEM_OVERLOAD_C(A, name, arguments, ...)                            \
    static inline int shmem_##name(shmem_team_t team, __VA_ARGS__)           \
    {                                                                        \
        return shmem_##A##_##name(team, SHMEM_BARE arguments);               \
    }
#define SHMEM_OVERLOAD_OLD_P(A, name, today, arguments, ...) \
    SHMEM_OVERLOAD_P(A, name, arguments, __VA_ARGS__)
#define SHMEM_OVERLOAD_OLD_F(A, R, name, today, arguments, ...) \
    SHMEM_OVERLOAD_F(A, R, name, arguments, __VA_ARGS__)

#define SHMEM_OVERLOAD_ROW(CALLS, NAME, T, kind) CALLS(SHMEM_OVERLOAD_P, SHMEM_OVERLOAD_F, NAME, , T)
#define SHMEM_OVERLOAD_CTX_ROW(CALLS, NAME, T, kind) \
    CALLS(SHMEM_OVERLOAD_CTX_P, SHMEM_OVERLOAD_CTX_F, NAME, , T)
SHMEM_RMA_CTYPES(SHMEM_OVERLOAD_CTX_ROW, SHMEM_RMA_CALLS)
CHORUS_AMO_EXTENDED_CTYPES(SHMEM_OVERLOAD_CTX_ROW, SHMEM_AMO_EXTENDED_CALLS)
CHORUS_AMO_STANDARD_CTYPES(SHMEM_OVERLOAD_CTX_ROW, SHMEM_AMO_STANDARD_CALLS)
CHORUS_AMO_BITWISE_CTYPES(SHMEM_OVERLOAD_CTX_ROW, SHMEM_AMO_BITWISE_CALLS)
static inline void shmem_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    shmem_ctx_signal_set(ctx, sig_addr, signal, pe);
}
static inline void shmem_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    shmem_ctx_signal_add(ctx, sig_addr, signal, pe);
}
CHORUS_WAIT_CTYPES(SHMEM_OVERLOAD_ROW, SHMEM_WAIT_CALLS)

static inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }
#define SHMEM_OVERLOAD_MOVE(A, NAME, T, kind) SHMEM_MOVE_CALLS(SHMEM_OVERLOAD_C, NAME, , , T)
SHMEM_RMA_CTYPES(SHMEM_OVERLOAD_MOVE, )
#define SHMEM_OVERLOAD_SCAN(A, NAME, T, kind) SHMEM_SCAN_CALLS(SHMEM_OVERLOAD_C, NAME, , T)
SHMEM_ARITHMETIC_CTYPES(SHMEM_OVERLOAD_SCAN, )
#define SHMEM_OVERLOAD_OP(OP, NAME, T, kind) SHMEM_OVERLOAD_REDUCE(NAME, T, OP)
#define SHMEM_OVERLOAD_REDUCE(NAME, T, OP)                                                    \
    static inline int shmem_##OP##_reduce(shmem_team_t team, T *dest, const T *source,        \
                                          size_t nreduce)                                     \
    {                                                                                         \
        return shmem_##NAME##_##OP##_reduce(team, dest, source, nreduce);                     \
    }
CHORUS_REDUCE_BITWISE_CTYPES(SHMEM_OVERLOAD_OP, and)
CHORUS_REDUCE_BITWISE_CTYPES(SHMEM_OVERLOAD_OP, or)
CHORUS_REDUCE_BITWISE_CTYPES(SHMEM_OVERLOAD_OP, xor)
SHMEM_RMA_CTYPES(SHMEM_OVERLOAD_OP, min)
SHMEM_RMA_CTYPES(SHMEM_OVERLOAD_OP, max)
SHMEM_ARITHMETIC_CTYPES(SHMEM_OVERLOAD_OP, sum)
SHMEM_ARITHMETIC_CTYPES(SHMEM_OVERLOAD_OP, prod)

#define SHMEM_OVERLOAD_OLD(CALLS, NAME, T, kind) \
    CALLS(SHMEM_OVERLOAD_OLD_P, SHMEM_OVERLOAD_OLD_F, NAME, , T)
SHMEM_OLD_AMO_CTYPES(SHMEM_OVERLOAD_OLD, SHMEM_OLD_AMO_CALLS)
SHMEM_OLD_AMO_EXTENDED_CTYPES(SHMEM_OVERLOAD_OLD, SHMEM_OLD_AMO_EXTENDED_CALLS)
#undef OWN
/* clang-format on */

#endif /* __cplusplus */

#endif /* SHMEM_OVERLOADS_H */
