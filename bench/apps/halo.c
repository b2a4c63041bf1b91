/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halo.c: halo exchange by libchorus-apps and by MPI, in turns, in one job that MPI's launcher
 * starts. bench/compare-halo compiles it with MPICH, runs it and prints its rows as a table.
 * usage: halo [ROUNDS [BYTES]]   a row for each number of dimensions, pulses and bytes of a
 * face, up to BYTES
 *
 * The PEs are a grid, periodic in each dimension. Faces lie in memory as those of a box do: one
 * element of each row, whole rows, or parts of planes. With one pulse all faces are sent at
 * once; with several, a dimension after the other, and each sends on some of what came before.
 */
#include "bench/apps/grid.h"
#include "bench/apps/job.h"
#include "chorus/apps/halo.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIMS_MAX = GRID_DIMS_MAX,
    FACES_MAX = 2 * DIMS_MAX,
    ROUNDS_DEFAULT = 9,
    ROUNDS_MAX = 99,
    BYTES_MOST = 1 << 20
};

static int me, n_pes;

static void fail(const char *what)
{
    (void)fprintf(stderr, "halo: PE %d: %s: %s\n", me, what, chorusx_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* --- a case ---------------------------------------------------------------------------------
 */
struct face {
    int peer; /* to which it is sent; what is received comes from the peer behind */
    int from;
    size_t count;
    uint32_t *send, *recv;
};

struct grid_case {
    int dims, pulses;
    size_t own, all; /* elements */
    double *array;
    struct face faces[FACES_MAX];
};

static void add_face(struct grid_case *g, const int *extent, int f, size_t count)
{
    struct face *face = &g->faces[f];
    const int d = f / 2, step = f % 2 == 0 ? 1 : -1;
    const size_t stride = d == 0 ? 8 : 1,
                 corner = d == 0 || g->pulses == 1 ? 0 : count / 16 + 1;

    face->peer = grid_neighbour(extent, g->dims, me, d, step);
    face->from = grid_neighbour(extent, g->dims, me, d, -step);
    face->count = count + 2 * (size_t)d * corner;
    face->send = malloc(face->count * sizeof(*face->send));
    face->recv = malloc(face->count * sizeof(*face->recv));
    for (size_t i = 0; i < count; i++)
        face->send[i] = (uint32_t)(d < 2 ? i * stride : i / 64 * 128 + i % 64);
    for (int e = 0; e < 2 * d; e++) /* from what the dimensions before have brought */
        for (size_t i = 0; i < corner; i++)
            face->send[count + (size_t)e * corner + i] =
                g->faces[e].recv[i < g->faces[e].count ? i : 0];
    for (size_t i = 0; i < face->count; i++)
        face->recv[i] = (uint32_t)(g->all + i);
    g->all += face->count;
}

static void open_case(struct grid_case *g, int dims, int pulses, size_t bytes)
{
    int extent[DIMS_MAX] = {0};

    memset(g, 0, sizeof(*g));
    g->dims = dims;
    g->pulses = pulses;
    MPI_Dims_create(n_pes, dims, extent);
    g->all = g->own = 8 * (bytes / sizeof(double)) + 128;
    for (int f = 0; f < 2 * dims; f++)
        add_face(g, extent, f, bytes / sizeof(double));
    g->array = malloc(g->all * sizeof(double));
}

static void close_case(struct grid_case *g)
{
    for (int f = 0; f < 2 * g->dims; f++) {
        free(g->faces[f].send);
        free(g->faces[f].recv);
    }
    free(g->array);
}

static void fill(struct grid_case *g, int round)
{
    for (size_t i = 0; i < g->all; i++)
        g->array[i] = i < g->own ? (double)i + 1e7 * me + 0.001 * round : -1;
}

/* What came first, of the own elements of the PE behind. */
static void check(const struct grid_case *g, int round, const char *by)
{
    for (int f = 0; f < 2 * g->dims; f++) {
        const struct face *face = &g->faces[f];

        for (size_t i = 0; i < face->count; i++) {
            const double got = g->array[face->recv[i]],
                         own = (double)face->send[i] + 1e7 * face->from + 0.001 * round;

            if (face->send[i] < g->own ? got != own : got < 0) {
                (void)fprintf(stderr, "halo: %s: PE %d, face %d, element %zu is wrong\n", by,
                              me, f, i);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
    }
}

/* --- Chorus
 * ----------------------------------------------------------------------------------- */
static chorusx_halo_t make_halo(const struct grid_case *g)
{
    chorusx_halo_link_t links[2 * FACES_MAX] = {0};
    int after[FACES_MAX], n = 0;
    chorusx_halo_t halo;

    for (int f = 0; f < 2 * g->dims; f++) {
        const struct face *face = &g->faces[f];
        const bool is_both = face->peer == face->from; /* then one link sends and receives */

        links[n].peer = face->peer;
        links[n].tag = f;
        links[n].send = (chorusx_halo_part_t){.indices = face->send, .count = face->count};
        links[n].after = after;
        links[n].n_after = g->pulses == 1 ? 0 : f / 2 * 2;
        if (!is_both) n++;
        after[f] = n;
        links[n].peer = face->from;
        links[n].tag = f;
        links[n].recv = (chorusx_halo_part_t){.indices = face->recv, .count = face->count};
        n++;
    }
    if (chorusx_halo_create(CHORUS_TEAM_WORLD, g->all, sizeof(double), n, links, &halo) !=
        CHORUS_OK)
        fail("chorusx_halo_create");
    return halo;
}

/* --- MPI
 * -------------------------------------------------------------------------------------- */
struct mpi_form {
    MPI_Comm graphs[DIMS_MAX]; /* of each pulse */
    double *out, *in;
    int counts[FACES_MAX], places[FACES_MAX];
};

static void pulse_faces(const struct grid_case *g, int pulse, int *first, int *end)
{
    *first = g->pulses == 1 ? 0 : 2 * pulse;
    *end = g->pulses == 1 ? 2 * g->dims : 2 * pulse + 2;
}

static void open_mpi(struct mpi_form *m, const struct grid_case *g)
{
    size_t sum = 0;

    for (int f = 0; f < 2 * g->dims; f++) {
        m->counts[f] = (int)g->faces[f].count;
        m->places[f] = (int)sum;
        sum += g->faces[f].count;
    }
    m->out = malloc((sum + 1) * sizeof(double));
    m->in = malloc((sum + 1) * sizeof(double));
    for (int p = 0; p < g->pulses; p++) {
        int first, end, to[FACES_MAX], from[FACES_MAX], weights[FACES_MAX], n = 0;

        pulse_faces(g, p, &first, &end);
        for (int f = first; f < end; f++, n++) {
            to[n] = g->faces[f].peer;
            from[n] = g->faces[f].from;
            weights[n] = 1;
        }
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n, from, weights, n, to, weights,
                                       MPI_INFO_NULL, 0, &m->graphs[p]);
    }
}

static void close_mpi(struct mpi_form *m, const struct grid_case *g)
{
    for (int p = 0; p < g->pulses; p++)
        MPI_Comm_free(&m->graphs[p]);
    free(m->out);
    free(m->in);
}

static void pack(double *out, const double *array, const struct face *face)
{
    for (size_t i = 0; i < face->count; i++)
        out[i] = array[face->send[i]];
}

/* The elements that are received follow each other, so this is a copy. */
static void unpack(double *array, const double *in, const struct face *face)
{
    memcpy(array + face->recv[0], in, face->count * sizeof(double));
}

static void by_neighbor(struct mpi_form *m, const struct grid_case *g)
{
    for (int p = 0; p < g->pulses; p++) {
        int first, end;

        pulse_faces(g, p, &first, &end);
        for (int f = first; f < end; f++)
            pack(m->out + m->places[f], g->array, &g->faces[f]);
        MPI_Neighbor_alltoallv(m->out, m->counts + first, m->places + first, MPI_DOUBLE, m->in,
                               m->counts + first, m->places + first, MPI_DOUBLE, m->graphs[p]);
        for (int f = first; f < end; f++)
            unpack(g->array, m->in + m->places[f], &g->faces[f]);
    }
}

static void by_isend(struct mpi_form *m, const struct grid_case *g)
{
    for (int p = 0; p < g->pulses; p++) {
        MPI_Request requests[2 * FACES_MAX];
        int first, end, n = 0;

        pulse_faces(g, p, &first, &end);
        for (int f = first; f < end; f++) /* contiguous: received in place */
            MPI_Irecv(g->array + g->faces[f].recv[0], m->counts[f], MPI_DOUBLE,
                      g->faces[f].from, f, MPI_COMM_WORLD, &requests[n++]);
        for (int f = first; f < end; f++) {
            pack(m->out + m->places[f], g->array, &g->faces[f]);
            MPI_Isend(m->out + m->places[f], m->counts[f], MPI_DOUBLE, g->faces[f].peer, f,
                      MPI_COMM_WORLD, &requests[n++]);
        }
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    }
}

/* --- times
 * ------------------------------------------------------------------------------------ */
enum { CHORUS, NEIGHBOR, ISEND, WAYS };
static const char *const way_names[] = {"chorus", "MPI_Neighbor_alltoallv", "MPI_Isend"};

static void exchange(int way, chorusx_halo_t halo, struct mpi_form *m,
                     const struct grid_case *g)
{
    if (way == NEIGHBOR)
        by_neighbor(m, g);
    else if (way == ISEND)
        by_isend(m, g);
    else if (chorusx_halo_exchange(halo, g->array) != CHORUS_OK)
        fail("chorusx_halo_exchange");
}

/* Microseconds of a step; the slowest PE's. */
static double measure(int way, chorusx_halo_t halo, struct mpi_form *m, struct grid_case *g,
                      int round, int steps)
{
    double begin, us, most;

    fill(g, round * WAYS + way);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (int i = 0; i < steps; i++)
        exchange(way, halo, m, g);
    us = (MPI_Wtime() - begin) * 1e6 / steps;
    check(g, round * WAYS + way, way_names[way]);
    MPI_Allreduce(&us, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure_case(int dims, int pulses, size_t bytes, int rounds)
{
    const int steps = bytes <= 4096 ? 200 : bytes <= 65536 ? 50 : 10;
    double times[WAYS][ROUNDS_MAX];
    struct mpi_form m;
    struct grid_case g;
    chorusx_halo_t halo;

    open_case(&g, dims, pulses, bytes);
    halo = make_halo(&g);
    open_mpi(&m, &g);
    for (int round = -1; round < rounds; round++) /* the first warms up */
        for (int way = 0; way < WAYS; way++)
            times[way][round < 0 ? 0 : round] = measure(way, halo, &m, &g, round + 1, steps);
    for (int way = 0; way < WAYS; way++)
        qsort(times[way], (size_t)rounds, sizeof(double), compare);
    if (me == 0)
        (void)printf("%d,%d,%d,%zu,%.3f,%.3f,%.3f\n", n_pes, dims, pulses, bytes,
                     times[CHORUS][rounds / 2], times[NEIGHBOR][rounds / 2],
                     times[ISEND][rounds / 2]);
    (void)fflush(stdout);
    if (chorusx_halo_destroy(halo) != CHORUS_OK) fail("chorusx_halo_destroy");
    close_mpi(&m, &g);
    close_case(&g);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS_DEFAULT;
    const size_t most = argc > 2 ? (size_t)atol(argv[2]) : BYTES_MOST;
    struct job job;

    if (rounds < 1 || rounds > ROUNDS_MAX) return 2;
    job = job_start("halo", &argc, &argv);
    me = job.me, n_pes = job.n_pes;
    if (me == 0) (void)printf("pes,dims,pulses,bytes,chorus_us,neighbor_us,isend_us\n");
    for (int dims = 2; dims <= DIMS_MAX; dims++)
        for (int pulses = 1; pulses <= dims; pulses += dims - 1)
            for (size_t bytes = 8; bytes <= most; bytes *= bytes < 4096 ? 8 : 16)
                measure_case(dims, pulses, bytes, rounds);
    job_end();
    return 0;
}
