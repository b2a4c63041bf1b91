/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvshmem_calls.cuh: calls inside kernels that are compiled elsewhere than by nvcc with
 * nvshmem.h: by NVRTC, or in another language. They are functions of C, by the names and with
 * the arguments of NVSHMEM's device API, in modules that are installed beside this header; see
 * docs/device.md. It includes nothing, and uses only types that every compiler has.
 *
 * The list is what these modules have, what this header declares, and what chorus.device of
 * Python tells. A call of each row F returns R, of each row P nothing; X is empty, or x for
 * extensions.
 */
#ifndef NVSHMEM_CALLS_CUH
#define NVSHMEM_CALLS_CUH

/* As the program has them; both are 2 bytes. */
#ifndef NVSHMEM_CALLS_HALF
#define NVSHMEM_CALLS_HALF void
#define NVSHMEM_CALLS_BFLOAT16 void
#endif

/* clang-format off */
#define NVSHMEM_CALLS(F, P)                                                                    \
    NVSHMEM_CALLS_PLACES(F, P)                                                                 \
    NVSHMEM_CALLS_MOVES(F, P, , )                                                              \
    NVSHMEM_CALLS_MOVES(F, P, x, _warp)                                                        \
    NVSHMEM_CALLS_MOVES(F, P, x, _block)                                                       \
    NVSHMEM_CALLS_TEAM(F, P, x, _warp)                                                         \
    NVSHMEM_CALLS_TEAM(F, P, x, _block)                                                        \
    NVSHMEM_CALLS_MEET(F, P, , )                                                               \
    NVSHMEM_CALLS_MEET(F, P, x, _warp)                                                         \
    NVSHMEM_CALLS_MEET(F, P, x, _block)                                                        \
    NVSHMEM_CALLS_ORDER(F, P)                                                                  \
    NVSHMEM_CALLS_VALUES(F, P, int, int)                                                       \
    NVSHMEM_CALLS_VALUES(F, P, float, float)                                                   \
    NVSHMEM_CALLS_VALUES(F, P, double, double)                                                 \
    NVSHMEM_CALLS_VALUES(F, P, int64, long)                                                    \
    NVSHMEM_CALLS_VALUES(F, P, uint64, unsigned long)                                          \
    NVSHMEM_CALLS_WORDS(F, P, int, int)                                                        \
    NVSHMEM_CALLS_WORDS(F, P, int64, long)                                                     \
    NVSHMEM_CALLS_WORDS(F, P, uint64, unsigned long)                                           \
    NVSHMEM_CALLS_REDUCE(F, P, int, int)                                                       \
    NVSHMEM_CALLS_REDUCE(F, P, float, float)                                                   \
    NVSHMEM_CALLS_REDUCE(F, P, double, double)                                                 \
    NVSHMEM_CALLS_REDUCE(F, P, half, NVSHMEM_CALLS_HALF)                                       \
    NVSHMEM_CALLS_REDUCE(F, P, bfloat16, NVSHMEM_CALLS_BFLOAT16)

/* Who and where. */
#define NVSHMEM_CALLS_PLACES(F, P)                                                             \
    F(int, , my_pe, (void), ())                                                                \
    F(int, , n_pes, (void), ())                                                                \
    F(int, , team_my_pe, (int team), (team))                                                   \
    F(int, , team_n_pes, (int team), (team))                                                   \
    F(int, , team_translate_pe, (int src_team, int src_pe, int dest_team),                     \
      (src_team, src_pe, dest_team))                                                           \
    F(void *, , ptr, (const void *addr, int pe), (addr, pe))

/* Puts and gets of bytes. */
#define NVSHMEM_CALLS_MOVES(F, P, X, SCOPE)                                                    \
    P(X, putmem##SCOPE, (void *dest, const void *source, unsigned long bytes, int pe),         \
      (dest, source, bytes, pe))                                                               \
    P(X, getmem##SCOPE, (void *dest, const void *source, unsigned long bytes, int pe),         \
      (dest, source, bytes, pe))                                                               \
    P(X, putmem_nbi##SCOPE, (void *dest, const void *source, unsigned long bytes, int pe),     \
      (dest, source, bytes, pe))                                                               \
    P(X, getmem_nbi##SCOPE, (void *dest, const void *source, unsigned long bytes, int pe),     \
      (dest, source, bytes, pe))                                                               \
    P(X, putmem_signal##SCOPE, (void *dest, const void *source, unsigned long bytes,           \
      unsigned long *sig_addr, unsigned long signal, int sig_op, int pe),                      \
      (dest, source, bytes, sig_addr, signal, sig_op, pe))                                     \
    P(X, putmem_signal_nbi##SCOPE, (void *dest, const void *source, unsigned long bytes,       \
      unsigned long *sig_addr, unsigned long signal, int sig_op, int pe),                      \
      (dest, source, bytes, sig_addr, signal, sig_op, pe))

