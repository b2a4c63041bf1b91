/* SPDX-License-Identifier: Apache-2.0 */
/*
 * far.cu: calls inside kernels to peers that are not near, checked and then timed, as host.c
 * does those of hosts. PE 0 prints a CSV; a call that is refused has its code there, and no
 * time.
 *
 * PEs that share a GPU need NVIDIA's MPS, since the kernels of both wait for each other.
 */
#include "bench/device/far.cuh"
#include "bench/device/rows.h"
#include "bench/device/run.cuh"

enum { CTAS_MAX = 16 };

static const size_t put_bytes[] = {CH_ROW_PUT_BYTES}, coll_bytes[] = {CH_ROW_COLL_BYTES};
static struct ch_row_options options;

static bool is_asked(enum ch_row row)
{
    return options.is_asked[row];
}

/* Messages of `bytes`, of which a call has so many. */
static struct shape shape_of(enum ch_row row, scope s, unsigned ctas, int messages,
                             size_t bytes)
{
    return {ctas, scope_threads[s], ch_row_calls(row, messages, bytes), messages, bytes};
}

template <typename C> static void measure_one(enum ch_row row, scope s, int messages)
{
    C call;

    call.b = bench.buffers;
    if (is_asked(row))
        measure(ch_row_names[row], scope_names[s], call,
                shape_of(row, s, 1, messages, sizeof(uint64_t)));
}

template <scope S> static void measure_barriers()
{
    const struct shape shape = shape_of(CH_ROW_barrier, S, 1, 1, 0);

    if (is_asked(CH_ROW_barrier))
        measure("barrier", scope_names[S], barrier_call<S>{bench.buffers}, shape);
    if (is_asked(CH_ROW_sync))
        measure("sync", scope_names[S], sync_call<S>{bench.buffers}, shape);
}

/* Each thread has a word. */
template <bool ADDS> static void measure_words(enum ch_row row, scope s, unsigned ctas)
{
    const int n_threads = (int)(ctas * scope_threads[s]);
    words_call<ADDS> call;

    call.b = bench.buffers;
    call.window = s == THREAD ? ch_row_window(sizeof(uint64_t)) : 1;
    if (is_asked(row))
        measure(ch_row_names[row], scope_names[s], call,
                shape_of(row, s, ctas, n_threads * call.window, sizeof(uint64_t)));
}

template <enum way W, scope S> static void measure_window(enum ch_row row, size_t bytes)
{
    window_call<W, S> call;

    call.b = bench.buffers;
    call.count = bytes / sizeof(float);
    call.window = ch_row_window(bytes);
    for (unsigned ctas = 1; ctas <= CTAS_MAX && (ctas == 1 || bytes / ctas >= 16384); ctas *= 2)
        measure(ch_row_names[row], scope_names[S], call,
                shape_of(row, S, ctas, call.window, bytes));
}

/* Short messages by a thread, all but the shortest by blocks. */
template <enum way W> static void measure_windows(enum ch_row row)
{
    for (size_t bytes : put_bytes) {
        if (is_asked(row) && bytes <= 1024) measure_window<W, THREAD>(row, bytes);
        if (is_asked(row) && bytes >= 1024) measure_window<W, BLOCK>(row, bytes);
    }
}

template <typename C> static void measure_coll(enum ch_row row)
{
    for (size_t bytes : coll_bytes) {
        C call;

        call.b = bench.buffers;
        call.count = bytes / sizeof(float);
        if (is_asked(row))
            measure(ch_row_names[row], "block", call, shape_of(row, BLOCK, 1, 1, bytes));
    }
}

/* Collectives last: if one fails, the rows of the others are there. */
static void measure_all()
{
    measure_one<p_call>(CH_ROW_p, THREAD, 2);
    measure_one<put_signal_call<THREAD>>(CH_ROW_put_signal, THREAD, 2);
    measure_one<put_signal_call<WARP>>(CH_ROW_put_signal, WARP, 2);
    measure_one<put_signal_call<BLOCK>>(CH_ROW_put_signal, BLOCK, 2);
    measure_one<fetch_call<false>>(CH_ROW_g, THREAD, 1);
    measure_one<fetch_call<true>>(CH_ROW_fetch_add, THREAD, 1);
    measure_barriers<THREAD>();
    measure_barriers<BLOCK>();
    measure_words<false>(CH_ROW_p_rate, THREAD, 1);
    for (unsigned ctas = 1; ctas <= CTAS_MAX; ctas *= 4)
        measure_words<false>(CH_ROW_p_rate, BLOCK, ctas);
    measure_words<true>(CH_ROW_add, THREAD, 1);
    measure_words<true>(CH_ROW_add, BLOCK, 1);
    measure_windows<PUT>(CH_ROW_put);
    measure_windows<PUT_NBI>(CH_ROW_put_nbi);
    measure_windows<GET>(CH_ROW_get);
    measure_coll<broadcast_coded>(CH_ROW_broadcast);
    measure_coll<fcollect_coded>(CH_ROW_fcollect);
    measure_coll<alltoall_coded>(CH_ROW_alltoall);
    measure_coll<reduce_coded>(CH_ROW_reduce);
    measure_coll<reducescatter_coded>(CH_ROW_reducescatter);
}

static bool open_buffers(struct buffers *b)
{
    b->dest = (float *)CALL(malloc)(CH_ROW_AREA_BYTES);
    b->source = (float *)CALL(malloc)(CH_ROW_AREA_BYTES);
    b->words = (uint64_t *)CALL(calloc)(CTAS_MAX * THREADS, sizeof(uint64_t));
    b->signals = (uint64_t *)CALL(calloc)(WORDS, sizeof(uint64_t));
    if (b->dest == NULL || b->source == NULL || b->words == NULL || b->signals == NULL)
        return false;
    check_cuda(cudaMalloc((void **)&b->wrong, 2 * sizeof(int)), "memory");
    check_cuda(cudaMalloc((void **)&bench.span, 2 * sizeof(*bench.span)), "memory");
    return true;
}

static int run()
{
    if (bench.n < 2 || !open_buffers(&bench.buffers)) {
        if (bench.me == 0)
            (void)fprintf(stderr, "chorus-device-far: %s\n",
                          bench.n < 2 ? "needs two PEs" : chorusx_last_error());
        return 1;
    }
    if (bench.me == 0) (void)printf(JOB_HEAD "\n");
    measure_all();
    return bench.failed ? 1 : 0;
}

int main(int argc, char **argv)
{
    const bool is_read = ch_row_options_read(argc, argv, false, &options);
    int status = 0;

    if (!job_open(&bench.me, &bench.n)) return 1;
    if (!is_read) {
        if (bench.me == 0) (void)fprintf(stderr, "chorus-device-far: %s\n", options.error);
        status = 2;
    } else if (!options.has_help) {
        status = run();
    } else if (bench.me == 0) {
        ch_row_options_help(stdout, "chorus-device-far", false);
    }
    job_close();
    return status;
}
