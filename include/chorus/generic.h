/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorus/generic.h: the standard's names without a type, for C11 and later.
 * chorus.h includes it.
 */
#ifndef CHORUS_GENERIC_H
#define CHORUS_GENERIC_H

#include "chorus/ctx.h"
#include "chorus/lists.h"

#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

/**
 * Make the typed call that fits a pointer: chorus_put(dest, source, nelems, pe), where dest
 * points to int, is chorus_int_put of the same arguments.
 *
 * The pointer is the first argument, after the team where there is one, and after a context
 * where one is given: chorus_put(ctx, dest, source, nelems, pe) is chorus_ctx_int_put. It
 * points to a type for which the family has a function, const or not; any other does not
 * compile.
 *
 * @param first                the pointer whose type decides, or a context, which it follows
 * @param dest, ivar, ivars    the pointer whose type decides
 * @param team                 as of the typed call
 *
 * Collective: as of the typed call.
 * Threads:    as of the typed call.
 * Ordering:   as of the typed call.
 * Errors:     those of the typed call, which is the one that messages name.
 * Source:     OpenSHMEM 1.5, its C11 generic names; those of reducescatter are our own.
 * Since:      0.1
 */
/* clang-format off */
#define CHORUS_GENERIC(FAMILY, function, pointer) \
    _Generic(*(pointer) CHORUS_##FAMILY##_CTYPES(CHORUS_GENERIC_CASE, _##function))
#define CHORUS_GENERIC_CASE(function, NAME, T, kind) , T: chorus_##NAME##function

/* The same of functions that may be given a context first; `second` is then the pointer,
 * else any argument. A context points to a struct of its own, so that the type of the first
 * argument distinguishes them. */
#define CHORUS_GENERIC_CTX(FAMILY, function, first, second) \
    _Generic(*(first), struct chorus_ctx: \
        _Generic((second), default: chorus_ctx_fence /* and so does not compile */ \
            CHORUS_##FAMILY##_CTYPES(CHORUS_GENERIC_CTX_CASE, _##function)) \
        CHORUS_##FAMILY##_CTYPES(CHORUS_GENERIC_CASE, _##function))
#define CHORUS_GENERIC_CTX_CASE(function, NAME, T, kind) \
    , T *: chorus_ctx_##NAME##function, const T *: chorus_ctx_##NAME##function
#define CHORUS_GENERIC_FIRST(first, ...) first
/* clang-format on */

/* Remote memory access. */
#define chorus_p(first, ...) \
    CHORUS_GENERIC_CTX(RMA, p, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0))(first, __VA_ARGS__)
#define chorus_g(first, ...) \
    CHORUS_GENERIC_CTX(RMA, g, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0))(first, __VA_ARGS__)
#define chorus_put(first, ...)                                                \
    CHORUS_GENERIC_CTX(RMA, put, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_get(first, ...)                                                \
    CHORUS_GENERIC_CTX(RMA, get, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_put_nbi(first, ...)                                                \
    CHORUS_GENERIC_CTX(RMA, put_nbi, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_get_nbi(first, ...)                                                \
    CHORUS_GENERIC_CTX(RMA, get_nbi, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_iput(first, ...)                                                \
    CHORUS_GENERIC_CTX(RMA, iput, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_iget(first, ...)                                                \
    CHORUS_GENERIC_CTX(RMA, iget, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_ibput(first, ...)                                                \
    CHORUS_GENERIC_CTX(RMA, ibput, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_ibget(first, ...)                                                \
    CHORUS_GENERIC_CTX(RMA, ibget, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_put_signal(first, ...)                                                \
    CHORUS_GENERIC_CTX(RMA, put_signal, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_put_signal_nbi(first, ...)                                                \
    CHORUS_GENERIC_CTX(RMA, put_signal_nbi, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)

/* Atomics. */
#define chorus_atomic_fetch(first, ...)                      \
    CHORUS_GENERIC_CTX(AMO_EXTENDED, atomic_fetch, first,    \
                       CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_atomic_set(first, ...)                                                         \
    CHORUS_GENERIC_CTX(AMO_EXTENDED, atomic_set, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_atomic_swap(first, ...)                                                         \
    CHORUS_GENERIC_CTX(AMO_EXTENDED, atomic_swap, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_atomic_fetch_nbi(first, ...)                   \
    CHORUS_GENERIC_CTX(AMO_EXTENDED, atomic_fetch_nbi, first, \
                       CHORUS_GENERIC_FIRST(__VA_ARGS__, 0))  \
    (first, __VA_ARGS__)
#define chorus_atomic_swap_nbi(first, ...)                   \
    CHORUS_GENERIC_CTX(AMO_EXTENDED, atomic_swap_nbi, first, \
                       CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)

#define chorus_atomic_compare_swap(first, ...)                   \
    CHORUS_GENERIC_CTX(AMO_STANDARD, atomic_compare_swap, first, \
                       CHORUS_GENERIC_FIRST(__VA_ARGS__, 0))     \
    (first, __VA_ARGS__)
#define chorus_atomic_fetch_inc(first, ...)                   \
    CHORUS_GENERIC_CTX(AMO_STANDARD, atomic_fetch_inc, first, \
                       CHORUS_GENERIC_FIRST(__VA_ARGS__, 0))  \
    (first, __VA_ARGS__)
#define chorus_atomic_inc(first, ...)                                                         \
    CHORUS_GENERIC_CTX(AMO_STANDARD, atomic_inc, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_atomic_fetch_add(first, ...)                   \
    CHORUS_GENERIC_CTX(AMO_STANDARD, atomic_fetch_add, first, \
                       CHORUS_GENERIC_FIRST(__VA_ARGS__, 0))  \
    (first, __VA_ARGS__)
#define chorus_atomic_add(first, ...)                                                         \
    CHORUS_GENERIC_CTX(AMO_STANDARD, atomic_add, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_atomic_compare_swap_nbi(first, ...)                   \
    CHORUS_GENERIC_CTX(AMO_STANDARD, atomic_compare_swap_nbi, first, \
                       CHORUS_GENERIC_FIRST(__VA_ARGS__, 0))         \
    (first, __VA_ARGS__)
#define chorus_atomic_fetch_inc_nbi(first, ...)                   \
    CHORUS_GENERIC_CTX(AMO_STANDARD, atomic_fetch_inc_nbi, first, \
                       CHORUS_GENERIC_FIRST(__VA_ARGS__, 0))      \
    (first, __VA_ARGS__)
#define chorus_atomic_fetch_add_nbi(first, ...)                   \
    CHORUS_GENERIC_CTX(AMO_STANDARD, atomic_fetch_add_nbi, first, \
                       CHORUS_GENERIC_FIRST(__VA_ARGS__, 0))      \
    (first, __VA_ARGS__)

#define chorus_atomic_fetch_and(first, ...)                  \
    CHORUS_GENERIC_CTX(AMO_BITWISE, atomic_fetch_and, first, \
                       CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_atomic_and(first, ...)                                                        \
    CHORUS_GENERIC_CTX(AMO_BITWISE, atomic_and, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_atomic_fetch_and_nbi(first, ...)                  \
    CHORUS_GENERIC_CTX(AMO_BITWISE, atomic_fetch_and_nbi, first, \
                       CHORUS_GENERIC_FIRST(__VA_ARGS__, 0))     \
    (first, __VA_ARGS__)
#define chorus_atomic_fetch_or(first, ...)                   \
    CHORUS_GENERIC_CTX(AMO_BITWISE, atomic_fetch_or, first,  \
                       CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_atomic_or(first, ...)                                                        \
    CHORUS_GENERIC_CTX(AMO_BITWISE, atomic_or, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_atomic_fetch_or_nbi(first, ...)                  \
    CHORUS_GENERIC_CTX(AMO_BITWISE, atomic_fetch_or_nbi, first, \
                       CHORUS_GENERIC_FIRST(__VA_ARGS__, 0))    \
    (first, __VA_ARGS__)
#define chorus_atomic_fetch_xor(first, ...)                  \
    CHORUS_GENERIC_CTX(AMO_BITWISE, atomic_fetch_xor, first, \
                       CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_atomic_xor(first, ...)                                                        \
    CHORUS_GENERIC_CTX(AMO_BITWISE, atomic_xor, first, CHORUS_GENERIC_FIRST(__VA_ARGS__, 0)) \
    (first, __VA_ARGS__)
#define chorus_atomic_fetch_xor_nbi(first, ...)                  \
    CHORUS_GENERIC_CTX(AMO_BITWISE, atomic_fetch_xor_nbi, first, \
                       CHORUS_GENERIC_FIRST(__VA_ARGS__, 0))     \
    (first, __VA_ARGS__)

/* Signals. */
#define chorus_signal_set(first, ...)         \
    _Generic(*(first), struct chorus_ctx      \
             : chorus_ctx_signal_set, default \
             : chorus_signal_set)(first, __VA_ARGS__)
#define chorus_signal_add(first, ...)         \
    _Generic(*(first), struct chorus_ctx      \
             : chorus_ctx_signal_add, default \
             : chorus_signal_add)(first, __VA_ARGS__)

/* Point-to-point synchronization. */
#define chorus_wait_until(ivar, ...) CHORUS_GENERIC(WAIT, wait_until, ivar)(ivar, __VA_ARGS__)
#define chorus_wait_until_all(ivars, ...) \
    CHORUS_GENERIC(WAIT, wait_until_all, ivars)(ivars, __VA_ARGS__)
#define chorus_wait_until_any(ivars, ...) \
    CHORUS_GENERIC(WAIT, wait_until_any, ivars)(ivars, __VA_ARGS__)
#define chorus_wait_until_some(ivars, ...) \
    CHORUS_GENERIC(WAIT, wait_until_some, ivars)(ivars, __VA_ARGS__)
#define chorus_wait_until_all_vector(ivars, ...) \
    CHORUS_GENERIC(WAIT, wait_until_all_vector, ivars)(ivars, __VA_ARGS__)
#define chorus_wait_until_any_vector(ivars, ...) \
    CHORUS_GENERIC(WAIT, wait_until_any_vector, ivars)(ivars, __VA_ARGS__)
#define chorus_wait_until_some_vector(ivars, ...) \
    CHORUS_GENERIC(WAIT, wait_until_some_vector, ivars)(ivars, __VA_ARGS__)
#define chorus_test(ivar, ...) CHORUS_GENERIC(WAIT, test, ivar)(ivar, __VA_ARGS__)
#define chorus_test_all(ivars, ...) CHORUS_GENERIC(WAIT, test_all, ivars)(ivars, __VA_ARGS__)
#define chorus_test_any(ivars, ...) CHORUS_GENERIC(WAIT, test_any, ivars)(ivars, __VA_ARGS__)
#define chorus_test_some(ivars, ...) CHORUS_GENERIC(WAIT, test_some, ivars)(ivars, __VA_ARGS__)
#define chorus_test_all_vector(ivars, ...) \
    CHORUS_GENERIC(WAIT, test_all_vector, ivars)(ivars, __VA_ARGS__)
#define chorus_test_any_vector(ivars, ...) \
    CHORUS_GENERIC(WAIT, test_any_vector, ivars)(ivars, __VA_ARGS__)
#define chorus_test_some_vector(ivars, ...) \
    CHORUS_GENERIC(WAIT, test_some_vector, ivars)(ivars, __VA_ARGS__)

/* Collectives. */
#define chorus_broadcast(team, dest, ...) \
    CHORUS_GENERIC(RMA, broadcast, dest)(team, dest, __VA_ARGS__)
#define chorus_fcollect(team, dest, ...) \
    CHORUS_GENERIC(RMA, fcollect, dest)(team, dest, __VA_ARGS__)
#define chorus_alltoall(team, dest, ...) \
    CHORUS_GENERIC(RMA, alltoall, dest)(team, dest, __VA_ARGS__)

#define chorus_collect(team, dest, ...) \
    CHORUS_GENERIC(RMA, collect, dest)(team, dest, __VA_ARGS__)
#define chorus_alltoalls(team, dest, ...) \
    CHORUS_GENERIC(RMA, alltoalls, dest)(team, dest, __VA_ARGS__)

#define chorus_and_reduce(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_BITWISE, and_reduce, dest)(team, dest, __VA_ARGS__)
#define chorus_and_reducescatter(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_BITWISE, and_reducescatter, dest)(team, dest, __VA_ARGS__)
#define chorus_or_reduce(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_BITWISE, or_reduce, dest)(team, dest, __VA_ARGS__)
#define chorus_or_reducescatter(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_BITWISE, or_reducescatter, dest)(team, dest, __VA_ARGS__)
#define chorus_xor_reduce(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_BITWISE, xor_reduce, dest)(team, dest, __VA_ARGS__)
#define chorus_xor_reducescatter(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_BITWISE, xor_reducescatter, dest)(team, dest, __VA_ARGS__)

#define chorus_min_reduce(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_ORDERED, min_reduce, dest)(team, dest, __VA_ARGS__)
#define chorus_min_reducescatter(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_ORDERED, min_reducescatter, dest)(team, dest, __VA_ARGS__)
#define chorus_max_reduce(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_ORDERED, max_reduce, dest)(team, dest, __VA_ARGS__)
#define chorus_max_reducescatter(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_ORDERED, max_reducescatter, dest)(team, dest, __VA_ARGS__)

#define chorus_sum_reduce(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_ARITHMETIC, sum_reduce, dest)(team, dest, __VA_ARGS__)
#define chorus_sum_reducescatter(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_ARITHMETIC, sum_reducescatter, dest)(team, dest, __VA_ARGS__)
#define chorus_sum_inscan(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_ARITHMETIC, sum_inscan, dest)(team, dest, __VA_ARGS__)
#define chorus_sum_exscan(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_ARITHMETIC, sum_exscan, dest)(team, dest, __VA_ARGS__)
#define chorus_prod_reduce(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_ARITHMETIC, prod_reduce, dest)(team, dest, __VA_ARGS__)
#define chorus_prod_reducescatter(team, dest, ...) \
    CHORUS_GENERIC(REDUCE_ARITHMETIC, prod_reducescatter, dest)(team, dest, __VA_ARGS__)

#define chorus_sync(team) chorus_team_sync(team)

#endif /* C11 */

#endif /* CHORUS_GENERIC_H */
