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

/* The calls on stream 0, which without a GPU have ended when they return. */
static void streams(void)
{
    uint64_t *const sig = (uint64_t *)room;
    int *const dest = (int *)(sig + 2), *const source = dest + 8;
    int got[4] = {0};

    sig[0] = sig[1] = 0;
    for (int i = 0; i < 8; i++) {
        dest[i] = -1;
        source[i] = 10 * me + i;
    }
    nvshmem_barrier_all();
    nvshmemx_int_put_on_stream(dest, source, 1, next, 0);
    nvshmemx_int_put_nbi_on_stream(dest + 1, source + 1, 1, next, 0);
    nvshmemx_put32_on_stream(dest + 2, source + 2, 1, next, 0);
    nvshmemx_putmem_on_stream(dest + 3, source + 3, sizeof(int), next, 0);
    nvshmemx_quiet_on_stream(0);
    nvshmemx_int_put_signal_on_stream(dest + 4, source + 4, 2, sig, 5, NVSHMEM_SIGNAL_SET, next,
                                      0);
    nvshmemx_signal_op_on_stream(sig, 2, NVSHMEM_SIGNAL_ADD, next, 0);
    nvshmemx_signal_wait_until_on_stream(sig, NVSHMEM_CMP_EQ, 7, 0);
    EXPECT(nvshmem_signal_fetch(sig) == 7);
    nvshmemx_putmem_signal_nbi_on_stream(dest + 6, source + 6, 2 * sizeof(int), sig + 1, 1,
                                         NVSHMEM_SIGNAL_ADD, next, 0);
    nvshmemx_signal_wait_until_on_stream(sig + 1, NVSHMEM_CMP_GE, 1, 0);
    nvshmemx_int_get_on_stream(got, source, 1, next, 0);
    nvshmemx_get32_nbi_on_stream(got + 1, source + 1, 1, next, 0);
    nvshmemx_getmem_on_stream(got + 2, source + 2, 2 * sizeof(int), next, 0);
    nvshmemx_barrier_all_on_stream(0);
    for (int i = 0; i < 8; i++)
        EXPECT(dest[i] == 10 * previous + i);
    for (int i = 0; i < 4; i++)
        EXPECT(got[i] == 10 * next + i);
    EXPECT(nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, dest, source, 1, 0) == 0);
    EXPECT(dest[0] == 5 * n * (n - 1));
    EXPECT(nvshmemx_team_sync_on_stream(NVSHMEM_TEAM_WORLD, 0) == 0);
    EXPECT(chorusx_signal_op_on_stream(sig, 1, 99, next, nvshmem_host_stream) ==
           CHORUS_ERR_ARG);
    EXPECT(chorusx_putmem_on_stream(dest, source, 4, next, NULL) == CHORUS_ERR_ARG);
    EXPECT(chorusx_putmem_on_stream(got, source, 4, next, nvshmem_host_stream) ==
           CHORUS_ERR_NOT_SYMMETRIC);
}

/* Memory of the program that is an object for a while, at two addresses. */
static void buffers(void)
{
    enum { BYTES = 1 << 16 };
    int *const mine = (int *)aligned_alloc(BYTES, BYTES);
    int *object;

    EXPECT(mine != NULL);
    mine[0] = me;
    mine[1] = -1;
    object = (int *)nvshmemx_buffer_register_symmetric(mine, BYTES, 0);
    EXPECT(object != NULL && object != mine && object[0] == me);
    nvshmem_int_p(object + 1, me, next);
    nvshmem_barrier_all();
    EXPECT(mine[1] == previous);
    mine[2] = me;
    nvshmem_barrier_all();
    EXPECT(nvshmem_int_g(object + 2, next) == next);
    EXPECT(nvshmemx_buffer_unregister_symmetric(object, BYTES) == 0);
    EXPECT(nvshmemx_buffer_unregister_symmetric(object, BYTES) == NVSHMEMX_ERROR_INVALID_VALUE);
    EXPECT(mine[1] == previous && mine[2] == me);
    EXPECT(nvshmemx_buffer_register_symmetric((char *)mine + 1, BYTES, 0) == NULL);
    EXPECT(strstr(chorusx_last_error(), "expected whole pages of") != NULL);
    EXPECT(nvshmemx_buffer_register(mine, BYTES) == 0 && nvshmemx_buffer_unregister(mine) == 0);
    EXPECT(nvshmemx_buffer_register(mine, 0) == NVSHMEMX_ERROR_INVALID_VALUE);
    nvshmemx_buffer_unregister_all();
    free(mine);
}

/* As a guest in the job that another has begun, and will end. */
static void be_guest(void)
{
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;

    EXPECT(chorus_init() == CHORUS_OK);
    EXPECT(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_SHMEM, &attr) == NVSHMEMX_SUCCESS);
    EXPECT(nvshmemx_init_status() == NVSHMEM_STATUS_IS_INITIALIZED);
    nvshmem_finalize();
    EXPECT(nvshmemx_init_status() == NVSHMEM_STATUS_IS_INITIALIZED);
    chorus_finalize();
    EXPECT(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED);
    EXPECT(nvshmemx_init_attr(64u, &attr) == NVSHMEMX_ERROR_INVALID_VALUE);
}

/* PE 0's id, brought to the others by a job that ends then. */
static void start_by_id(void)
{
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    nvshmemx_uniqueid_t *ids;
    int rank, ranks;

    nvshmem_init();
    rank = nvshmem_my_pe();
    ranks = nvshmem_n_pes();
    ids = (nvshmemx_uniqueid_t *)nvshmem_malloc(2 * sizeof(*ids));
    EXPECT(nvshmemx_get_uniqueid(&ids[0]) == NVSHMEMX_SUCCESS);
    EXPECT(nvshmem_broadcastmem(NVSHMEM_TEAM_WORLD, &ids[1], &ids[0], sizeof(*ids), 0) == 0);
    id = ids[1];
    nvshmem_finalize();
    EXPECT(nvshmemx_set_attr_uniqueid_args(ranks - 1 - rank, ranks, &id, &attr) ==
           NVSHMEMX_SUCCESS);
    EXPECT(nvshmemx_set_attr_uniqueid_args(ranks, ranks, &id, &attr) != NVSHMEMX_SUCCESS);
    EXPECT(nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) == NVSHMEMX_SUCCESS);
    EXPECT(nvshmem_my_pe() == ranks - 1 - rank && nvshmem_n_pes() == ranks);
    nvshmemx_hostlib_finalize();
}

int main(void)
{
    int major = 0, minor = 0, patch = -1;

    be_guest();
    start_by_id();
    nvshmem_init();
    me = nvshmem_my_pe();
    n = nvshmem_n_pes();
    next = (me + 1) % n;
    previous = (me + n - 1) % n;
    room = nvshmem_malloc(1024);
    EXPECT(room != NULL);
    nvshmem_info_get_version(&major, &minor);
    EXPECT(major == NVSHMEM_MAJOR_VERSION && minor == NVSHMEM_MINOR_VERSION);
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    EXPECT(major == 3 && minor == 8 && patch == 0);
#define RUN(A, NAME, T, kind) rma_##NAME();
    CHORUS_PLAIN_CTYPES(RUN, )
    words();
    for (int round = 0; round < 3; round++)
        streams();
    buffers();
    EXPECT(nvshmemx_init_status() == NVSHMEM_STATUS_IS_INITIALIZED);
    nvshmem_free(room);
    nvshmem_finalize();
    return 0;
}
