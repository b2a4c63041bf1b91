/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jacobi.h: Jacobi's method for heat in a plate whose edge is held at given temperatures: each
 * step replaces every element by the mean of its four neighbours. Here is what does not depend
 * on how PEs communicate: how they divide the grid, the steps, and the serial run.
 *
 * The elements are divided into as many rows and columns of blocks as make the blocks' edges
 * shortest. A PE has two copies of its block, of which steps alternately read one and write the
 * other, with the halo around: elements of the neighbours, or of the plate's edge.
 */
#ifndef BENCH_APPS_JACOBI_H
#define BENCH_APPS_JACOBI_H

#include <stdbool.h>
#include <stddef.h>

struct job;

enum { JACOBI_NORTH, JACOBI_SOUTH, JACOBI_WEST, JACOBI_EAST, JACOBI_SIDES };

/* Doubles before the first element of a row: it begins a cache line, and the halo is before. */
enum { JACOBI_MARGIN = 8 };

struct jacobi_block {
    size_t rows, columns; /* of this PE */
    size_t row, column;   /* of its first element in the grid */
    size_t grid_rows, grid_columns;
    size_t stride;                /* doubles from a row to the next */
    int neighbours[JACOBI_SIDES]; /* PEs; -1: the plate's edge */
};

struct jacobi_run {
    int steps;
    int every;    /* steps from a residual to the next, the largest change of an element */
    double scale; /* by which all temperatures are multiplied */
};

/* The block of PE `me`. If the grid does not divide, says why in a text of text_bytes. */
bool jacobi_divide(size_t rows, size_t columns, int n_pes, int me,
                   struct jacobi_block *block_out, char *text, size_t text_bytes);

/* The doubles of one copy, and where an element is: rows and columns of the halo are -1 and
 * block->rows or block->columns. */
size_t jacobi_doubles(const struct jacobi_block *block);

static inline size_t jacobi_at(const struct jacobi_block *block, ptrdiff_t row,
                               ptrdiff_t column)
{
    return (size_t)(row + 1) * block->stride + (size_t)(column + JACOBI_MARGIN);
}

static inline int jacobi_opposite(int side)
{
    return side ^ 1;
}

/* Whether the side's halo is a column, which does not lie in one piece. */
static inline bool jacobi_is_column(int side)
{
    return side >= JACOBI_WEST;
}

/* Elements that a PE sends to a side. */
static inline size_t jacobi_count(const struct jacobi_block *block, int side)
{
    return jacobi_is_column(side) ? block->rows : block->columns;
}

/* Where what is sent to a side begins, and where what comes from it is stored. */
size_t jacobi_own_at(const struct jacobi_block *block, int side);
size_t jacobi_halo_at(const struct jacobi_block *block, int side);

/* Between a column and memory in one piece. */
void jacobi_pack(const struct jacobi_block *block, int side, const double *grid,
                 double *column_out);
void jacobi_unpack(const struct jacobi_block *block, int side, const double *column,
                   double *grid_out);

/* The first temperatures of elements and of the edge; the neighbours' are not numbers. */
void jacobi_fill(const struct jacobi_block *block, double scale, double *grid_out);

/* A step in two parts: elements that neighbours need, then all others, which need no halo. */
void jacobi_relax_border(const struct jacobi_block *block, double *to, const double *from);
void jacobi_relax_inside(const struct jacobi_block *block, double *to, const double *from);

/* The largest difference of two copies. */
double jacobi_change(const struct jacobi_block *block, const double *a, const double *b);

/* All steps on the whole grid, in which `whole` is its block. Memory is of jacobi_doubles; the
 * result is in the copy whose number is returned. */
int jacobi_serial(const struct jacobi_block *whole, const struct jacobi_run *run,
                  double *grids[2], double *residual_out);

/* --- ways --------------------------------------------------------------------------------- */
/* A solver: grids[0] is filled before solve, which returns the copy with the result. */
struct jacobi_way {
    const char *name;
    void *(*open)(const struct job *job, const struct jacobi_block *block,
                  double *grids_out[2]);
    int (*solve)(void *state, const struct jacobi_run *run, double *residual_out);
    void (*close)(void *state);
};

extern const struct jacobi_way jacobi_chorus, jacobi_mpi, jacobi_coordinator,
    jacobi_coordinator_mpi;

#endif /* BENCH_APPS_JACOBI_H */
