/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jacobi_coordinator.c: Jacobi by the coordinator, over Chorus and over MPI. The messages of an
 * exchange are a group; elements that need no halo are computed before its end.
 *
 * Two exchanges have signals of their own, as have the copies of the block: a PE posts messages
 * of exchange k + 1 while a neighbour may still wait for those of k, but not for those of k
 * - 1.
 */
#include "bench/apps/jacobi.h"
#include "bench/apps/job.h"

#include "chorus/apps/coordinator.h"

#include <stdlib.h>

enum { WORDS = 8 }; /* of a cache line: PEs write to the signals of different sides */

struct state {
    const struct job *job;
    struct jacobi_block block;
    chorusx_environment_t environment;
    chorusx_communicator_t world;
    chorusx_coordinator_t coordinator;
    double *grids[2];   /* of the communicator, as all below but packed */
    double *columns[2]; /* for either copy: what has come from west and from east */
    double *packed;     /* what is sent there */
    double *change;
    uint64_t *arrived[2];
    uint64_t exchanges;
};

static void *shared(const struct state *s, size_t n, size_t bytes)
{
    void *memory = chorusx_communicator_malloc(s->world, n * bytes);

    if (memory == NULL) job_fail(s->job, "%s", chorusx_last_error());
    return memory;
}

static void *open_coordinator(const struct job *job, const struct jacobi_block *block,
                              const char *backend, double *grids_out[2])
{
    struct state *s = job_memory(job, 1, sizeof(*s));

    s->job = job;
    s->block = *block;
    job_require(s->job, chorusx_environment_create(backend, &s->environment));
    s->world = chorusx_environment_world(s->environment);
    job_require(s->job, chorusx_coordinator_create(s->world, CHORUSX_LAUNCH_HOST, NULL,
                                                   &s->coordinator));
    for (int k = 0; k < 2; k++) {
        s->grids[k] = grids_out[k] = shared(s, jacobi_doubles(block), sizeof(double));
        s->columns[k] = shared(s, 2 * block->rows, sizeof(double));
        s->arrived[k] = shared(s, (size_t)JACOBI_SIDES * WORDS, sizeof(uint64_t));
    }
    s->packed = job_memory(job, 2 * block->rows, sizeof(double));
    s->change = shared(s, 1, sizeof(double));
    return s;
}

static void *open_chorus(const struct job *job, const struct jacobi_block *block,
                         double *grids_out[2])
{
    return open_coordinator(job, block, "chorus", grids_out);
}

static void *open_mpi(const struct job *job, const struct jacobi_block *block,
                      double *grids_out[2])
{
    return open_coordinator(job, block, "mpi", grids_out);
}

/* The column of a side, in memory for both. */
static double *column_of(const struct state *s, int side, double *columns)
{
    return columns + (size_t)(side - JACOBI_WEST) * s->block.rows;
}

/* Where a message from a side is stored: in place, or as a column. */
static double *dest_of(const struct state *s, int k, int side)
{
    return jacobi_is_column(side) ? column_of(s, side, s->columns[k])
                                  : s->grids[k] + jacobi_halo_at(&s->block, side);
}

static const double *source_of(const struct state *s, int k, int side)
{
    if (!jacobi_is_column(side)) return s->grids[k] + jacobi_own_at(&s->block, side);
    jacobi_pack(&s->block, side, s->grids[k], column_of(s, side, s->packed));
    return column_of(s, side, s->packed);
}

/* Begin a group of the messages to and from all sides. */
static void begin_exchange(struct state *s, int k)
{
    const struct jacobi_block *b = &s->block;

    s->exchanges++;
    job_require(s->job, chorusx_coordinator_begin(s->coordinator));
    for (int side = 0; side < JACOBI_SIDES; side++) {
        const size_t bytes = jacobi_count(b, side) * sizeof(double);
        const int peer = b->neighbours[side], there = jacobi_opposite(side);

        if (peer < 0) continue;
        job_require(s->job, chorusx_coordinator_acknowledge(s->coordinator, dest_of(s, k, side),
                                                            bytes, &s->arrived[k][side * WORDS],
                                                            s->exchanges, peer));
        job_require(s->job, chorusx_coordinator_post(
                                s->coordinator, dest_of(s, k, there), source_of(s, k, side),
                                bytes, &s->arrived[k][there * WORDS], s->exchanges, peer));
    }
}

static void end_exchange(struct state *s, int k)
{
    job_require(s->job, chorusx_coordinator_end(s->coordinator));
    for (int side = JACOBI_WEST; side < JACOBI_SIDES; side++)
        if (s->block.neighbours[side] >= 0)
            jacobi_unpack(&s->block, side, dest_of(s, k, side), s->grids[k]);
}

static double largest(struct state *s, double change)
{
    *s->change = change;
    job_require(s->job, chorusx_coordinator_reduce(s->coordinator, s->change, s->change, 1,
                                                   CHORUS_TYPE_f64, CHORUS_OP_max));
    return *s->change;
}

static int solve(void *state, const struct jacobi_run *run, double *residual_out)
{
    struct state *s = state;

    begin_exchange(s, 0);
    end_exchange(s, 0);
    for (int step = 0; step < run->steps; step++) {
        const int k = step % 2;
        const bool is_last = step + 1 == run->steps;
        double *const from = s->grids[k], *const to = s->grids[1 - k];

        jacobi_relax_border(&s->block, to, from);
        if (!is_last) begin_exchange(s, 1 - k);
        jacobi_relax_inside(&s->block, to, from);
        if (!is_last) end_exchange(s, 1 - k);
        if ((step + 1) % run->every == 0)
            *residual_out = largest(s, jacobi_change(&s->block, to, from));
    }
    return run->steps % 2;
}

static void close_coordinator(void *state)
{
    struct state *s = state;

    job_require(s->job, chorusx_communicator_free(s->world, s->change));
    free(s->packed);
    for (int k = 0; k < 2; k++) {
        job_require(s->job, chorusx_communicator_free(s->world, s->arrived[k]));
        job_require(s->job, chorusx_communicator_free(s->world, s->columns[k]));
        job_require(s->job, chorusx_communicator_free(s->world, s->grids[k]));
    }
    job_require(s->job, chorusx_coordinator_destroy(s->coordinator));
    job_require(s->job, chorusx_environment_destroy(s->environment));
    free(s);
}

const struct jacobi_way jacobi_coordinator = {"coordinator", open_chorus, solve,
                                              close_coordinator};
const struct jacobi_way jacobi_coordinator_mpi = {"coordinator-mpi", open_mpi, solve,
                                                  close_coordinator};
