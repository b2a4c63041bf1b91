/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c: the calls of far.cu, made by hosts, as what those inside kernels are compared with.
 * With --stream, puts are queued on a stream, of a GPU if the heap is there.
 *
 * Each row is first checked with new data in each round. The time is the maximum over all PEs
 * of many successive calls, of which PE 0 prints the median of several samples.
 */
#include "bench/device/host.h"
#include "bench/device/job.h"

#include "base/clock.h"
#include "chorus/chorus.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 3, SAMPLES = 5, UNTIMED = 2 };

struct host_bench bench;

/* --- rows --------------------------------------------------------------------------------- */
struct verdict {
    uint64_t wrong;
    int code;
};

static struct verdict try_all(const struct plan *plan)
{
    struct verdict found = {0, 0};
    int code = 0;

    for (int round = 0; round < ROUNDS && code == 0; round++) {
        host_prepare(plan, round);
        chorus_barrier_all();
        host_store_before(plan, round);
        code = host_call(plan, round);
        if (code == 0) code = host_synchronize();
        chorus_barrier_all();
        code = (int)(uint32_t)job_max((uint32_t)code);
        if (code == 0) found.wrong += host_count_wrong(plan, round);
    }
    found.wrong = job_max(found.wrong);
    found.code = code;
    return found;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

/* Successive calls; the longest time of a PE. */
static uint64_t time_ns(const struct plan *plan, int calls, int *round, int *code)
{
    uint64_t start_ns;

    for (int i = 0; i < UNTIMED; i++)
        *code |= host_call(plan, (*round)++);
    *code |= host_synchronize();
    chorus_barrier_all();
    start_ns = ch_clock_ns();
    for (int i = 0; i < calls; i++)
        *code |= host_call(plan, (*round)++);
    *code |= host_synchronize();
    return job_max(ch_clock_ns() - start_ns);
}

static bool is_one_way(enum ch_row row)
{
    return row == CH_ROW_p || row == CH_ROW_put_signal;
}

static double time_us(const struct plan *plan, struct verdict *found)
{
    const int messages = is_one_way(plan->row) ? 2 : plan->window;
    const int calls = ch_row_calls(plan->row, messages, plan->bytes), middle = SAMPLES / 2;
    uint64_t ns[SAMPLES];
    int round = ROUNDS;

    for (int i = 0; i < SAMPLES; i++)
        ns[i] = time_ns(plan, calls, &round, &found->code);
    qsort(ns, SAMPLES, sizeof(ns[0]), by_value);
    return (double)ns[middle] / calls / messages / (double)CH_NS_PER_US;
}

static void measure(const struct plan *plan)
{
    struct verdict found = try_all(plan);
    double us = 0;

    if (found.wrong == 0 && found.code == 0) us = time_us(plan, &found);
    bench.failed |= found.wrong != 0 || found.code != 0;
    if (bench.me == 0)
        (void)printf("%s,%s,host,%zu,1,%d,%.3f,%.2f,%llu,%s\n",
                     bench.stream != NULL ? "stream" : "host", ch_row_names[plan->row],
                     plan->bytes, bench.n, us, us > 0 ? (double)plan->bytes / us / 1e3 : 0,
                     (unsigned long long)found.wrong, job_code(found.code));
    (void)fflush(stdout);
}

static void measure_row(enum ch_row row)
{
    static const size_t put_bytes[] = {CH_ROW_PUT_BYTES}, coll_bytes[] = {CH_ROW_COLL_BYTES};
    const size_t of_word = row == CH_ROW_barrier || row == CH_ROW_sync ? 0 : sizeof(uint64_t);
    const bool is_window = row == CH_ROW_p_rate || row == CH_ROW_add;

    if (row >= CH_ROW_broadcast)
        for (size_t i = 0; i < sizeof(coll_bytes) / sizeof(coll_bytes[0]); i++)
            measure(&(struct plan){row, coll_bytes[i], 1});
    else if (row >= CH_ROW_put)
        for (size_t i = 0; i < sizeof(put_bytes) / sizeof(put_bytes[0]); i++)
            measure(&(struct plan){row, put_bytes[i], ch_row_window(put_bytes[i])});
    else
        measure(&(struct plan){row, of_word, is_window ? ch_row_window(of_word) : 1});
}

/* --- the job ------------------------------------------------------------------------------ */
static bool open_bench(bool on_stream)
{
    bench.dest = chorus_malloc(CH_ROW_AREA_BYTES);
    bench.source = chorus_malloc(CH_ROW_AREA_BYTES);
    bench.words = chorus_calloc(HOST_WORDS, sizeof(*bench.words));
    bench.here = malloc(CH_ROW_AREA_BYTES);
    if (bench.dest == NULL || bench.source == NULL || bench.words == NULL || bench.here == NULL)
        return false;
    return !on_stream || chorusx_stream_create(&bench.stream) == 0;
}

static int run(const struct ch_row_options *options)
{
    if (bench.n < 2 || !open_bench(options->on_stream)) {
        if (bench.me == 0)
            (void)fprintf(stderr, "chorus-device-host: %s\n",
                          bench.n < 2 ? "needs two PEs" : chorusx_last_error());
        return 1;
    }
    if (bench.me == 0) (void)printf(JOB_HEAD "\n");
    for (int row = 0; row < CH_ROW_COUNT; row++)
        if (options->is_asked[row] && (row == CH_ROW_put || !options->on_stream))
            measure_row((enum ch_row)row);
    free(bench.here);
    return bench.failed ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct ch_row_options options;
    const bool is_read = ch_row_options_read(argc, argv, true, &options);
    int status = 0;

    if (!job_open(&bench.me, &bench.n)) return 1;
    if (!is_read) {
        if (bench.me == 0) (void)fprintf(stderr, "chorus-device-host: %s\n", options.error);
        status = 2;
    } else if (!options.has_help) {
        status = run(&options);
    } else if (bench.me == 0) {
        ch_row_options_help(stdout, "chorus-device-host", true);
    }
    job_close();
    return status;
}
