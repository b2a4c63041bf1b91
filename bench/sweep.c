/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/backend.h"

#include "bench/cases.h"
#include "bench/measure.h"
#include "bench/report.h"

#include <inttypes.h>
#include <unistd.h>

/* The areas are this large at the least, so that batches of small calls have a slot each. */
#define AREA_BYTES_MIN ((size_t)1 << 20)

struct sweep {
    const struct ch_backend *backend;
    const struct ch_sweep_options *options;
    struct ch_areas areas;
    double *us;              /* room for the times of a row */
    struct ch_report report; /* PE 0's */
    size_t n_rows, row;
    struct ch_work skipped; /* the last that was, so that it is said once */
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
                         last->algo == work->algo && last->type == work->type &&
                         last->op == work->op;

    if (is_first(sweep) && !is_said)
        (void)fprintf(stderr, "%s: %s %s %s%s%s left out from %zu elements: %s\n",
                      sweep->backend->program, ch_sweep_names[work->coll],
                      work->algo != NULL ? work->algo : "auto", ch_sweep_types[work->type],
                      ch_work_reduces(work) ? " " : "",
                      ch_work_reduces(work) ? ch_sweep_ops[work->op] : "", work->count,
                      sweep->backend->reason());
    sweep->skipped = *work;
}

/* Say from one PE what is wrong with the request. The exit status. */
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
    return true;
}

/* PE 0's word on whether its files went well, for all. */
static bool all_hear(const struct ch_backend *backend, bool is_well)
{
    bool all[CH_SWEEP_PES_MAX];

    backend->gather(&is_well, sizeof(is_well), all);
    return all[0];
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

static int measure_rows(struct sweep *sweep, int argc, char **argv)
{
    const struct ch_backend *const backend = sweep->backend;
    bool is_well = true;

    if (is_first(sweep))
        is_well = ch_report_open(&sweep->report, sweep->options, backend->program,
                                 backend->version, argc, argv);
    if (!all_hear(backend, is_well)) return 2;
    ch_cases_each(backend, sweep->options, measure_row, sweep);
    if (is_first(sweep)) {
        ch_report_close(&sweep->report);
        is_well = !sweep->report.failed;
    }
    if (sweep->status != 0 || sweep->measured == 0) return 2;
    return all_hear(backend, is_well) && sweep->wrong == 0 ? 0 : 1;
}

/* What all PEs have or none has, those outside of the team too. */
static bool allocate(struct sweep *sweep)
{
    const struct ch_backend *const backend = sweep->backend;
    struct ch_areas *const areas = &sweep->areas;

    areas->source = backend->allocate(areas->bytes);
    if (areas->source == NULL) return false;
    areas->dest = backend->allocate(areas->bytes);
    if (areas->dest == NULL) return false;
    sweep->us = backend->allocate(sweep->options->iterations * sizeof(sweep->us[0]));
    return sweep->us != NULL;
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
        backend->part();
    }
    backend->release(sweep.us);
    backend->release(sweep.areas.dest);
    backend->release(sweep.areas.source);
    return status;
}
