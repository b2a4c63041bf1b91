/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shmem_generic.h: the names without a type, for C11 and later: the pointer that decides is the
 * first argument, after the team or the context where there is one.
 */
#ifndef SHMEM_GENERIC_H
#define SHMEM_GENERIC_H

#include "shmem_api.h"

/* clang-format off */
#define SHMEM_FIRST(first, ...) first
#define SHMEM_SECOND(first, second, ...) second
#define SHMEM_GENERIC(CTYPES, function, ...) \
    _Generic(*(SHMEM_FIRST(__VA_ARGS__, )) CTYPES(SHMEM_GENERIC_CASE, _##function))(__VA_ARGS__)
#define SHMEM_GENERIC_CASE(function, NAME, T, kind) , T: shmem_##NAME##function
#define SHMEM_GENERIC_TEAM(CTYPES, function, team, ...) \
    _Generic(*(SHMEM_FIRST(__VA_ARGS__, )) CTYPES(SHMEM_GENERIC_CASE, _##function))(team, __VA_ARGS__)

/* Of calls that may be given a context first: the pointer is then the second argument. What is
 * neither has no call. */
#define SHMEM_GENERIC_CTX(CTYPES, function, ...) \
    _Generic(*(SHMEM_FIRST(__VA_ARGS__, )), \
        struct shmem_ctx: _Generic((SHMEM_SECOND(__VA_ARGS__, )), default: shmem_ctx_fence \
            CTYPES(SHMEM_GENERIC_CTX_CASE, _##function)) \
        CTYPES(SHMEM_GENERIC_CASE, _##function))(__VA_ARGS__)
#define SHMEM_GENERIC_CTX_CASE(function, NAME, T, kind) \
    , T *: shmem_ctx_##NAME##function, const T *: shmem_ctx_##NAME##function

/* Remote memory access. */
#define shmem_p(...) SHMEM_GENERIC_CTX(SHMEM_RMA_CTYPES, p, __VA_ARGS__)
#define shmem_g(...) SHMEM_GENERIC_CTX(SHMEM_RMA_CTYPES, g, __VA_ARGS__)
#define shmem_put(...) SHMEM_GENERIC_CTX(SHMEM_RMA_CTYPES, put, __VA_ARGS__)
#define shmem_get(...) SHMEM_GENERIC_CTX(SHMEM_RMA_CTYPES, get, __VA_ARGS__)
#define shmem_put_nbi(...) SHMEM_GENERIC_CTX(SHMEM_RMA_CTYPES, put_nbi, __VA_ARGS__)
#define shmem_get_nbi(...) SHMEM_GENERIC_CTX(SHMEM_RMA_CTYPES, get_nbi, __VA_ARGS__)
#define shmem_iput(...) SHMEM_GENERIC_CTX(SHMEM_RMA_CTYPES, iput, __VA_ARGS__)
#define shmem_iget(...) SHMEM_GENERIC_CTX(SHMEM_RMA_CTYPES, iget, __VA_ARGS__)
#define shmem_ibput(...) SHMEM_GENERIC_CTX(SHMEM_RMA_CTYPES, ibput, __VA_ARGS__)
#define shmem_ibget(...) SHMEM_GENERIC_CTX(SHMEM_RMA_CTYPES, ibget, __VA_ARGS__)
#define shmem_put_signal(...) SHMEM_GENERIC_CTX(SHMEM_RMA_CTYPES, put_signal, __VA_ARGS__)
#define shmem_put_signal_nbi(...) SHMEM_GENERIC_CTX(SHMEM_RMA_CTYPES, put_signal_nbi, __VA_ARGS__)
#define shmem_signal_set(...) SHMEM_SIGNAL(signal_set, __VA_ARGS__)
#define shmem_signal_add(...) SHMEM_SIGNAL(signal_add, __VA_ARGS__)
#define SHMEM_SIGNAL(function, ...) \
    _Generic(*(SHMEM_FIRST(__VA_ARGS__, )), struct shmem_ctx: shmem_ctx_##function, \
        default: shmem_##function)(__VA_ARGS__)

/* Atomics. */
#define SHMEM_EXTENDED(function, ...) \
    SHMEM_GENERIC_CTX(CHORUS_AMO_EXTENDED_CTYPES, function, __VA_ARGS__)
#define SHMEM_STANDARD(function, ...) \
    SHMEM_GENERIC_CTX(CHORUS_AMO_STANDARD_CTYPES, function, __VA_ARGS__)
#define SHMEM_BITWISE(function, ...) \
    SHMEM_GENERIC_CTX(CHORUS_AMO_BITWISE_CTYPES, function, __VA_ARGS__)
#define shmem_atomic_fetch(...) SHMEM_EXTENDED(atomic_fetch, __VA_ARGS__)
#define shmem_atomic_set(...) SHMEM_EXTENDED(atomic_set, __VA_ARGS__)
#define shmem_atomic_swap(...) SHMEM_EXTENDED(atomic_swap, __VA_ARGS__)
#define shmem_atomic_fetch_nbi(...) SHMEM_EXTENDED(atomic_fetch_nbi, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...) SHMEM_EXTENDED(atomic_swap_nbi, __VA_ARGS__)
#define shmem_atomic_compare_swap(...) SHMEM_STANDARD(atomic_compare_swap, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...) SHMEM_STANDARD(atomic_fetch_inc, __VA_ARGS__)
#define shmem_atomic_inc(...) SHMEM_STANDARD(atomic_inc, __VA_ARGS__)
#define shmem_atomic_fetch_add(...) SHMEM_STANDARD(atomic_fetch_add, __VA_ARGS__)
#define shmem_atomic_add(...) SHMEM_STANDARD(atomic_add, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...) SHMEM_STANDARD(atomic_compare_swap_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) SHMEM_STANDARD(atomic_fetch_inc_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) SHMEM_STANDARD(atomic_fetch_add_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_and(...) SHMEM_BITWISE(atomic_fetch_and, __VA_ARGS__)
#define shmem_atomic_and(...) SHMEM_BITWISE(atomic_and, __VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...) SHMEM_BITWISE(atomic_fetch_and_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_or(...) SHMEM_BITWISE(atomic_fetch_or, __VA_ARGS__)
#define shmem_atomic_or(...) SHMEM_BITWISE(atomic_or, __VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) SHMEM_BITWISE(atomic_fetch_or_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...) SHMEM_BITWISE(atomic_fetch_xor, __VA_ARGS__)
#define shmem_atomic_xor(...) SHMEM_BITWISE(atomic_xor, __VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...) SHMEM_BITWISE(atomic_fetch_xor_nbi, __VA_ARGS__)

/* Waiting and testing. */
#define SHMEM_WAIT(function, ...) SHMEM_GENERIC(CHORUS_WAIT_CTYPES, function, __VA_ARGS__)
#define shmem_wait_until(...) SHMEM_WAIT(wait_until, __VA_ARGS__)
#define shmem_wait_until_all(...) SHMEM_WAIT(wait_until_all, __VA_ARGS__)
#define shmem_wait_until_any(...) SHMEM_WAIT(wait_until_any, __VA_ARGS__)
#define shmem_wait_until_some(...) SHMEM_WAIT(wait_until_some, __VA_ARGS__)
#define shmem_wait_until_all_vector(...) SHMEM_WAIT(wait_until_all_vector, __VA_ARGS__)
#define shmem_wait_until_any_vector(...) SHMEM_WAIT(wait_until_any_vector, __VA_ARGS__)
#define shmem_wait_until_some_vector(...) SHMEM_WAIT(wait_until_some_vector, __VA_ARGS__)
#define shmem_test(...) SHMEM_WAIT(test, __VA_ARGS__)
#define shmem_test_all(...) SHMEM_WAIT(test_all, __VA_ARGS__)
#define shmem_test_any(...) SHMEM_WAIT(test_any, __VA_ARGS__)
#define shmem_test_some(...) SHMEM_WAIT(test_some, __VA_ARGS__)
#define shmem_test_all_vector(...) SHMEM_WAIT(test_all_vector, __VA_ARGS__)
#define shmem_test_any_vector(...) SHMEM_WAIT(test_any_vector, __VA_ARGS__)
#define shmem_test_some_vector(...) SHMEM_WAIT(test_some_vector, __VA_ARGS__)

/* Collectives. */
#define shmem_sync(...) \
    _Generic((SHMEM_FIRST(__VA_ARGS__, )), shmem_team_t: shmem_team_sync, default: shmem_sync)(__VA_ARGS__)
#define SHMEM_COLL(function, team, ...) SHMEM_GENERIC_TEAM(SHMEM_RMA_CTYPES, function, team, __VA_ARGS__)
#define shmem_broadcast(team, ...) SHMEM_COLL(broadcast, team, __VA_ARGS__)
#define shmem_fcollect(team, ...) SHMEM_COLL(fcollect, team, __VA_ARGS__)
#define shmem_alltoall(team, ...) SHMEM_COLL(alltoall, team, __VA_ARGS__)
#define shmem_collect(team, ...) SHMEM_COLL(collect, team, __VA_ARGS__)
#define shmem_alltoalls(team, ...) SHMEM_COLL(alltoalls, team, __VA_ARGS__)
#define shmem_sum_inscan(team, ...) \
    SHMEM_GENERIC_TEAM(SHMEM_ARITHMETIC_CTYPES, sum_inscan, team, __VA_ARGS__)
#define shmem_sum_exscan(team, ...) \
    SHMEM_GENERIC_TEAM(SHMEM_ARITHMETIC_CTYPES, sum_exscan, team, __VA_ARGS__)
#define shmem_max_reduce(team, ...) SHMEM_COLL(max_reduce, team, __VA_ARGS__)
#define shmem_min_reduce(team, ...) SHMEM_COLL(min_reduce, team, __VA_ARGS__)
#define shmem_sum_reduce(team, ...) \
    SHMEM_GENERIC_TEAM(SHMEM_ARITHMETIC_CTYPES, sum_reduce, team, __VA_ARGS__)
#define shmem_prod_reduce(team, ...) \
    SHMEM_GENERIC_TEAM(SHMEM_ARITHMETIC_CTYPES, prod_reduce, team, __VA_ARGS__)
#define shmem_and_reduce(team, ...) \
    SHMEM_GENERIC_TEAM(CHORUS_REDUCE_BITWISE_CTYPES, and_reduce, team, __VA_ARGS__)
#define shmem_or_reduce(team, ...) \
    SHMEM_GENERIC_TEAM(CHORUS_REDUCE_BITWISE_CTYPES, or_reduce, team, __VA_ARGS__)
#define shmem_xor_reduce(team, ...) \
    SHMEM_GENERIC_TEAM(CHORUS_REDUCE_BITWISE_CTYPES, xor_reduce, team, __VA_ARGS__)

/* Deprecated. */
#define shmem_add(...) SHMEM_GENERIC(SHMEM_OLD_AMO_CTYPES, add, __VA_ARGS__)
#define shmem_inc(...) SHMEM_GENERIC(SHMEM_OLD_AMO_CTYPES, inc, __VA_ARGS__)
#define shmem_cswap(...) SHMEM_GENERIC(SHMEM_OLD_AMO_CTYPES, cswap, __VA_ARGS__)
#define shmem_fadd(...) SHMEM_GENERIC(SHMEM_OLD_AMO_CTYPES, fadd, __VA_ARGS__)
#define shmem_finc(...) SHMEM_GENERIC(SHMEM_OLD_AMO_CTYPES, finc, __VA_ARGS__)
#define shmem_set(...) SHMEM_GENERIC(SHMEM_OLD_AMO_EXTENDED_CTYPES, set, __VA_ARGS__)
#define shmem_fetch(...) SHMEM_GENERIC(SHMEM_OLD_AMO_EXTENDED_CTYPES, fetch, __VA_ARGS__)
#define shmem_swap(...) SHMEM_GENERIC(SHMEM_OLD_AMO_EXTENDED_CTYPES, swap, __VA_ARGS__)
/* clang-format on */

#endif /* SHMEM_GENERIC_H */
