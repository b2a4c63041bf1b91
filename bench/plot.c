/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* A line of the plot: rows that differ in their bytes only. */
static bool same_line(const struct ch_row *a, const struct ch_row *b)
{
    return a->work.coll == b->work.coll && a->work.type == b->work.type &&
           a->work.op == b->work.op && a->work.algo == b->work.algo &&
           a->work.ctas == b->work.ctas;
}

/* Rows of one line follow one another: that is the order of a sweep. */
static size_t line_end(const struct ch_row *rows, size_t n_rows, size_t first)
{
    size_t end = first + 1;

    while (end < n_rows && same_line(&rows[first], &rows[end]))
        end++;
    return end;
}

static void write_title(FILE *out, const struct ch_row *row)
{
    const struct ch_work *const work = &row->work;
    const char *const op = ch_work_reduces(work) ? ch_sweep_ops[work->op] : "";

    (void)fprintf(out, "%s %s %s%s%s", ch_sweep_names[work->coll],
                  work->algo != NULL ? work->algo : "auto", ch_sweep_types[work->type],
                  op[0] != '\0' ? " " : "", op);
    if (work->ctas > 0) (void)fprintf(out, ", CTAs %d", work->ctas);
}

/* One data block a line. Rows that move nothing have no place on the axis. */
static void write_data(FILE *out, const struct ch_row *rows, size_t n_rows)
{
    size_t lines = 0;

    for (size_t first = 0, end; first < n_rows; first = end) {
        end = line_end(rows, n_rows, first);
        if (rows[first].bytes == 0) continue;
        (void)fprintf(out, "$line%zu << END\n", lines++);
        for (size_t k = first; k < end; k++)
            (void)fprintf(out, "%" PRIu64 " %.6f %.6f\n", rows[k].bytes, rows[k].us_p50,
                          rows[k].busbw);
        (void)fputs("END\n", out);
    }
}

/* One panel: column `column` of each data block against bytes. */
static void write_panel(FILE *out, const struct ch_row *rows, size_t n_rows, int column,
                        const char *label)
{
    size_t line = 0;

    (void)fprintf(out, "set ylabel '%s'\nplot ", label);
    for (size_t first = 0, end; first < n_rows; first = end) {
        end = line_end(rows, n_rows, first);
        if (rows[first].bytes == 0) continue;
        (void)fprintf(out, "%s$line%zu using 1:%d with linespoints title '",
                      line > 0 ? ", " : "", line, column);
        write_title(out, &rows[first]);
        (void)fputs("'", out);
        line++;
    }
    (void)fputs("\n", out);
}

/* In gnuplot's quotes, where a quote is written twice. */
static void write_output(FILE *out, const char *path)
{
    (void)fputs("set output '", out);
    for (; *path != '\0'; path++)
        (void)fputs(*path == '\'' ? "''" : (char[]){*path, '\0'}, out);
    (void)fputs("'\n", out);
}

static bool has_bandwidth(const struct ch_row *rows, size_t n_rows)
{
    for (size_t k = 0; k < n_rows; k++)
        if (rows[k].busbw > 0.0) return true;
    return false;
}

static bool has_bytes(const struct ch_row *rows, size_t n_rows)
{
    for (size_t k = 0; k < n_rows; k++)
        if (rows[k].bytes > 0) return true;
    return false;
}

static void write_script(FILE *out, const char *path, const struct ch_row *rows, size_t n_rows)
{
    const bool is_svg = strcmp(strrchr(path, '.'), ".svg") == 0;
    const bool has_two = has_bandwidth(rows, n_rows);

    (void)fprintf(out, "set terminal %s noenhanced size 1400,%d\n", is_svg ? "svg" : "pngcairo",
                  has_two ? 1400 : 700);
    write_output(out, path);
    (void)fputs("set logscale x 2\nset logscale y 10\nset grid\n"
                "set format x '%.0b%B'\nset xlabel 'bytes of the message'\n"
                "set key outside right noenhanced\n",
                out);
    write_data(out, rows, n_rows);
    (void)fprintf(out, "set multiplot layout %d,1\n", has_two ? 2 : 1);
    write_panel(out, rows, n_rows, 2, "time of a call, us (median)");
    if (has_two) write_panel(out, rows, n_rows, 3, "bus bandwidth, GB/s");
    (void)fputs("unset multiplot\n", out);
}

bool ch_plot_draw(const char *program, const char *path, const struct ch_row *rows,
                  size_t n_rows)
{
    void (*before)(int);
    FILE *gnuplot;
    int status = -1;

    if (!has_bytes(rows, n_rows)) {
        (void)fprintf(stderr, "%s: %s: not drawn: barrier and sync have no bytes to plot by\n",
                      program, path);
        return false;
    }
    /* A gnuplot that is not there must not end this program by a signal. */
    before = signal(SIGPIPE, SIG_IGN);
    gnuplot = popen("gnuplot", "w");
    if (gnuplot != NULL) {
        write_script(gnuplot, path, rows, n_rows);
        status = pclose(gnuplot);
    }
    (void)signal(SIGPIPE, before);
    if (status != 0)
        (void)fprintf(stderr,
                      "%s: %s: not drawn: gnuplot failed (status %d); is it installed?\n",
                      program, path, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return status == 0;
}
