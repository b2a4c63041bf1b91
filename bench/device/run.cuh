/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.cuh: how the calls of kernels.cuh are checked and then timed, by programs that print a
 * CSV on PE 0.
 *
 * The time of a call is the maximum over all PEs: each reads the clock of its GPU, in the
 * kernel, around many successive calls. The median of several launches is used.
 */
#ifndef CH_BENCH_DEVICE_RUN_CUH
#define CH_BENCH_DEVICE_RUN_CUH

#include "bench/device/job.h"
#include "bench/device/kernels.cuh"

#include <algorithm>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <type_traits>

enum { LAUNCHES = 5 };

static struct {
    int me, n;
    bool failed; /* some data was wrong */
    struct buffers buffers;
    unsigned long long *span; /* in this GPU's memory: times at which the first block began and
                                 the last ended */
} bench;

static const char *const scope_names[] = {"thread", "warp", "block"};
static const unsigned scope_threads[] = {1, 32, THREADS};

/* --- kernels ---------------------------------------------------------------------------- */
enum phase { BEFORE, CALL_IT, AFTER };

/* What a call returns; 0 of those that return nothing. */
template <typename T> __device__ inline int code_of(const T &call, int round)
{
    if constexpr (std::is_void_v<decltype(call(round))>) {
        call(round);
        return 0;
    } else {
        return call(round);
    }
}

template <typename T>
__global__ void __launch_bounds__(THREADS, 1) try_call(T call, enum phase phase, int round)
{
    if (phase == BEFORE) call.before(round);
    if (phase == AFTER) call.after(round);
    if (phase != CALL_IT) return;
    call.fresh(round);
    call.note(code_of(call, round));
    call.check(round);
}

__device__ inline unsigned long long now_ns()
{
    unsigned long long ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
    time_calls(T call, int calls, unsigned long long *span)
{
    for (int round = 0; round < T::UNTIMED + calls; round++) {
        if (round == T::UNTIMED) {
            if (gridDim.x == 1) CALLX(barrier_all_block)();
            if (threadIdx.x == 0) (void)atomicMin(&span[0], now_ns());
        }
        (void)call(round);
    }
    __syncthreads();
    if (threadIdx.x == 0) (void)atomicMax(&span[1], now_ns());
}

/* --- how they are run ------------------------------------------------------------------- */
static void check_cuda(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return;
    (void)fprintf(stderr, LIBRARY ": %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

template <typename... A>
static void launch(void (*kernel)(A...), unsigned ctas, unsigned threads, A... arguments)
{
#ifdef PLAIN_LAUNCH
    kernel<<<ctas, threads>>>(arguments...);
    check_cuda(cudaGetLastError(), "a launch");
#else
    void *args[] = {&arguments...};

    if (CALLX(collective_launch)((const void *)kernel, dim3(ctas), dim3(threads), args, 0, 0)) {
        (void)fprintf(stderr, LIBRARY ": a kernel of %u blocks cannot be launched\n", ctas);
        exit(1);
    }
#endif
    check_cuda(cudaDeviceSynchronize(), "a kernel");
}

struct shape {
    unsigned ctas, threads;
    int calls;    /* calls that are timed together */
    int steps;    /* messages or operations in a call, by which its time is divided */
    size_t bytes; /* bytes of one; for collectives, of a PE's block */
};

struct verdict {
    int wrong, code;
};

/* The maximum of all PEs' values at `counter`, on the GPU. */
static int most_of(const int *counter)
{
    int value = 0;

    check_cuda(cudaMemcpy(&value, counter, sizeof(value), cudaMemcpyDefault), "a counter");
    return (int)(uint32_t)job_max((uint32_t)value);
}

/* Run rounds with new data; returns the number of errors, and a code that a call returned. */
template <typename T> static struct verdict try_all(const T &call, const struct shape &shape)
{
    check_cuda(cudaMemset(bench.buffers.wrong, 0, 2 * sizeof(int)), "a counter");
    for (int round = 0; round < ROUNDS; round++)
        for (enum phase phase : {BEFORE, CALL_IT, AFTER}) {
            launch(try_call<T>, shape.ctas, shape.threads, call, phase, round);
            (void)job_max(0);
        }
    return {most_of(bench.buffers.wrong), most_of(bench.buffers.wrong + 1)};
}

template <typename T> static double time_us(const T &call, const struct shape &shape)
{
    const unsigned long long none[2] = {~0ull, 0};
    unsigned long long found[2];
    uint64_t ns[LAUNCHES];

    for (uint64_t &longest : ns) {
        check_cuda(cudaMemcpy(bench.span, none, sizeof(none), cudaMemcpyDefault), "a clock");
        (void)job_max(0);
        launch(time_calls<T>, shape.ctas, shape.threads, call, shape.calls, bench.span);
        check_cuda(cudaMemcpy(found, bench.span, sizeof(found), cudaMemcpyDefault), "a clock");
        longest = job_max(found[1] - found[0]);
    }
    std::sort(ns, ns + LAUNCHES);
    return (double)ns[LAUNCHES / 2] / shape.calls / shape.steps / 1e3;
}

/* A call that is refused is not timed; grids for which there is no room are left out. */
template <typename T>
static void measure(const char *name, const char *scope, const T &call,
                    const struct shape &shape)
{
    if (!library_has_room((const void *)time_calls<T>, shape.ctas, shape.threads)) return;

    const struct verdict found = try_all(call, shape);
    const double us = found.wrong == 0 && found.code == 0 ? time_us(call, shape) : 0;
    const int wrong = found.code == 0 ? found.wrong : 0;

    bench.failed |= wrong != 0;
    if (bench.me == 0)
        (void)printf(LIBRARY ",%s,%s,%zu,%u,%d,%.3f,%.2f,%d,%s\n", name, scope, shape.bytes,
                     shape.ctas, bench.n, us, us > 0 ? (double)shape.bytes / us / 1e3 : 0,
                     wrong, job_code(found.code));
    (void)fflush(stdout);
}

#endif /* CH_BENCH_DEVICE_RUN_CUH */
