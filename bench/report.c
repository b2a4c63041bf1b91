/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, NUMBER };

static const struct {
    const char *name;
    enum kind kind;
    int width;
} columns[CH_COLUMN_COUNT] = {
#define X(name, kind, width) {#name, kind, width},
    CH_COLUMN_LIST(X)
#undef X
};

/* Index of the two columns of a peer. */
static const unsigned peer_columns[CH_PEER_COUNT] = {
#define X(PEER) CH_COLUMN_##PEER##_us,
    CH_PEER_LIST(X)
#undef X
};

#define CELL(cells, column, ...) \
    (void)snprintf((cells)->text[CH_COLUMN_##column], sizeof((cells)->text[0]), __VA_ARGS__)

/* The time of a peer's call and, in the next cell, that of Chorus divided by it. Wrong results
 * of the peer have no time. */
static void peer_cells(const struct ch_row *row, enum ch_sweep_peer peer,
                       struct ch_cells *cells_out)
{
    const unsigned at = peer_columns[peer];
    char *const time = cells_out->text[at], *const ratio = cells_out->text[at + 1];
    const double us = row->peer_us_p50[peer];

    time[0] = ratio[0] = '\0';
    if (us <= 0.0 || row->peer_wrong[peer] != 0) return;
    (void)snprintf(time, sizeof(cells_out->text[at]), "%.3f", us);
    (void)snprintf(ratio, sizeof(cells_out->text[at]), "%.3f", row->us_p50 / us);
}

void ch_report_cells(const struct ch_row *row, struct ch_cells *cells_out)
{
    const struct ch_work *const work = &row->work;
    const bool moves = ch_work_moves(work);

    CELL(cells_out, coll, "%s", ch_sweep_names[work->coll]);
    CELL(cells_out, algo, "%s", row->served.algo);
    CELL(cells_out, proto, "%s", row->served.proto);
    CELL(cells_out, ctas, "%d", row->served.ctas);
    CELL(cells_out, dtype, "%s", moves ? ch_sweep_types[work->type] : "none");
    CELL(cells_out, op, "%s", ch_work_reduces(work) ? ch_sweep_ops[work->op] : "none");
    CELL(cells_out, pes, "%" PRIu32, row->pes);
    CELL(cells_out, bytes, "%" PRIu64, row->bytes);
    CELL(cells_out, count, "%zu", work->count);
    CELL(cells_out, time_us_min, "%.3f", row->us_min);
    CELL(cells_out, time_us_p50, "%.3f", row->us_p50);
    CELL(cells_out, time_us_p99, "%.3f", row->us_p99);
    CELL(cells_out, algbw_GBps, "%.4f", row->algbw);
    CELL(cells_out, busbw_GBps, "%.4f", row->busbw);
    cells_out->text[CH_COLUMN_wrong][0] = '\0';
    if (row->checked) CELL(cells_out, wrong, "%" PRIu64, row->wrong);
    CELL(cells_out, rule, "%s", row->served.rule);
    for (unsigned peer = 0; peer < CH_PEER_COUNT; peer++)
        peer_cells(row, (enum ch_sweep_peer)peer, cells_out);
}

/* --- table -------------------------------------------------------------------------------- */

static void print_cell(size_t column, const char *text)
{
    const bool is_last = column + 1 == CH_COLUMN_COUNT;

    (void)printf("%*s%s", columns[column].width, text, is_last ? "\n" : " ");
}

static void print_row(const struct ch_report *report, const struct ch_cells *cells)
{
    for (size_t k = 0; k < CH_COLUMN_COUNT; k++)
        if (report->shows[k]) print_cell(k, cells->text[k][0] != '\0' ? cells->text[k] : "-");
    (void)fflush(stdout);
}

/* --- CSV ---------------------------------------------------------------------------------- */

/* A cell, in quotes if needed, as in RFC 4180. */
static void write_csv_cell(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\n") == NULL) {
        (void)fputs(text, out);
        return;
    }
    (void)fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"') (void)fputc('"', out);
        (void)fputc(*text, out);
    }
    (void)fputc('"', out);
}

static void write_csv_row(const struct ch_report *report, const struct ch_cells *cells)
{
    for (size_t k = 0; k < CH_COLUMN_COUNT; k++) {
        if (!report->shows[k]) continue;
        if (k > 0) (void)fputc(',', report->csv);
        write_csv_cell(report->csv, cells->text[k]);
    }
    (void)fputc('\n', report->csv);
}

static void write_csv_head(const struct ch_report *report)
{
    const struct ch_facts *const facts = &report->facts;

    for (size_t k = 0; k < facts->n; k++)
        (void)fprintf(report->csv, "# %s: %s\n", facts->fact[k].name, facts->fact[k].text);
    for (size_t k = 0; k < CH_COLUMN_COUNT; k++)
        if (report->shows[k])
            (void)fprintf(report->csv, "%s%s", k > 0 ? "," : "", columns[k].name);
    (void)fputc('\n', report->csv);
}

