/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_fake.h: CUDA C++ for a CPU, as far as kernels of libchorus-apps use it, and the calls
 * inside kernels by those of hosts: included in place of chorus_device.cuh, before the kernel.
 *
 * The lanes of all blocks of a kernel are fibers of the thread that launches it, which runs
 * until all have ended. Which fiber goes on is random, by fake_seed, at every barrier, vote,
 * atomic, fence, poll and call; for a time, a lane or those of a block go on only if no others
 * can. Memory is that of the CPU: what is seen is an order that is not kept in the program, not
 * a fence that is missing.
 *
 * PEs are processes, threads, or the fibers of sim_pes.c. fake_launch calls a function with a
 * pointer to the kernel's arguments, in which the test calls the kernel.
 *
 * Where it ends the program: barriers of a block that its lanes reach at different lines, lanes
 * that all wait at barriers, and waits of more than CHORUS_TIMEOUT, or FAKE_SECONDS.
 */
#ifndef CH_TEST_KERNEL_FAKE_H
#define CH_TEST_KERNEL_FAKE_H

#define CHORUS_DEVICE_CUH
#define CH_APPS_KERNEL_CUDA_H

#include "chorus/chorusx.h"

#include <stdint.h>
#include <string.h>

enum { FAKE_LANES_MAX = 1024, FAKE_WARP_LANES = 32, FAKE_SECONDS = 20 };

/* Runs a kernel of so many blocks of so many lanes, at most FAKE_LANES_MAX together. */
void fake_launch(void (*run)(void *arg), void *arg, unsigned blocks, unsigned threads);

/* Of this thread's launches from now on. */
void fake_seed(unsigned seed);

/* --- the language ------------------------------------------------------------------------- */
#define __global__ static __attribute__((unused))
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define CH_FN static inline __attribute__((unused))
#define CH_KERNEL __global__ void
#define CHORUS_DEVICE static inline __attribute__((unused))

