/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.c: times dispatch and combine beside MPI_Alltoallv with packing and unpacking, in turn,
 * in the same processes, on the same tokens. Both get the route for nothing; its time stands
 * beside. Rows are bf16, and combine has weights. The results are compared.
 *
 * usage: mpirun -n N moe_bench [TOKENS [HIDDEN [TOPK [EXPERTS_EACH [ROUNDS]]]]]
 */
#include "bench/apps/job.h"
#include "chorus/apps/moe.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256 };
enum what { ROUTE, DISPATCH, COMBINE, MPI_DISPATCH, MPI_COMBINE, N_WHAT };

struct bench {
    int me, n_pes;
    size_t tokens, hidden, topk, each, row_bytes; /* hidden: values of a token */
    int rounds;
    int32_t *idx;
    float *weights;
    uint16_t *x, *rows, *out, *mpi_rows, *mpi_out;
    chorusx_moe_t moe;
    chorusx_moe_route_t route;
    chorusx_moe_route_info_t info;
    /* Of MPI: what each row of the array and each entry has as its place in the messages. */
    char *packed, *came;
    size_t *place_of_entry, *place_of_row;
    int *send_counts, *send_offsets, *recv_counts, *recv_offsets; /* in rows */
    MPI_Datatype row;
    double *times[N_WHAT]; /* of each round */
};

