/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.cu: calls inside kernels, checked and then timed, for this library or for the one that
 * CH_BENCH_API names. PE 0 prints a CSV.
 *
 * The time of a call is the maximum over all PEs: each reads the clock of its GPU, in the
 * kernel, around many successive calls. The median of several launches is used.
 */
#include "bench/device/job.h"
#include "bench/device/kernels.cuh"

#include <algorithm>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define VECTOR_BYTES ((size_t)32 << 20) /* of put and get; the largest buffers */

enum { LAUNCHES = 5, CTAS_MAX = 128 };

static struct {
    int me, n, failed;
    struct buffers buffers;
    unsigned long long *span; /* in this GPU's memory: times at which the first block began and
                                 the last ended */
} bench;

static const char *const scope_names[] = {"thread", "warp", "block"};
static const unsigned scope_threads[] = {1, 32, THREADS};

/* --- kernels ---------------------------------------------------------------------------- */
enum phase { BEFORE, CALL_IT, AFTER };

template <typename T>
__global__ void __launch_bounds__(THREADS, 1) try_call(T call, enum phase phase, int round)
{
    if (phase == BEFORE) call.before(round);
    if (phase == AFTER) call.after(round);
    if (phase != CALL_IT) return;
    call.fresh(round);
    call(round);
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
    for (int round = 0; round < WARM_UP + calls; round++) {
        if (round == WARM_UP) {
            if (gridDim.x == 1) CALLX(barrier_all_block)();
            if (threadIdx.x == 0) (void)atomicMin(&span[0], now_ns());
        }
        call(round);
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
    void *args[] = {&arguments...};

    if (CALLX(collective_launch)((const void *)kernel, dim3(ctas), dim3(threads), args, 0, 0)) {
        (void)fprintf(stderr, LIBRARY ": a kernel of %u blocks cannot be launched\n", ctas);
        exit(1);
    }
    check_cuda(cudaDeviceSynchronize(), "a kernel");
}

struct shape {
    unsigned ctas, threads;
    int calls;    /* calls that are timed together */
    int steps;    /* messages or operations in a call, by which its time is divided */
    size_t bytes; /* bytes of one; for collectives, of a PE's block */
};

/* Run rounds with new data; returns the number of errors on all PEs, or 1 for any error. */
template <typename T> static int try_all(const T &call, const struct shape &shape)
{
    int wrong = 0;

    check_cuda(cudaMemset(bench.buffers.wrong, 0, sizeof(int)), "a counter");
    for (int round = 0; round < ROUNDS; round++)
        for (enum phase phase : {BEFORE, CALL_IT, AFTER}) {
            launch(try_call<T>, shape.ctas, shape.threads, call, phase, round);
            (void)job_max(0);
        }
    check_cuda(cudaMemcpy(&wrong, bench.buffers.wrong, sizeof(int), cudaMemcpyDefault),
               "a counter");
    return (int)job_max((uint64_t)wrong);
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

template <typename T>
static void measure(const char *name, const char *scope, const T &call,
                    const struct shape &shape)
{
    const int wrong = try_all(call, shape);
    const double us = wrong == 0 ? time_us(call, shape) : 0;

    bench.failed |= wrong != 0;
    if (bench.me == 0)
        (void)printf(LIBRARY ",%s,%s,%zu,%u,%d,%.3f,%.2f,%d\n", name, scope, shape.bytes,
                     shape.ctas, bench.n, us, us > 0 ? (double)shape.bytes / us / 1e3 : 0,
                     wrong);
    (void)fflush(stdout);
}

/* --- what is run ------------------------------------------------------------------------ */
template <scope S> static void measure_barriers()
{
    const struct shape shape = {1, scope_threads[S], 500, 1, 0};

    measure("barrier", scope_names[S], barrier_call<S>{bench.buffers}, shape);
    measure("sync", scope_names[S], sync_call<S>{bench.buffers}, shape);
}

template <template <scope> class C, scope S> static void measure_vectors(const char *name)
{
    for (size_t count : {1, 16, 64, 256, 1024, 2048, 4096, 16384, 65536, 262144}) {
        const int calls = count <= 1024 ? 500 : count <= 16384 ? 100 : 10;
        const struct shape shape = {1, scope_threads[S], calls, 1, count * sizeof(float)};
        C<S> call;

        if (count > 64 && S != BLOCK) break;
        call.b = bench.buffers;
        call.count = count;
        measure(name, scope_names[S], call, shape);
    }
}

template <scope S> static void measure_put_signal()
{
    const struct shape shape = {1, scope_threads[S], 500, 2, sizeof(uint64_t)};
    put_signal_call<S> call;

    call.b = bench.buffers;
    measure("put_signal", scope_names[S], call, shape);
}

template <typename C> static void measure_words(const char *name, unsigned threads, int steps)
{
    const struct shape shape = {1, threads, 500, steps, threads * sizeof(uint64_t)};
    C call;

    call.b = bench.buffers;
    measure(name, threads == 1 ? "thread" : "block", call, shape);
}

template <bool IS_PUT> static void measure_copies(const char *name)
{
    copy_call<IS_PUT> call;

    call.b = bench.buffers;
    for (size_t bytes : {(size_t)65536, (size_t)1 << 20, VECTOR_BYTES})
        for (unsigned ctas = 1; ctas <= CTAS_MAX && bytes / ctas >= 8192; ctas *= 2) {
            const size_t most = (size_t)64 << 20;
            const int calls =
                (int)std::max<size_t>(2, std::min<size_t>(100, most * ctas / 8 / bytes));
            const struct shape shape = {ctas, THREADS, calls, 1, bytes};

            call.count = bytes / sizeof(float);
            call.regions = VECTOR_BYTES / bytes;
            measure(name, "block", call, shape);
        }
}

static void measure_all()
{
    if (bench.n > 1) {
        measure_words<p_call>("p", 1, 2);
        measure_put_signal<THREAD>();
        measure_put_signal<WARP>();
        measure_put_signal<BLOCK>();
    }
    measure_words<add_call<true>>("fetch_add", 1, 1);
    measure_words<add_call<true>>("fetch_add", WORDS, 1);
    measure_words<add_call<false>>("add", WORDS, 1);
    measure_barriers<THREAD>();
    measure_barriers<WARP>();
    measure_barriers<BLOCK>();
    measure_vectors<reduce_call, THREAD>("reduce");
    measure_vectors<reduce_call, WARP>("reduce");
    measure_vectors<reduce_call, BLOCK>("reduce");
    measure_vectors<fcollect_call, BLOCK>("fcollect");
    measure_vectors<alltoall_call, BLOCK>("alltoall");
    measure_vectors<broadcast_call, BLOCK>("broadcast");
    measure_copies<true>("put");
    measure_copies<false>("get");
}

static bool allocate(struct buffers *b)
{
    b->dest = (float *)CALL(malloc)(VECTOR_BYTES);
    b->source = (float *)CALL(malloc)(VECTOR_BYTES);
    b->words = (uint64_t *)CALL(calloc)(WORDS, sizeof(uint64_t));
    b->signals = (uint64_t *)CALL(calloc)(WORDS, sizeof(uint64_t));
    check_cuda(cudaMalloc((void **)&b->wrong, sizeof(int)), "memory");
    check_cuda(cudaMalloc((void **)&bench.span, 2 * sizeof(*bench.span)), "memory");
    return b->dest != NULL && b->source != NULL && b->words != NULL && b->signals != NULL;
}

int main(void)
{
    if (!job_open(&bench.me, &bench.n)) return 1;
    if (!library_open(bench.me, bench.n) || !allocate(&bench.buffers)) {
        (void)fprintf(stderr, LIBRARY ": cannot start on PE %d\n", bench.me);
        return 1;
    }
    if (bench.me == 0) (void)printf("library,call,scope,bytes,ctas,pes,time_us,GBps,wrong\n");
    measure_all();
    library_close();
    job_close();
    return bench.failed;
}
