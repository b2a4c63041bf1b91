/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot.c: draws a sweep.
 *
 * Each collective has a row of two panels, time and bandwidth by bytes; barrier and sync, which
 * have no bytes, have none. A line consists of rows that differ only in their bytes, and has
 * its own colour, dash and point. The choice of the rule table is drawn last, as a thick black
 * line without points, so that it shows which line it follows, and which crossing lines it does
 * not.
 */
#include "bench/report.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

enum { PANEL_WIDTH = 900, PANEL_HEIGHT = 520, TITLE_HEIGHT = 60, COLOURS = 8 };

static const char *const colours[COLOURS] = {"#1f77b4", "#d62728", "#2ca02c", "#ff7f0e",
                                             "#9467bd", "#8c564b", "#17becf", "#bcbd22"};

/* A line of the plot: rows that differ only in their bytes. */
static bool same_line(const struct ch_row *a, const struct ch_row *b)
{
    return a->work.coll == b->work.coll && a->work.type == b->work.type &&
           a->work.op == b->work.op && a->work.algo == b->work.algo &&
           a->work.ctas == b->work.ctas;
}

/* Rows of one line follow one another, as in a sweep. */
static size_t line_end(const struct ch_report *report, size_t first)
{
    size_t end = first + 1;

    while (end < report->n_rows && same_line(&report->rows[first], &report->rows[end]))
        end++;
    return end;
}

static bool is_drawn(const struct ch_row *row)
{
    return row->bytes > 0;
}

static bool is_choice(const struct ch_row *row)
{
    return row->work.algo == NULL;
}

/* In gnuplot's quotes, in which a quote is doubled. */
static void write_quoted(FILE *out, const char *text)
{
    (void)fputc('\'', out);
    for (; *text != '\0'; text++)
        (void)fputs(*text == '\'' ? "''" : (char[]){*text, '\0'}, out);
    (void)fputc('\'', out);
}

static void write_line_title(FILE *out, const struct ch_row *row)
{
    const struct ch_work *const work = &row->work;
    const char *const op = ch_work_reduces(work) ? ch_sweep_ops[work->op] : "";
    char text[128], ctas[32] = "";

    if (work->ctas > 0) (void)snprintf(ctas, sizeof(ctas), ", CTAs %d", work->ctas);
    (void)snprintf(text, sizeof(text), "%s %s%s%s%s",
                   work->algo != NULL ? work->algo : "choice of the rule table",
                   ch_sweep_types[work->type], op[0] != '\0' ? " " : "", op, ctas);
    write_quoted(out, text);
}

/* One data block for each line, named by its first row. */
static void write_data(FILE *out, const struct ch_report *report)
{
    for (size_t first = 0, end; first < report->n_rows; first = end) {
        end = line_end(report, first);
        if (!is_drawn(&report->rows[first])) continue;
        (void)fprintf(out, "$line%zu << END\n", first);
        for (size_t k = first; k < end; k++)
            (void)fprintf(out, "%" PRIu64 " %.6f %.6f\n", report->rows[k].bytes,
                          report->rows[k].us_p50, report->rows[k].busbw);
        (void)fputs("END\n", out);
    }
}

/* Colours differ first, then dashes: 8 * 5 lines differ in these two, and more lines also in
 * their points. */
static void write_line(FILE *out, const struct ch_row *row, size_t first, size_t nth,
                       int column)
{
    (void)fprintf(out, "%s$line%zu using 1:%d ", nth > 0 ? ", " : "", first, column);
    if (is_choice(row))
        (void)fputs("with lines lw 5 lc rgb '#80000000' dt 1 title ", out);
    else
        (void)fprintf(out, "with linespoints lc rgb '%s' dt %zu pt %zu ps 0.6 title ",
                      colours[nth % COLOURS], 1 + nth / COLOURS % 5, 1 + nth % 15);
    write_line_title(out, row);
}

/* Column `column` of the lines of a collective against bytes; the table's choice is drawn over
 * the others. */
