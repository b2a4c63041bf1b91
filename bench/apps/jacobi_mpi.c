/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jacobi_mpi.c: Jacobi by MPI, with persistent requests for each copy of the block: a row is
 * received in its place, a column is packed and unpacked.
 */
#include "bench/apps/jacobi.h"
#include "bench/apps/job.h"

#include <mpi.h>
#include <stdlib.h>

struct state {
    const struct job *job;
    struct jacobi_block block;
    double *grids[2];
    double *in[2][JACOBI_SIDES], *out[2][JACOBI_SIDES]; /* of columns */
    MPI_Request requests[2][2 * JACOBI_SIDES];          /* of each copy: receives, then sends */
    int n;                                              /* of each copy */
};

/* The two requests of a side. They are added to those of other sides. */
static void add_requests(struct state *s, int k, int side, int *n)
{
    const struct jacobi_block *b = &s->block;
    const int count = (int)jacobi_count(b, side), peer = b->neighbours[side];
    double *in = s->grids[k] + jacobi_halo_at(b, side),
           *out = s->grids[k] + jacobi_own_at(b, side);

    if (jacobi_is_column(side)) {
        in = s->in[k][side] = job_memory(s->job, b->rows, sizeof(double));
        out = s->out[k][side] = job_memory(s->job, b->rows, sizeof(double));
    }
    if (peer < 0) return;
    MPI_Recv_init(in, count, MPI_DOUBLE, peer, jacobi_opposite(side), MPI_COMM_WORLD,
                  &s->requests[k][(*n)++]);
    MPI_Send_init(out, count, MPI_DOUBLE, peer, side, MPI_COMM_WORLD, &s->requests[k][(*n)++]);
}

static void *open_mpi(const struct job *job, const struct jacobi_block *block,
                      double *grids_out[2])
{
    struct state *s = job_memory(job, 1, sizeof(*s));
    const MPI_Aint bytes = (MPI_Aint)(jacobi_doubles(block) * sizeof(double));

    s->job = job;
    s->block = *block;
    for (int k = 0; k < 2; k++) {
        MPI_Alloc_mem(bytes, MPI_INFO_NULL, &s->grids[k]);
        grids_out[k] = s->grids[k];
        s->n = 0;
        for (int side = 0; side < JACOBI_SIDES; side++)
            add_requests(s, k, side, &s->n);
    }
    return s;
}

static void send_halos(struct state *s, int k)
{
    for (int side = JACOBI_WEST; side < JACOBI_SIDES; side++)
        if (s->block.neighbours[side] >= 0)
            jacobi_pack(&s->block, side, s->grids[k], s->out[k][side]);
    MPI_Startall(s->n, s->requests[k]);
}

static void wait_for_halos(struct state *s, int k)
{
    MPI_Waitall(s->n, s->requests[k], MPI_STATUSES_IGNORE);
    for (int side = JACOBI_WEST; side < JACOBI_SIDES; side++)
        if (s->block.neighbours[side] >= 0)
            jacobi_unpack(&s->block, side, s->in[k][side], s->grids[k]);
}

static double largest(double change)
{
    MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return change;
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
            *residual_out = largest(jacobi_change(&s->block, to, from));
    }
    return run->steps % 2;
}

static void close_mpi(void *state)
{
    struct state *s = state;

    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < s->n; i++)
            MPI_Request_free(&s->requests[k][i]);
        for (int side = JACOBI_WEST; side < JACOBI_SIDES; side++) {
            free(s->in[k][side]);
            free(s->out[k][side]);
        }
        MPI_Free_mem(s->grids[k]);
    }
    free(s);
}

const struct jacobi_way jacobi_mpi = {"mpi", open_mpi, solve, close_mpi};
