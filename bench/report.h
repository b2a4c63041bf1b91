/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h: output of rows: a table on standard output, CSV, JSON lines, a plot. One PE writes
 * them.
 */
#ifndef CH_REPORT_H
#define CH_REPORT_H

#include "bench/backend.h"
#include "bench/options.h"
#include "bench/sweep.h"

#include <jansson.h>
#include <stdio.h>

/* Columns: name, kind, width in the table. CSV, table and JSON have the same names and order.
 * Those of peers exist if the command line selects the peer. */
/* clang-format off */
#define CH_COLUMN_LIST(X)       \
    X(coll, TEXT, -13)          \
    X(algo, TEXT, -18)          \
    X(proto, TEXT, -7)          \
    X(ctas, NUMBER, 4)          \
    X(dtype, TEXT, 5)           \
    X(op, TEXT, 5)              \
    X(pes, NUMBER, 4)           \
    X(bytes, NUMBER, 11)        \
    X(count, NUMBER, 11)        \
    X(time_us_min, NUMBER, 12)  \
    X(time_us_p50, NUMBER, 12)  \
    X(time_us_p99, NUMBER, 12)  \
    X(algbw_GBps, NUMBER, 10)   \
    X(busbw_GBps, NUMBER, 10)   \
    X(wrong, NUMBER, 6)         \
    X(nccl_us, NUMBER, 10)      \
    X(nccl_ratio, NUMBER, 10)   \
    X(nccl_windows_us, NUMBER, 15) \
    X(nccl_windows_ratio, NUMBER, 18) \
    X(nvshmem_us, NUMBER, 10)   \
    X(nvshmem_ratio, NUMBER, 13) \
    X(rule, TEXT, -1)
/* clang-format on */

enum ch_column {
#define X(name, kind, width) CH_COLUMN_##name,
    CH_COLUMN_LIST(X)
#undef X
        CH_COLUMN_COUNT
};

/* A row as text, for all outputs; a number that does not apply is "". */
struct ch_cells {
    char text[CH_COLUMN_COUNT][260];
};
void ch_report_cells(const struct ch_row *row, struct ch_cells *cells_out);

/* The context of a measurement: machine, compiler, commit, date, command. */
enum { CH_FACTS_MAX = 16 };
struct ch_facts {
    struct {
        const char *name;
        char text[512];
    } fact[CH_FACTS_MAX];
    size_t n;
};
void ch_facts_gather(struct ch_facts *facts, const struct ch_backend *backend, int argc,
                     char **argv);

struct ch_report {
    const char *program; /* for messages */
    const struct ch_sweep_options *options;
    bool shows[CH_COLUMN_COUNT];
    struct ch_facts facts;
    FILE *csv;
    FILE *json;
    struct ch_row *rows; /* all rows so far, owned */
    size_t n_rows, rows_max;
    uint64_t wrong;
    bool failed; /* a file could not be written, which was reported on standard error */
};

/* Open the files of the options and write their heads. False: reported on standard error. */
bool ch_report_open(struct ch_report *report, const struct ch_sweep_options *options,
                    const struct ch_backend *backend, int argc, char **argv);
void ch_report_row(struct ch_report *report, const struct ch_row *row);
/* Finish the files, plot, and print the last line. */
void ch_report_close(struct ch_report *report);

/* Draw latency and bus bandwidth by bytes with gnuplot into options->plot: a row of panels for
 * each collective, under a title with machine and PEs. False: reported on standard error. */
bool ch_plot_draw(const struct ch_report *report);

#endif /* CH_REPORT_H */
