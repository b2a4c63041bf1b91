/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of NVSHMEM's host API, in C and C++, where there are no GPUs: each family, each
 * type. */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <stdio.h>

#define EXPECT(condition) expect((condition), #condition, __LINE__)
static void expect(int holds, const char *condition, int line)
{
    if (holds) return;
    (void)fprintf(stderr, "PE %d: nvshmem.c:%d: %s\n", nvshmem_my_pe(), line, condition);
    nvshmem_global_exit(1);
}

static int me, n, next, previous;
static void *room; /* symmetric, 1 KiB */

#define TEST_RMA(A, NAME, T, kind)                                                            \
    static void rma_##NAME(void)                                                              \
    {                                                                                         \
        T *const dest = (T *)room, *const source = dest + 16;                                 \
        T got[2];                                                                             \
                                                                                              \
        for (int i = 0; i < 4; i++) {                                                         \
            dest[i] = (T)99;                                                                  \
            source[i] = (T)(10 * me + i);                                                     \
        }                                                                                     \
        nvshmem_barrier_all();                                                                \
        nvshmem_##NAME##_p(dest, source[0], next);                                            \
        nvshmem_##NAME##_put(dest + 1, source + 1, 1, next);                                  \
        nvshmem_##NAME##_put_nbi(dest + 2, source + 2, 1, next);                              \
        nvshmem_##NAME##_iput(dest + 3, source + 3, 1, 1, 1, next);                           \
        nvshmem_##NAME##_get(got, source, 1, next);                                           \
        nvshmem_##NAME##_get_nbi(got + 1, source + 1, 1, next);                               \
        nvshmem_quiet();                                                                      \
        EXPECT(got[0] == (T)(10 * next) && got[1] == (T)(10 * next + 1));                     \
        EXPECT(nvshmem_##NAME##_g(source + 2, next) == (T)(10 * next + 2));                   \
        nvshmem_barrier_all();                                                                \
        for (int i = 0; i < 4; i++)                                                           \
            EXPECT(dest[i] == (T)(10 * previous + i));                                        \
        nvshmem_barrier_all();                                                                \
        EXPECT(nvshmem_##NAME##_broadcast(NVSHMEM_TEAM_WORLD, dest, source, 1, n - 1) == 0);  \
        EXPECT(dest[0] == (T)(10 * (n - 1)));                                                 \
        EXPECT(nvshmem_##NAME##_fcollect(NVSHMEM_TEAM_WORLD, dest, source, 1) == 0);          \
        EXPECT(dest[n - 1] == (T)(10 * (n - 1)));                                             \
        EXPECT(nvshmem_##NAME##_alltoall(NVSHMEM_TEAM_WORLD, dest, source, 1) == 0);          \
        EXPECT(dest[n - 1] == (T)(10 * (n - 1) + me));                                        \
        EXPECT(nvshmem_##NAME##_max_reduce(NVSHMEM_TEAM_WORLD, dest, source, 1) == 0);        \
        EXPECT(dest[0] == (T)(10 * (n - 1)));                                                 \
        source[0] = source[1] = source[2] = source[3] = (T)2;                                 \
        EXPECT(nvshmem_##NAME##_prod_reduce(NVSHMEM_TEAM_WORLD, dest, source, 1) == 0);       \
        EXPECT(dest[0] == (T)(1 << n));                                                       \
        EXPECT(nvshmem_##NAME##_sum_reducescatter(NVSHMEM_TEAM_WORLD, dest, source, 1) == 0); \
        EXPECT(dest[0] == (T)(2 * n));                                                        \
    }
CHORUS_PLAIN_CTYPES(TEST_RMA, )

static void words(void)
{
    uint64_t *const word = (uint64_t *)room;

    *word = 0;
    nvshmem_barrier_all();
    nvshmem_uint64_atomic_inc(word, next);
    EXPECT(nvshmem_uint64_atomic_fetch_add(word, 4, next) == 1);
    nvshmemx_signal_op(word, 2, NVSHMEM_SIGNAL_ADD, next);
    nvshmem_uint64_wait_until(word, NVSHMEM_CMP_EQ, 7);
    EXPECT(nvshmem_signal_wait_until(word, NVSHMEM_CMP_GE, 7) == 7);
    EXPECT(nvshmem_signal_fetch(word) == 7);
    EXPECT(nvshmem_uint64_atomic_fetch_xor(word, 1, me) == 7);
    nvshmem_barrier_all();
}

int main(void)
{
    int major = 0, minor = 0;

    nvshmem_init();
    me = nvshmem_my_pe();
    n = nvshmem_n_pes();
    next = (me + 1) % n;
    previous = (me + n - 1) % n;
    room = nvshmem_malloc(1024);
    EXPECT(room != NULL);
    nvshmem_info_get_version(&major, &minor);
    EXPECT(major == NVSHMEM_MAJOR_VERSION && minor == NVSHMEM_MINOR_VERSION);
#define RUN(A, NAME, T, kind) rma_##NAME();
    CHORUS_PLAIN_CTYPES(RUN, )
    words();
    EXPECT(nvshmemx_init_status() == 1);
    nvshmem_free(room);
    nvshmem_finalize();
    return 0;
}
