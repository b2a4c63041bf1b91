/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/apps/jacobi.h"

#include "bench/random.h"

#include <math.h>
#include <stdio.h>

enum { LINE_DOUBLES = 8 }; /* a cache line of 64 bytes */

/* Blocks in a column: the largest factor whose square is not above n_pes is for a row. */
static int columns_of(int n_pes)
{
    int columns = 1;

    for (int k = 2; k * k <= n_pes; k++)
        if (n_pes % k == 0) columns = k;
    return columns;
}

/* Whether `count` rows or columns divide among the PEs. */
static bool divides(size_t count, int n_pes, const char *what, char *text, size_t text_bytes)
{
    const size_t n = (size_t)n_pes, fewer = count / n * n;

    if (count >= n && count % n == 0) return true;
    (void)snprintf(text, text_bytes,
                   "the grid has %zu %s, which do not divide among %zu PEs; take %zu or %zu %s",
                   count, what, n, fewer > 0 ? fewer : n, fewer > 0 ? fewer + n : 2 * n, what);
    return false;
}

bool jacobi_divide(size_t rows, size_t columns, int n_pes, int me,
                   struct jacobi_block *block_out, char *text, size_t text_bytes)
{
    const int across = columns_of(n_pes), down = n_pes / across, i = me / across,
              j = me % across;
    struct jacobi_block *b = block_out;

    if (!divides(rows, down, "rows", text, text_bytes) ||
        !divides(columns, across, "columns", text, text_bytes))
        return false;
    b->grid_rows = rows;
    b->grid_columns = columns;
    b->rows = rows / (size_t)down;
    b->columns = columns / (size_t)across;
    b->row = (size_t)i * b->rows;
    b->column = (size_t)j * b->columns;
    b->stride =
        (JACOBI_MARGIN + b->columns + 1 + LINE_DOUBLES - 1) / LINE_DOUBLES * LINE_DOUBLES;
    b->neighbours[JACOBI_NORTH] = i > 0 ? me - across : -1;
    b->neighbours[JACOBI_SOUTH] = i + 1 < down ? me + across : -1;
    b->neighbours[JACOBI_WEST] = j > 0 ? me - 1 : -1;
    b->neighbours[JACOBI_EAST] = j + 1 < across ? me + 1 : -1;
    return true;
}

size_t jacobi_doubles(const struct jacobi_block *block)
{
    return (block->rows + 2) * block->stride;
}

/* --- halos -------------------------------------------------------------------------------- */
size_t jacobi_own_at(const struct jacobi_block *block, int side)
{
    const ptrdiff_t row = side == JACOBI_SOUTH ? (ptrdiff_t)block->rows - 1 : 0,
                    column = side == JACOBI_EAST ? (ptrdiff_t)block->columns - 1 : 0;

    return jacobi_at(block, row, column);
}

size_t jacobi_halo_at(const struct jacobi_block *block, int side)
{
    const ptrdiff_t rows = (ptrdiff_t)block->rows, columns = (ptrdiff_t)block->columns;

    switch (side) {
    case JACOBI_NORTH:
        return jacobi_at(block, -1, 0);
    case JACOBI_SOUTH:
        return jacobi_at(block, rows, 0);
    case JACOBI_WEST:
        return jacobi_at(block, 0, -1);
    default:
        return jacobi_at(block, 0, columns);
    }
}

void jacobi_pack(const struct jacobi_block *block, int side, const double *grid,
                 double *column_out)
{
    const double *at = grid + jacobi_own_at(block, side);

    for (size_t i = 0; i < block->rows; i++)
        column_out[i] = at[i * block->stride];
}

void jacobi_unpack(const struct jacobi_block *block, int side, const double *column,
                   double *grid_out)
{
    double *at = grid_out + jacobi_halo_at(block, side);

    for (size_t i = 0; i < block->rows; i++)
        at[i * block->stride] = column[i];
}

