/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shmem_lists.h: OpenSHMEM's calls, once: shmem.h declares them and the library defines them.
 *
 * A row is P(A, name, (arguments), parameters...), or F(A, type, name, (arguments),
 * parameters...) for a call that gives a value, whatever A is. The arguments are what the call
 * of chorus.h by the same name gets; OWN(x) is a symmetric address there, which may be that of
 * a variable. NAME is a type's name and _, or nothing.
 */
#ifndef SHMEM_LISTS_H
#define SHMEM_LISTS_H

#include "chorus/lists.h"

/* clang-format off */

/* Types of each family, of C each once (CTYPES), then with their further names (NAMES, TYPES).
 * Where a list is not here, that of chorus/lists.h is the standard's. */
#define SHMEM_RMA_CTYPES(R, A)                                                                 \
    CHORUS_PLAIN_CTYPES(R, A)                                                                  \
    R(A, longdouble, long double, CHORUS_TYPE_f80)
#define SHMEM_RMA_NAMES(R, A) SHMEM_RMA_CTYPES(R, A) CHORUS_FIXED(R, A)
#define SHMEM_RMA_TYPES(X) SHMEM_RMA_NAMES(CHORUS_ROW, X)

#define SHMEM_ARITHMETIC_CTYPES(R, A)                                                          \
    SHMEM_RMA_CTYPES(R, A)                                                                     \
    R(A, complexf, float _Complex, CHORUS_TYPE_c64)                                            \
    R(A, complexd, double _Complex, CHORUS_TYPE_c128)
#define SHMEM_ARITHMETIC_NAMES(R, A) SHMEM_ARITHMETIC_CTYPES(R, A) CHORUS_FIXED(R, A)
#define SHMEM_ARITHMETIC_TYPES(X) SHMEM_ARITHMETIC_NAMES(CHORUS_ROW, X)

/* Those of calls that the standard has deprecated. */
#define SHMEM_OLD_INT_NAMES(R, A) CHORUS_INTS(R, A) R(A, short, short, CHORUS_TYPE_i16)
#define SHMEM_OLD_INT_TYPES(X) SHMEM_OLD_INT_NAMES(CHORUS_ROW, X)
#define SHMEM_OLD_AMO_CTYPES(R, A) CHORUS_INTS(R, A)
#define SHMEM_OLD_AMO_TYPES(X) SHMEM_OLD_AMO_CTYPES(CHORUS_ROW, X)
#define SHMEM_OLD_AMO_EXTENDED_CTYPES(R, A) CHORUS_INTS(R, A) CHORUS_FLOATS(R, A)
#define SHMEM_OLD_AMO_EXTENDED_TYPES(X) SHMEM_OLD_AMO_EXTENDED_CTYPES(CHORUS_ROW, X)
#define SHMEM_OLD_ORDERED_NAMES(R, A)                                                          \
    SHMEM_OLD_INT_NAMES(R, A)                                                                  \
    CHORUS_FLOATS(R, A)                                                                        \
    R(A, longdouble, long double, CHORUS_TYPE_f80)
#define SHMEM_OLD_ARITHMETIC_NAMES(R, A)                                                       \
    SHMEM_OLD_ORDERED_NAMES(R, A)                                                              \
    R(A, complexf, float _Complex, CHORUS_TYPE_c64)                                            \
    R(A, complexd, double _Complex, CHORUS_TYPE_c128)

/* Which types the operators take, as Y(_op, NAMES): of teams, and of active sets. */
#define SHMEM_REDUCE_LIST(Y)                                                                   \
    Y(_and, CHORUS_REDUCE_BITWISE_NAMES)                                                       \
    Y(_or, CHORUS_REDUCE_BITWISE_NAMES)                                                        \
    Y(_xor, CHORUS_REDUCE_BITWISE_NAMES)                                                       \
    Y(_min, SHMEM_RMA_NAMES)                                                                   \
    Y(_max, SHMEM_RMA_NAMES)                                                                   \
    Y(_sum, SHMEM_ARITHMETIC_NAMES)                                                            \
    Y(_prod, SHMEM_ARITHMETIC_NAMES)
