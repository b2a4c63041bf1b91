/* SPDX-License-Identifier: Apache-2.0 */
/* csr.h: sparse square matrices, row by row, and the part of one that a PE has. */
#ifndef BENCH_APPS_CSR_H
#define BENCH_APPS_CSR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Row i has the entries starts[i] <= k < starts[i + 1], by ascending columns. */
struct csr {
    size_t rows;
    size_t *starts; /* rows + 1 */
    uint32_t *columns;
    double *values;
};

/* Memory for a matrix, all of it 0; false if there is none. free accepts an empty struct. */
bool csr_allocate(size_t rows, size_t entries, struct csr *matrix_out);
void csr_free(struct csr *matrix);

/* The 5-point Laplacian of a grid, with the edge held at 0: symmetric positive definite. */
bool csr_laplace(size_t grid_rows, size_t grid_columns, struct csr *matrix_out);

/* Whether the matrix equals its transpose; if not, says where in a text of text_bytes. */
bool csr_is_symmetric(const struct csr *matrix, char *text, size_t text_bytes);

/* y[i] = the sum of row i times x, in the order of the entries, lo <= i < hi. */
void csr_multiply(const struct csr *matrix, size_t lo, size_t hi, const double *x, double *y);

/* --- parts -------------------------------------------------------------------------------- */
/* What a PE and another need of each other's vectors. */
struct csr_peer {
    int pe;
    size_t n_send;  /* elements that it gets */
    uint32_t *send; /* which of the own */
    size_t place;   /* where it stores them in its vector */
    size_t n_recv;
    size_t recv; /* where what it sends is stored */
};

/*
 * Rows first <= i < first + matrix.rows. In `matrix` the columns are numbers of a vector that
 * has this PE's elements, then the `halo` elements of others that it needs, by PE. Rows
 * inside_lo <= i < inside_hi need none: the longest run of such rows.
 */
struct csr_part {
    struct csr matrix;
    size_t first, halo, inside_lo, inside_hi;
    struct csr_peer *peers;
    int n_peers;
};

/* The first row of PE `pe`; of PE n_pes: the number of rows. */
size_t csr_first(size_t rows, int n_pes, int pe);

/* The part of PE `me`; false if there is no memory. */
bool csr_divide(const struct csr *whole, int n_pes, int me, struct csr_part *part_out);
void csr_part_free(struct csr_part *part);

#endif /* BENCH_APPS_CSR_H */
