/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matrix_market.h: reads a sparse matrix in the Matrix Market format: coordinate, of real or
 * integer values, general or symmetric (Boisvert, Pozo, Remington, NISTIR 5935, 1996).
 */
#ifndef BENCH_APPS_MATRIX_MARKET_H
#define BENCH_APPS_MATRIX_MARKET_H

#include "bench/apps/csr.h"

/* Where a text is broken, both from 1, and why. */
struct matrix_market_error {
    size_t line, column;
    char text[160];
};

/*
 * A square matrix. A symmetric file has one triangle, and the matrix both. Memory is
 * proportional to bytes: a size line that announces more than the text can hold is refused.
 */
bool matrix_market_parse(const char *text, size_t bytes, struct csr *matrix_out,
                         struct matrix_market_error *error_out);

/* The same of a file. Errors name it, and line and column. */
bool matrix_market_read(const char *path, struct csr *matrix_out, char *text,
                        size_t text_bytes);

#endif /* BENCH_APPS_MATRIX_MARKET_H */
