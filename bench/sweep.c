/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/backend.h"

#include "bench/cases.h"
#include "bench/gpu.h"
#include "bench/measure.h"
#include "bench/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* Smallest size of the areas, so that batches of small calls have a slot each. */
#define AREA_BYTES_MIN ((size_t)1 << 20)

struct sweep {
    const struct ch_backend *backend;
    const struct ch_sweep_options *options;
    struct ch_areas areas;
    double *us;              /* room for the times of a row, of all libraries */
    struct ch_report report; /* PE 0's */
    size_t n_rows, row;
    struct ch_work skipped;       /* the last message, so that it is printed once */
    uint32_t told[CH_PEER_COUNT]; /* a bit for each collective for which a message said that a
                                     peer was not timed */
    uint64_t wrong;
    size_t measured;
    int status; /* not 0: the sweep ended early */
};

static bool count_row(const struct ch_work *work, void *arg)
{
    struct sweep *const sweep = arg;
    const size_t bytes = ch_measure_bytes(work, sweep->backend->pes);

    sweep->n_rows++;
    if (bytes > sweep->areas.bytes) sweep->areas.bytes = bytes;
    return true;
}

static bool is_first(const struct sweep *sweep)
{
    return sweep->backend->me == 0;
}

static void show_progress(const struct sweep *sweep, const struct ch_work *work)
{
    if (!is_first(sweep) || isatty(STDERR_FILENO) == 0) return;
    (void)fprintf(stderr, "\r\033[K%zu of %zu: %s, %" PRIu64 " bytes\r", sweep->row + 1,
                  sweep->n_rows, ch_sweep_names[work->coll],
                  ch_work_bytes(work, sweep->backend->pes));
}

static void clear_progress(const struct sweep *sweep)
{
    if (is_first(sweep) && isatty(STDERR_FILENO) != 0) (void)fputs("\033[K", stderr);
}

static void say_skipped(struct sweep *sweep, const struct ch_work *work)
{
    const struct ch_work *const last = &sweep->skipped;
    const bool is_said = last->count != 0 && last->coll == work->coll &&
                         last->algo == work->algo && last->ctas == work->ctas &&
                         last->type == work->type && last->op == work->op;

    if (is_first(sweep) && !is_said)
        (void)fprintf(stderr, "%s: %s %s %s%s%s left out from %zu elements: %s\n",
                      sweep->backend->program, ch_sweep_names[work->coll],
                      work->algo != NULL ? work->algo : "auto", ch_sweep_types[work->type],
                      ch_work_reduces(work) ? " " : "",
                      ch_work_reduces(work) ? ch_sweep_ops[work->op] : "", work->count,
                      sweep->backend->reason());
    sweep->skipped = *work;
}

/* Report, once for a collective, why columns of a peer are empty. */
static void say_peers(struct sweep *sweep, const struct ch_row *row)
{
    const uint32_t coll = 1u << row->work.coll;

    for (unsigned peer = 0; is_first(sweep) && peer < CH_PEER_COUNT; peer++) {
        const bool is_missing = row->peer_us_p50[peer] <= 0.0;

        if (sweep->areas.peers[peer].dest == NULL || (sweep->told[peer] & coll) != 0) continue;
        if (!is_missing && row->peer_wrong[peer] == 0) continue;
        (void)fprintf(stderr, "%s: %s was not timed for %s of %s from %" PRIu64 " bytes: %s\n",
                      sweep->backend->program, ch_sweep_peers[peer],
                      ch_sweep_names[row->work.coll], ch_sweep_types[row->work.type],
                      row->bytes,
                      is_missing ? "the library has no such call" : "its data was wrong");
        sweep->told[peer] |= coll;
    }
}

/* One PE reports what is wrong with the request. Returns the exit status. */
static int refuse(const struct ch_backend *backend, const char *message)
{
    if (backend->me == 0) (void)fprintf(stderr, "%s: %s\n", backend->program, message);
    return 2;
}

static bool measure_row(const struct ch_work *work, void *arg)
{
    struct sweep *const sweep = arg;
    struct ch_row row;
    int code;

    show_progress(sweep, work);
    code = ch_measure(sweep->backend, sweep->options, &sweep->areas, work, sweep->us, &row);
    clear_progress(sweep);
    sweep->row++;
    if (code == CHORUS_ERR_UNSUPPORTED) {
        say_skipped(sweep, work);
        return true;
    }
    if (code != 0) {
        sweep->status = refuse(sweep->backend, sweep->backend->reason());
        return false;
    }
    sweep->wrong += row.wrong;
    sweep->measured++;
    if (is_first(sweep)) ch_report_row(&sweep->report, &row);
    say_peers(sweep, &row);
    return true;
}

/* Does it hold on all PEs? */
static bool all_agree(const struct ch_backend *backend, bool is_well)
{
    bool all[CH_SWEEP_PES_MAX];

    backend->gather(&is_well, sizeof(is_well), all);
    for (uint32_t pe = 0; pe < backend->pes; pe++)
        is_well = is_well && all[pe];
    return is_well;
}

