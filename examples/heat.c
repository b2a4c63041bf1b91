/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heat.c: Jacobi's method for heat on a square whose left and right edges are held at 0 and 1:
 * each PE has some rows, and sends its first and last to its neighbours by puts with signal.
 * In the end, the temperature grows linearly from left to right.
 */
#include <chorus/chorusx.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, COLUMNS = 16, STEPS_MAX = 5000 }; /* rows of a PE */

/* Rows 0 and ROWS + 1 are copies of the neighbours'. */
typedef double grid[ROWS + 2][COLUMNS];

static void fill(grid g)
{
    memset(g, 0, sizeof(grid));
    for (int i = 0; i < ROWS + 2; i++)
        g[i][COLUMNS - 1] = 1;
}

/* What is above the first row of all, and below the last, is like that row itself. There is a
 * signal for each neighbour: the sum of one would not tell whose row has arrived. */
static void exchange(grid g, uint64_t arrived[2], uint64_t step, int me, int n)
{
    enum { ABOVE, BELOW };

    if (me > 0)
        chorus_double_put_signal(g[ROWS + 1], g[1], COLUMNS, &arrived[BELOW], step,
                                 CHORUS_SIGNAL_SET, me - 1);
    else
        memcpy(g[0], g[1], sizeof(g[0]));
    if (me + 1 < n)
        chorus_double_put_signal(g[0], g[ROWS], COLUMNS, &arrived[ABOVE], step,
                                 CHORUS_SIGNAL_SET, me + 1);
    else
        memcpy(g[ROWS + 1], g[ROWS], sizeof(g[0]));
    if (me > 0) (void)chorus_signal_wait_until(&arrived[ABOVE], CHORUS_CMP_GE, step);
    if (me + 1 < n) (void)chorus_signal_wait_until(&arrived[BELOW], CHORUS_CMP_GE, step);
}

/* The largest change of a place. */
static double relax(grid to, grid from)
{
    double change = 0;

    for (int i = 1; i <= ROWS; i++)
        for (int j = 1; j < COLUMNS - 1; j++) {
            to[i][j] = (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]) / 4;
            change = fmax(change, fabs(to[i][j] - from[i][j]));
        }
    return change;
}

int main(void)
{
    if (chorus_init() != 0) {
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
        return 1;
    }
    const int me = chorus_my_pe(), n = chorus_n_pes();
    grid *grids = chorus_malloc(2 * sizeof(*grids));
    double *change = chorus_malloc(sizeof(*change)), error = 0;
    uint64_t *arrived = chorus_calloc(2, sizeof(*arrived)), step = 0;
    if (grids == NULL || change == NULL || arrived == NULL) return 1;

    fill(grids[0]);
    fill(grids[1]);
    chorus_barrier_all();
    do {
        exchange(grids[step % 2], arrived, step + 1, me, n);
        *change = relax(grids[(step + 1) % 2], grids[step % 2]);
        /* No PE has the result before all PEs have sent their values, and so have read their
         * rows. */
        if (chorus_double_max_reduce(CHORUS_TEAM_WORLD, change, change, 1) != 0) return 1;
        step++;
    } while (*change > 1e-9 && step < STEPS_MAX);

    for (int i = 1; i <= ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            error = fmax(error, fabs(grids[step % 2][i][j] - (double)j / (COLUMNS - 1)));
    if (me == 0)
        printf("heat on %d PEs: %d steps, %s\n", n, (int)step,
               error < 1e-6 ? "right" : "wrong");
    chorus_finalize();
    return error < 1e-6 ? 0 : 1;
}