#define SHMEM_TO_ALL_LIST(Y)                                                                   \
    Y(_and, SHMEM_OLD_INT_NAMES)                                                               \
    Y(_or, SHMEM_OLD_INT_NAMES)                                                                \
    Y(_xor, SHMEM_OLD_INT_NAMES)                                                               \
    Y(_min, SHMEM_OLD_ORDERED_NAMES)                                                           \
    Y(_max, SHMEM_OLD_ORDERED_NAMES)                                                           \
    Y(_sum, SHMEM_OLD_ARITHMETIC_NAMES)                                                        \
    Y(_prod, SHMEM_OLD_ARITHMETIC_NAMES)

/* Calls up to the atomics have a second name, ctx_ before it, with a context as first argument.
 *
 * Remote memory access, of a type, then of elements of a size or of bytes. */
#define SHMEM_RMA_CALLS(P, F, A, NAME, T)                                                      \
    SHMEM_ELEMENT_CALLS(P, F, A, NAME, T)                                                      \
    SHMEM_BLOCK_CALLS(P, A, NAME##put, NAME##get, T)                                           \
    SHMEM_STRIDE_CALLS(P, A, NAME##iput, NAME##iget, T)                                        \
    SHMEM_STRIDED_BLOCK_CALLS(P, A, NAME##ibput, NAME##ibget, T)
#define SHMEM_SIZED_CALLS(P, A, N)                                                             \
    SHMEM_BLOCK_CALLS(P, A, put##N, get##N, void)                                              \
    SHMEM_STRIDE_CALLS(P, A, iput##N, iget##N, void)                                           \
    SHMEM_STRIDED_BLOCK_CALLS(P, A, ibput##N, ibget##N, void)
#define SHMEM_MEM_CALLS(P, A) SHMEM_BLOCK_CALLS(P, A, putmem, getmem, void)

#define SHMEM_ELEMENT_CALLS(P, F, A, NAME, T)                                                  \
    P(A, NAME##p, (OWN(dest), value, pe), T *dest, T value, int pe)                            \
    F(A, T, NAME##g, (OWN(source), pe), const T *source, int pe)
#define SHMEM_BLOCK_CALLS(P, A, PUT, GET, T)                                                   \
    P(A, PUT, (OWN(dest), source, nelems, pe), T *dest, const T *source, size_t nelems, int pe) \
    P(A, GET, (dest, OWN(source), nelems, pe), T *dest, const T *source, size_t nelems, int pe) \
    P(A, PUT##_nbi, (OWN(dest), source, nelems, pe), T *dest, const T *source, size_t nelems,  \
      int pe)                                                                                  \
    P(A, GET##_nbi, (dest, OWN(source), nelems, pe), T *dest, const T *source, size_t nelems,  \
      int pe)                                                                                  \
    P(A, PUT##_signal, (OWN(dest), source, nelems, OWN(sig_addr), signal, sig_op, pe), T *dest, \
      const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    P(A, PUT##_signal_nbi, (OWN(dest), source, nelems, OWN(sig_addr), signal, sig_op, pe),     \
      T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, \
      int pe)
#define SHMEM_STRIDE_CALLS(P, A, PUT, GET, T)                                                  \
    P(A, PUT, (OWN(dest), source, dst, sst, nelems, pe), T *dest, const T *source,             \
      ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)                                     \
    P(A, GET, (dest, OWN(source), dst, sst, nelems, pe), T *dest, const T *source,             \
      ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)
#define SHMEM_STRIDED_BLOCK_CALLS(P, A, PUT, GET, T)                                           \
    P(A, PUT, (OWN(dest), source, dst, sst, bsize, nblocks, pe), T *dest, const T *source,     \
      ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)                      \
    P(A, GET, (dest, OWN(source), dst, sst, bsize, nblocks, pe), T *dest, const T *source,     \
      ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)
#define SHMEM_SIGNAL_CALLS(P, A)                                                               \
    P(A, signal_set, (OWN(sig_addr), signal, pe), uint64_t *sig_addr, uint64_t signal, int pe) \
    P(A, signal_add, (OWN(sig_addr), signal, pe), uint64_t *sig_addr, uint64_t signal, int pe)

/* Atomics. */
#define SHMEM_AMO_EXTENDED_CALLS(P, F, A, NAME, T)                                             \
    F(A, T, NAME##atomic_fetch, (OWN(source), pe), const T *source, int pe)                    \
    P(A, NAME##atomic_set, (OWN(dest), value, pe), T *dest, T value, int pe)                   \
    F(A, T, NAME##atomic_swap, (OWN(dest), value, pe), T *dest, T value, int pe)               \
    P(A, NAME##atomic_fetch_nbi, (fetch, OWN(source), pe), T *fetch, const T *source, int pe)  \
    P(A, NAME##atomic_swap_nbi, (fetch, OWN(dest), value, pe), T *fetch, T *dest, T value,     \
      int pe)
#define SHMEM_AMO_STANDARD_CALLS(P, F, A, NAME, T)                                             \
    F(A, T, NAME##atomic_compare_swap, (OWN(dest), cond, value, pe), T *dest, T cond, T value, \
      int pe)                                                                                  \
    F(A, T, NAME##atomic_fetch_inc, (OWN(dest), pe), T *dest, int pe)                          \
    P(A, NAME##atomic_inc, (OWN(dest), pe), T *dest, int pe)                                   \
    F(A, T, NAME##atomic_fetch_add, (OWN(dest), value, pe), T *dest, T value, int pe)          \
    P(A, NAME##atomic_add, (OWN(dest), value, pe), T *dest, T value, int pe)                   \
    P(A, NAME##atomic_compare_swap_nbi, (fetch, OWN(dest), cond, value, pe), T *fetch, T *dest, \
      T cond, T value, int pe)                                                                 \
    P(A, NAME##atomic_fetch_inc_nbi, (fetch, OWN(dest), pe), T *fetch, T *dest, int pe)        \
    P(A, NAME##atomic_fetch_add_nbi, (fetch, OWN(dest), value, pe), T *fetch, T *dest, T value, \
      int pe)
#define SHMEM_AMO_BITWISE_CALLS(P, F, A, NAME, T)                                              \
    SHMEM_AMO_BITWISE_OP_CALLS(P, F, A, NAME##atomic_, T, and)                                 \
    SHMEM_AMO_BITWISE_OP_CALLS(P, F, A, NAME##atomic_, T, or)                                  \
    SHMEM_AMO_BITWISE_OP_CALLS(P, F, A, NAME##atomic_, T, xor)
#define SHMEM_AMO_BITWISE_OP_CALLS(P, F, A, PREFIX, T, OP)                                     \
    F(A, T, PREFIX##fetch_##OP, (OWN(dest), value, pe), T *dest, T value, int pe)              \
    P(A, PREFIX##OP, (OWN(dest), value, pe), T *dest, T value, int pe)                         \
    P(A, PREFIX##fetch_##OP##_nbi, (fetch, OWN(dest), value, pe), T *fetch, T *dest, T value,  \
      int pe)

/* Waiting and testing. */
#define SHMEM_WAIT_CALLS(P, F, A, NAME, T)                                                     \
    P(A, NAME##wait_until, (OWN(ivar), cmp, cmp_value), T *ivar, int cmp, T cmp_value)         \
    F(A, int, NAME##test, (OWN(ivar), cmp, cmp_value), T *ivar, int cmp, T cmp_value)          \
    SHMEM_WAIT_SET_CALLS(P, F, A, NAME, , T, cmp_value, T cmp_value)                           \
    SHMEM_WAIT_SET_CALLS(P, F, A, NAME, _vector, T, cmp_values, const T *cmp_values)
#define SHMEM_WAIT_SET_CALLS(P, F, A, NAME, VECTOR, T, value, VALUE)                           \
    P(A, NAME##wait_until_all##VECTOR, (OWN(ivars), nelems, status, cmp, value), T *ivars,     \
      size_t nelems, const int *status, int cmp, VALUE)                                        \
    F(A, size_t, NAME##wait_until_any##VECTOR, (OWN(ivars), nelems, status, cmp, value),       \
      T *ivars, size_t nelems, const int *status, int cmp, VALUE)                              \
    F(A, size_t, NAME##wait_until_some##VECTOR,                                                \
      (OWN(ivars), nelems, indices, status, cmp, value), T *ivars, size_t nelems,              \
      size_t *indices, const int *status, int cmp, VALUE)                                      \
    F(A, int, NAME##test_all##VECTOR, (OWN(ivars), nelems, status, cmp, value), T *ivars,      \
      size_t nelems, const int *status, int cmp, VALUE)                                        \
    F(A, size_t, NAME##test_any##VECTOR, (OWN(ivars), nelems, status, cmp, value), T *ivars,   \
      size_t nelems, const int *status, int cmp, VALUE)                                        \
    F(A, size_t, NAME##test_some##VECTOR, (OWN(ivars), nelems, indices, status, cmp, value),   \
      T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, VALUE)

/* Collectives on teams, as C(A, name, (arguments), parameters after the team...). */
#define SHMEM_MOVE_CALLS(C, A, NAME, mem, T)                                                   \
    SHMEM_TEAM_MOVE_CALLS(C, A, NAME, mem, T)                                                  \
    C(A, NAME##collect##mem, (OWN(dest), OWN(source), nelems), T *dest, const T *source,       \
      size_t nelems)                                                                           \
    C(A, NAME##alltoalls##mem, (OWN(dest), OWN(source), dst, sst, nelems), T *dest,            \
      const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems)
#define SHMEM_TEAM_MOVE_CALLS(C, A, NAME, mem, T)                                              \
    C(A, NAME##broadcast##mem, (OWN(dest), OWN(source), nelems, PE_root), T *dest,             \
      const T *source, size_t nelems, int PE_root)                                             \
    C(A, NAME##fcollect##mem, (OWN(dest), OWN(source), nelems), T *dest, const T *source,      \
      size_t nelems)                                                                           \
    C(A, NAME##alltoall##mem, (OWN(dest), OWN(source), nelems), T *dest, const T *source,      \
      size_t nelems)
#define SHMEM_SCAN_CALLS(C, A, NAME, T)                                                        \
    C(A, NAME##sum_inscan, (OWN(dest), OWN(source), nelems), T *dest, const T *source,         \
      size_t nelems)                                                                           \
    C(A, NAME##sum_exscan, (OWN(dest), OWN(source), nelems), T *dest, const T *source,         \
      size_t nelems)
#define SHMEM_REDUCE_CALLS(C, A, NAME, T, OP) /* NAME without its _, OP with one */            \
    C(A, NAME##OP##_reduce, (OWN(dest), OWN(source), nreduce), T *dest, const T *source,       \
      size_t nreduce)

/* Deprecated atomics: rows with one name more, of the call today. */
#define SHMEM_OLD_AMO_CALLS(P, F, A, NAME, T)                                                  \
    P(A, NAME##add, NAME##atomic_add, (OWN(dest), value, pe), T *dest, T value, int pe)        \
    P(A, NAME##inc, NAME##atomic_inc, (OWN(dest), pe), T *dest, int pe)                        \
    F(A, T, NAME##cswap, NAME##atomic_compare_swap, (OWN(dest), cond, value, pe), T *dest,     \
      T cond, T value, int pe)                                                                 \
    F(A, T, NAME##fadd, NAME##atomic_fetch_add, (OWN(dest), value, pe), T *dest, T value,      \
      int pe)                                                                                  \
    F(A, T, NAME##finc, NAME##atomic_fetch_inc, (OWN(dest), pe), T *dest, int pe)
#define SHMEM_OLD_AMO_EXTENDED_CALLS(P, F, A, NAME, T)                                         \
    P(A, NAME##set, NAME##atomic_set, (OWN(dest), value, pe), T *dest, T value, int pe)        \
    F(A, T, NAME##fetch, NAME##atomic_fetch, (OWN(source), pe), const T *source, int pe)       \
    F(A, T, NAME##swap, NAME##atomic_swap, (OWN(dest), value, pe), T *dest, T value, int pe)

/* clang-format on */

#endif /* SHMEM_LISTS_H */