/* Memory of the block, for all of its lanes; not initialised. NAME is a pointer to it. */
#define CH_SHARED(TYPE, NAME)       \
    static const char NAME##_which; \
    TYPE *const NAME = fake_shared(&NAME##_which, sizeof(TYPE))
void *fake_shared(const void *which, size_t bytes);

struct fake_dim {
    unsigned x, y, z;
};
struct fake_dim fake_thread(void), fake_block(void), fake_threads(void), fake_blocks(void);
#define threadIdx fake_thread()
#define blockIdx fake_block()
#define blockDim fake_threads()
#define gridDim fake_blocks()

typedef struct {
    unsigned x, y;
} __attribute__((aligned(8), may_alias)) uint2;
typedef struct {
    unsigned x, y, z, w;
} __attribute__((aligned(16), may_alias)) uint4;
typedef struct {
    float x, y, z, w;
} __attribute__((aligned(16), may_alias)) float4;
typedef struct {
    unsigned long long x, y;
} __attribute__((aligned(16), may_alias)) ulonglong2;

/* --- lanes -------------------------------------------------------------------------------- */
/* Others may run before this returns. */
void fake_turn(void);

/* A barrier and a vote of the block, or of the warp: how many lanes have set the flag. */
unsigned fake_vote_block(int flag, const char *file, int line);
unsigned fake_vote_warp(int flag, const char *file, int line);
#define __syncthreads() (void)fake_vote_block(0, __FILE__, __LINE__)
#define __syncthreads_count(flag) (int)fake_vote_block(flag, __FILE__, __LINE__)
#define __syncthreads_or(flag) (fake_vote_block(flag, __FILE__, __LINE__) != 0)
#define __syncthreads_and(flag) (fake_vote_block(!(flag), __FILE__, __LINE__) == 0)
#define __syncwarp() (void)fake_vote_warp(0, __FILE__, __LINE__)
#define __any_sync(mask, flag) ((void)(mask), fake_vote_warp(flag, __FILE__, __LINE__) != 0)
#define __all_sync(mask, flag) ((void)(mask), fake_vote_warp(!(flag), __FILE__, __LINE__) == 0)

/* The lanes of the warp whose flag is set. */
unsigned fake_ballot(int flag, const char *file, int line);
#define __ballot_sync(mask, flag) ((void)(mask), fake_ballot(flag, __FILE__, __LINE__))
#define __popc(x) __builtin_popcount(x)
#define __ffs(x) __builtin_ffs((int)(x))

/* The value of another lane of the warp. */
uint64_t fake_shuffle(uint64_t bits, unsigned from, const char *file, int line);
unsigned fake_lane_of_warp(void);

static inline float fake_shuffle_float(float x, unsigned from, const char *file, int line)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    bits = (uint32_t)fake_shuffle(bits, from, file, line);
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline int fake_shuffle_int(int x, unsigned from, const char *file, int line)
{
    return (int)(uint32_t)fake_shuffle((uint32_t)x, from, file, line);
}

static inline unsigned fake_shuffle_unsigned(unsigned x, unsigned from, const char *file,
                                             int line)
{
    return (unsigned)fake_shuffle(x, from, file, line);
}

#define FAKE_SHUFFLE(x, from)                 \
    _Generic((x), float                       \
             : fake_shuffle_float, int        \
             : fake_shuffle_int, unsigned     \
             : fake_shuffle_unsigned, default \
             : fake_shuffle)(x, from, __FILE__, __LINE__)
#define __shfl_sync(mask, x, from) FAKE_SHUFFLE(x, (unsigned)(from))
#define __shfl_xor_sync(mask, x, with) FAKE_SHUFFLE(x, fake_lane_of_warp() ^ (unsigned)(with))
#define __shfl_down_sync(mask, x, by) FAKE_SHUFFLE(x, fake_lane_of_warp() + (unsigned)(by))
#define __shfl_up_sync(mask, x, by) FAKE_SHUFFLE(x, fake_lane_of_warp() - (unsigned)(by))

/* --- memory ------------------------------------------------------------------------------- */
#define atomicAdd(at, x) (fake_turn(), __atomic_fetch_add((at), (x), __ATOMIC_SEQ_CST))
#define atomicOr(at, x) (fake_turn(), __atomic_fetch_or((at), (x), __ATOMIC_SEQ_CST))
#define atomicAnd(at, x) (fake_turn(), __atomic_fetch_and((at), (x), __ATOMIC_SEQ_CST))
#define atomicExch(at, x) (fake_turn(), __atomic_exchange_n((at), (x), __ATOMIC_SEQ_CST))
#define atomicCAS(at, old, x) (fake_turn(), __sync_val_compare_and_swap((at), (old), (x)))
#define __threadfence() (fake_turn(), __atomic_thread_fence(__ATOMIC_SEQ_CST))
#define __threadfence_system() __threadfence()
#define __ldg(at) (*(at))

/* --- calls -------------------------------------------------------------------------------- */
/*
 * One lane: the host's, before and after which others may run. A _block form is made by lane 0
 * between two barriers of the block, a _warp form likewise. While a collective waits, no other
 * lane of the PE runs.
 */
#define FAKE_CALLS(X)                                                                     \
    X(putmem, (void *dest, const void *source, size_t bytes, int pe),                     \
      (dest, source, bytes, pe))                                                          \
    X(putmem_nbi, (void *dest, const void *source, size_t bytes, int pe),                 \
      (dest, source, bytes, pe))                                                          \
    X(getmem, (void *dest, const void *source, size_t bytes, int pe),                     \
      (dest, source, bytes, pe))                                                          \
    X(putmem_signal,                                                                      \
      (void *dest, const void *source, size_t bytes, uint64_t *sig_addr, uint64_t signal, \
       int sig_op, int pe),                                                               \
      (dest, source, bytes, sig_addr, signal, sig_op, pe))                                \
    X(putmem_signal_nbi,                                                                  \
      (void *dest, const void *source, size_t bytes, uint64_t *sig_addr, uint64_t signal, \
       int sig_op, int pe),                                                               \
      (dest, source, bytes, sig_addr, signal, sig_op, pe))
#define FAKE_COLLECTIVES(X)                                                            \
    X(fcollectmem, (chorus_team_t team, void *dest, const void *source, size_t bytes), \
      (team, dest, source, bytes))                                                     \
    X(alltoallmem, (chorus_team_t team, void *dest, const void *source, size_t bytes), \
      (team, dest, source, bytes))                                                     \
    X(barrier, (chorus_team_t team), (team))                                           \
    X(team_sync, (chorus_team_t team), (team))

#define FAKE_DECLARE(NAME, PARAMETERS, ARGUMENTS) \
    void fake_##NAME PARAMETERS, fake_##NAME##_warp PARAMETERS, fake_##NAME##_block PARAMETERS;
FAKE_CALLS(FAKE_DECLARE)
#undef FAKE_DECLARE
#define FAKE_DECLARE(NAME, PARAMETERS, ARGUMENTS) \
    int fake_##NAME##_warp PARAMETERS, fake_##NAME##_block PARAMETERS;
FAKE_COLLECTIVES(FAKE_DECLARE)
#undef FAKE_DECLARE
void fake_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void fake_fence(void), fake_quiet(void);
uint64_t fake_fetch(const uint64_t *sig_addr);
uint64_t fake_wait_until(uint64_t *sig_addr, int cmp, uint64_t value);

/* As chorus_device.cuh has it: between two looks at what a program waits for. */
typedef struct {
    uint64_t since_ns;
} chorusx_wait_t;
int fake_wait_again(chorusx_wait_t *wait);

#ifndef FAKE_OWN_CALLS /* in kernel_fake.c, whose calls are the host's */
#define chorus_putmem fake_putmem
#define chorus_putmem_nbi fake_putmem_nbi
#define chorus_getmem fake_getmem
#define chorus_putmem_signal fake_putmem_signal
#define chorus_putmem_signal_nbi fake_putmem_signal_nbi
#define chorusx_putmem_warp fake_putmem_warp
#define chorusx_putmem_nbi_warp fake_putmem_nbi_warp
#define chorusx_getmem_warp fake_getmem_warp
#define chorusx_putmem_signal_warp fake_putmem_signal_warp
#define chorusx_putmem_signal_nbi_warp fake_putmem_signal_nbi_warp
#define chorusx_putmem_block fake_putmem_block
#define chorusx_putmem_nbi_block fake_putmem_nbi_block
#define chorusx_getmem_block fake_getmem_block
#define chorusx_putmem_signal_block fake_putmem_signal_block
#define chorusx_putmem_signal_nbi_block fake_putmem_signal_nbi_block
#define chorusx_fcollectmem_block fake_fcollectmem_block
#define chorusx_alltoallmem_block fake_alltoallmem_block
#define chorusx_barrier_block fake_barrier_block
#define chorusx_team_sync_block fake_team_sync_block
#define chorusx_signal_op fake_signal_op
#define chorus_fence fake_fence
#define chorus_quiet fake_quiet
#define chorus_signal_fetch fake_fetch
#define chorus_signal_wait_until fake_wait_until
#define chorus_uint64_wait_until (void)fake_wait_until
#define chorusx_wait_again fake_wait_again
#endif

#endif /* CH_TEST_KERNEL_FAKE_H */
