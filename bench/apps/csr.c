/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/apps/csr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool csr_allocate(size_t rows, size_t entries, struct csr *matrix_out)
{
    struct csr m = {.rows = rows};

    m.starts = calloc(rows + 1, sizeof(*m.starts));
    m.columns = calloc(entries + 1, sizeof(*m.columns));
    m.values = calloc(entries + 1, sizeof(*m.values));
    *matrix_out = m;
    if (m.starts != NULL && m.columns != NULL && m.values != NULL) return true;
    csr_free(matrix_out);
    return false;
}

void csr_free(struct csr *matrix)
{
    free(matrix->starts);
    free(matrix->columns);
    free(matrix->values);
    *matrix = (struct csr){0};
}

static void add(struct csr *m, size_t *n, size_t column, double value)
{
    m->columns[*n] = (uint32_t)column;
    m->values[(*n)++] = value;
}

bool csr_laplace(size_t grid_rows, size_t grid_columns, struct csr *matrix_out)
{
    const size_t rows = grid_rows * grid_columns;
    size_t n = 0;

    if (!csr_allocate(rows, 5 * rows, matrix_out)) return false;
    for (size_t i = 0; i < grid_rows; i++)
        for (size_t j = 0; j < grid_columns; j++) {
            const size_t row = i * grid_columns + j;

            if (i > 0) add(matrix_out, &n, row - grid_columns, -1);
            if (j > 0) add(matrix_out, &n, row - 1, -1);
            add(matrix_out, &n, row, 4);
            if (j + 1 < grid_columns) add(matrix_out, &n, row + 1, -1);
            if (i + 1 < grid_rows) add(matrix_out, &n, row + grid_columns, -1);
            matrix_out->starts[row + 1] = n;
        }
    return true;
}

/* The value of an entry; 0 if it is not there. */
static double value_at(const struct csr *m, size_t row, size_t column)
{
    size_t lo = m->starts[row], hi = m->starts[row + 1];

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;

        if (m->columns[mid] == column) return m->values[mid];
        if (m->columns[mid] < column)
            lo = mid + 1;
        else
            hi = mid;
    }
    return 0;
}

bool csr_is_symmetric(const struct csr *matrix, char *text, size_t text_bytes)
{
    for (size_t i = 0; i < matrix->rows; i++)
        for (size_t k = matrix->starts[i]; k < matrix->starts[i + 1]; k++) {
            const size_t j = matrix->columns[k];
            const double other = value_at(matrix, j, i);

            if (matrix->values[k] == other) continue;
            (void)snprintf(
                text, text_bytes,
                "the matrix is not symmetric: row %zu, column %zu is %.17g, row %zu, "
                "column %zu is %.17g; CG needs a symmetric positive definite matrix",
                i + 1, j + 1, matrix->values[k], j + 1, i + 1, other);
            return false;
        }
    return true;
}

void csr_multiply(const struct csr *matrix, size_t lo, size_t hi, const double *x, double *y)
{
    for (size_t i = lo; i < hi; i++) {
        double sum = 0;

        for (size_t k = matrix->starts[i]; k < matrix->starts[i + 1]; k++)
            sum += matrix->values[k] * x[matrix->columns[k]];
        y[i] = sum;
    }
}

/* --- parts -------------------------------------------------------------------------------- */
size_t csr_first(size_t rows, int n_pes, int pe)
{
    const size_t n = (size_t)n_pes, p = (size_t)pe;

    return rows / n * p + (p < rows % n ? p : rows % n);
}

/* Columns of other PEs that the rows of a PE have, ascending. */
struct needs {
    size_t first, end; /* rows of the PE */
    uint32_t *columns;
    size_t n;
};

static bool find_needs(const struct csr *whole, int n_pes, int pe, struct needs *out)
{
    unsigned char *marks = calloc(whole->rows + 1, 1);

    out->first = csr_first(whole->rows, n_pes, pe);
    out->end = csr_first(whole->rows, n_pes, pe + 1);
    out->n = 0;
    for (size_t k = whole->starts[out->first]; marks && k < whole->starts[out->end]; k++)
        if (whole->columns[k] < out->first || whole->columns[k] >= out->end)
            marks[whole->columns[k]] = 1;
    for (size_t c = 0; marks && c < whole->rows; c++)
        out->n += marks[c];
    out->columns = calloc(out->n + 1, sizeof(*out->columns));
    for (size_t c = 0, n = 0; marks && out->columns && c < whole->rows; c++)
        if (marks[c]) out->columns[n++] = (uint32_t)c;
    free(marks);
    return marks != NULL && out->columns != NULL;
}

