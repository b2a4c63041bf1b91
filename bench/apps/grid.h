/* SPDX-License-Identifier: Apache-2.0 */
/* grid.h: PEs that are a grid, periodic in each dimension; PE 0 is at the origin, and the first
 * dimension is the fastest. For C and CUDA C++. */
#ifndef BENCH_APPS_GRID_H
#define BENCH_APPS_GRID_H

enum { GRID_DIMS_MAX = 3 };

/* The PE `step` places from PE `me` in dimension d, of a grid with these extents. */
static inline int grid_neighbour(const int *extent, int dims, int me, int d, int step)
{
    int at[GRID_DIMS_MAX] = {0}, rest = me, number = 0;

    for (int k = 0; k < dims; k++) {
        at[k] = rest % extent[k];
        rest /= extent[k];
    }
    at[d] = (at[d] + step + extent[d]) % extent[d];
    for (int k = dims - 1; k >= 0; k--)
        number = number * extent[k] + at[k];
    return number;
}

#endif /* BENCH_APPS_GRID_H */
