/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c: times of single calls of a collective, as CSV: collective, bytes, microseconds. One
 * source for any version of the library: bench/compare-commit compiles it against two.
 *
 *     calls PLACES COLLECTIVE BYTES...
 *
 * PLACES is an empty file in which the PEs meet, also those that only a network joins: the
 * hosts are network namespaces of one machine, and have one clock. All PEs begin a call at the
 * same moment, which PE 0 chooses, and the call ends when the last PE has returned. A row has
 * the mean of the middle half of its calls. Sources are filled with new data before each call,
 * and results are checked after it.
 */
#include "chorus/chorusx.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BYTES_MAX = 1 << 26, CALLS_MAX = 2000, CALLS_MIN = 50, PES_MAX = 1024 };

/* Number of bytes that the calls of a row move, between these limits. */
#define ROW_BYTES ((size_t)8 << 20)
/* From the choice of a moment until that moment, for each PE: they all read it meanwhile. */
#define AHEAD_NS 1500u
/* Calls before those that count. */
#define WARM_UP 20u

/* The memory by which PEs meet, one for each. Each line has one writer. */
struct place {
    _Alignas(64) atomic_ulong arrived;  /* number of calls that this PE is ready for */
    unsigned long end_ns;               /* when its last call ended */
    _Alignas(64) atomic_ulong begin_ns; /* of the next call; written by PE 0 */
};

/* Of an alltoalls: from one element to the next. Blocks of an alltoallv are equal. */
enum { STRIDE = 2 };

static struct place *places;
static float *source, *dest;
static size_t counts[PES_MAX], offsets[PES_MAX];
static int me, n;

static unsigned long now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long)t.tv_sec * 1000000000u + (unsigned long)t.tv_nsec;
}

static void expect(int holds, const char *what)
{
    if (holds) return;
    (void)fprintf(stderr, "calls: PE %d: %s\n", me, what);
    chorus_global_exit(1);
}

/* --- collectives -------------------------------------------------------------------------- */

static int barrier(size_t count)
{
    (void)count;
    return chorus_barrier(CHORUS_TEAM_WORLD);
}
static int broadcast(size_t count)
{
    return chorus_broadcastmem(CHORUS_TEAM_WORLD, dest, source, count * sizeof(float), 0);
}
static int alltoall(size_t count)
{
    return chorus_alltoallmem(CHORUS_TEAM_WORLD, dest, source, count * sizeof(float));
}
static int fcollect(size_t count)
{
    return chorus_fcollectmem(CHORUS_TEAM_WORLD, dest, source, count * sizeof(float));
}
static int reduce(size_t count)
{
    return chorus_float_sum_reduce(CHORUS_TEAM_WORLD, dest, source, count);
}
static int reducescatter(size_t count)
{
    return chorus_float_sum_reducescatter(CHORUS_TEAM_WORLD, dest, source, count);
}

static int collect(size_t count)
{
    return chorus_collectmem(CHORUS_TEAM_WORLD, dest, source, count * sizeof(float));
}
static int alltoalls(size_t count)
{
    return chorus_float_alltoalls(CHORUS_TEAM_WORLD, dest, source, STRIDE, STRIDE, count);
}
static int inscan(size_t count)
{
    return chorus_float_sum_inscan(CHORUS_TEAM_WORLD, dest, source, count);
}
static int exscan(size_t count)
{
    return chorus_float_sum_exscan(CHORUS_TEAM_WORLD, dest, source, count);
}
static int gather(size_t count)
{
    return chorusx_gathermem(CHORUS_TEAM_WORLD, dest, source, count * sizeof(float), 0);
}
static int scatter(size_t count)
{
    return chorusx_scattermem(CHORUS_TEAM_WORLD, dest, source, count * sizeof(float), 0);
}
static int reduce_to(size_t count)
{
    return chorusx_float_sum_reduce_to(CHORUS_TEAM_WORLD, dest, source, count, 0);
}
static int alltoallv(size_t count)
{
    for (int pe = 0; pe < n; pe++) {
        counts[pe] = count;
        offsets[pe] = (size_t)pe * count;
    }
    return chorusx_float_alltoallv(CHORUS_TEAM_WORLD, dest, counts, offsets, source, counts,
                                   offsets);
}

/* Element i of a PE's source. Sums of these over PES_MAX PEs are exact. */
static float value(unsigned long call, int pe, size_t i)
{
    return (float)((call * 31 + (unsigned long)pe * 17 + i * 3) & 1023);
}

