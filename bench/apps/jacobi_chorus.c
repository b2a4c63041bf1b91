/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jacobi_chorus.c: Jacobi by the calls of Chorus. Both copies of a block are in symmetric
 * memory, so rows are put straight into the neighbour's halo, each with a signal. A column is
 * packed, is put into the neighbour's memory for columns, and unpacked there.
 *
 * No barrier is needed: a PE puts elements of step k + 1 after it has received those of step k,
 * which its neighbour has sent after it had read those of step k - 1, which were in their
 * place.
 */
#include "bench/apps/jacobi.h"
#include "bench/apps/job.h"

#include "chorus/chorusx.h"

#include <stdlib.h>

enum { WORDS = 8 }; /* of a cache line: PEs write to the signals of different sides */

struct state {
    const struct job *job;
    struct jacobi_block block;
    double *grids[2];                 /* symmetric, as all below but packed */
    double *columns[2][JACOBI_SIDES]; /* what has come from west and east, for either copy */
    double *packed;
    double *change;
    uint64_t *arrived; /* from each side: the number of the exchange */
    uint64_t exchanges;
};

static void *open_chorus(const struct job *job, const struct jacobi_block *block,
                         double *grids_out[2])
{
    struct state *s = job_memory(job, 1, sizeof(*s));

    s->job = job;
    s->block = *block;
    for (int k = 0; k < 2; k++) {
        s->grids[k] = grids_out[k] = job_symmetric(job, jacobi_doubles(block), sizeof(double));
        for (int side = JACOBI_WEST; side < JACOBI_SIDES; side++)
            s->columns[k][side] = job_symmetric(job, block->rows, sizeof(double));
    }
    s->packed = job_memory(job, block->rows, sizeof(double));
    s->change = job_symmetric(job, 1, sizeof(double));
    s->arrived = job_symmetric(job, (size_t)JACOBI_SIDES * WORDS, sizeof(uint64_t));
    return s;
}

/* Send the border of copy k to the neighbours. */
static void send_halos(struct state *s, int k)
{
    const struct jacobi_block *b = &s->block;
    double *grid = s->grids[k];

    s->exchanges++;
    for (int side = 0; side < JACOBI_SIDES; side++) {
        const int there = jacobi_opposite(side);
        double *to = grid + jacobi_halo_at(b, there);
        const double *from = grid + jacobi_own_at(b, side);

        if (b->neighbours[side] < 0) continue;
        if (jacobi_is_column(side)) {
            jacobi_pack(b, side, grid, s->packed);
            to = s->columns[k][there];
            from = s->packed;
        }
        chorus_double_put_signal(to, from, jacobi_count(b, side), &s->arrived[there * WORDS],
                                 s->exchanges, CHORUS_SIGNAL_SET, b->neighbours[side]);
    }
}

static void wait_for_halos(struct state *s, int k)
{
    const struct jacobi_block *b = &s->block;

    for (int side = 0; side < JACOBI_SIDES; side++) {
        if (b->neighbours[side] < 0) continue;
        if (chorus_signal_wait_until(&s->arrived[side * WORDS], CHORUS_CMP_GE, s->exchanges) ==
            0)
            job_fail(s->job, "%s", chorusx_last_error());
        if (jacobi_is_column(side)) jacobi_unpack(b, side, s->columns[k][side], s->grids[k]);
    }
}

static double largest(struct state *s, double change)
{
    *s->change = change;
    job_require(s->job, chorus_double_max_reduce(CHORUS_TEAM_WORLD, s->change, s->change, 1));
    return *s->change;
}

static int solve(void *state, const struct jacobi_run *run, double *residual_out)
{
    struct state *s = state;

    send_halos(s, 0);
    for (int step = 0; step < run->steps; step++) {
        const int k = step % 2;
        double *const from = s->grids[k], *const to = s->grids[1 - k];

        wait_for_halos(s, k);
        jacobi_relax_border(&s->block, to, from);
        if (step + 1 < run->steps) send_halos(s, 1 - k);
        jacobi_relax_inside(&s->block, to, from);
        if ((step + 1) % run->every == 0)
            *residual_out = largest(s, jacobi_change(&s->block, to, from));
    }
    return run->steps % 2;
}

static void close_chorus(void *state)
{
    struct state *s = state;

    chorus_free(s->arrived);
    chorus_free(s->change);
    free(s->packed);
    for (int k = 0; k < 2; k++) {
        for (int side = JACOBI_WEST; side < JACOBI_SIDES; side++)
            chorus_free(s->columns[k][side]);
        chorus_free(s->grids[k]);
    }
    free(s);
}

const struct jacobi_way jacobi_chorus = {"chorus", open_chorus, solve, close_chorus};