static int answer(const struct ch_backend *backend, const struct ch_sweep_options *options)
{
    if (backend->me != 0) return 0;
    if (options->ask == CH_SWEEP_HELP)
        ch_sweep_options_help(stdout, backend->program);
    else
        (void)printf("%s %s\n", backend->program, backend->version);
    return 0;
}

/* Memory of the host for this PE only. */
static bool allocate_own(struct sweep *sweep)
{
    const size_t entrants = 1 + CH_PEER_COUNT;
    bool is_well;

    sweep->us = calloc(entrants * sweep->options->iterations, sizeof(sweep->us[0]));
    if (sweep->backend->on_gpu)
        sweep->areas.stage = ch_bench_gpu_stage_allocate(sweep->areas.bytes);
    is_well = sweep->us != NULL && (sweep->areas.stage != NULL || !sweep->backend->on_gpu);
    if (!is_well)
        (void)fprintf(stderr, "%s: PE %" PRIu32 ": no memory for -e bytes, or -n times\n",
                      sweep->backend->program, sweep->backend->me);
    return is_well;
}

static void release_peers(struct sweep *sweep)
{
    for (unsigned k = 0; k < CH_PEER_COUNT; k++) {
        const struct ch_peer *const peer = sweep->backend->peers[k];

        if (sweep->areas.peers[k].dest != NULL) peer->release(sweep->areas.peers[k].dest);
        if (sweep->areas.peers[k].source != NULL) peer->release(sweep->areas.peers[k].source);
    }
}

/* Allocate areas of a peer, or leave it out. */
static void allocate_peers(struct sweep *sweep)
{
    struct ch_areas *const areas = &sweep->areas;

    for (unsigned k = 0; k < CH_PEER_COUNT; k++) {
        const struct ch_peer *const peer = sweep->backend->peers[k];
        void *source, *dest;

        if (peer == NULL) continue;
        source = peer->allocate(areas->bytes);
        dest = peer->allocate(areas->bytes);
        if (all_agree(sweep->backend, source != NULL && dest != NULL)) {
            areas->peers[k].source = source;
            areas->peers[k].dest = dest;
            continue;
        }
        if (source != NULL) peer->release(source);
        if (dest != NULL) peer->release(dest);
        if (is_first(sweep))
            (void)fprintf(stderr, "%s: %s is left out: it has no memory for -e bytes\n",
                          sweep->backend->program, ch_sweep_peers[k]);
    }
}

static int measure_rows(struct sweep *sweep, int argc, char **argv)
{
    const struct ch_backend *const backend = sweep->backend;
    bool is_well = allocate_own(sweep);

    if (!all_agree(backend, is_well)) return 2;
    if (is_first(sweep))
        is_well = ch_report_open(&sweep->report, sweep->options, backend, argc, argv);
    if (!all_agree(backend, is_well)) return 1;
    allocate_peers(sweep);
    ch_cases_each(backend, sweep->options, measure_row, sweep);
    if (is_first(sweep)) {
        ch_report_close(&sweep->report);
        is_well = !sweep->report.failed;
    }
    if (sweep->status != 0 || sweep->measured == 0) return 2;
    return all_agree(backend, is_well) && sweep->wrong == 0 ? 0 : 1;
}

/* Allocate the memory that all PEs have or none, PEs outside the team included. */
static bool allocate(struct sweep *sweep)
{
    const struct ch_backend *const backend = sweep->backend;
    struct ch_areas *const areas = &sweep->areas;

    areas->source = backend->allocate(areas->bytes);
    if (areas->source == NULL) return false;
    areas->dest = backend->allocate(areas->bytes);
    return areas->dest != NULL;
}

int ch_sweep_run(const struct ch_backend *backend, const struct ch_sweep_options *options,
                 int argc, char **argv)
{
    struct sweep sweep = {.backend = backend, .options = options};
    char error[sizeof(options->error)];
    int status = 0;

    if (options->error[0] != '\0') return refuse(backend, options->error);
    if (options->ask != CH_SWEEP_RUN) return answer(backend, options);
    if (!ch_cases_fit(backend, options, error, sizeof(error))) return refuse(backend, error);
    sweep.areas.bytes = AREA_BYTES_MIN;
    ch_cases_each(backend, options, count_row, &sweep);
    if (sweep.n_rows == 0)
        return refuse(backend,
                      "no rows: no operator of -o takes a type of -d, or no element fits "
                      "in -e bytes, or no collective has the algorithm");
    if (!allocate(&sweep)) {
        status = refuse(backend, backend->reason());
    } else {
        if (backend->me < backend->pes) status = measure_rows(&sweep, argc, argv);
        release_peers(&sweep);
        if (sweep.areas.stage != NULL) ch_bench_gpu_stage_release(sweep.areas.stage);
        free(sweep.us);
        backend->part();
    }
    backend->release(sweep.areas.dest);
    backend->release(sweep.areas.source);
    return status;
}
