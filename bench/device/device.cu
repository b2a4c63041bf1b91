/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.cu: calls inside kernels, checked and then timed, for this library or for the one that
 * CH_BENCH_API names. PE 0 prints a CSV.
 */
#include "bench/device/run.cuh"

#define VECTOR_BYTES ((size_t)32 << 20) /* of put and get; the largest buffers */

enum { CTAS_MAX = 128 };

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
    check_cuda(cudaMalloc((void **)&b->wrong, 2 * sizeof(int)), "memory");
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
    if (bench.me == 0) (void)printf(JOB_HEAD "\n");
    measure_all();
    library_close();
    job_close();
    return bench.failed;
}
