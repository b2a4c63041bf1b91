/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.cuh: the measured calls, as functors that kernels call with all their threads. A
 * round of checks consists of before (poison the destination), a barrier of the hosts, then in
 * one kernel fresh (write this PE's source anew), the call and check, another barrier of the
 * hosts, and after (check the data that peers have written).
 *
 * CALL, CALLX and CONSTANT expand to the library's functions: those of OpenSHMEM, other ones,
 * and constants.
 */
#ifndef CH_BENCH_DEVICE_KERNELS_CUH
#define CH_BENCH_DEVICE_KERNELS_CUH

#include <stdint.h>

#include CH_BENCH_API

#define WORLD CONSTANT(TEAM_WORLD)
#define POISON (-1.0f)

/* Threads of a block, unless the build chooses others. */
#ifndef CH_BENCH_THREADS
#define CH_BENCH_THREADS 512
#endif

enum { THREADS = CH_BENCH_THREADS, ROUNDS = 6, WARM_UP = 20, WORDS = 512 };

/* The threads that make a call. */
enum scope { THREAD, WARP, BLOCK };

/* The symmetric memory of a PE; dest and source as large as the largest call needs. */
struct buffers {
    float *dest, *source;
    uint64_t *words, *signals; /* WORDS words each */
    int *wrong; /* how much was wrong, and what the last call returned that failed */
};

/* An element of the vector that PE pe sends in a round; sums of a few are exact in float. */
__device__ inline float element(int pe, size_t i, int round)
{
    return (float)((pe * 7 + (int)(i % 97) * 3 + round * 5) % 31);
}

struct call_base {
    enum { UNTIMED = WARM_UP }; /* calls before those that are timed */
    struct buffers b;

    __device__ void expect(bool holds) const
    {
        if (!holds) (void)atomicAdd(b.wrong, 1);
    }
    __device__ void note(int code) const
    {
        if (code != 0) (void)atomicExch(b.wrong + 1, code);
    }
    /* Words that other PEs store are read directly. */
    __device__ bool has_word(size_t i, uint64_t value) const
    {
        return *(volatile uint64_t *)&b.words[i] == value;
    }
    __device__ void before(int) const
    {
    }
    __device__ void fresh(int) const
    {
    }
    __device__ void check(int) const
    {
    }
    __device__ void after(int) const
    {
    }
};

/* A vector of which each of the launch's threads has a share. */
struct vector_call : call_base {
    size_t count;

    __device__ void poison(size_t dest_count) const
    {
        for (size_t i = threadIdx.x; i < dest_count; i += blockDim.x)
            b.dest[i] = POISON;
    }
    __device__ void fill(size_t source_count, int round) const
    {
        for (size_t i = threadIdx.x; i < source_count; i += blockDim.x)
            b.source[i] = element(CALL(my_pe)(), i, round);
    }
    __device__ size_t all() const
    {
        return count * CALL(n_pes)();
    }
};

__device__ inline int next_pe()
{
    const int pe = CALL(my_pe)() + 1;

    return pe == CALL(n_pes)() ? 0 : pe;
}

/* --- barriers --------------------------------------------------------------------------- */
/* Before it each PE stores a word on the next PE, which must find it after the barrier. */
template <scope S> struct barrier_call : call_base {
    __device__ void operator()(int) const
    {
        if (S == THREAD) CALL(barrier_all)();
        if (S == WARP) CALLX(barrier_all_warp)();
        if (S == BLOCK) CALLX(barrier_all_block)();
    }
    __device__ void fresh(int round) const
    {
        if (threadIdx.x == blockDim.x - 1) CALL(uint64_p)(b.words, round + 1, next_pe());
    }
    __device__ void check(int round) const
    {
        expect(has_word(0, (uint64_t)round + 1));
    }
};

template <scope S> struct sync_call : call_base {
    __device__ void operator()(int) const
    {
        if (S == THREAD) CALL(sync_all)();
        if (S == WARP) CALLX(sync_all_warp)();
        if (S == BLOCK) CALLX(sync_all_block)();
    }
};

/* --- collectives that move and combine -------------------------------------------------- */
/* A function that exists in all scopes, with its arguments. */
#define IN_SCOPE(NAME, ...)                                     \
    do {                                                        \
        if (S == THREAD) (void)CALL(NAME)(__VA_ARGS__);         \
        if (S == WARP) (void)CALLX(NAME##_warp)(__VA_ARGS__);   \
        if (S == BLOCK) (void)CALLX(NAME##_block)(__VA_ARGS__); \
    } while (0)

template <scope S> struct reduce_call : vector_call {
    __device__ void operator()(int) const
    {
        IN_SCOPE(float_sum_reduce, WORLD, b.dest, b.source, count);
    }
    __device__ void before(int) const
    {
        poison(count);
    }
    __device__ void fresh(int round) const
    {
        fill(count, round);
    }
    __device__ void check(int round) const
    {
        for (size_t i = threadIdx.x; i < count; i += blockDim.x) {
            float sum = 0;

            for (int pe = 0; pe < CALL(n_pes)(); pe++)
                sum += element(pe, i, round);
            expect(b.dest[i] == sum);
        }
    }
};

template <scope S> struct fcollect_call : vector_call {
    __device__ void operator()(int) const
    {
        IN_SCOPE(float_fcollect, WORLD, b.dest, b.source, count);
    }
    __device__ void before(int) const
    {
        poison(all());
    }
    __device__ void fresh(int round) const
    {
        fill(count, round);
    }
    __device__ void check(int round) const
    {
        for (size_t i = threadIdx.x; i < all(); i += blockDim.x)
            expect(b.dest[i] == element((int)(i / count), i % count, round));
    }
};

template <scope S> struct alltoall_call : vector_call {
    __device__ void operator()(int) const
    {
        IN_SCOPE(float_alltoall, WORLD, b.dest, b.source, count);
    }
    __device__ void before(int) const
    {
        poison(all());
    }
    __device__ void fresh(int round) const
    {
        fill(all(), round);
    }
    __device__ void check(int round) const
    {
        const size_t mine = CALL(my_pe)() * count;

        for (size_t i = threadIdx.x; i < all(); i += blockDim.x)
            expect(b.dest[i] == element((int)(i / count), mine + i % count, round));
    }
};

/* The root changes with each call, so that every call waits for the previous one. */
template <scope S> struct broadcast_call : vector_call {
    __device__ void operator()(int round) const
    {
        IN_SCOPE(float_broadcast, WORLD, b.dest, b.source, count, root_of(round));
    }
    __device__ void before(int) const
    {
        poison(count);
    }
    __device__ void fresh(int round) const
    {
        fill(count, round);
    }
    __device__ void check(int round) const
    {
        /* NVSHMEM does not write the root's dest. */
        for (size_t i = threadIdx.x; i < count && root_of(round) != CALL(my_pe)();
             i += blockDim.x)
            expect(b.dest[i] == element(root_of(round), i, round));
    }
    __device__ static int root_of(int round)
    {
        return (int)((unsigned)round % (unsigned)CALL(n_pes)());
    }
};

/* --- from one PE to another ------------------------------------------------------------- */
/* PEs 0 and 1 alternately send each other a word, two messages per call; the other PEs do
 * nothing. */
struct pong_call : call_base {
    __device__ int other() const
    {
        return CALL(my_pe)() < 2 && CALL(n_pes)() > 1 ? 1 - CALL(my_pe)() : -1;
    }
    __device__ static uint64_t value_of(int round)
    {
        return (uint64_t)round + 100;
    }
    __device__ void before(int) const
    {
        if (threadIdx.x == 0) b.words[0] = b.signals[0] = 0;
    }
    __device__ void fresh(int round) const
    {
        if (threadIdx.x == 0) b.words[1] = value_of(round);
    }
    __device__ void check(int round) const
    {
        expect(other() < 0 || has_word(0, value_of(round)));
    }
};

/* A word that is data and signal at once, stored and polled for: the smallest possible
 * message. */
struct p_call : pong_call {
    __device__ void operator()(int round) const
    {
        if (other() == 0) await(round);
        if (other() >= 0) CALL(uint64_p)(b.words, value_of(round), other());
        if (other() == 1) await(round);
    }
    __device__ void await(int round) const
    {
        CALL(uint64_wait_until)(b.words, CONSTANT(CMP_EQ), value_of(round));
    }
};

template <scope S> struct put_signal_call : pong_call {
    __device__ void operator()(int round) const
    {
        if (other() == 0) await(round);
        if (other() >= 0) send(value_of(round));
        if (other() == 1) await(round);
    }
    __device__ void send(uint64_t value) const
    {
        const int set = CONSTANT(SIGNAL_SET);
        uint64_t *const data = b.words, *const source = b.words + 1;

        if (S == THREAD)
            CALL(uint64_put_signal)(data, source, 1, b.signals, value, set, other());
        if (S == WARP)
            CALLX(uint64_put_signal_warp)(data, source, 1, b.signals, value, set, other());
        if (S == BLOCK)
            CALLX(uint64_put_signal_block)(data, source, 1, b.signals, value, set, other());
    }
    __device__ void await(int round) const
    {
        if (threadIdx.x == 0)
            (void)CALL(signal_wait_until)(b.signals, CONSTANT(CMP_EQ), value_of(round));
        __syncthreads();
    }
};

/* --- atomics, of all PEs at the next one ------------------------------------------------ */
template <bool FETCHES> struct add_call : call_base {
    __device__ void operator()(int) const
    {
        if (!FETCHES)
            CALL(uint64_atomic_add)(&b.words[threadIdx.x], 1, next_pe());
        else /* and waits for the old value */
            expect(CALL(uint64_atomic_fetch_add)(&b.words[threadIdx.x], 1, next_pe()) != ~0ull);
    }
    __device__ void before(int) const
    {
        b.words[threadIdx.x] = 0;
    }
    __device__ void after(int) const
    {
        expect(has_word(threadIdx.x, 1));
    }
};

/* --- put and get by several blocks, each a part, with the next PE ----------------------- */
/* Each round uses another region of the buffers, so that the data is in no cache. */
template <bool IS_PUT> struct copy_call : vector_call {
    size_t regions;

    __device__ void operator()(int round) const
    {
        const size_t at = begin(round), part = end(round) - at;

        if (IS_PUT)
            CALLX(float_put_block)(b.dest + at, b.source + at, part, next_pe());
        else
            CALLX(float_get_block)(b.dest + at, b.source + at, part, next_pe());
        if (IS_PUT && threadIdx.x == 0) CALL(quiet)();
    }
    /* This block's part: it begins at a multiple of 16 bytes. */
    __device__ size_t first(int round, unsigned block) const
    {
        return round % regions * count + count / 4 * block / gridDim.x * 4;
    }
    __device__ size_t begin(int round) const
    {
        return first(round, blockIdx.x);
    }
    __device__ size_t end(int round) const
    {
        return first(round, blockIdx.x + 1);
    }
    __device__ void before(int round) const
    {
        for (size_t i = begin(round) + threadIdx.x; i < end(round); i += blockDim.x) {
            b.source[i] = element(CALL(my_pe)(), i, round);
            b.dest[i] = POISON;
        }
    }
    __device__ void after(int round) const
    {
        const int n = CALL(n_pes)(), from = IS_PUT ? (CALL(my_pe)() + n - 1) % n : next_pe();

        for (size_t i = begin(round) + threadIdx.x; i < end(round); i += blockDim.x)
            expect(b.dest[i] == element(from, i, round));
    }
};

#endif /* CH_BENCH_DEVICE_KERNELS_CUH */
