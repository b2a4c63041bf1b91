/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/apps/matrix_market.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WORD_MAX = 64, ENTRY_BYTES = 6 /* of the shortest line: "1 1 1\n" */ };

struct entry {
    uint32_t row, column;
    double value;
    size_t line;
};

struct reader {
    const char *at, *end, *line_start;
    size_t line;
    bool is_symmetric;
    size_t rows, announced; /* entries in the size line */
    struct entry *entries;
    size_t n;
    struct matrix_market_error *error;
};

__attribute__((format(printf, 4, 5))) static bool refuse(struct reader *r, size_t line,
                                                         size_t column, const char *format, ...)
{
    va_list args;

    r->error->line = line;
    r->error->column = column;
    va_start(args, format);
    (void)vsnprintf(r->error->text, sizeof(r->error->text), format, args);
    va_end(args);
    return false;
}

/* --- words -------------------------------------------------------------------------------- */
struct word {
    size_t column;
    char text[WORD_MAX];
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_at_line_end(const struct reader *r)
{
    return r->at == r->end || *r->at == '\n';
}

/* The next word of the line; an empty one at its end. Other bytes than ASCII's letters, digits
 * and signs are shown as '?'. */
static bool next_word(struct reader *r, struct word *out)
{
    size_t n = 0;

    while (!is_at_line_end(r) && is_blank(*r->at))
        r->at++;
    out->column = (size_t)(r->at - r->line_start) + 1;
    for (; !is_at_line_end(r) && !is_blank(*r->at); r->at++) {
        if (n + 1 == WORD_MAX)
            return refuse(r, r->line, out->column, "a word has more than %d characters",
                          WORD_MAX - 1);
        out->text[n++] = *r->at > ' ' && *r->at <= '~' ? *r->at : '?';
    }
    out->text[n] = '\0';
    return true;
}

static bool expect(struct reader *r, const char *what, struct word *out)
{
    if (!next_word(r, out)) return false;
    if (out->text[0] != '\0') return true;
    return refuse(r, r->line, out->column, "expected %s, found the end of the line", what);
}

static bool expect_line_end(struct reader *r)
{
    struct word word;

    if (!next_word(r, &word)) return false;
    if (word.text[0] == '\0') return true;
    return refuse(r, r->line, word.column, "expected the end of the line, found %s", word.text);
}

static void next_line(struct reader *r)
{
    while (!is_at_line_end(r))
        r->at++;
    if (r->at < r->end) r->at++;
    r->line_start = r->at;
    r->line++;
}

/* Go to the next line that has words and is no comment; false at the end of the text. */
static bool skip_lines(struct reader *r)
{
    for (; r->at < r->end; next_line(r)) {
        while (!is_at_line_end(r) && is_blank(*r->at))
            r->at++;
        if (!is_at_line_end(r) && *r->at != '%') return true;
    }
    return false;
}

static bool read_number(struct reader *r, const char *what, size_t lo, size_t hi,
                        size_t *number_out)
{
    struct word word;
    unsigned long long number;
    char *end;

    if (!expect(r, what, &word)) return false;
    errno = 0;
    number = strtoull(word.text, &end, 10);
    if (word.text[0] < '0' || word.text[0] > '9' || *end != '\0' || errno != 0 || number < lo ||
        number > hi)
        return refuse(r, r->line, word.column, "expected %s, a number of %zu to %zu, found %s",
                      what, lo, hi, word.text);
    *number_out = (size_t)number;
    return true;
}

static bool read_value(struct reader *r, double *value_out)
{
    struct word word;
    char *end;

    if (!expect(r, "a value", &word)) return false;
    *value_out = strtod(word.text, &end);
    if (*end == '\0' && isfinite(*value_out)) return true;
    return refuse(r, r->line, word.column, "expected a value, a finite number, found %s",
                  word.text);
}

/* --- the head ----------------------------------------------------------------------------- */
/* One of the words that the banner may have in a place. */
static bool read_keyword(struct reader *r, const char *first, const char *second,
                         bool *is_second_out)
{
    struct word word;

    if (!expect(r, first, &word)) return false;
    *is_second_out = second != NULL && strcasecmp(word.text, second) == 0;
    if (*is_second_out || strcasecmp(word.text, first) == 0) return true;
    return refuse(r, r->line, word.column, "expected %s%s%s, found %s", first,
                  second != NULL ? " or " : "", second != NULL ? second : "", word.text);
}

static bool read_banner(struct reader *r)
{
    bool is_second;

    return read_keyword(r, "%%MatrixMarket", NULL, &is_second) &&
           read_keyword(r, "matrix", NULL, &is_second) &&
           read_keyword(r, "coordinate", NULL, &is_second) &&
           read_keyword(r, "real", "integer", &is_second) &&
           read_keyword(r, "general", "symmetric", &r->is_symmetric) && expect_line_end(r);
}

static bool read_counts(struct reader *r)
{
    const size_t most = (size_t)(r->end - r->at) / ENTRY_BYTES + 1;
    size_t columns = 0;

    if (!skip_lines(r))
        return refuse(r, r->line, 1, "expected rows, columns and entries, found the end");
    if (!read_number(r, "rows", 1, UINT32_MAX, &r->rows) ||
        !read_number(r, "columns", 1, UINT32_MAX, &columns))
        return false;
    if (columns != r->rows)
        return refuse(r, r->line, 1, "expected a square matrix, found %zu rows, %zu columns",
                      r->rows, columns);
    if (r->rows > most)
        return refuse(r, r->line, 1, "the text has room for %zu entries, fewer than %zu rows",
                      most, r->rows);
    return read_number(r, "entries", 1, most, &r->announced) && expect_line_end(r);
}

/* --- entries ------------------------------------------------------------------------------ */
static bool read_entry(struct reader *r)
{
    struct entry *e = &r->entries[r->n];
    size_t row = 0, column = 0;

    if (!read_number(r, "a row", 1, r->rows, &row) ||
        !read_number(r, "a column", 1, r->rows, &column) || !read_value(r, &e->value) ||
        !expect_line_end(r))
        return false;
    if (r->is_symmetric && column > row)
        return refuse(r, r->line, 1,
                      "row %zu, column %zu is above the diagonal, and symmetric files have "
                      "what is below",
                      row, column);
    e->row = (uint32_t)row - 1;
    e->column = (uint32_t)column - 1;
    e->line = r->line;
    r->n++;
    if (r->is_symmetric && row != column) {
        e[1] = (struct entry){e->column, e->row, e->value, e->line};
        r->n++;
    }
    return true;
}

static bool read_entries(struct reader *r)
{
    for (size_t i = 0; i < r->announced; i++) {
        next_line(r);
        if (!skip_lines(r))
            return refuse(r, r->line, 1, "expected %zu entries, found the end after %zu",
                          r->announced, i);
        if (!read_entry(r)) return false;
    }
    next_line(r);
    if (!skip_lines(r)) return true;
    return refuse(r, r->line, 1, "expected the end after %zu entries, found another line",
                  r->announced);
}

static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static bool make_matrix(struct reader *r, struct csr *matrix_out)
{
    qsort(r->entries, r->n, sizeof(*r->entries), by_place);
    for (size_t k = 1; k < r->n; k++) {
        const struct entry *e = &r->entries[k];

        if (e->row == e[-1].row && e->column == e[-1].column)
            return refuse(r, e->line, 1, "row %zu, column %zu is in line %zu already",
                          (size_t)e->row + 1, (size_t)e->column + 1, e[-1].line);
    }
    if (!csr_allocate(r->rows, r->n, matrix_out)) return refuse(r, r->line, 1, "no memory");
    for (size_t k = 0; k < r->n; k++) {
        matrix_out->starts[r->entries[k].row + 1]++;
        matrix_out->columns[k] = r->entries[k].column;
        matrix_out->values[k] = r->entries[k].value;
    }
    for (size_t i = 0; i < r->rows; i++)
        matrix_out->starts[i + 1] += matrix_out->starts[i];
    return true;
}

bool matrix_market_parse(const char *text, size_t bytes, struct csr *matrix_out,
                         struct matrix_market_error *error_out)
{
    struct reader r = {
        .at = text, .end = text + bytes, .line_start = text, .line = 1, .error = error_out};
    bool is_good = read_banner(&r);

