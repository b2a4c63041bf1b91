/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorus/generic.h: the standard's names without a type, for C11 and later.
 * chorus.h includes it.
 */
#ifndef CHORUS_GENERIC_H
#define CHORUS_GENERIC_H

#include "chorus/lists.h"

#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

/**
 * Make the typed call that fits a pointer: chorus_put(dest, source, nelems, pe), where dest
 * points to int, is chorus_int_put of the same arguments.
 *
 * The pointer is the first argument, after the team where there is one. It points to a type for
 * which the family has a function, const or not; any other does not compile.
 *
 * @param dest, source, fetch, ivar, ivars  the pointer whose type decides
 * @param team                              as of the typed call
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
/* clang-format on */

/* Remote memory access. */
#define chorus_p(dest, ...) CHORUS_GENERIC(RMA, p, dest)(dest, __VA_ARGS__)
#define chorus_g(source, ...) CHORUS_GENERIC(RMA, g, source)(source, __VA_ARGS__)
#define chorus_put(dest, ...) CHORUS_GENERIC(RMA, put, dest)(dest, __VA_ARGS__)
#define chorus_get(dest, ...) CHORUS_GENERIC(RMA, get, dest)(dest, __VA_ARGS__)
#define chorus_put_nbi(dest, ...) CHORUS_GENERIC(RMA, put_nbi, dest)(dest, __VA_ARGS__)
#define chorus_get_nbi(dest, ...) CHORUS_GENERIC(RMA, get_nbi, dest)(dest, __VA_ARGS__)
#define chorus_iput(dest, ...) CHORUS_GENERIC(RMA, iput, dest)(dest, __VA_ARGS__)
#define chorus_iget(dest, ...) CHORUS_GENERIC(RMA, iget, dest)(dest, __VA_ARGS__)
#define chorus_put_signal(dest, ...) CHORUS_GENERIC(RMA, put_signal, dest)(dest, __VA_ARGS__)
#define chorus_put_signal_nbi(dest, ...) \
    CHORUS_GENERIC(RMA, put_signal_nbi, dest)(dest, __VA_ARGS__)

/* Atomics. */
#define chorus_atomic_fetch(source, ...) \
    CHORUS_GENERIC(AMO_EXTENDED, atomic_fetch, source)(source, __VA_ARGS__)
#define chorus_atomic_set(dest, ...) \
    CHORUS_GENERIC(AMO_EXTENDED, atomic_set, dest)(dest, __VA_ARGS__)
#define chorus_atomic_swap(dest, ...) \
    CHORUS_GENERIC(AMO_EXTENDED, atomic_swap, dest)(dest, __VA_ARGS__)
#define chorus_atomic_fetch_nbi(fetch, ...) \
    CHORUS_GENERIC(AMO_EXTENDED, atomic_fetch_nbi, fetch)(fetch, __VA_ARGS__)
#define chorus_atomic_swap_nbi(fetch, ...) \
    CHORUS_GENERIC(AMO_EXTENDED, atomic_swap_nbi, fetch)(fetch, __VA_ARGS__)

#define chorus_atomic_compare_swap(dest, ...) \
    CHORUS_GENERIC(AMO_STANDARD, atomic_compare_swap, dest)(dest, __VA_ARGS__)
#define chorus_atomic_fetch_inc(dest, ...) \
    CHORUS_GENERIC(AMO_STANDARD, atomic_fetch_inc, dest)(dest, __VA_ARGS__)
#define chorus_atomic_inc(dest, ...) \
    CHORUS_GENERIC(AMO_STANDARD, atomic_inc, dest)(dest, __VA_ARGS__)
#define chorus_atomic_fetch_add(dest, ...) \
    CHORUS_GENERIC(AMO_STANDARD, atomic_fetch_add, dest)(dest, __VA_ARGS__)
#define chorus_atomic_add(dest, ...) \
    CHORUS_GENERIC(AMO_STANDARD, atomic_add, dest)(dest, __VA_ARGS__)
#define chorus_atomic_compare_swap_nbi(fetch, ...) \
    CHORUS_GENERIC(AMO_STANDARD, atomic_compare_swap_nbi, fetch)(fetch, __VA_ARGS__)
#define chorus_atomic_fetch_inc_nbi(fetch, ...) \
    CHORUS_GENERIC(AMO_STANDARD, atomic_fetch_inc_nbi, fetch)(fetch, __VA_ARGS__)
#define chorus_atomic_fetch_add_nbi(fetch, ...) \
    CHORUS_GENERIC(AMO_STANDARD, atomic_fetch_add_nbi, fetch)(fetch, __VA_ARGS__)

#define chorus_atomic_fetch_and(dest, ...) \
    CHORUS_GENERIC(AMO_BITWISE, atomic_fetch_and, dest)(dest, __VA_ARGS__)
#define chorus_atomic_and(dest, ...) \
    CHORUS_GENERIC(AMO_BITWISE, atomic_and, dest)(dest, __VA_ARGS__)
#define chorus_atomic_fetch_and_nbi(fetch, ...) \
    CHORUS_GENERIC(AMO_BITWISE, atomic_fetch_and_nbi, fetch)(fetch, __VA_ARGS__)
#define chorus_atomic_fetch_or(dest, ...) \
    CHORUS_GENERIC(AMO_BITWISE, atomic_fetch_or, dest)(dest, __VA_ARGS__)
#define chorus_atomic_or(dest, ...) \
    CHORUS_GENERIC(AMO_BITWISE, atomic_or, dest)(dest, __VA_ARGS__)
#define chorus_atomic_fetch_or_nbi(fetch, ...) \
    CHORUS_GENERIC(AMO_BITWISE, atomic_fetch_or_nbi, fetch)(fetch, __VA_ARGS__)
#define chorus_atomic_fetch_xor(dest, ...) \
    CHORUS_GENERIC(AMO_BITWISE, atomic_fetch_xor, dest)(dest, __VA_ARGS__)
#define chorus_atomic_xor(dest, ...) \
    CHORUS_GENERIC(AMO_BITWISE, atomic_xor, dest)(dest, __VA_ARGS__)
#define chorus_atomic_fetch_xor_nbi(fetch, ...) \
    CHORUS_GENERIC(AMO_BITWISE, atomic_fetch_xor_nbi, fetch)(fetch, __VA_ARGS__)

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
