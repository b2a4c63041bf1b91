/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.c: compares two sweeps.
 *
 * The time of a row is its median, and its spread is symmetric about the median and begins at
 * the minimum time; for a row that a file has several times, it is the range of the medians.
 * Two times differ by more than noise if their spreads do not overlap.
 */
#include "bench/diff.h"

#include "bench/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 128, CELLS_MAX = 64 };

struct timed {
    char key[KEY_BYTES]; /* the call, as it is printed */
    double us, lo, hi;
    size_t n; /* number of times that the file has it */
};

struct file {
    const char *program, *path;
    size_t line;
    int column[CH_COLUMN_COUNT]; /* index of the cell; -1: the heading does not have it */
    char radix[16];              /* the value that the sweep's command forced; "" */
    struct timed *rows;
    size_t n, most;
};

static const char *const names[CH_COLUMN_COUNT] = {
#define X(name, kind, width) #name,
    CH_COLUMN_LIST(X)
#undef X
};

static const enum ch_column needed[] = {
    CH_COLUMN_coll,        CH_COLUMN_algo,        CH_COLUMN_proto, CH_COLUMN_ctas,
    CH_COLUMN_dtype,       CH_COLUMN_op,          CH_COLUMN_pes,   CH_COLUMN_bytes,
    CH_COLUMN_time_us_min, CH_COLUMN_time_us_p50, CH_COLUMN_wrong, CH_COLUMN_rule};

static bool refuse(const struct file *file, const char *what)
{
    (void)fprintf(stderr, "%s: %s:%zu: %s; expected what --csv writes\n", file->program,
                  file->path, file->line, what);
    return false;
}

/* Split a line at its commas, in place. A rule may be in quotes, and is the last cell. */
static int cut(char *text, char *cells[CELLS_MAX])
{
    int n = 0;

    text[strcspn(text, "\r\n")] = '\0';
    for (char *at = text; at != NULL && n < CELLS_MAX;) {
        cells[n++] = at;
        at = *at != '"' ? strchr(at, ',') : NULL;
        if (at != NULL) *at++ = '\0';
    }
    return n;
}

static bool read_heading(struct file *file, char *text)
{
    char *cells[CELLS_MAX], message[64];
    const int n = cut(text, cells);

    for (unsigned column = 0; column < CH_COLUMN_COUNT; column++) {
        file->column[column] = -1;
        for (int i = 0; i < n; i++)
            if (strcmp(cells[i], names[column]) == 0) file->column[column] = i;
    }
    for (size_t k = 0; k < sizeof(needed) / sizeof(needed[0]); k++) {
        if (file->column[needed[k]] >= 0) continue;
        (void)snprintf(message, sizeof(message), "heading without %s", names[needed[k]]);
        return refuse(file, message);
    }
    return true;
}

/* The radix of a sweep's command, which no column has. */
static void read_comment(struct file *file, const char *text)
{
    static const char option[] = "--radix";
    const char *found;

    if (strncmp(text, "# command: ", 11) != 0) return;
    found = strstr(text, option);
    file->radix[0] = '\0';
    if (found != NULL)
        (void)snprintf(file->radix, sizeof(file->radix), "%.*s",
                       (int)strspn(found + sizeof(option), "0123456789"),
                       found + sizeof(option));
}

static struct timed *find(const struct file *file, const char *key)
{
    for (size_t i = 0; i < file->n; i++)
        if (strcmp(file->rows[i].key, key) == 0) return &file->rows[i];
    return NULL;
}

static struct timed *add(struct file *file, const char *key)
{
    if (file->n == file->most) {
        const size_t most = 2 * file->most + 64;
        struct timed *const rows = realloc(file->rows, most * sizeof(rows[0]));

        if (rows == NULL) return NULL;
        file->rows = rows;
        file->most = most;
    }
    file->rows[file->n] = (struct timed){.n = 0};
    (void)snprintf(file->rows[file->n].key, KEY_BYTES, "%s", key);
    return &file->rows[file->n++];
}

static void take_time(struct timed *row, double us, double us_min)
{
    if (row->n++ == 0) {
        row->us = us;
        row->lo = us_min;
        row->hi = 2 * us - us_min;
        return;
    }
    if (row->n == 2) row->lo = row->hi = row->us;
    if (us < row->us) row->us = us;
    if (us < row->lo) row->lo = us;
    if (us > row->hi) row->hi = us;
}

#define CELL(cells, name) (cells)[file->column[CH_COLUMN_##name]]

