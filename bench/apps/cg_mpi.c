/* SPDX-License-Identifier: Apache-2.0 */
/* cg_mpi.c: CG by MPI, with persistent requests: the halo is received in its place in r. */
#include "bench/apps/cg.h"
#include "bench/apps/job.h"

#include <mpi.h>
#include <stdlib.h>

struct state {
    const struct csr_part *part;
    struct cg_vectors v;
    double *memory, **packed; /* for each peer */
    MPI_Request *requests;    /* a receive and a send of each peer */
};

static void add_peer(struct state *s, const struct job *job, int i)
{
    const struct csr_peer *peer = &s->part->peers[i];

    s->packed[i] = job_memory(job, peer->n_send, sizeof(double));
    MPI_Recv_init(s->v.r + peer->recv, (int)peer->n_recv, MPI_DOUBLE, peer->pe, 0,
                  MPI_COMM_WORLD, &s->requests[2 * i]);
    MPI_Send_init(s->packed[i], (int)peer->n_send, MPI_DOUBLE, peer->pe, 0, MPI_COMM_WORLD,
                  &s->requests[2 * i + 1]);
}

static void *open_mpi(const struct job *job, const struct csr_part *part, double **x_out)
{
    const size_t n = part->matrix.rows, n_peers = (size_t)part->n_peers;
    struct state *s = job_memory(job, 1, sizeof(*s));

    s->part = part;
    s->memory = job_memory(job, 4 * n, sizeof(double));
    s->packed = job_memory(job, n_peers, sizeof(*s->packed));
    s->requests = job_memory(job, 2 * n_peers, sizeof(*s->requests));
    cg_divide_memory(s->memory, n, &s->v);
    MPI_Alloc_mem((MPI_Aint)((n + part->halo + 1) * sizeof(double)), MPI_INFO_NULL, &s->v.r);
    for (int i = 0; i < part->n_peers; i++)
        add_peer(s, job, i);
    *x_out = s->v.x;
    return s;
}

/* w = A r. Rows that need no halo are multiplied while it is on its way. */
static void multiply(struct state *s)
{
    const struct csr_part *part = s->part;

    for (int i = 0; i < part->n_peers; i++)
        cg_pack(&part->peers[i], s->v.r, s->packed[i]);
    MPI_Startall(2 * part->n_peers, s->requests);
    csr_multiply(&part->matrix, part->inside_lo, part->inside_hi, s->v.r, s->v.w);
    MPI_Waitall(2 * part->n_peers, s->requests, MPI_STATUSES_IGNORE);
    csr_multiply(&part->matrix, 0, part->inside_lo, s->v.r, s->v.w);
    csr_multiply(&part->matrix, part->inside_hi, part->matrix.rows, s->v.r, s->v.w);
}

static void solve(void *state, const struct cg_run *run, struct cg_result *result_out)
{
    struct state *s = state;
    struct cg_scalars scalars;
    double sums[2];

    cg_begin(s->part, run, &s->v, &scalars);
    do {
        multiply(s);
        cg_dot(s->part->matrix.rows, s->v.r, s->v.w, sums);
        MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    } while (cg_advance(s->part, run, sums, &s->v, &scalars));
    *result_out = scalars.result;
}

static void close_mpi(void *state)
{
    struct state *s = state;

    for (int i = 0; i < s->part->n_peers; i++) {
        MPI_Request_free(&s->requests[2 * i]);
        MPI_Request_free(&s->requests[2 * i + 1]);
        free(s->packed[i]);
    }
    MPI_Free_mem(s->v.r);
    free(s->requests);
    free(s->packed);
    free(s->memory);
    free(s);
}

const struct cg_way cg_mpi = {"mpi", open_mpi, solve, close_mpi};
