/* SPDX-License-Identifier: Apache-2.0 */
/*
 * far.cuh: further calls, as functors like those of kernels.cuh: one-sided calls of PE 0 to PE
 * 1, which the network carries out, and reducescatter.
 */
#ifndef CH_BENCH_DEVICE_FAR_CUH
#define CH_BENCH_DEVICE_FAR_CUH

#include "bench/device/kernels.cuh"

/* --- one-sided calls -------------------------------------------------------------------- */
struct one_sided_call : vector_call {
    int window; /* messages of a thread or block, then a quiet */

    __device__ static bool calls()
    {
        return CALL(my_pe)() == 0;
    }
    __device__ static bool is_target()
    {
        return CALL(my_pe)() == 1;
    }
    /* All threads of the block have made their calls. */
    __device__ static void finish()
    {
        __syncthreads();
        if (threadIdx.x == 0) CALL(quiet)();
        __syncthreads();
    }
    __device__ static unsigned thread()
    {
        return blockIdx.x * blockDim.x + threadIdx.x;
    }
    /* What a word is before the calls of a round; never 0. */
    __device__ static uint64_t value_before(int round)
    {
        return (uint64_t)round + 99;
    }
};

enum way { PUT, PUT_NBI, GET };

/* Long messages are divided among the blocks. */
template <enum way W, scope S> struct window_call : one_sided_call {
    enum { UNTIMED = 2 };

    __device__ void operator()(int) const
    {
        if (!calls()) return;
        for (int k = 0; k < window; k++)
            move((size_t)k * count + first(blockIdx.x),
                 first(blockIdx.x + 1) - first(blockIdx.x));
        if (W != GET) finish();
    }
    __device__ void move(size_t at, size_t n) const
    {
        float *const dest = b.dest + at, *const source = b.source + at;

        if (W == PUT && S == THREAD) CALL(float_put)(dest, source, n, 1);
        if (W == PUT && S == BLOCK) CALLX(float_put_block)(dest, source, n, 1);
        if (W == PUT_NBI && S == THREAD) CALL(float_put_nbi)(dest, source, n, 1);
        if (W == PUT_NBI && S == BLOCK) CALLX(float_put_nbi_block)(dest, source, n, 1);
        if (W == GET && S == THREAD) CALL(float_get)(dest, source, n, 1);
        if (W == GET && S == BLOCK) CALLX(float_get_block)(dest, source, n, 1);
    }
    /* This block's part of a message begins at a multiple of 16 bytes. */
    __device__ size_t first(unsigned block) const
    {
        return block == gridDim.x ? count : count / 4 * block / gridDim.x * 4;
    }
    __device__ void before(int round) const
    {
        for (size_t i = thread(); i < count * window; i += gridDim.x * blockDim.x) {
            b.source[i] = element(CALL(my_pe)(), i, round);
            b.dest[i] = POISON;
        }
    }
    __device__ void after(int round) const
    {
        if (W == GET ? !calls() : !is_target()) return;
        for (size_t i = thread(); i < count * window; i += gridDim.x * blockDim.x)
            expect(b.dest[i] == element(W == GET ? 1 : 0, i, round));
    }
};

/* Each thread stores its word, or adds to it. */
template <bool ADDS> struct words_call : one_sided_call {
    enum { UNTIMED = 2 };

    __device__ void operator()(int round) const
    {
        uint64_t *const word = &b.words[thread()];

        if (!calls()) return;
        for (int k = 0; k < window; k++)
            if (ADDS)
                CALL(uint64_atomic_add)(word, 1, 1);
            else
                CALL(uint64_p)(word, value_before(round) + k + 1, 1);
        finish();
    }
    __device__ void before(int round) const
    {
        b.words[thread()] = value_before(round);
    }
    __device__ void after(int round) const
    {
        expect(!is_target() || has_word(thread(), value_before(round) + window));
    }
};

/* A word that a thread loads from PE 1, or adds to there; signals[1] is what it got. */
template <bool ADDS> struct fetch_call : one_sided_call {
    __device__ void operator()(int) const
    {
        if (!calls()) return;
        b.signals[1] =
            ADDS ? CALL(uint64_atomic_fetch_add)(b.words, 1, 1) : CALL(uint64_g)(b.words, 1);
    }
    __device__ void before(int round) const
    {
        b.words[0] = value_before(round);
        b.signals[1] = 0;
    }
    __device__ void check(int round) const
    {
        expect(!calls() || b.signals[1] == value_before(round));
    }
    __device__ void after(int round) const
    {
        expect(!is_target() || has_word(0, value_before(round) + (ADDS ? 1 : 0)));
    }
};

/* --- collectives of a block, whose codes are looked at ---------------------------------- */
#define CODED(NAME, FUNCTION, ...)                                                  \
    struct NAME##_coded : NAME##_call<BLOCK> {                                      \
        __device__ int operator()(int round) const                                  \
        {                                                                           \
            (void)round;                                                            \
            return CALLX(FUNCTION##_block)(WORLD, b.dest, b.source, ##__VA_ARGS__); \
        }                                                                           \
    };

CODED(broadcast, float_broadcast, count, root_of(round))
CODED(fcollect, float_fcollect, count)
CODED(alltoall, float_alltoall, count)
CODED(reduce, float_sum_reduce, count)
#undef CODED

struct reducescatter_coded : vector_call {
    __device__ int operator()(int) const
    {
        return CALLX(float_sum_reducescatter_block)(WORLD, b.dest, b.source, count);
    }
    __device__ void before(int) const
    {
        poison(count);
    }
    __device__ void fresh(int round) const
    {
        fill(all(), round);
    }
    __device__ void check(int round) const
    {
        const size_t mine = CALL(my_pe)() * count;

        for (size_t i = threadIdx.x; i < count; i += blockDim.x) {
            float sum = 0;

            for (int pe = 0; pe < CALL(n_pes)(); pe++)
                sum += element(pe, mine + i, round);
            expect(b.dest[i] == sum);
        }
    }
};

#endif /* CH_BENCH_DEVICE_FAR_CUH */
