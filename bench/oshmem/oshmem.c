/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oshmem.c: times of OpenSHMEM 1.4 calls, as CSV: call, bytes, microseconds of PE 0, the
 * smallest of ROUNDS averages. One source for any implementation: bench/compare-oshmem compiles
 * it twice. Results are checked before they are timed.
 */
#include <shmem.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { BYTES_MAX = 1 << 20, PES_MAX = 8, ROUNDS = 7 };

static char from[PES_MAX * BYTES_MAX], to[PES_MAX * BYTES_MAX], work[BYTES_MAX];
static long sync_words[2][1024], word, lock;
static int me, n, peer;

static double now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void expect(int holds, const char *what)
{
    if (holds) return;
    (void)fprintf(stderr, "PE %d: %s is wrong\n", me, what);
    shmem_global_exit(1);
}

typedef void (*call_fn)(size_t bytes, unsigned i);

/* Pairs of pSync arrays are used in turn, as the standard requires. */
static long *sync_of(unsigned i)
{
    return sync_words[i % 2];
}

static void put(size_t bytes, unsigned i)
{
    (void)i;
    shmem_putmem(to, from, bytes, peer);
    shmem_quiet();
}
static void get(size_t bytes, unsigned i)
{
    (void)i;
    shmem_getmem(to, from, bytes, peer);
}
static void fetch_add(size_t bytes, unsigned i)
{
    (void)bytes, (void)i;
    (void)shmem_long_atomic_fetch_add(&word, 1, peer);
}
static void compare_swap(size_t bytes, unsigned i)
{
    (void)bytes, (void)i;
    (void)shmem_long_atomic_compare_swap(&word, -1, -2, peer);
}
static void take_lock(size_t bytes, unsigned i)
{
    (void)bytes, (void)i;
    shmem_set_lock(&lock);
    shmem_clear_lock(&lock);
}
/* Data and a flag are sent and returned: both PEs call. */
static void put_signal(size_t bytes, unsigned i)
{
    const long mark = (long)i + 1;

    if (me > 1) return;
    if (me == 1) shmem_long_wait_until(&word, SHMEM_CMP_GE, mark);
    shmem_putmem(to, from, bytes, 1 - me);
    shmem_fence();
    shmem_long_atomic_set(&word, mark, 1 - me);
    if (me == 0) shmem_long_wait_until(&word, SHMEM_CMP_GE, mark);
}
static void barrier_all(size_t bytes, unsigned i)
{
    (void)bytes, (void)i;
    shmem_barrier_all();
}
static void broadcast(size_t bytes, unsigned i)
{
    shmem_broadcast64(to, from, bytes / 8, 0, 0, 0, n, sync_of(i));
}
static void fcollect(size_t bytes, unsigned i)
{
    shmem_fcollect64(to, from, bytes / 8, 0, 0, n, sync_of(i));
}
static void collect(size_t bytes, unsigned i)
{
    shmem_collect64(to, from, bytes / 8, 0, 0, n, sync_of(i));
}
static void alltoall(size_t bytes, unsigned i)
{
    shmem_alltoall64(to, from, bytes / 8, 0, 0, n, sync_of(i));
}
static void alltoalls(size_t bytes, unsigned i)
{
    shmem_alltoalls64(to, from, 1, 1, bytes / 8, 0, 0, n, sync_of(i));
}
static void reduce(size_t bytes, unsigned i)
{
    shmem_double_sum_to_all((double *)(void *)to, (double *)(void *)from, (int)(bytes / 8), 0,
                            0, n, (double *)(void *)work, sync_of(i));
}

static const struct {
    const char *name;
    call_fn call;
    int is_sized, is_joint; /* PEs call at the same time */
} calls[] = {
    {"put", put, 1, 0},
    {"get", get, 1, 0},
    {"fetch_add", fetch_add, 0, 0},
    {"compare_swap", compare_swap, 0, 0},
    {"lock", take_lock, 0, 0},
    {"put_signal", put_signal, 1, 1},
    {"barrier", barrier_all, 0, 1},
    {"broadcast", broadcast, 1, 1},
    {"fcollect", fcollect, 1, 1},
    {"collect", collect, 1, 1},
    {"alltoall", alltoall, 1, 1},
    {"alltoalls", alltoalls, 1, 1},
    {"reduce", reduce, 1, 1},
};

static void check(void)
{
    const double mine = me + 1, all = n * (n + 1) / 2.0;

    memcpy(from, &mine, sizeof(mine));
    shmem_barrier_all();
    reduce(8, 0);
    shmem_barrier_all();
    expect(memcmp(to, &all, sizeof(all)) == 0, "a reduction");
    fcollect(8, 0);
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++)
        expect(((double *)(void *)to)[pe] == pe + 1, "an fcollect");
    shmem_putmem(to, &mine, 8, peer);
    shmem_barrier_all();
    expect(((double *)(void *)to)[0] == (me + n - 1) % n + 1, "a put");
}

static void time_call(const char *name, call_fn call, int is_joint, size_t bytes)
{
    const unsigned count = bytes >= 65536 ? 30 : 500;
    double best = 1e30;
    unsigned i = 0;

    word = 0;
    shmem_barrier_all();
    for (int round = 0; round < ROUNDS; round++) {
        double since;
        const unsigned end = i + count;

        shmem_barrier_all();
        since = now_us();
        for (; i < end; i++)
            if (is_joint || me == 0) call(bytes, i);
        since = (now_us() - since) / count;
        if (since < best) best = since;
    }
    shmem_barrier_all();
    if (me == 0) (void)printf("%s,%zu,%.4f\n", name, bytes, best);
}

int main(void)
{
    static const size_t sizes[] = {8, 64, 1024, 16384, 131072, BYTES_MAX};

    for (size_t i = 0; i < 1024; i++)
        sync_words[0][i] = sync_words[1][i] = SHMEM_SYNC_VALUE;
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    peer = (me + 1) % n;
    expect(n <= PES_MAX, "the number of PEs");
    check();
    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++)
        for (size_t s = 0; s < (calls[c].is_sized ? sizeof(sizes) / sizeof(sizes[0]) : 1); s++)
            time_call(calls[c].name, calls[c].call, calls[c].is_joint, sizes[s]);
    shmem_barrier_all();
    if (me == 0) (void)puts("done"), (void)fflush(stdout);
    shmem_finalize();
    return 0;
}