static void *allocate(size_t n, size_t bytes)
{
    void *memory = calloc(n + 1, bytes);

    if (memory != NULL) return memory;
    (void)fprintf(stderr, "moe_bench: no memory for %zu times %zu bytes\n", n, bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return NULL;
}

static void require(int code)
{
    if (code == CHORUS_OK) return;
    (void)fprintf(stderr, "moe_bench: %s\n", chorusx_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* --- tokens ------------------------------------------------------------------------------- */
static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void fill(struct bench *b)
{
    uint32_t state = 1 + (uint32_t)b->me;
    const uint32_t experts = (uint32_t)(b->each * (size_t)b->n_pes);

    b->idx = allocate(b->tokens * b->topk, sizeof(*b->idx));
    b->weights = allocate(b->tokens * b->topk, sizeof(*b->weights));
    b->x = allocate(b->tokens, b->row_bytes);
    b->out = allocate(b->tokens, b->row_bytes);
    b->mpi_out = allocate(b->tokens, b->row_bytes);
    for (size_t i = 0; i < b->tokens * b->topk; i++) {
        bool is_new = false;

        while (!is_new) {
            b->idx[i] = (int32_t)(next_random(&state) % experts);
            is_new = true;
            for (size_t k = i - i % b->topk; k < i; k++)
                is_new = is_new && b->idx[k] != b->idx[i];
        }
        b->weights[i] = (float)(1 + next_random(&state) % 100) / 100.0f;
    }
    for (size_t i = 0; i < b->tokens * b->hidden; i++)
        b->x[i] = (uint16_t)(0x3f00u + next_random(&state) % 256);
}

/* --- MPI ---------------------------------------------------------------------------------- */
static void offsets(int n, const int *counts, int *offsets_out)
{
    for (int p = 0, at = 0; p < n; at += counts[p++])
        offsets_out[p] = at;
}

/* Messages have the rows of one expert after another, in the order of tokens. */
static void plan_messages(struct bench *b)
{
    const size_t n = b->tokens * b->topk, experts = b->each * (size_t)b->n_pes;
    size_t *next = allocate(experts + 1, sizeof(*next)),
           *seen = allocate((size_t)b->n_pes, sizeof(*seen));

    b->place_of_entry = allocate(n, sizeof(*b->place_of_entry));
    b->place_of_row = allocate(b->info.rows, sizeof(*b->place_of_row));
    b->send_counts = allocate((size_t)b->n_pes, sizeof(int));
    b->send_offsets = allocate((size_t)b->n_pes, sizeof(int));
    b->recv_counts = allocate((size_t)b->n_pes, sizeof(int));
    b->recv_offsets = allocate((size_t)b->n_pes, sizeof(int));
    for (size_t i = 0; i < n; i++) {
        next[b->idx[i] + 1]++;
        b->send_counts[(size_t)b->idx[i] / b->each]++;
    }
    for (size_t e = 1; e <= experts; e++)
        next[e] += next[e - 1];
    for (size_t i = 0; i < n; i++)
        b->place_of_entry[i] = next[b->idx[i]]++;
    for (size_t r = 0; r < b->info.rows; r++)
        b->recv_counts[b->info.origins[r].pe]++;
    offsets(b->n_pes, b->send_counts, b->send_offsets);
    offsets(b->n_pes, b->recv_counts, b->recv_offsets);
    for (size_t r = 0; r < b->info.rows; r++) {
        const int p = b->info.origins[r].pe;

        b->place_of_row[r] = (size_t)b->recv_offsets[p] + seen[p]++;
    }
    free(next);
    free(seen);
}

static void mpi_dispatch(struct bench *b)
{
    const size_t bytes = b->row_bytes;

    for (size_t i = 0; i < b->tokens * b->topk; i++)
        memcpy(b->packed + b->place_of_entry[i] * bytes, (char *)b->x + i / b->topk * bytes,
               bytes);
    MPI_Alltoallv(b->packed, b->send_counts, b->send_offsets, b->row, b->came, b->recv_counts,
                  b->recv_offsets, b->row, MPI_COMM_WORLD);
    for (size_t r = 0; r < b->info.rows; r++)
        memcpy((char *)b->mpi_rows + r * bytes, b->came + b->place_of_row[r] * bytes, bytes);
}

static void add_up(const struct bench *b, size_t token, size_t at, size_t n)
{
    uint16_t *out = b->mpi_out + token * b->hidden + at;
    float sums[BLOCK] = {0};

    for (size_t k = 0; k < b->topk; k++) {
        const size_t i = token * b->topk + k;
        const uint16_t *row =
            (const uint16_t *)b->packed + b->place_of_entry[i] * b->hidden + at;

        for (size_t v = 0; v < n; v++) {
            const uint32_t bits = (uint32_t)row[v] << 16;
            float value;

            memcpy(&value, &bits, sizeof(value));
            sums[v] += b->weights[i] * value;
        }
    }
    for (size_t v = 0; v < n; v++) {
        uint32_t bits;

        memcpy(&bits, &sums[v], sizeof(bits));
        out[v] = (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
    }
}

static void mpi_combine(struct bench *b)
{
    const size_t bytes = b->row_bytes;

    for (size_t r = 0; r < b->info.rows; r++)
        memcpy(b->came + b->place_of_row[r] * bytes, (char *)b->mpi_rows + r * bytes, bytes);
    MPI_Alltoallv(b->came, b->recv_counts, b->recv_offsets, b->row, b->packed, b->send_counts,
                  b->send_offsets, b->row, MPI_COMM_WORLD);
    for (size_t t = 0; t < b->tokens; t++)
        for (size_t at = 0; at < b->hidden; at += BLOCK)
            add_up(b, t, at, b->hidden - at < BLOCK ? b->hidden - at : BLOCK);
}

/* --- rounds ------------------------------------------------------------------------------- */
static void do_what(struct bench *b, enum what what)
{
    chorusx_moe_route_t again;

    switch (what) {
    case ROUTE:
        require(chorusx_moe_route(b->moe, b->idx, b->tokens, &again));
        require(chorusx_moe_route_free(again));
        break;
    case DISPATCH:
        require(chorusx_moe_dispatch(b->route, b->x, NULL, b->rows, NULL));
        break;
    case COMBINE:
        require(chorusx_moe_combine(b->route, b->rows, CHORUS_TYPE_bf16, b->weights, b->out));
        break;
    case MPI_DISPATCH:
        mpi_dispatch(b);
        break;
    case MPI_COMBINE:
    default:
        mpi_combine(b);
        break;
    }
}

/* The time of the PE that took longest, in microseconds. */
static double time_of(struct bench *b, enum what what)
{
    double mine, most;

    MPI_Barrier(MPI_COMM_WORLD);
    mine = MPI_Wtime();
    do_what(b, what);
    mine = MPI_Wtime() - mine;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return 1e6 * most;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void report(struct bench *b)
{
    double median[N_WHAT];

    for (int w = 0; w < N_WHAT; w++) {
        qsort(b->times[w], (size_t)b->rounds, sizeof(double), compare);
        median[w] = b->times[w][b->rounds / 2];
    }
    if (b->me != 0) return;
    printf("pes,tokens,bytes,topk,experts,route_us,dispatch_us,combine_us,mpi_dispatch_us,"
           "mpi_combine_us,ratio\n%d,%zu,%zu,%zu,%zu,%.1f,%.1f,%.1f,%.1f,%.1f,%.3f\n",
           b->n_pes, b->tokens, b->row_bytes, b->topk, b->each * (size_t)b->n_pes,
           median[ROUTE], median[DISPATCH], median[COMBINE], median[MPI_DISPATCH],
           median[MPI_COMBINE],
           (median[DISPATCH] + median[COMBINE]) / (median[MPI_DISPATCH] + median[MPI_COMBINE]));
}

static void prepare(struct bench *b)
{
    const size_t experts = b->each * (size_t)b->n_pes;
    const chorusx_moe_config_t config = {.experts = (int)experts,
                                         .topk = (int)b->topk,
                                         .tokens_max = b->tokens,
                                         .hidden_bytes = b->row_bytes};

    fill(b);
    require(chorusx_moe_create(CHORUS_TEAM_WORLD, &config, &b->moe));
    require(chorusx_moe_route(b->moe, b->idx, b->tokens, &b->route));
    require(chorusx_moe_route_info(b->route, &b->info));
    b->rows = allocate(b->info.rows, b->row_bytes);
    b->mpi_rows = allocate(b->info.rows, b->row_bytes);
    b->packed = allocate(b->tokens * b->topk, b->row_bytes);
    b->came = allocate(b->info.rows, b->row_bytes);
    MPI_Type_contiguous((int)b->row_bytes, MPI_BYTE, &b->row);
    MPI_Type_commit(&b->row);
    plan_messages(b);
    for (int w = 0; w < N_WHAT; w++)
        b->times[w] = allocate((size_t)b->rounds, sizeof(double));
}

static void run(struct bench *b)
{
    for (int round = -2; round < b->rounds; round++)
        for (int w = 0; w < N_WHAT; w++) {
            const double time = time_of(b, (enum what)w);

            if (round >= 0) b->times[w][round] = time;
        }
    if (memcmp(b->rows, b->mpi_rows, b->info.rows * b->row_bytes) != 0 ||
        memcmp(b->out, b->mpi_out, b->tokens * b->row_bytes) != 0) {
        (void)fprintf(stderr, "moe_bench: PE %d: the results differ\n", b->me);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    report(b);
}

static void end(struct bench *b)
{
    void *const all[] = {b->idx,          b->weights,      b->x,           b->rows,
                         b->out,          b->mpi_rows,     b->mpi_out,     b->packed,
                         b->came,         b->place_of_row, b->send_counts, b->place_of_entry,
                         b->send_offsets, b->recv_counts,  b->recv_offsets};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
    for (int w = 0; w < N_WHAT; w++)
        free(b->times[w]);
    MPI_Type_free(&b->row);
    require(chorusx_moe_route_free(b->route));
    require(chorusx_moe_destroy(b->moe));
}

static size_t number(int argc, char **argv, int i, size_t initial)
{
    const unsigned long long value = i < argc ? strtoull(argv[i], NULL, 10) : 0;

    return value > 0 ? (size_t)value : initial;
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    const struct job job = job_start("moe_bench", &argc, &argv);

    b.me = job.me, b.n_pes = job.n_pes;
    b.tokens = number(argc, argv, 1, 256);
    b.hidden = number(argc, argv, 2, 3584);
    b.topk = number(argc, argv, 3, 4);
    b.each = number(argc, argv, 4, 8);
    b.rounds = (int)number(argc, argv, 5, 31);
    b.row_bytes = b.hidden * sizeof(uint16_t);
    if (b.topk <= b.each * (size_t)b.n_pes) {
        prepare(&b);
        run(&b);
        end(&b);
    }
    job_end();
    return 0;
}