static void write_panel(FILE *out, const struct ch_report *report, enum ch_sweep_coll coll,
                        int column, const char *label)
{
    size_t nth = 0;

    (void)fprintf(out, "set title '%s'\nset ylabel '%s'\nplot ", ch_sweep_names[coll], label);
    for (int choices = 0; choices < 2; choices++)
        for (size_t first = 0; first < report->n_rows; first = line_end(report, first)) {
            const struct ch_row *const row = &report->rows[first];

            if (row->work.coll != coll || !is_drawn(row) || is_choice(row) != choices) continue;
            write_line(out, row, first, nth++, column);
        }
    (void)fputs("\n", out);
}

static bool has_coll(const struct ch_report *report, enum ch_sweep_coll coll)
{
    for (size_t k = 0; k < report->n_rows; k++)
        if (report->rows[k].work.coll == coll && is_drawn(&report->rows[k])) return true;
    return false;
}

static size_t count_colls(const struct ch_report *report)
{
    size_t n = 0;

    for (unsigned coll = 0; coll < CH_SWEEP_COUNT; coll++)
        n += has_coll(report, (enum ch_sweep_coll)coll);
    return n;
}

static bool has_bandwidth(const struct ch_report *report)
{
    for (size_t k = 0; k < report->n_rows; k++)
        if (report->rows[k].busbw > 0.0) return true;
    return false;
}

static const char *fact(const struct ch_report *report, const char *name)
{
    for (size_t k = 0; k < report->facts.n; k++)
        if (strcmp(report->facts.fact[k].name, name) == 0) return report->facts.fact[k].text;
    return NULL;
}

/* The machine of the measurement: the GPU, or the processor; and the number of PEs. */
static void write_title(FILE *out, const struct ch_report *report)
{
    const char *machine = fact(report, "gpu");
    char text[600];

    if (machine == NULL) machine = fact(report, "machine");
    (void)snprintf(text, sizeof(text), "%s on %.*s, %" PRIu32 " PEs", report->program,
                   (int)strcspn(machine != NULL ? machine : "?", ";"),
                   machine != NULL ? machine : "?", report->rows[0].pes);
    (void)fputs(" title ", out);
    write_quoted(out, text);
}

static void write_script(FILE *out, const struct ch_report *report)
{
    const char *const path = report->options->plot;
    const bool is_svg = strcmp(strrchr(path, '.'), ".svg") == 0,
               has_two = has_bandwidth(report);
    const size_t n_colls = count_colls(report);

    (void)fprintf(out, "set terminal %s noenhanced size %d,%zu\nset output ",
                  is_svg ? "svg" : "pngcairo", (has_two ? 2 : 1) * PANEL_WIDTH,
                  TITLE_HEIGHT + n_colls * PANEL_HEIGHT);
    write_quoted(out, path);
    (void)fputs("\nset logscale x 2\nset logscale y 10\nset grid\n"
                "set format x '%.0b%B'\nset xlabel 'bytes of the message'\n"
                "set key outside right noenhanced\n",
                out);
    write_data(out, report);
    (void)fprintf(out, "set multiplot layout %zu,%d", n_colls, has_two ? 2 : 1);
    write_title(out, report);
    (void)fputs("\n", out);
    for (unsigned coll = 0; coll < CH_SWEEP_COUNT; coll++) {
        if (!has_coll(report, (enum ch_sweep_coll)coll)) continue;
        write_panel(out, report, (enum ch_sweep_coll)coll, 2, "time of a call, us (median)");
        if (has_two)
            write_panel(out, report, (enum ch_sweep_coll)coll, 3, "bus bandwidth, GB/s");
    }
    (void)fputs("unset multiplot\n", out);
}

bool ch_plot_draw(const struct ch_report *report)
{
    void (*before)(int);
    FILE *gnuplot;
    int status = -1;

    if (count_colls(report) == 0) {
        (void)fprintf(stderr, "%s: %s: not drawn: barrier and sync have no bytes to plot by\n",
                      report->program, report->options->plot);
        return false;
    }
    /* If gnuplot is missing, SIGPIPE must not end this program. */
    before = signal(SIGPIPE, SIG_IGN);
    gnuplot = popen("gnuplot", "w");
    if (gnuplot != NULL) {
        write_script(gnuplot, report);
        status = pclose(gnuplot);
    }
    (void)signal(SIGPIPE, before);
    if (status != 0)
        (void)fprintf(stderr,
                      "%s: %s: not drawn: gnuplot failed (status %d); is it installed?\n",
                      report->program, report->options->plot,
                      WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return status == 0;
}
