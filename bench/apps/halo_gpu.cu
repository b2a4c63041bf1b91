/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halo_gpu.cu: halo exchange on GPUs: by one kernel of libchorus-apps, and by a kernel that
 * packs, puts with signals, waits and a kernel that unpacks, each queued on the stream; in
 * turns, in one job.
 *
 * usage: chorusrun -n N halo_gpu [ROUNDS [BYTES]]    with CHORUS_HEAP=cuda. A row for each
 * number of dimensions, pulses and bytes of a face, up to BYTES; then one for a map as of
 * molecular dynamics, of 45,000 atoms of 12 bytes in three dimensions and pulses, with the
 * times of its parts
 *
 * The PEs are a grid, periodic in each dimension. With one pulse all faces are sent at once;
 * with several, a dimension after the other, and each sends on some of what came before.
 */
#include "chorus/chorus_device.cuh"

#include "bench/apps/grid.h"
#include "chorus/apps/halo.h"

#include <stdio.h>
#include <stdlib.h>
#include <vector>

enum {
    DIMS_MAX = GRID_DIMS_MAX,
    FACES_MAX = 2 * DIMS_MAX,
    ROUNDS_DEFAULT = 9,
    ROUNDS_MAX = 99,
    STEPS = 50,
    THREADS = 512,
    BYTES_MOST = 1 << 20,
    ATOMS = 45000
};

static int me, n_pes;
static cudaStream_t stream;

static void expect(bool holds, const char *what)
{
    if (holds) return;
    (void)fprintf(stderr, "halo_gpu: PE %d: %s: %s\n", me, what, chorusx_last_error());
    exit(1);
}
#define EXPECT(condition) expect((condition), #condition)

/* --- a case --------------------------------------------------------------------------------
 */
struct face {
    int peer, from; /* to which it is sent, from which it comes */
    std::vector<uint32_t> send, recv;
    uint32_t *send_there, *recv_there; /* on the GPU */
    char *out, *in;                    /* symmetric, two each */
    uint64_t *arrived;                 /* of each slot */
    size_t bytes;
};

struct grid_case {
    int dims, pulses;
    size_t own, all, elem_bytes;
    struct face faces[FACES_MAX];
    char *array;
    chorusx_halo_t halo;
    uint64_t step; /* of the separate calls */
};

/* The most even grid of so many dimensions. */
static void divide(int *extent, int dims)
{
    int rest = n_pes;

    for (int d = 0; d < dims; d++) {
        int best = 1;

        for (int k = 1; k <= rest; k++) {
            int power = 1;

            for (int i = d; i < dims; i++)
                power *= k;
            if (rest % k == 0 && power <= rest) best = k;
        }
        extent[d] = d == dims - 1 ? rest : best;
        rest /= extent[d];
    }
}

/* Elements of a face: with a stride in the first dimension, else rows; and some of what the
 * dimensions before have brought. */
static void set_face(struct grid_case *g, const int *extent, int f, size_t count)
{
    struct face *face = &g->faces[f];
    const int d = f / 2, step = f % 2 == 0 ? 1 : -1;
    const size_t corner = g->pulses == 1 ? 0 : count / 16 + 1;

    face->peer = grid_neighbour(extent, g->dims, me, d, step);
    face->from = grid_neighbour(extent, g->dims, me, d, -step);
    for (size_t i = 0; i < count; i++)
        face->send.push_back((uint32_t)(d == 0 ? 8 * i : d == 1 ? i : i / 64 * 128 + i % 64));
    for (int e = 0; g->pulses > 1 && e < 2 * d; e++)
        for (size_t i = 0; i < corner && i < g->faces[e].recv.size(); i++)
            face->send.push_back(g->faces[e].recv[i]);
    for (size_t i = 0; i < face->send.size(); i++)
        face->recv.push_back((uint32_t)(g->all + i));
    g->all += face->send.size();
    face->bytes = face->send.size() * g->elem_bytes;
}

static uint32_t *to_gpu(const std::vector<uint32_t> &list)
{
    uint32_t *there = 0;

    EXPECT(cudaMalloc((void **)&there, list.size() * sizeof(uint32_t)) == cudaSuccess);
    EXPECT(cudaMemcpy(there, list.data(), list.size() * sizeof(uint32_t),
                      cudaMemcpyHostToDevice) == cudaSuccess);
    return there;
}