/* What the row is about, for all but its times. */
static void write_key(const struct file *file, char *cells[], char key[KEY_BYTES])
{
    char choice[64] = "auto";

    if (strcmp(CELL(cells, rule), "forced") == 0)
        (void)snprintf(choice, sizeof(choice), "%s:%s/%s%s%s", CELL(cells, algo),
                       CELL(cells, proto), CELL(cells, ctas), *file->radix != '\0' ? "/" : "",
                       file->radix);
    (void)snprintf(key, KEY_BYTES, "%-13s %-24s %5s %5s %4s %11s", CELL(cells, coll), choice,
                   CELL(cells, dtype), CELL(cells, op), CELL(cells, pes), CELL(cells, bytes));
}

static bool read_row(struct file *file, char *text)
{
    char *cells[CELLS_MAX], key[KEY_BYTES], *end;
    const int n = cut(text, cells);
    struct timed *row;
    double us, us_min;

    for (size_t k = 0; k < sizeof(needed) / sizeof(needed[0]); k++)
        if (file->column[needed[k]] >= n) return refuse(file, "too few cells");
    us = strtod(CELL(cells, time_us_p50), &end);
    if (!(us > 0.0) || *end != '\0') return refuse(file, "time_us_p50 is no time");
    us_min = strtod(CELL(cells, time_us_min), &end);
    if (!(us_min >= 0.0 && us_min <= us) || *end != '\0')
        return refuse(file, "time_us_min is no time up to time_us_p50");
    if (*CELL(cells, wrong) != '\0' && strcmp(CELL(cells, wrong), "0") != 0) return true;
    write_key(file, cells, key);
    row = find(file, key);
    if (row == NULL) row = add(file, key);
    if (row == NULL) return refuse(file, "no memory for so many rows");
    take_time(row, us, us_min);
    return true;
}

static bool read_line(struct file *file, char *text, bool *has_heading)
{
    if (text[0] == '#') {
        read_comment(file, text);
        return true;
    }
    if (strncmp(text, "coll,", 5) == 0) return *has_heading = read_heading(file, text);
    return *has_heading ? read_row(file, text) : refuse(file, "a row before the heading");
}

static bool read_file(struct file *file)
{
    FILE *const in = fopen(file->path, "re");
    bool is_well = in != NULL, has_heading = false;
    char *text = NULL;
    size_t room = 0;

    if (in == NULL)
        (void)fprintf(stderr, "%s: %s: cannot be opened: %s\n", file->program, file->path,
                      strerror(errno));
    while (is_well && getline(&text, &room, in) > 0) {
        file->line++;
        is_well = read_line(file, text, &has_heading);
    }
    free(text);
    if (in != NULL) (void)fclose(in);
    if (is_well && file->n == 0) return refuse(file, "no row whose data was right");
    return is_well;
}

/* Print what moved. The exit status. */
static int compare(const struct file *before, const struct file *after)
{
    size_t n = 0, slower = 0, faster = 0;

    (void)printf("%-13s %-24s %5s %5s %4s %11s %12s %12s %7s\n", "coll", "choice", "dtype",
                 "op", "pes", "bytes", "before_us", "after_us", "ratio");
    for (size_t i = 0; i < before->n; i++) {
        const struct timed *const a = &before->rows[i], *const b = find(after, a->key);
        const bool is_slower = b != NULL && b->lo > a->hi,
                   is_faster = b != NULL && b->hi < a->lo;

        n += b != NULL;
        slower += is_slower;
        faster += is_faster;
        if (is_slower || is_faster)
            (void)printf("%s %12.3f %12.3f %7.3f %s\n", a->key, a->us, b->us, b->us / a->us,
                         is_slower ? "slower" : "faster");
    }
    (void)printf("%zu rows compared: %zu slower, %zu faster, %zu within noise; %zu only in %s, "
                 "%zu only in %s\n",
                 n, slower, faster, n - slower - faster, before->n - n, before->path,
                 after->n - n, after->path);
    if (n == 0) (void)fprintf(stderr, "%s: no row is in both files\n", before->program);
    return n == 0 ? 2 : slower > 0;
}

int ch_diff_print(const char *program, const char *before, const char *after)
{
    struct file a = {.program = program, .path = before}, b = a;
    int status = 2;

    b.path = after;
    if (read_file(&a) && read_file(&b)) status = compare(&a, &b);
    free(a.rows);
    free(b.rows);
    return status;
}
