/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/measure.h"

#include "bench/data.h"
#include "bench/random.h"
#include "bench/stats.h"

#include <time.h>

/* Slots begin on lines of their own. */
#define SLOT_ALIGNMENT 64u

/* State of one row. Calls are numbered over all of its iterations. */
struct run {
    const struct ch_backend *backend;
    const struct ch_sweep_options *options;
    const struct ch_areas *areas;
    const struct ch_work *work;
    size_t slot_bytes;
    uint64_t calls;
    bool checks;
    uint64_t wrong; /* on this PE */
};

static double now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

size_t ch_measure_bytes(const struct ch_work *work, uint32_t pes)
{
    const size_t source = ch_work_source_bytes(work, pes), dest = ch_work_dest_bytes(work, pes);
    const size_t most = source > dest ? source : dest;

    return (most + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;
}

static void *slot(const struct run *run, void *area, uint32_t k)
{
    return (char *)area + k * run->slot_bytes;
}

static uint32_t root_of(const struct run *run, uint32_t k)
{
    const int root = run->options->root;

    return root >= 0 ? (uint32_t)root : (uint32_t)((run->calls + k) % run->backend->pes);
}

static struct ch_data data_of(const struct run *run, uint32_t k)
{
    const struct ch_data data = {
        .work = run->work,
        .pes = run->backend->pes,
        .me = run->backend->me,
        .root = root_of(run, k),
        .seed = ch_random(run->calls + k, run->work->count),
    };

    return data;
}

/* Does the call write this PE's destination? */
static bool gets(const struct run *run, const struct ch_data *data)
{
    const bool is_root = run->work->coll == CH_SWEEP_broadcast && data->me == data->root;

    return !is_root || run->backend->root_gets;
}

static void prepare(const struct run *run, uint32_t batch)
{
    if (!ch_work_moves(run->work)) return;
    for (uint32_t k = 0; k < batch; k++) {
        const struct ch_data data = data_of(run, k);

        ch_data_fill(&data, slot(run, run->areas->source, k));
        if (run->checks) ch_data_poison(&data, slot(run, run->areas->dest, k));
    }
}

static void check(struct run *run, uint32_t batch)
{
    if (!run->checks) return;
    if (!ch_work_moves(run->work)) {
        run->wrong += run->backend->meet(run->work);
        return;
    }
    for (uint32_t k = 0; k < batch; k++) {
        const struct ch_data data = data_of(run, k);

        if (gets(run, &data))
            run->wrong += ch_data_wrong(&data, slot(run, run->areas->dest, k));
    }
}

/* One iteration of `batch` calls; this PE's microseconds for all of them. */
static int iterate(struct run *run, uint32_t batch, double *us_out)
{
    const struct ch_backend *const backend = run->backend;
    double start;

    prepare(run, batch);
    backend->sync();
    start = now_us();
    for (uint32_t k = 0; k < batch; k++) {
        const int code = backend->call(run->work, slot(run, run->areas->dest, k),
                                       slot(run, run->areas->source, k), root_of(run, k));
        if (code != 0) return code;
    }
    backend->flush();
    *us_out = now_us() - start;
    check(run, batch);
    run->calls += batch;
    return 0;
}

/* The greatest of the PEs' values; the same on all. */
static double slowest(const struct ch_backend *backend, double mine)
{
    double all[CH_SWEEP_PES_MAX], most = 0.0;

    backend->gather(&mine, sizeof(mine), all);
    for (uint32_t pe = 0; pe < backend->pes; pe++)
        if (all[pe] > most) most = all[pe];
    return most;
}

/* Calls in a batch: grown until the quickest of three tries takes long enough. */
static int choose_batch(struct run *run, uint32_t *batch_out)
{
    const uint64_t room =
        run->slot_bytes > 0 ? run->areas->bytes / run->slot_bytes : CH_BATCH_MAX;
    const uint32_t most = room < CH_BATCH_MAX ? (uint32_t)room : CH_BATCH_MAX;
    uint32_t batch = 1;

    for (;;) {
        double us = 0.0, grown;

        for (int attempt = 0; attempt < 3; attempt++) {
            double mine;
            const int code = iterate(run, batch, &mine);

            if (code != 0) return code;
            mine = slowest(run->backend, mine);
            if (attempt == 0 || mine < us) us = mine;
        }
        *batch_out = batch;
        if (us >= CH_BATCH_US || batch == most) return 0;
        grown = us > 0.0 ? batch * CH_BATCH_US / us * 1.1 + 1.0 : most;
        if (grown < 2.0 * batch) grown = 2.0 * batch;
        batch = grown < most ? (uint32_t)grown : most;
    }
}

/* Each iteration's time becomes the slowest PE's; `wrong` becomes the sum of all PEs'. */
static void combine(struct run *run, double *us, uint32_t n)
{
    uint64_t all[CH_SWEEP_PES_MAX], wrong = 0;

    for (uint32_t i = 0; i < n; i++)
        us[i] = slowest(run->backend, us[i]);
    run->backend->gather(&run->wrong, sizeof(run->wrong), all);
    for (uint32_t pe = 0; pe < run->backend->pes; pe++)
        wrong += all[pe];
    run->wrong = wrong;
}

static int time_batches(struct run *run, double *us, uint32_t n)
{
    uint32_t batch;
    double unused;
    int code = 0;

    for (uint32_t i = 0; i < run->options->warmup && code == 0; i++)
        code = iterate(run, 1, &unused);
    if (code == 0) code = choose_batch(run, &batch);
    run->checks = run->options->checks;
    for (uint32_t i = 0; i < n && code == 0; i++) {
        code = iterate(run, batch, &us[i]);
        us[i] /= batch;
    }
    if (code == 0) combine(run, us, n);
    return code;
}

int ch_measure(const struct ch_backend *backend, const struct ch_sweep_options *options,
               const struct ch_areas *areas, const struct ch_work *work, double *us,
               struct ch_row *row_out)
{
    struct run run = {.backend = backend, .options = options, .areas = areas, .work = work};
    const uint32_t n = options->iterations;
    int code;

    run.slot_bytes = ch_measure_bytes(work, backend->pes);
    code = time_batches(&run, us, n);
    if (code == 0) {
        *row_out = (struct ch_row){
            .work = *work,
            .pes = backend->pes,
            .bytes = ch_work_bytes(work, backend->pes),
            .checked = options->checks,
            .wrong = run.wrong,
        };
        backend->served(work, &row_out->served);
        ch_stats_fill(row_out, us, n);
    }
    return code;
}