static void make_halo(struct grid_case *g)
{
    chorusx_halo_link_t links[2 * FACES_MAX];
    int after[FACES_MAX], n = 0;

    memset(links, 0, sizeof(links));
    for (int f = 0; f < 2 * g->dims; f++) {
        const struct face *face = &g->faces[f];

        links[n].peer = face->peer;
        links[n].tag = f;
        links[n].send.indices = face->send.data();
        links[n].send.count = face->send.size();
        links[n].after = after;
        links[n].n_after = g->pulses == 1 ? 0 : f / 2 * 2;
        if (face->peer != face->from) n++; /* else one link sends and receives */
        after[f] = n;
        links[n].peer = face->from;
        links[n].tag = f;
        links[n].recv.indices = face->recv.data();
        links[n].recv.count = face->recv.size();
        n++;
    }
    EXPECT(chorusx_halo_create(CHORUS_TEAM_WORLD, g->all, g->elem_bytes, n, links, &g->halo) ==
           CHORUS_OK);
}

static void open_case(struct grid_case *g, int dims, int pulses, size_t count,
                      size_t elem_bytes)
{
    int extent[DIMS_MAX] = {1, 1, 1};

    g->dims = dims;
    g->pulses = pulses;
    g->elem_bytes = elem_bytes;
    g->step = 0;
    g->all = g->own = 8 * count + 128;
    divide(extent, dims);
    for (int f = 0; f < 2 * dims; f++) {
        struct face *face = &g->faces[f];

        set_face(g, extent, f, count);
        face->send_there = to_gpu(face->send);
        face->recv_there = to_gpu(face->recv);
        face->out = (char *)chorus_malloc(2 * face->bytes);
        face->in = (char *)chorus_malloc(2 * face->bytes);
        face->arrived = (uint64_t *)chorus_calloc(2, sizeof(uint64_t));
        EXPECT(face->out != 0 && face->in != 0 && face->arrived != 0);
    }
    EXPECT(cudaMalloc((void **)&g->array, g->all * elem_bytes) == cudaSuccess);
    make_halo(g);
}

static void close_case(struct grid_case *g)
{
    EXPECT(chorusx_halo_destroy(g->halo) == CHORUS_OK);
    for (int f = 0; f < 2 * g->dims; f++) {
        struct face *face = &g->faces[f];

        EXPECT(cudaFree(face->send_there) == cudaSuccess &&
               cudaFree(face->recv_there) == cudaSuccess);
        chorus_free(face->out);
        chorus_free(face->in);
        chorus_free(face->arrived);
    }
    EXPECT(cudaFree(g->array) == cudaSuccess);
}

/* --- separate calls ------------------------------------------------------------------------
 */
/* The faces of a pulse, of which each has some of the blocks. */
struct pulse {
    char *slots[FACES_MAX];
    const uint32_t *indices[FACES_MAX];
    size_t words[FACES_MAX]; /* of 4 bytes */
    uint32_t words_of_element;
};

static __global__ void __launch_bounds__(THREADS)
    move_faces(const __grid_constant__ struct pulse p, uint32_t *array, int packs)
{
    uint32_t *const slot = (uint32_t *)p.slots[blockIdx.y];
    const uint32_t *const indices = p.indices[blockIdx.y];

    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < p.words[blockIdx.y];
         i += (size_t)gridDim.x * blockDim.x) {
        const size_t at = (size_t)indices[i / p.words_of_element] * p.words_of_element +
                          i % p.words_of_element;

        if (packs)
            slot[i] = array[at];
        else
            array[at] = slot[i];
    }
}

static void launch_faces(struct grid_case *g, int first, int end, int packs)
{
    struct pulse p;
    size_t most = 0;

    memset(&p, 0, sizeof(p));
    p.words_of_element = (uint32_t)(g->elem_bytes / 4);
    for (int f = first; f < end; f++) {
        const struct face *face = &g->faces[f];
        const size_t at = (g->step & 1) * face->bytes;

        p.slots[f - first] = (packs ? face->out : face->in) + at;
        p.indices[f - first] = packs ? face->send_there : face->recv_there;
        p.words[f - first] = face->bytes / 4;
        if (face->bytes / 4 > most) most = face->bytes / 4;
    }
    move_faces<<<dim3((unsigned)((most + 4 * THREADS - 1) / (4 * THREADS)), end - first),
                 THREADS, 0, stream>>>(p, (uint32_t *)g->array, packs);
}

static void put_faces(struct grid_case *g, int first, int end)
{
    for (int f = first; f < end; f++) {
        const struct face *face = &g->faces[f];
        const size_t at = (g->step & 1) * face->bytes;

        EXPECT(chorusx_putmem_signal_on_stream(face->in + at, face->out + at, face->bytes,
                                               &face->arrived[g->step & 1], g->step,
                                               CHORUS_SIGNAL_SET, face->peer,
                                               (chorus_stream_t)stream) == CHORUS_OK);
    }
}