/* Of the first PEs. */
static float sum(unsigned long call, int pes, size_t i)
{
    float total = 0.0f;

    for (int pe = 0; pe < pes; pe++)
        total += value(call, pe, i);
    return total;
}

static float of_root(unsigned long call, size_t count, size_t i)
{
    (void)count;
    return value(call, 0, i);
}
static float of_pe(unsigned long call, size_t count, size_t i)
{
    return value(call, (int)(i / count), i % count);
}
static float block_of_pe(unsigned long call, size_t count, size_t i)
{
    return value(call, (int)(i / count), (size_t)me * count + i % count);
}
static float sum_of_all(unsigned long call, size_t count, size_t i)
{
    (void)count;
    return sum(call, n, i);
}
static float sum_of_block(unsigned long call, size_t count, size_t i)
{
    return sum(call, n, (size_t)me * count + i);
}
static float sum_to_me(unsigned long call, size_t count, size_t i)
{
    (void)count;
    return sum(call, me + 1, i);
}
static float sum_before_me(unsigned long call, size_t count, size_t i)
{
    (void)count;
    return sum(call, me, i);
}
static float block_of_root(unsigned long call, size_t count, size_t i)
{
    return value(call, 0, (size_t)me * count + i);
}

/* The members of struct coll after the name, or, of a collective that has no such row, nulls.
 */
#define MEMBERS(row) MEMBERS_OF(row, NULL, NULL, 0, 0, 0, )
#define MEMBERS_OF(first, call, expected, sources, dests, root, ...) \
    call, expected, sources, dests, root
#define COLL_barrier , barrier, NULL, 1, 1, 0
#define COLL_broadcast , broadcast, of_root, 1, 1, 0
#define COLL_alltoall , alltoall, block_of_pe, 0, 0, 0
#define COLL_fcollect , fcollect, of_pe, 1, 0, 0
#define COLL_reduce , reduce, sum_of_all, 1, 1, 0
#define COLL_reducescatter , reducescatter, sum_of_block, 0, 1, 0
#define COLL_collect , collect, of_pe, 1, 0, 0
#define COLL_alltoalls , alltoalls, block_of_pe, 0, 0, 0
#define COLL_inscan , inscan, sum_to_me, 1, 1, 0
#define COLL_exscan , exscan, sum_before_me, 1, 1, 0
#define COLL_gather , gather, of_pe, 1, 0, 1
#define COLL_scatter , scatter, block_of_root, 0, 1, 0
#define COLL_reduce_to , reduce_to, sum_of_all, 1, 1, 1
#define COLL_alltoallv , alltoallv, block_of_pe, 0, 0, 0

static const struct coll {
    const char *name;
    int (*call)(size_t count);
    float (*expected)(unsigned long call, size_t count, size_t i); /* element i of dest */
    int source_blocks, dest_blocks;                                /* 0: as many as PEs */
    int is_at_root;                                                /* dest is PE 0's alone */
} colls[] = {
#define X(COLL) {#COLL, MEMBERS(COLL_##COLL)},
    CHORUS_COLL_LIST(X)
#undef X
};

static size_t blocks(int number)
{
    return number > 0 ? 1 : (size_t)n;
}

/* From one element to the next, in both buffers. */
static size_t stride_of(const struct coll *coll)
{
    return coll->call == alltoalls ? STRIDE : 1;
}

/* Elements of a block: bytes are counted as chorus-sweep does. */
static size_t count_of(const struct coll *coll, size_t bytes)
{
    const size_t all = bytes / sizeof(float),
                 count = coll->call == reducescatter ? all / (size_t)n : all;

    return count > 0 ? count : 1;
}

/* --- time --------------------------------------------------------------------------------- */

/* Return at the same moment on all PEs, and on PE 0 also how long the last call took. */
static unsigned long meet(unsigned long call)
{
    static unsigned long begin_ns;
    const unsigned long last_ns = begin_ns;
    unsigned long end_ns = 0;

    atomic_store_explicit(&places[me].arrived, call, memory_order_release);
    for (int pe = 0; me == 0 && pe < n; pe++) {
        while (atomic_load_explicit(&places[pe].arrived, memory_order_acquire) < call)
            continue;
        if (places[pe].end_ns > end_ns) end_ns = places[pe].end_ns;
    }
    begin_ns = now_ns() + AHEAD_NS * (unsigned long)n;
    for (int pe = 0; me == 0 && pe < n; pe++)
        atomic_store_explicit(&places[pe].begin_ns, begin_ns, memory_order_release);
    do
        begin_ns = atomic_load_explicit(&places[me].begin_ns, memory_order_acquire);
    while (begin_ns == last_ns);
    while (now_ns() < begin_ns)
        continue;
    return end_ns - last_ns;
}

