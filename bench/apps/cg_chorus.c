/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cg_chorus.c: CG by the calls of Chorus. The residual r is in symmetric memory, with the halo
 * behind a PE's own elements; others put what it needs straight there, with a signal of each
 * peer. The reduction of a step is what makes the next halo safe: a PE has the sums after every
 * PE has multiplied, and so has read its halo.
 */
#include "bench/apps/cg.h"
#include "bench/apps/job.h"

#include "chorus/chorusx.h"

#include <stdlib.h>

enum { WORDS = 8 }; /* of a cache line: every PE writes to a signal of its own */

struct state {
    const struct job *job;
    const struct csr_part *part;
    struct cg_vectors v;
    double *memory, *packed;
    double *sums;      /* symmetric, as arrived: two shares, then two sums */
    uint64_t *arrived; /* from each PE: the number of the exchange */
    uint64_t exchanges;
};

/* The elements of r of the PE that has most: symmetric memory is the same everywhere. */
static size_t largest_r(const struct csr_part *part, const struct job *job)
{
    size_t *const n = job_symmetric(job, 1, sizeof(*n)), most;

    *n = part->matrix.rows + part->halo;
    job_require(job, chorus_size_max_reduce(CHORUS_TEAM_WORLD, n, n, 1));
    most = *n;
    chorus_free(n);
    return most;
}

static void *open_chorus(const struct job *job, const struct csr_part *part, double **x_out)
{
    const size_t n = part->matrix.rows;
    struct state *s = job_memory(job, 1, sizeof(*s));

    s->job = job;
    s->part = part;
    s->memory = job_memory(job, 4 * n, sizeof(double));
    s->packed = job_memory(job, n, sizeof(double));
    cg_divide_memory(s->memory, n, &s->v);
    s->v.r = job_symmetric(job, largest_r(part, job), sizeof(double));
    s->sums = job_symmetric(job, 4, sizeof(double));
    s->arrived = job_symmetric(job, (size_t)job->n_pes * WORDS, sizeof(uint64_t));
    *x_out = s->v.x;
    return s;
}

static void send_halo(struct state *s)
{
    s->exchanges++;
    for (int i = 0; i < s->part->n_peers; i++) {
        const struct csr_peer *peer = &s->part->peers[i];

        cg_pack(peer, s->v.r, s->packed);
        chorus_double_put_signal(s->v.r + peer->place, s->packed, peer->n_send,
                                 &s->arrived[s->job->me * WORDS], s->exchanges,
                                 CHORUS_SIGNAL_SET, peer->pe);
    }
}

static void wait_for_halo(struct state *s)
{
    for (int i = 0; i < s->part->n_peers; i++)
        if (chorus_signal_wait_until(&s->arrived[s->part->peers[i].pe * WORDS], CHORUS_CMP_GE,
                                     s->exchanges) == 0)
            job_fail(s->job, "%s", chorusx_last_error());
}

/* w = A r. Rows that need no halo are multiplied while it is on its way. */
static void multiply(struct state *s)
{
    const struct csr_part *part = s->part;

    send_halo(s);
    csr_multiply(&part->matrix, part->inside_lo, part->inside_hi, s->v.r, s->v.w);
    wait_for_halo(s);
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
        job_require(s->job, chorus_double_sum_reduce(CHORUS_TEAM_WORLD, sums, shares, 2));
    } while (cg_advance(s->part, run, sums, &s->v, &scalars));
    *result_out = scalars.result;
}

static void close_chorus(void *state)
{
    struct state *s = state;

    chorus_free(s->arrived);
    chorus_free(s->sums);
    chorus_free(s->v.r);
    free(s->packed);
    free(s->memory);
    free(s);
}

const struct cg_way cg_chorus = {"chorus", open_chorus, solve, close_chorus};
