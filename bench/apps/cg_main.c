/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cg_main.c: conjugate gradients in several ways, in turns, in one job that MPI's launcher
 * starts; bench/apps/run starts it, and docs/solvers.md explains it. usage: cg MATRIX ROUNDS
 * [WAY...]   a row for each way. MATRIX is a file, or ROWSxCOLUMNS: the Laplacian of a grid
 *
 * The serial run adds the PEs' shares of dot products in their order. On one PE or two there is
 * no other order, and every bit of x must be its own. On more, the residual, computed anew, may
 * be BOUND times the tolerance. Each turn has another b.
 */
#include "bench/apps/cg.h"
#include "bench/apps/job.h"
#include "bench/apps/matrix_market.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE_MAX = 1 << 14, BOUND = 2, STEPS_EACH_ROW = 10, STEPS_MOST = 100000 };
static const double tolerance = 1e-8;

static const struct cg_way *const ways[] = {&cg_chorus, &cg_mpi, &cg_coordinator,
                                            &cg_coordinator_mpi};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

struct bench {
    struct job job;
    struct csr matrix;
    struct csr_part part;
    struct cg_run run;
    struct cg_result expected, result;
    double *expected_x, *x; /* of all rows, x on PE 0 alone */
    void *states[WAYS];
    double *own_x[WAYS];
    double difference; /* the largest from the serial run, relative to the largest element */
};

/* --- the matrix --------------------------------------------------------------------------- */
static void get_matrix(const struct job *job, const char *word, struct csr *matrix_out)
{
    char text[JOB_TEXT_BYTES], after;
    size_t rows, columns;

    if (sscanf(word, "%zux%zu%c", &rows, &columns, &after) == 2) {
        if (rows < 1 || rows > SIDE_MAX || columns < 1 || columns > SIDE_MAX)
            job_fail(job, "the grid is %s; give 1x1 to %dx%d", word, SIDE_MAX, SIDE_MAX);
        if (!csr_laplace(rows, columns, matrix_out)) job_fail(job, "no memory for %s", word);
        return;
    }
    if (!matrix_market_read(word, matrix_out, text, sizeof(text)) ||
        !csr_is_symmetric(matrix_out, text, sizeof(text)))
        job_fail(job, "%s", text);
}

/* In parts, since MPI counts by int. */
static void broadcast(void *memory, size_t bytes)
{
    enum { MOST = 1 << 30 };

    for (size_t at = 0; at < bytes; at += MOST)
        MPI_Bcast((char *)memory + at, (int)(bytes - at < MOST ? bytes - at : MOST), MPI_BYTE,
                  0, MPI_COMM_WORLD);
}

/* PE 0 reads or makes the matrix. */
static void share_matrix(struct bench *b, const char *word)
{
    size_t counts[2] = {0};

    if (b->job.me == 0) {
        get_matrix(&b->job, word, &b->matrix);
        counts[0] = b->matrix.rows;
        counts[1] = b->matrix.starts[b->matrix.rows];
    }
    broadcast(counts, sizeof(counts));
    if (b->job.me != 0 && !csr_allocate(counts[0], counts[1], &b->matrix))
        job_fail(&b->job, "no memory for the matrix");
    broadcast(b->matrix.starts, (counts[0] + 1) * sizeof(*b->matrix.starts));
    broadcast(b->matrix.columns, counts[1] * sizeof(*b->matrix.columns));
    broadcast(b->matrix.values, counts[1] * sizeof(*b->matrix.values));
    if (!csr_divide(&b->matrix, b->job.n_pes, b->job.me, &b->part))
        job_fail(&b->job, "no memory for this PE's rows");
}

/* --- results ------------------------------------------------------------------------------ */
static void run_serially(struct bench *b)
{
    const size_t n = b->matrix.rows;

    b->expected_x = job_memory(&b->job, n, sizeof(double));
    b->x = job_memory(&b->job, n, sizeof(double));
    if (b->job.me == 0 &&
        !cg_serial(&b->matrix, b->job.n_pes, &b->run, b->expected_x, &b->expected))
        job_fail(&b->job, "no memory for the serial run");
    broadcast(b->expected_x, n * sizeof(double));
    broadcast(&b->expected, sizeof(b->expected));
}

/* x of all PEs, on PE 0. */
static void gather(struct bench *b, int way)
{
    const int n_pes = b->job.n_pes;
    int *counts = job_memory(&b->job, (size_t)n_pes, sizeof(*counts)),
        *places = job_memory(&b->job, (size_t)n_pes, sizeof(*places));

    for (int pe = 0; pe < n_pes; pe++) {
        places[pe] = (int)csr_first(b->matrix.rows, n_pes, pe);
        counts[pe] = (int)csr_first(b->matrix.rows, n_pes, pe + 1) - places[pe];
    }
    MPI_Gatherv(b->own_x[way], counts[b->job.me], MPI_DOUBLE, b->x, counts, places, MPI_DOUBLE,
                0, MPI_COMM_WORLD);
    free(counts);
    free(places);
}