static void await_faces(struct grid_case *g, int first, int end)
{
    for (int f = first; f < end; f++)
        EXPECT(chorusx_signal_wait_until_on_stream(&g->faces[f].arrived[g->step & 1],
                                                   CHORUS_CMP_GE, g->step,
                                                   (chorus_stream_t)stream) == CHORUS_OK);
}

/* As every PE sends to all it receives from, in each step, none is more than one ahead. marks:
 * null, or events after each part. */
static void exchange_apart(struct grid_case *g, cudaEvent_t *marks)
{
    g->step++;
    for (int p = 0; p < g->pulses; p++) {
        const int first = g->pulses == 1 ? 0 : 2 * p,
                  end = g->pulses == 1 ? 2 * g->dims : 2 * p + 2;

        launch_faces(g, first, end, 1);
        if (marks != 0) EXPECT(cudaEventRecord(*marks++, stream) == cudaSuccess);
        put_faces(g, first, end);
        if (marks != 0) EXPECT(cudaEventRecord(*marks++, stream) == cudaSuccess);
        await_faces(g, first, end);
        if (marks != 0) EXPECT(cudaEventRecord(*marks++, stream) == cudaSuccess);
        launch_faces(g, first, end, 0);
        if (marks != 0) EXPECT(cudaEventRecord(*marks++, stream) == cudaSuccess);
    }
}

static void exchange_by_kernel(struct grid_case *g)
{
    EXPECT(chorusx_halo_exchange_on_stream(g->halo, g->array, (chorus_stream_t)stream) ==
           CHORUS_OK);
}

/* --- values --------------------------------------------------------------------------------
 */
static uint32_t value_of(int pe, size_t word, int round)
{
    return (uint32_t)(word * 2654435761u + (size_t)pe * 40503u + (size_t)round * 977u);
}

static void fill(const struct grid_case *g, int round)
{
    const size_t words = g->elem_bytes / 4;
    std::vector<uint32_t> values(g->all * words, 0xffffffffu);

    for (size_t i = 0; i < g->own * words; i++)
        values[i] = value_of(me, i, round);
    EXPECT(cudaMemcpy(g->array, values.data(), values.size() * 4, cudaMemcpyHostToDevice) ==
           cudaSuccess);
}

/* Of the elements that are the sender's own. */
static void check(const struct grid_case *g, int round)
{
    const size_t words = g->elem_bytes / 4;
    std::vector<uint32_t> values(g->all * words);

    EXPECT(cudaMemcpy(values.data(), g->array, values.size() * 4, cudaMemcpyDeviceToHost) ==
           cudaSuccess);
    for (int f = 0; f < 2 * g->dims; f++)
        for (size_t i = 0; i < g->faces[f].send.size() * words; i++) {
            const size_t from = g->faces[f].send[i / words], to = g->faces[f].recv[i / words];

            if (from < g->own)
                expect(values[to * words + i % words] ==
                           value_of(g->faces[f].from, from * words + i % words, round),
                       "an element is wrong");
        }
}

/* --- times ---------------------------------------------------------------------------------
 */
static double ms_between(cudaEvent_t begin, cudaEvent_t end)
{
    float ms = 0;

    EXPECT(cudaEventElapsedTime(&ms, begin, end) == cudaSuccess);
    return ms;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *times, int n)
{
    qsort(times, (size_t)n, sizeof(double), compare);
    return times[n / 2];
}

/* Microseconds of a step on this PE. */
static double measure(struct grid_case *g, bool by_kernel, int round)
{
    cudaEvent_t begin, end;
    double us;

    EXPECT(cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess);
    fill(g, round);
    EXPECT(chorusx_barrier_all_on_stream((chorus_stream_t)stream) == CHORUS_OK);
    EXPECT(cudaEventRecord(begin, stream) == cudaSuccess);
    for (int i = 0; i < STEPS; i++)
        by_kernel ? exchange_by_kernel(g) : exchange_apart(g, 0);
    EXPECT(cudaEventRecord(end, stream) == cudaSuccess);
    EXPECT(chorusx_stream_synchronize((chorus_stream_t)stream) == CHORUS_OK);
    check(g, round);
    us = ms_between(begin, end) * 1e3 / STEPS;
    EXPECT(cudaEventDestroy(begin) == cudaSuccess && cudaEventDestroy(end) == cudaSuccess);
    return us;
}