/* Collectives that move bytes. */
#define NVSHMEM_CALLS_TEAM(F, P, X, SCOPE)                                                     \
    F(int, X, broadcastmem##SCOPE, (int team, void *dest, const void *source,                  \
      unsigned long bytes, int root), (team, dest, source, bytes, root))                       \
    F(int, X, fcollectmem##SCOPE, (int team, void *dest, const void *source,                   \
      unsigned long bytes), (team, dest, source, bytes))                                       \
    F(int, X, alltoallmem##SCOPE, (int team, void *dest, const void *source,                   \
      unsigned long bytes), (team, dest, source, bytes))

/* Barriers. */
#define NVSHMEM_CALLS_MEET(F, P, X, SCOPE)                                                     \
    P(X, barrier_all##SCOPE, (void), ())                                                       \
    P(X, sync_all##SCOPE, (void), ())                                                          \
    F(int, X, barrier##SCOPE, (int team), (team))                                              \
    F(int, X, team_sync##SCOPE, (int team), (team))

/* Order, and signals. */
#define NVSHMEM_CALLS_ORDER(F, P)                                                              \
    P(, fence, (void), ())                                                                     \
    P(, quiet, (void), ())                                                                     \
    P(x, signal_op, (unsigned long *sig_addr, unsigned long signal, int sig_op, int pe),       \
      (sig_addr, signal, sig_op, pe))                                                          \
    F(unsigned long, , signal_fetch, (const unsigned long *sig_addr), (sig_addr))              \
    F(unsigned long, , signal_wait_until, (unsigned long *sig_addr, int cmp,                   \
      unsigned long value), (sig_addr, cmp, value))

/* Single elements. */
#define NVSHMEM_CALLS_VALUES(F, P, NAME, T)                                                    \
    P(, NAME##_p, (T *dest, T value, int pe), (dest, value, pe))                               \
    F(T, , NAME##_g, (const T *source, int pe), (source, pe))

/* Words that PEs change by atomics, and wait for. */
#define NVSHMEM_CALLS_WORDS(F, P, NAME, T)                                                     \
    F(T, , NAME##_atomic_fetch, (const T *source, int pe), (source, pe))                       \
    P(, NAME##_atomic_set, (T *dest, T value, int pe), (dest, value, pe))                      \
    P(, NAME##_atomic_add, (T *dest, T value, int pe), (dest, value, pe))                      \
    F(T, , NAME##_atomic_fetch_add, (T *dest, T value, int pe), (dest, value, pe))             \
    F(T, , NAME##_atomic_swap, (T *dest, T value, int pe), (dest, value, pe))                  \
    F(T, , NAME##_atomic_compare_swap, (T *dest, T cond, T value, int pe),                     \
      (dest, cond, value, pe))                                                                 \
    P(, NAME##_wait_until, (T *ivar, int cmp, T value), (ivar, cmp, value))                    \
    F(int, , NAME##_test, (T *ivar, int cmp, T value), (ivar, cmp, value))

/* Reductions by a block. */
#define NVSHMEM_CALLS_REDUCE(F, P, NAME, T)                                                    \
    F(int, x, NAME##_sum_reduce_block, (int team, T *dest, const T *source,                    \
      unsigned long nreduce), (team, dest, source, nreduce))                                   \
    F(int, x, NAME##_max_reduce_block, (int team, T *dest, const T *source,                    \
      unsigned long nreduce), (team, dest, source, nreduce))
/* clang-format on */

/* Values of arguments, as nvshmem.h has them. */
enum { NVSHMEM_TEAM_WORLD = 0 };
enum { NVSHMEM_SIGNAL_SET, NVSHMEM_SIGNAL_ADD };
enum {
    NVSHMEM_CMP_EQ,
    NVSHMEM_CMP_NE,
    NVSHMEM_CMP_GT,
    NVSHMEM_CMP_GE,
    NVSHMEM_CMP_LT,
    NVSHMEM_CMP_LE
};

#define NVSHMEM_DECLARE_F(R, X, NAME, parameters, arguments) \
    extern "C" __device__ R nvshmem##X##_##NAME parameters;
#define NVSHMEM_DECLARE_P(X, NAME, parameters, arguments) \
    extern "C" __device__ void nvshmem##X##_##NAME parameters;
NVSHMEM_CALLS(NVSHMEM_DECLARE_F, NVSHMEM_DECLARE_P)

#endif /* NVSHMEM_CALLS_CUH */