static void check_x(struct bench *b, const char *by)
{
    double residual, largest = 0, difference = 0;

    for (size_t i = 0; i < b->matrix.rows; i++) {
        const double expected = b->run.scale * b->expected_x[i];

        if (b->job.n_pes <= 2 && b->x[i] != expected)
            job_fail(&b->job, "%s: x of row %zu is %a; the serial run has %a", by, i + 1,
                     b->x[i], expected);
        largest = fmax(largest, fabs(expected));
        difference = fmax(difference, fabs(b->x[i] - expected));
    }
    b->difference = fmax(b->difference, difference / largest);
    if (!cg_residual(&b->matrix, b->run.scale, b->x, &residual))
        job_fail(&b->job, "no memory for the residual");
    if (!(residual <= BOUND * b->run.tolerance))
        job_fail(&b->job, "%s: the residual is %g of b, more than %d times the tolerance %g",
                 by, residual, BOUND, b->run.tolerance);
}

static void check(struct bench *b, int way)
{
    gather(b, way);
    if (b->result.end != b->expected.end)
        job_fail(&b->job,
                 "%s: CG ended otherwise than in the serial run, after %d and %d steps",
                 ways[way]->name, b->result.steps, b->expected.steps);
    if (b->job.me == 0 && b->expected.end == CG_CONVERGED) check_x(b, ways[way]->name);
}

/* --- turns -------------------------------------------------------------------------------- */
static double turn_us(void *state, int way, int turn)
{
    struct bench *b = state;
    double begin, us;

    b->run.scale = job_scale(turn);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    ways[way]->solve(b->states[way], &b->run, &b->result);
    us = (MPI_Wtime() - begin) * 1e6 / (b->result.steps + 1);
    check(b, way);
    return us;
}

/* Each way must find what the serial run has found. */
static void explain(struct bench *b, const struct job_turns *turns)
{
    char text[JOB_TEXT_BYTES];

    for (int w = 0; w < turns->n_ways; w++)
        (void)turn_us(b, turns->ways[w], w);
    cg_explain(&b->expected, text, sizeof(text));
    job_refuse(&b->job, text);
}

static void measure(struct bench *b, const struct job_turns *turns, const char *matrix)
{
    double medians[JOB_WAYS_MAX];

    job_measure(&b->job, turns, b, turn_us, medians);
    if (b->job.me != 0) return;
    (void)printf("pes,matrix,rows,entries,steps,way,us_per_step,difference\n");
    for (int w = 0; w < turns->n_ways; w++)
        (void)printf("%d,%s,%zu,%zu,%d,%s,%.3f,%.3g\n", b->job.n_pes, matrix, b->matrix.rows,
                     b->matrix.starts[b->matrix.rows], b->expected.steps,
                     ways[turns->ways[w]]->name, medians[w], b->difference);
}

int main(int argc, char **argv)
{
    struct bench b = {.run = {.tolerance = tolerance, .scale = 1}};
    const char *names[WAYS];
    int chosen[JOB_WAYS_MAX];
    struct job_turns turns = {.ways = chosen};

    b.job = job_start("cg", &argc, &argv);
    if (argc < 3) job_refuse(&b.job, "usage: cg MATRIX ROUNDS [WAY...]");
    turns.rounds = (int)job_number(&b.job, "ROUNDS", argv[2], 1, JOB_ROUNDS_MAX);
    for (int way = 0; way < WAYS; way++)
        names[way] = ways[way]->name;
    turns.n_ways = job_ways(&b.job, names, WAYS, argv + 3, chosen);
    share_matrix(&b, argv[1]);
    b.run.steps_max = b.matrix.rows < STEPS_MOST / STEPS_EACH_ROW
                          ? STEPS_EACH_ROW * (int)b.matrix.rows
                          : STEPS_MOST;
    run_serially(&b);
    for (int w = 0; w < turns.n_ways; w++)
        b.states[chosen[w]] = ways[chosen[w]]->open(&b.job, &b.part, &b.own_x[chosen[w]]);
    if (b.expected.end != CG_CONVERGED) explain(&b, &turns);
    measure(&b, &turns, argv[1]);
    for (int w = 0; w < turns.n_ways; w++)
        ways[chosen[w]]->close(b.states[chosen[w]]);
    csr_part_free(&b.part);
    csr_free(&b.matrix);
    free(b.x);
    free(b.expected_x);
    job_end();
    return 0;
}