static void measure_case(struct grid_case *g, int rounds, size_t bytes)
{
    double kernel[ROUNDS_MAX], apart[ROUNDS_MAX];

    for (int round = -1; round < rounds; round++) { /* the first warms up */
        const int at = round < 0 ? 0 : round;

        kernel[at] = measure(g, true, 2 * round + 2);
        apart[at] = measure(g, false, 2 * round + 3);
    }
    if (me == 0)
        (void)printf("%d,%d,%d,%zu,%zu,%.2f,%.2f\n", n_pes, g->dims, g->pulses, g->elem_bytes,
                     bytes, median(kernel, rounds), median(apart, rounds));
    (void)fflush(stdout);
}

/* --- the parts of a step -------------------------------------------------------------------
 */
enum { PARTS = 4 };

/* Medians of the times of each part; of the kernels, those that begin and end an exchange. */
static void show_timeline(struct grid_case *g, int rounds)
{
    static const char *const names[PARTS] = {"pack", "put", "wait", "unpack"};
    double times[PARTS * DIMS_MAX][ROUNDS_MAX], begins[ROUNDS_MAX], ends[ROUNDS_MAX];
    cudaEvent_t marks[PARTS * DIMS_MAX + 1];

    for (int i = 0; i <= PARTS * DIMS_MAX; i++)
        EXPECT(cudaEventCreate(&marks[i]) == cudaSuccess);
    for (int round = 0; round < rounds; round++) {
        EXPECT(chorusx_barrier_all_on_stream((chorus_stream_t)stream) == CHORUS_OK);
        EXPECT(cudaEventRecord(marks[0], stream) == cudaSuccess);
        exchange_apart(g, marks + 1);
        EXPECT(chorusx_stream_synchronize((chorus_stream_t)stream) == CHORUS_OK);
        for (int i = 0; i < PARTS * g->pulses; i++)
            times[i][round] = ms_between(marks[i], marks[i + 1]) * 1e3;
        EXPECT(chorusx_barrier_all_on_stream((chorus_stream_t)stream) == CHORUS_OK);
        EXPECT(cudaEventRecord(marks[0], stream) == cudaSuccess);
        EXPECT(chorusx_halo_begin_on_stream(g->halo, g->array, (chorus_stream_t)stream) ==
               CHORUS_OK);
        EXPECT(cudaEventRecord(marks[1], stream) == cudaSuccess);
        EXPECT(chorusx_halo_wait_on_stream(g->halo, (chorus_stream_t)stream) == CHORUS_OK);
        EXPECT(cudaEventRecord(marks[2], stream) == cudaSuccess);
        EXPECT(chorusx_stream_synchronize((chorus_stream_t)stream) == CHORUS_OK);
        begins[round] = ms_between(marks[0], marks[1]) * 1e3;
        ends[round] = ms_between(marks[1], marks[2]) * 1e3;
    }
    for (int i = 0; i < PARTS * g->pulses && me == 0; i++)
        (void)printf("# pulse %d %s: %.2f us\n", i / PARTS, names[i % PARTS],
                     median(times[i], rounds));
    if (me == 0)
        (void)printf("# kernel that begins: %.2f us, that ends: %.2f us\n",
                     median(begins, rounds), median(ends, rounds));
    for (int i = 0; i <= PARTS * DIMS_MAX; i++)
        EXPECT(cudaEventDestroy(marks[i]) == cudaSuccess);
}

static void measure_grid(int dims, int pulses, size_t count, size_t elem_bytes, int rounds,
                         bool has_timeline)
{
    struct grid_case g;

    open_case(&g, dims, pulses, count, elem_bytes);
    measure_case(&g, rounds, count * elem_bytes);
    if (has_timeline) show_timeline(&g, rounds);
    close_case(&g);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS_DEFAULT;
    const size_t most = argc > 2 ? (size_t)atol(argv[2]) : BYTES_MOST;

    if (rounds < 1 || rounds > ROUNDS_MAX) return 2;
    EXPECT(chorus_init() == CHORUS_OK);
    me = chorus_my_pe();
    n_pes = chorus_n_pes();
    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    if (me == 0) (void)printf("pes,dims,pulses,elem_bytes,bytes,kernel_us,apart_us\n");
    for (int dims = 2; dims <= DIMS_MAX; dims++)
        for (int pulses = 1; pulses <= dims; pulses += dims - 1)
            for (size_t bytes = 8; bytes <= most; bytes *= bytes < 4096 ? 8 : 16)
                measure_grid(dims, pulses, bytes / 8, 8, rounds, false);
    measure_grid(DIMS_MAX, DIMS_MAX, ATOMS / FACES_MAX, 12, rounds, true);
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
    chorus_finalize();
    return 0;
}