    if (!is_good) return false;
    next_line(&r);
    if (!read_counts(&r)) return false;
    r.entries = malloc(2 * r.announced * sizeof(*r.entries));
    is_good = r.entries != NULL ? read_entries(&r) && make_matrix(&r, matrix_out)
                                : refuse(&r, r.line, 1, "no memory");
    free(r.entries);
    return is_good;
}

/* --- files -------------------------------------------------------------------------------- */
static char *read_file(const char *path, size_t *bytes_out)
{
    FILE *in = fopen(path, "rb");
    char *text = NULL;
    long bytes;

    if (in == NULL) return NULL;
    if (fseek(in, 0, SEEK_END) == 0 && (bytes = ftell(in)) >= 0 && fseek(in, 0, SEEK_SET) == 0)
        text = malloc((size_t)bytes + 1);
    if (text != NULL) {
        *bytes_out = fread(text, 1, (size_t)bytes, in);
        text[*bytes_out] = '\0';
    }
    (void)fclose(in);
    return text;
}

bool matrix_market_read(const char *path, struct csr *matrix_out, char *text, size_t text_bytes)
{
    struct matrix_market_error error;
    size_t bytes;
    bool is_good;
    char *content;

    errno = 0;
    content = read_file(path, &bytes);
    if (content == NULL) {
        (void)snprintf(text, text_bytes, "%s: cannot be read: %s", path,
                       errno != 0 ? strerror(errno) : "it is no file");
        return false;
    }
    is_good = matrix_market_parse(content, bytes, matrix_out, &error);
    if (!is_good)
        (void)snprintf(text, text_bytes, "%s:%zu:%zu: %s", path, error.line, error.column,
                       error.text);
    free(content);
    return is_good;
}