/* The columns lo <= c < hi among those that are needed: where they begin, how many there are.
 */
static size_t range_of(const struct needs *needs, size_t lo, size_t hi, size_t *n_out)
{
    size_t at = 0, end;

    while (at < needs->n && needs->columns[at] < lo)
        at++;
    for (end = at; end < needs->n && needs->columns[end] < hi; end++) {
    }
    *n_out = end - at;
    return at;
}

static bool add_peer(struct csr_part *part, const struct needs *mine,
                     const struct needs *theirs, int pe)
{
    struct csr_peer *peer = &part->peers[part->n_peers];
    size_t at = range_of(theirs, mine->first, mine->end, &peer->n_send);

    peer->pe = pe;
    peer->place = theirs->end - theirs->first + at;
    peer->recv =
        mine->end - mine->first + range_of(mine, theirs->first, theirs->end, &peer->n_recv);
    if (peer->n_send == 0 && peer->n_recv == 0) return true;
    peer->send = calloc(peer->n_send + 1, sizeof(*peer->send));
    if (peer->send == NULL) return false;
    for (size_t i = 0; i < peer->n_send; i++)
        peer->send[i] = (uint32_t)(theirs->columns[at + i] - mine->first);
    part->n_peers++;
    return true;
}

static bool find_peers(const struct csr *whole, int n_pes, int me, const struct needs *mine,
                       struct csr_part *part)
{
    bool is_done = true;

    part->peers = calloc((size_t)n_pes, sizeof(*part->peers));
    for (int pe = 0; part->peers != NULL && pe < n_pes && is_done; pe++) {
        struct needs theirs;

        if (pe == me) continue;
        is_done = find_needs(whole, n_pes, pe, &theirs) && add_peer(part, mine, &theirs, pe);
        free(theirs.columns);
    }
    return part->peers != NULL && is_done;
}

static int by_column(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* The rows of the PE, with columns as its vector has them. */
static bool take_rows(const struct csr *whole, const struct needs *mine, struct csr *out)
{
    const size_t rows = mine->end - mine->first, from = whole->starts[mine->first],
                 n = whole->starts[mine->end] - from;

    if (!csr_allocate(rows, n, out)) return false;
    memcpy(out->values, whole->values + from, n * sizeof(*out->values));
    for (size_t i = 0; i < rows; i++)
        out->starts[i + 1] = whole->starts[mine->first + i + 1] - from;
    for (size_t k = 0; k < n; k++) {
        const uint32_t column = whole->columns[from + k], *found;

        if (column >= mine->first && column < mine->end) {
            out->columns[k] = (uint32_t)(column - mine->first);
            continue;
        }
        found = bsearch(&column, mine->columns, mine->n, sizeof(column), by_column);
        out->columns[k] = (uint32_t)(rows + (size_t)(found - mine->columns));
    }
    return true;
}

static bool needs_halo(const struct csr *matrix, size_t row)
{
    for (size_t k = matrix->starts[row]; k < matrix->starts[row + 1]; k++)
        if (matrix->columns[k] >= matrix->rows) return true;
    return false;
}

static void find_inside(struct csr_part *part)
{
    size_t lo = 0;

    for (size_t i = 0; i < part->matrix.rows; i++) {
        if (needs_halo(&part->matrix, i)) {
            lo = i + 1;
        } else if (i + 1 - lo > part->inside_hi - part->inside_lo) {
            part->inside_lo = lo;
            part->inside_hi = i + 1;
        }
    }
}

bool csr_divide(const struct csr *whole, int n_pes, int me, struct csr_part *part_out)
{
    struct needs mine;
    bool is_done;

    *part_out = (struct csr_part){0};
    is_done = find_needs(whole, n_pes, me, &mine) &&
              take_rows(whole, &mine, &part_out->matrix) &&
              find_peers(whole, n_pes, me, &mine, part_out);
    part_out->first = mine.first;
    part_out->halo = mine.n;
    free(mine.columns);
    if (is_done)
        find_inside(part_out);
    else
        csr_part_free(part_out);
    return is_done;
}

void csr_part_free(struct csr_part *part)
{
    for (int i = 0; i < part->n_peers; i++)
        free(part->peers[i].send);
    free(part->peers);
    csr_free(&part->matrix);
    *part = (struct csr_part){0};
}