/* --- JSON --------------------------------------------------------------------------------- */

static json_t *json_cell(enum kind kind, const char *text)
{
    const bool is_real = strchr(text, '.') != NULL;

    if (kind == TEXT) return json_string(text);
    if (*text == '\0') return json_null();
    return is_real ? json_real(strtod(text, NULL)) : json_integer(strtoll(text, NULL, 10));
}

/* Write one object as a line, and free it. */
static bool write_json(FILE *out, json_t *object)
{
    const bool is_written =
        object != NULL &&
        json_dumpf(object, out, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9)) ==
            0 &&
        fputc('\n', out) != EOF;

    json_decref(object);
    return is_written;
}

static bool write_json_row(const struct ch_report *report, const struct ch_cells *cells)
{
    json_t *const object = json_object();
    int failed = 0;

    for (size_t k = 0; k < CH_COLUMN_COUNT; k++)
        if (report->shows[k])
            failed |= json_object_set_new(object, columns[k].name,
                                          json_cell(columns[k].kind, cells->text[k]));
    return write_json(report->json, object) && failed == 0;
}

static bool write_json_head(FILE *out, const struct ch_facts *facts)
{
    json_t *const object = json_object();
    int failed = 0;

    for (size_t k = 0; k < facts->n; k++)
        failed |=
            json_object_set_new(object, facts->fact[k].name, json_string(facts->fact[k].text));
    return write_json(out, object) && failed == 0;
}

/* --- the whole ---------------------------------------------------------------------------- */

static void fail(struct ch_report *report, const char *path)
{
    if (!report->failed)
        (void)fprintf(stderr, "%s: %s: cannot write: %s\n", report->program, path,
                      strerror(errno));
    report->failed = true;
}

static FILE *open_file(struct ch_report *report, const char *path)
{
    FILE *const file = path != NULL ? fopen(path, "w") : NULL;

    if (path != NULL && file == NULL) fail(report, path);
    return file;
}

static void close_file(struct ch_report *report, FILE *file, const char *path)
{
    if (file != NULL && (ferror(file) | fclose(file)) != 0) fail(report, path);
}

static void close_files(struct ch_report *report)
{
    close_file(report, report->csv, report->options->csv);
    close_file(report, report->json, report->options->json);
}

/* All columns except those of peers that were not selected. */
static void choose_columns(struct ch_report *report)
{
    for (size_t k = 0; k < CH_COLUMN_COUNT; k++)
        report->shows[k] = true;
    for (unsigned peer = 0; peer < CH_PEER_COUNT; peer++)
        report->shows[peer_columns[peer]] = report->shows[peer_columns[peer] + 1] =
            report->options->vs[peer].is_wanted;
}

bool ch_report_open(struct ch_report *report, const struct ch_sweep_options *options,
                    const struct ch_backend *backend, int argc, char **argv)
{
    *report = (struct ch_report){.program = backend->program, .options = options};
    choose_columns(report);
    ch_facts_gather(&report->facts, backend, argc, argv);
    report->csv = open_file(report, options->csv);
    report->json = open_file(report, options->json);
    if (report->csv != NULL) write_csv_head(report);
    if (report->json != NULL && !write_json_head(report->json, &report->facts))
        fail(report, options->json);
    if (!report->failed)
        for (size_t k = 0; k < CH_COLUMN_COUNT; k++)
            if (report->shows[k]) print_cell(k, columns[k].name);
    return !report->failed;
}

/* Keep the row for the plot. */
static void keep(struct ch_report *report, const struct ch_row *row)
{
    if (report->n_rows == report->rows_max) {
        const size_t most = 2 * report->rows_max + 64;
        struct ch_row *const rows = realloc(report->rows, most * sizeof(rows[0]));

        if (rows == NULL) {
            fail(report, "rows");
            return;
        }
        report->rows = rows;
        report->rows_max = most;
    }
    report->rows[report->n_rows++] = *row;
}

void ch_report_row(struct ch_report *report, const struct ch_row *row)
{
    struct ch_cells cells;

    ch_report_cells(row, &cells);
    print_row(report, &cells);
    if (report->csv != NULL) write_csv_row(report, &cells);
    if (report->json != NULL && !write_json_row(report, &cells))
        fail(report, report->options->json);
    /* A sweep that is interrupted leaves the rows that it has. */
    if (report->csv != NULL) (void)fflush(report->csv);
    report->wrong += row->wrong;
    keep(report, row);
}

void ch_report_close(struct ch_report *report)
{
    const char *const plot = report->options->plot;

    close_files(report);
    if (plot != NULL && !ch_plot_draw(report)) report->failed = true;
    if (report->options->checks)
        (void)printf("%zu rows, %" PRIu64 " wrong\n", report->n_rows, report->wrong);
    else
        (void)printf("%zu rows, not checked\n", report->n_rows);
    if (fflush(stdout) != 0) fail(report, "standard output");
    free(report->rows);
}
