/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jacobi_main.c: Jacobi's method in several ways, in turns, in one job that MPI's launcher
 * starts; bench/apps/run starts it, and docs/solvers.md explains it.
 * usage: jacobi ROWS COLUMNS STEPS ROUNDS [WAY...]   a row for each way
 *
 * Every element of every turn must have the bits of the serial run. Each turn has other data.
 */
#include "bench/apps/jacobi.h"
#include "bench/apps/job.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { EVERY = 10, SIDE_MAX = 1 << 20, STEPS_MAX = 1 << 20 };

static const struct jacobi_way *const ways[] = {&jacobi_chorus, &jacobi_mpi,
                                                &jacobi_coordinator, &jacobi_coordinator_mpi};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

struct bench {
    struct job job;
    struct jacobi_block block, whole;
    struct jacobi_run run;
    double *expected, residual; /* of the serial run, of the scale 1 */
    void *states[WAYS];
    double *grids[WAYS][2];
};

static void run_serially(struct bench *b)
{
    const size_t n = jacobi_doubles(&b->whole);
    double *grids[2] = {job_memory(&b->job, n, sizeof(double)),
                        job_memory(&b->job, n, sizeof(double))};
    const int k = jacobi_serial(&b->whole, &b->run, grids, &b->residual);

    b->expected = grids[k];
    free(grids[1 - k]);
}

static void check(const struct bench *b, int way, const double *grid, double residual)
{
    const struct jacobi_block *block = &b->block;

    for (size_t i = 0; i < block->rows; i++)
        for (size_t j = 0; j < block->columns; j++) {
            const double got = grid[jacobi_at(block, (ptrdiff_t)i, (ptrdiff_t)j)],
                         expected =
                             b->run.scale *
                             b->expected[jacobi_at(&b->whole, (ptrdiff_t)(block->row + i),
                                                   (ptrdiff_t)(block->column + j))];

            if (got != expected)
                job_fail(&b->job, "%s: row %zu, column %zu is %a; the serial run has %a",
                         ways[way]->name, block->row + i, block->column + j, got, expected);
        }
    if (residual != b->run.scale * b->residual)
        job_fail(&b->job, "%s: the residual is %a; the serial run has %a", ways[way]->name,
                 residual, b->run.scale * b->residual);
}

static double turn_us(void *state, int way, int turn)
{
    struct bench *b = state;
    double begin, us, residual = 0;
    int k;

    b->run.scale = job_scale(turn);
    jacobi_fill(&b->block, b->run.scale, b->grids[way][0]);
    jacobi_fill(&b->block, b->run.scale, b->grids[way][1]);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    k = ways[way]->solve(b->states[way], &b->run, &residual);
    us = (MPI_Wtime() - begin) * 1e6 / b->run.steps;
    check(b, way, b->grids[way][k], residual);
    return us;
}

static void measure(struct bench *b, const struct job_turns *turns)
{
    double medians[JOB_WAYS_MAX];

    for (int w = 0; w < turns->n_ways; w++) {
        const int way = turns->ways[w];

        b->states[way] = ways[way]->open(&b->job, &b->block, b->grids[way]);
    }
    job_measure(&b->job, turns, b, turn_us, medians);
    if (b->job.me == 0) (void)printf("pes,rows,columns,steps,way,us_per_step,residual\n");
    for (int w = 0; w < turns->n_ways && b->job.me == 0; w++)
        (void)printf("%d,%zu,%zu,%d,%s,%.3f,%.6g\n", b->job.n_pes, b->whole.rows,
                     b->whole.columns, b->run.steps, ways[turns->ways[w]]->name, medians[w],
                     b->residual);
    for (int w = 0; w < turns->n_ways; w++)
        ways[turns->ways[w]]->close(b->states[turns->ways[w]]);
}

int main(int argc, char **argv)
{
    struct bench b = {.run = {.every = EVERY, .scale = 1}};
    const char *names[WAYS];
    char text[JOB_TEXT_BYTES];
    int chosen[JOB_WAYS_MAX];
    struct job_turns turns = {.ways = chosen};
    size_t rows, columns;

    b.job = job_start("jacobi", &argc, &argv);
    if (argc < 5) job_refuse(&b.job, "usage: jacobi ROWS COLUMNS STEPS ROUNDS [WAY...]");
    rows = job_number(&b.job, "ROWS", argv[1], 1, SIDE_MAX);
    columns = job_number(&b.job, "COLUMNS", argv[2], 1, SIDE_MAX);
    b.run.steps = (int)job_number(&b.job, "STEPS", argv[3], EVERY, STEPS_MAX);
    turns.rounds = (int)job_number(&b.job, "ROUNDS", argv[4], 1, JOB_ROUNDS_MAX);
    for (int way = 0; way < WAYS; way++)
        names[way] = ways[way]->name;
    turns.n_ways = job_ways(&b.job, names, WAYS, argv + 5, chosen);
    if (!jacobi_divide(rows, columns, b.job.n_pes, b.job.me, &b.block, text, sizeof(text)) ||
        !jacobi_divide(rows, columns, 1, 0, &b.whole, text, sizeof(text)))
        job_refuse(&b.job, text);
    run_serially(&b);
    measure(&b, &turns);
    free(b.expected);
    job_end();
    return 0;
}