/* --- temperatures ------------------------------------------------------------------------- */
/* Of an element of the grid or of its edge, whose rows and columns count from 0: 1 to 2. */
static double first_of(const struct jacobi_block *block, size_t row, size_t column)
{
    const uint64_t number = row * (block->grid_columns + 2) + column;

    return 1.0 + (double)(ch_random(1, number) >> 11) * 0x1p-53;
}

void jacobi_fill(const struct jacobi_block *block, double scale, double *grid_out)
{
    const size_t rows = block->rows, columns = block->columns;

    for (size_t i = 0; i < rows + 2; i++)
        for (size_t j = 0; j < columns + 2; j++) {
            const bool is_others = (i == 0 && block->neighbours[JACOBI_NORTH] >= 0) ||
                                   (i == rows + 1 && block->neighbours[JACOBI_SOUTH] >= 0) ||
                                   (j == 0 && block->neighbours[JACOBI_WEST] >= 0) ||
                                   (j == columns + 1 && block->neighbours[JACOBI_EAST] >= 0);

            grid_out[jacobi_at(block, (ptrdiff_t)i - 1, (ptrdiff_t)j - 1)] =
                is_others ? (double)NAN
                          : scale * first_of(block, block->row + i, block->column + j);
        }
}

/* --- steps -------------------------------------------------------------------------------- */
/* Rows and columns lo <= i < hi. */
struct box {
    size_t row_lo, row_hi, column_lo, column_hi;
};

static void relax(const struct jacobi_block *block, double *restrict to,
                  const double *restrict from, struct box box)
{
    const size_t stride = block->stride;

    for (size_t i = box.row_lo; i < box.row_hi; i++) {
        const size_t at = jacobi_at(block, (ptrdiff_t)i, 0);

        for (size_t j = at + box.column_lo; j < at + box.column_hi; j++)
            to[j] =
                0.25 * ((from[j - stride] + from[j + stride]) + (from[j - 1] + from[j + 1]));
    }
}

static struct box inside_of(const struct jacobi_block *block)
{
    const int *n = block->neighbours;

    return (struct box){n[JACOBI_NORTH] >= 0, block->rows - (n[JACOBI_SOUTH] >= 0),
                        n[JACOBI_WEST] >= 0, block->columns - (n[JACOBI_EAST] >= 0)};
}

void jacobi_relax_border(const struct jacobi_block *block, double *to, const double *from)
{
    const struct box in = inside_of(block);
    const size_t rows = block->rows, columns = block->columns;

    relax(block, to, from, (struct box){0, in.row_lo, 0, columns});
    relax(block, to, from, (struct box){in.row_hi, rows, 0, columns});
    relax(block, to, from, (struct box){in.row_lo, in.row_hi, 0, in.column_lo});
    relax(block, to, from, (struct box){in.row_lo, in.row_hi, in.column_hi, columns});
}

void jacobi_relax_inside(const struct jacobi_block *block, double *to, const double *from)
{
    relax(block, to, from, inside_of(block));
}

double jacobi_change(const struct jacobi_block *block, const double *a, const double *b)
{
    double most = 0;

    for (size_t i = 0; i < block->rows; i++) {
        const size_t at = jacobi_at(block, (ptrdiff_t)i, 0);

        for (size_t j = at; j < at + block->columns; j++) {
            const double change = fabs(a[j] - b[j]);

            most = change > most ? change : most;
        }
    }
    return most;
}

int jacobi_serial(const struct jacobi_block *whole, const struct jacobi_run *run,
                  double *grids[2], double *residual_out)
{
    for (int k = 0; k < 2; k++)
        jacobi_fill(whole, run->scale, grids[k]);
    for (int step = 0; step < run->steps; step++) {
        double *const from = grids[step % 2], *const to = grids[(step + 1) % 2];

        jacobi_relax_inside(whole, to, from);
        if ((step + 1) % run->every == 0) *residual_out = jacobi_change(whole, to, from);
    }
    return run->steps % 2;
}
