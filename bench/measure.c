/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/measure.h"

#include "bench/batch.h"
#include "bench/stats.h"

/* Alignment of slots. */
#define SLOT_ALIGNMENT 64u

/* One row: the batch, and the libraries that run it. Chorus is the first entrant. */
struct run {
    struct ch_batch batch;
    struct ch_entrant entrants[1 + CH_PEER_COUNT];
    enum ch_sweep_peer peer_of[1 + CH_PEER_COUNT];
    size_t n;
    uint32_t slots_most; /* bytes of each area */
    bool is_fresh;       /* new data for each iteration */
};

size_t ch_measure_bytes(const struct ch_work *work, uint32_t pes)
{
    const size_t source = ch_work_source_bytes(work, pes), dest = ch_work_dest_bytes(work, pes);
    const size_t most = source > dest ? source : dest;

    return (most + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;
}

/* The maximum of the PEs' values; the same on all. */
static double slowest(const struct ch_backend *backend, double mine)
{
    double all[CH_SWEEP_PES_MAX], most = 0.0;

    backend->gather(&mine, sizeof(mine), all);
    for (uint32_t pe = 0; pe < backend->pes; pe++)
        if (all[pe] > most) most = all[pe];
    return most;
}

static uint64_t sum(const struct ch_backend *backend, uint64_t mine)
{
    uint64_t all[CH_SWEEP_PES_MAX], total = 0;

    backend->gather(&mine, sizeof(mine), all);
    for (uint32_t pe = 0; pe < backend->pes; pe++)
        total += all[pe];
    return total;
}

/* Entrant i cannot run the row: the others continue. */
static void drop(struct run *run, size_t i)
{
    ch_bench_gpu_forget(run->entrants[i].graph);
    run->n--;
    for (; i < run->n; i++) {
        run->entrants[i] = run->entrants[i + 1];
        run->peer_of[i] = run->peer_of[i + 1];
    }
}

/* One iteration of `calls` calls by each entrant. A peer that cannot make them is removed. */
static int iterate(struct run *run, uint32_t calls, uint32_t iteration, bool is_last)
{
    struct ch_batch *const batch = &run->batch;

    if (run->is_fresh || iteration == 0) ch_batch_fill(batch, run->entrants, run->n, calls);
    for (size_t i = 0; i < run->n;) {
        struct ch_entrant *const entrant = &run->entrants[i];
        int code;

        ch_batch_poison(batch, entrant, calls);
        code = ch_batch_time(batch, entrant, calls, &entrant->us[iteration]);
        if (code != 0 && i == 0) return code;
        if (code != 0)
            drop(run, i);
        else
            i++;
    }
    if (!run->is_fresh && !is_last) return 0;
    for (size_t i = 0; i < run->n; i++)
        ch_batch_check(batch, &run->entrants[i], calls);
    batch->calls += calls;
    return 0;
}

/* Number of calls in a batch: increased until the fastest of three attempts takes long enough.
 */
static int choose_batch(struct run *run, uint32_t *batch_out)
{
    const uint32_t most = run->slots_most;
    uint32_t batch = 1;

    for (;;) {
        double us = 0.0, grown;

        for (int attempt = 0; attempt < 3; attempt++) {
            const int code = iterate(run, batch, 0, true);
            double mine;

            if (code != 0) return code;
            mine = slowest(run->batch.backend, run->entrants[0].us[0]);
            if (attempt == 0 || mine < us) us = mine;
        }
        *batch_out = batch;
        if (us >= CH_BATCH_US || batch == most) return 0;
        grown = us > 0.0 ? batch * CH_BATCH_US / us * 1.1 + 1.0 : most;
        if (grown < 2.0 * batch) grown = 2.0 * batch;
        batch = grown < most ? (uint32_t)grown : most;
    }
}

/* On a GPU's stream the number of calls is fixed. A graph is launched once before it is
 * timed. */
static int fix_batch(struct run *run, uint32_t *batch_out)
{
    *batch_out =
        run->batch.slot_bytes <= CH_GPU_SMALL_BYTES ? CH_GPU_BATCH_SMALL : CH_GPU_BATCH_LARGE;
    run->batch.replays = run->batch.options->mode == CH_SWEEP_GRAPH;
    return iterate(run, *batch_out, 0, true);
}

static bool is_on_gpu_stream(const struct run *run)
{
    return run->batch.backend->on_gpu && run->batch.options->mode != CH_SWEEP_BLOCKING;
}

/* Calls that are not timed. Captured calls must have run before, so that their kernels are
 * loaded. */
static int warm_up(struct run *run)
{
    const uint32_t asked = run->batch.options->warmup;
    const uint32_t n = asked == 0 && is_on_gpu_stream(run) ? 1 : asked;
    int code = 0;

    for (uint32_t i = 0; i < n && code == 0; i++)
        code = iterate(run, 1, 0, true);
    return code;
}

/* The time of each iteration becomes that of the slowest PE, per call. */
static void combine(struct run *run, uint32_t calls)
{
    for (size_t i = 0; i < run->n; i++) {
        struct ch_entrant *const entrant = &run->entrants[i];

        for (uint32_t k = 0; k < run->batch.options->iterations; k++)
            entrant->us[k] = slowest(run->batch.backend, entrant->us[k]) / calls;
        entrant->wrong = sum(run->batch.backend, entrant->wrong);
    }
}

static int time_batches(struct run *run)
{
    const uint32_t n = run->batch.options->iterations;
    uint32_t calls = 1;
    int code = warm_up(run);

    if (code == 0)
        code = is_on_gpu_stream(run) ? fix_batch(run, &calls) : choose_batch(run, &calls);
    run->batch.checks = run->batch.options->checks;
    run->is_fresh = run->batch.slot_bytes <= CH_FRESH_BYTES || !is_on_gpu_stream(run);
    for (uint32_t i = 0; i < n && code == 0; i++)
        code = iterate(run, calls, i, i + 1 == n);
    if (code == 0) combine(run, calls);
    return code;
}

static void enter(struct run *run, const struct ch_areas *areas, double *us)
{
    const struct ch_backend *const backend = run->batch.backend;

    run->entrants[run->n++] = (struct ch_entrant){
        .call = backend->call, .source = areas->source, .dest = areas->dest, .us = us};
    for (unsigned peer = 0; peer < CH_PEER_COUNT; peer++) {
        if (backend->peers[peer] == NULL) continue;
        run->peer_of[run->n] = (enum ch_sweep_peer)peer;
        us += run->batch.options->iterations;
        run->entrants[run->n++] = (struct ch_entrant){
            .call = backend->peers[peer]->call,
            .source = areas->peers[peer].source,
            .dest = areas->peers[peer].dest,
            .is_peer = true,
            .us = us,
        };
    }
}

/* Number of calls of a batch that have their own buffers. */
static void choose_slots(struct run *run, const struct ch_areas *areas)
{
    struct ch_batch *const batch = &run->batch;
    const uint64_t room =
        batch->slot_bytes > 0 ? areas->bytes / batch->slot_bytes : CH_BATCH_MAX;

    run->slots_most = room < CH_BATCH_MAX ? (uint32_t)room : CH_BATCH_MAX;
    batch->slots = is_on_gpu_stream(run) ? 1 : run->slots_most;
}

static void fill_row(const struct run *run, struct ch_row *row_out)
{
    const struct ch_batch *const batch = &run->batch;
    const uint32_t n = batch->options->iterations;

    *row_out = (struct ch_row){
        .work = *batch->work,
        .pes = batch->backend->pes,
        .bytes = ch_work_bytes(batch->work, batch->backend->pes),
        .checked = batch->options->checks,
        .wrong = run->entrants[0].wrong,
    };
    batch->backend->served(batch->work, &row_out->served);
    ch_stats_fill(row_out, run->entrants[0].us, n);
    for (size_t i = 1; i < run->n; i++) {
        const struct ch_entrant *const peer = &run->entrants[i];

        ch_stats_sort(peer->us, n);
        row_out->peer_us_p50[run->peer_of[i]] = ch_stats_percentile(peer->us, n, 50);
        row_out->peer_wrong[run->peer_of[i]] = peer->wrong;
    }
}

int ch_measure(const struct ch_backend *backend, const struct ch_sweep_options *options,
               const struct ch_areas *areas, const struct ch_work *work, double *us,
               struct ch_row *row_out)
{
    struct run run = {
        .batch = {.backend = backend, .options = options, .work = work, .stage = areas->stage},
        .is_fresh = true,
    };
    int code;

    run.batch.slot_bytes = ch_measure_bytes(work, backend->pes);
    choose_slots(&run, areas);
    enter(&run, areas, us);
    code = time_batches(&run);
    if (code == 0) fill_row(&run, row_out);
    for (size_t i = 0; i < run.n; i++)
        ch_bench_gpu_forget(run.entrants[i].graph);
    return code;
}
