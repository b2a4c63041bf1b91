/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cg_coordinator.c: CG by the coordinator, over Chorus and over MPI. The halo is a group of
 * messages; rows that need none of it are multiplied before its end. As in cg_chorus.c, the
 * reduction of a step is what lets the messages of the next one be posted.
 */
#include "bench/apps/cg.h"
#include "bench/apps/job.h"

#include "chorus/apps/coordinator.h"

#include <stdlib.h>

enum { WORDS = 8 }; /* of a cache line: every PE writes to a signal of its own */

struct state {
    const struct job *job;
    const struct csr_part *part;
    chorusx_environment_t environment;
    chorusx_communicator_t world;
    chorusx_coordinator_t coordinator;
    struct cg_vectors v;
    double *memory, **packed; /* for each peer */
    double *sums;             /* of the communicator, as arrived: two shares, then two sums */
    uint64_t *arrived;        /* from each PE: the number of the exchange */
    uint64_t exchanges;
};

static void *shared(const struct state *s, size_t n, size_t bytes)
{
    void *memory = chorusx_communicator_malloc(s->world, n * bytes);

    if (memory == NULL) job_fail(s->job, "%s", chorusx_last_error());
    return memory;
}

/* The elements of r of the PE that has most: memory of a communicator is the same everywhere.
 */
static size_t largest_r(const struct state *s)
{
    uint64_t *const n = shared(s, 1, sizeof(*n)), most;

    *n = s->part->matrix.rows + s->part->halo;
    job_require(s->job, chorusx_coordinator_reduce(s->coordinator, n, n, 1, CHORUS_TYPE_u64,
                                                   CHORUS_OP_max));
    most = *n;
    job_require(s->job, chorusx_communicator_free(s->world, n));
    return (size_t)most;
}

static void *open_coordinator(const struct job *job, const struct csr_part *part,
                              const char *backend, double **x_out)
{
    const size_t n = part->matrix.rows;
    struct state *s = job_memory(job, 1, sizeof(*s));

    s->job = job;
    s->part = part;
    job_require(s->job, chorusx_environment_create(backend, &s->environment));
    s->world = chorusx_environment_world(s->environment);
    job_require(s->job, chorusx_coordinator_create(s->world, CHORUSX_LAUNCH_HOST, NULL,
                                                   &s->coordinator));
    s->memory = job_memory(job, 4 * n, sizeof(double));
    s->packed = job_memory(job, (size_t)part->n_peers, sizeof(*s->packed));
    for (int i = 0; i < part->n_peers; i++)
        s->packed[i] = job_memory(job, part->peers[i].n_send, sizeof(double));
    cg_divide_memory(s->memory, n, &s->v);
    s->v.r = shared(s, largest_r(s), sizeof(double));
    s->sums = shared(s, 4, sizeof(double));
    s->arrived = shared(s, (size_t)job->n_pes * WORDS, sizeof(uint64_t));
    *x_out = s->v.x;
    return s;
}

static void *open_chorus(const struct job *job, const struct csr_part *part, double **x_out)
{
    return open_coordinator(job, part, "chorus", x_out);
}

static void *open_mpi(const struct job *job, const struct csr_part *part, double **x_out)
{
    return open_coordinator(job, part, "mpi", x_out);
}

/* Begin a group of the messages to and from all peers. */
static void begin_halo(struct state *s)
{
    s->exchanges++;
    job_require(s->job, chorusx_coordinator_begin(s->coordinator));
    for (int i = 0; i < s->part->n_peers; i++) {
        const struct csr_peer *peer = &s->part->peers[i];

        job_require(s->job, chorusx_coordinator_acknowledge(s->coordinator, s->v.r + peer->recv,
                                                            peer->n_recv * sizeof(double),
                                                            &s->arrived[peer->pe * WORDS],
                                                            s->exchanges, peer->pe));
        cg_pack(peer, s->v.r, s->packed[i]);
        job_require(s->job, chorusx_coordinator_post(
                                s->coordinator, s->v.r + peer->place, s->packed[i],
                                peer->n_send * sizeof(double), &s->arrived[s->job->me * WORDS],
                                s->exchanges, peer->pe));
    }
}

/* w = A r. Rows that need no halo are multiplied while it is on its way. */
static void multiply(struct state *s)
{
    const struct csr_part *part = s->part;

    begin_halo(s);
    csr_multiply(&part->matrix, part->inside_lo, part->inside_hi, s->v.r, s->v.w);
    job_require(s->job, chorusx_coordinator_end(s->coordinator));
    csr_multiply(&part->matrix, 0, part->inside_lo, s->v.r, s->v.w);
    csr_multiply(&part->matrix, part->inside_hi, part->matrix.rows, s->v.r, s->v.w);
}

static void solve(void *state, const struct cg_run *run, struct cg_result *result_out)
{
    struct state *s = state;
    double *const shares = s->sums, *const sums = s->sums + 2;
    struct cg_scalars scalars;

    cg_begin(s->part, run, &s->v, &scalars);
    do {
        multiply(s);
        cg_dot(s->part->matrix.rows, s->v.r, s->v.w, shares);
        job_require(s->job, chorusx_coordinator_reduce(s->coordinator, sums, shares, 2,
                                                       CHORUS_TYPE_f64, CHORUS_OP_sum));
    } while (cg_advance(s->part, run, sums, &s->v, &scalars));
    *result_out = scalars.result;
}

static void close_coordinator(void *state)
{
    struct state *s = state;

    job_require(s->job, chorusx_communicator_free(s->world, s->arrived));
    job_require(s->job, chorusx_communicator_free(s->world, s->sums));
    job_require(s->job, chorusx_communicator_free(s->world, s->v.r));
    for (int i = 0; i < s->part->n_peers; i++)
        free(s->packed[i]);
    free(s->packed);
    free(s->memory);
    job_require(s->job, chorusx_coordinator_destroy(s->coordinator));
    job_require(s->job, chorusx_environment_destroy(s->environment));
    free(s);
}

const struct cg_way cg_coordinator = {"coordinator", open_chorus, solve, close_coordinator};
const struct cg_way cg_coordinator_mpi = {"coordinator-mpi", open_mpi, solve,
                                          close_coordinator};