static int order(const void *a, const void *b)
{
    const unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

    return (x > y) - (x < y);
}

/* The mean of the middle half. A median would be no finer than the clock, which on some CPUs
 * counts in steps of 10 ns. */
static double middle_us(unsigned long *ns, unsigned long calls)
{
    const unsigned long lo = calls / 4, hi = calls - lo;
    unsigned long total = 0;

    qsort(ns, calls, sizeof(ns[0]), order);
    for (unsigned long i = lo; i < hi; i++)
        total += ns[i];
    return (double)total / (double)(hi - lo) * 1e-3;
}

/* Is dest as it should be after the call? */
static int is_right(const struct coll *coll, unsigned long call, size_t count)
{
    const size_t stride = stride_of(coll);

    if (coll->expected == NULL || (coll->is_at_root && me != 0)) return 1;
    for (size_t i = 0; i < count * blocks(coll->dest_blocks); i++)
        if (dest[i * stride] != coll->expected(call, count, i)) return 0;
    return 1;
}

/* Make one call. Returns, on PE 0, how long the call before it took. */
static unsigned long make_call(const struct coll *coll, size_t count)
{
    static unsigned long call; /* its number in this job */
    const size_t stride = stride_of(coll);
    unsigned long ns;
    int status;

    call++;
    for (size_t i = 0; i < count * blocks(coll->source_blocks); i++)
        source[i * stride] = value(call, me, i);
    ns = meet(call);
    status = coll->call(count);
    places[me].end_ns = now_ns();
    expect(status == 0, coll->name);
    expect(is_right(coll, call, count), "a wrong result");
    return ns;
}

static void measure(const struct coll *coll, size_t bytes)
{
    static unsigned long ns[CALLS_MAX];
    const size_t count = count_of(coll, bytes);
    const unsigned long asked = ROW_BYTES / (count * sizeof(float)),
                        calls = asked < CALLS_MIN   ? CALLS_MIN
                                : asked > CALLS_MAX ? CALLS_MAX
                                                    : asked;

    for (unsigned i = 0; i < WARM_UP; i++)
        (void)make_call(coll, count);
    for (unsigned long i = 0; i < calls; i++)
        ns[i] = make_call(coll, count);
    if (me == 0) (void)printf("%s,%zu,%.4f\n", coll->name, bytes, middle_us(ns, calls));
}

static const struct coll *find(const char *name)
{
    for (size_t i = 0; i < sizeof(colls) / sizeof(colls[0]); i++)
        if (colls[i].call != NULL && strcmp(colls[i].name, name) == 0) return &colls[i];
    return NULL;
}

/* The places of all PEs, in a file. */
static struct place *open_places(const char *name)
{
    const size_t bytes = PES_MAX * sizeof(struct place);
    const int fd = open(name, O_RDWR | O_CLOEXEC);
    void *found = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
        found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) (void)close(fd);
    return found == MAP_FAILED ? NULL : found;
}

int main(int argc, char **argv)
{
    const struct coll *const coll = argc > 3 ? find(argv[2]) : NULL;
    size_t most = sizeof(float);

    if (chorus_init() != 0) return 1;
    me = chorus_my_pe();
    n = chorus_n_pes();
    expect(coll != NULL && n <= PES_MAX, "expected a file, a collective and numbers of bytes");
    for (int i = 3; i < argc; i++)
        if (strtoul(argv[i], NULL, 10) > most) most = strtoul(argv[i], NULL, 10);
    expect(most <= BYTES_MAX, "too many bytes");
    places = open_places(argv[1]);
    source = chorus_align(4096, STRIDE * most * (size_t)n);
    dest = chorus_align(4096, STRIDE * most * (size_t)n);
    expect(places != NULL, "the file cannot be mapped");
    expect(source != NULL && dest != NULL, "no symmetric memory");
    chorus_barrier_all();
    for (int i = 3; i < argc; i++)
        measure(coll, strtoul(argv[i], NULL, 10));
    chorus_barrier_all();
    chorus_finalize();
    return 0;
}
