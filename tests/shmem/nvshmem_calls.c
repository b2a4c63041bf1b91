/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each call of NVSHMEM's host API for each of its types, on objects of the heap: every PE
 * writes to the next one and reads what the one before wrote. Calls on streams are on stream 0.
 */
#include <nvshmem.h>
#include <nvshmemx.h>

#include "../ref/ref_op.h"

#include <stdio.h>
#include <string.h>

enum { COUNT = 16, PES_MAX = 8 };

#define EXPECT(condition) expect((condition), #condition, __LINE__)
static void expect(int holds, const char *condition, int line)
{
    if (holds) return;
    (void)fprintf(stderr, "PE %d: nvshmem_calls.c:%d: %s\n", nvshmem_my_pe(), line, condition);
    nvshmem_global_exit(1);
}

static int me, n, next, previous, turn;
static char *dest_room, *source_room; /* symmetric, COUNT of any element each */
static uint64_t *sig;                 /* symmetric */

static int value_of(int pe, int i)
{
    return (7 * pe + i + turn) % 100 + 1;
}

/* What of pe's element i is in `at`: its bytes are those of a number, whatever the type. */
static void store(void *at, size_t bytes, int pe, int i)
{
    const uint64_t words[2] = {(uint64_t)value_of(pe, i), 0};

    memcpy(at, words, bytes);
}

static void begin(size_t bytes)
{
    nvshmem_barrier_all();
    turn++;
    memset(dest_room, 0, COUNT * bytes);
    for (int i = 0; i < COUNT; i++)
        store(source_room + (size_t)i * bytes, bytes, me, i);
    *sig = 0;
    nvshmem_barrier_all();
}

/* Element `at` of `room` is element i of pe; pe -1: it is untouched. */
static int holds(const void *room, size_t bytes, int at, int pe, int i)
{
    char want[16] = {0};

    if (pe >= 0) store(want, bytes, pe, i);
    return memcmp((const char *)room + (size_t)at * bytes, want, bytes) == 0;
}

static void arrived(size_t bytes, int count)
{
    nvshmem_quiet();
    nvshmem_barrier_all();
    for (int i = 0; i < count; i++)
        EXPECT(holds(dest_room, bytes, i, previous, i));
    EXPECT(holds(dest_room, bytes, count, -1, 0));
}

/* Put and get of a type, of elements of a size, of bytes; then the same on a stream. */
#define TEST_BLOCKS(NAME, PUT, GET, T, BYTES)                                                  \
    static void blocks_##NAME(void)                                                            \
    {                                                                                          \
        T *const dest = (T *)dest_room;                                                        \
        const T *const source = (const T *)source_room;                                        \
        char got[4 * 16];                                                                      \
                                                                                               \
        begin(BYTES);                                                                          \
        nvshmem_##PUT(dest, source, 1, next);                                                  \
        nvshmem_##PUT##_nbi(AT(dest, 1, BYTES), AT(source, 1, BYTES), 1, next);                \
        nvshmem_##PUT##_signal(AT(dest, 2, BYTES), AT(source, 2, BYTES), 1, sig, 3,            \
                               NVSHMEM_SIGNAL_ADD, next);                                      \
        nvshmem_##PUT##_signal_nbi(AT(dest, 3, BYTES), AT(source, 3, BYTES), 1, sig, 4,        \
                                   NVSHMEM_SIGNAL_ADD, next);                                  \
        EXPECT(nvshmem_signal_wait_until(sig, NVSHMEM_CMP_EQ, 7) == 7);                        \
        EXPECT(holds(dest, BYTES, 2, previous, 2) && holds(dest, BYTES, 3, previous, 3));      \
        nvshmem_##GET((T *)got, source, 2, next);                                              \
        nvshmem_##GET##_nbi((T *)(got + 2 * (BYTES)), AT(source, 2, BYTES), 2, next);          \
        nvshmem_quiet();                                                                       \
        for (int i = 0; i < 4; i++)                                                            \
            EXPECT(holds(got, BYTES, i, next, i));                                             \
        arrived(BYTES, 4);                                                                     \
        begin(BYTES);                                                                          \
        nvshmemx_##PUT##_on_stream(dest, source, 1, next, 0);                                  \
        nvshmemx_##PUT##_nbi_on_stream(AT(dest, 1, BYTES), AT(source, 1, BYTES), 1, next, 0);  \
        nvshmemx_##PUT##_signal_on_stream(AT(dest, 2, BYTES), AT(source, 2, BYTES), 1, sig, 5, \
                                          NVSHMEM_SIGNAL_ADD, next, 0);                        \
        nvshmemx_##PUT##_signal_nbi_on_stream(AT(dest, 3, BYTES), AT(source, 3, BYTES), 1,     \
                                              sig, 6, NVSHMEM_SIGNAL_ADD, next, 0);            \
        nvshmemx_signal_wait_until_on_stream(sig, NVSHMEM_CMP_EQ, 11, 0);                      \
        nvshmemx_##GET##_on_stream((T *)got, AT(source, 4, BYTES), 1, next, 0);                \
        nvshmemx_##GET##_nbi_on_stream((T *)(got + (BYTES)), AT(source, 5, BYTES), 1, next,    \
                                       0);                                                     \
        nvshmemx_quiet_on_stream(0);                                                           \
        EXPECT(holds(got, BYTES, 0, next, 4) && holds(got, BYTES, 1, next, 5));                \
        arrived(BYTES, 4);                                                                     \
    }
/* Elements of void are bytes. */
#define AT(base, i, BYTES) ((void *)(uintptr_t)((uintptr_t)(base) + (size_t)(i) * (BYTES)))
#define TEST_STRIDES(NAME, PUT, GET, T, BYTES)                                        \
    static void strides_##NAME(void)                                                  \
    {                                                                                 \
        T *const dest = (T *)dest_room;                                               \
        const T *const source = (const T *)source_room;                               \
        char got[3 * 16] = {0};                                                       \
                                                                                      \
        for (int on_stream = 0; on_stream < 2; on_stream++) {                         \
            begin(BYTES);                                                             \
            if (on_stream)                                                            \
                nvshmemx_##PUT##_on_stream(dest, source, 2, 3, 3, next, 0);           \
            else                                                                      \
                nvshmem_##PUT(dest, source, 2, 3, 3, next);                           \
            if (on_stream)                                                            \
                nvshmemx_##GET##_on_stream((T *)got, source, 2, 4, 2, next, 0);       \
            else                                                                      \
                nvshmem_##GET((T *)got, source, 2, 4, 2, next);                       \
            EXPECT(holds(got, BYTES, 0, next, 0) && holds(got, BYTES, 2, next, 4));   \
            nvshmemx_quiet_on_stream(0);                                              \
            nvshmem_barrier_all();                                                    \
            for (int i = 0; i < 6; i++)                                               \
                EXPECT(holds(dest, BYTES, i, i % 2 == 0 ? previous : -1, i / 2 * 3)); \
        }                                                                             \
    }
#define TEST_TYPE(NAME, T, kind)                                          \
    TEST_BLOCKS(NAME, NAME##_put, NAME##_get, T, sizeof(T))               \
    TEST_STRIDES(NAME, NAME##_iput, NAME##_iget, T, sizeof(T))            \
    static void elements_##NAME(void)                                     \
    {                                                                     \
        T *const dest = (T *)dest_room, *const source = (T *)source_room; \
        T got;                                                            \
                                                                          \
        begin(sizeof(T));                                                 \
        nvshmem_##NAME##_p(dest, source[0], next);                        \
        nvshmemx_##NAME##_p_on_stream(dest + 1, source[1], next, 0);      \
        got = nvshmem_##NAME##_g(source + 2, next);                       \
        EXPECT(holds(&got, sizeof(T), 0, next, 2));                       \
        got = nvshmemx_##NAME##_g_on_stream(source + 3, next, 0);         \
        EXPECT(holds(&got, sizeof(T), 0, next, 3));                       \
        arrived(sizeof(T), 2);                                            \
    }
CHORUS_DEVICE_TYPES(TEST_TYPE)
#define TEST_SIZE(N, bytes)                     \
    TEST_BLOCKS(N, put##N, get##N, void, bytes) \
    TEST_STRIDES(N, iput##N, iget##N, void, bytes)
CHORUS_SIZES(TEST_SIZE)
TEST_BLOCKS(mem, putmem, getmem, void, 1)

/* Collectives that move, blocking and on a stream: broadcast, fcollect, alltoall of two
 * elements. */
#define TEST_MOVE(NAME, PREFIX, mem, T, BYTES)                                          \
    static void move_##NAME(void)                                                       \
    {                                                                                   \
        T *const dest = (T *)dest_room;                                                 \
        const T *const source = (const T *)source_room;                                 \
                                                                                        \
        for (int on_stream = 0; on_stream < 2; on_stream++) {                           \
            begin(BYTES);                                                               \
            MOVE(PREFIX##broadcast##mem, dest, source, 2, n - 1);                       \
            EXPECT(holds(dest, BYTES, 0, n - 1, 0) && holds(dest, BYTES, 1, n - 1, 1)); \
            EXPECT(holds(dest, BYTES, 2, -1, 0));                                       \
            begin(BYTES);                                                               \
            MOVE(PREFIX##fcollect##mem, dest, source, 2);                               \
            for (int i = 0; i < 2 * n; i++)                                             \
                EXPECT(holds(dest, BYTES, i, i / 2, i % 2));                            \
            begin(BYTES);                                                               \
            MOVE(PREFIX##alltoall##mem, dest, source, 2);                               \
            for (int i = 0; i < 2 * n; i++)                                             \
                EXPECT(holds(dest, BYTES, i, i / 2, 2 * me + i % 2));                   \
        }                                                                               \
    }
#define MOVE(name, ...)                                                                 \
    EXPECT((on_stream ? nvshmemx_##name##_on_stream(NVSHMEM_TEAM_WORLD, __VA_ARGS__, 0) \
                      : nvshmem_##name(NVSHMEM_TEAM_WORLD, __VA_ARGS__)) == 0)
#define TEST_MOVE_TYPE(NAME, T, kind) TEST_MOVE(NAME, NAME##_, , T, sizeof(T))
CHORUS_DEVICE_TYPES(TEST_MOVE_TYPE)
TEST_MOVE(mem, , mem, void, 1)

/* Small whole numbers in each type; of 16-bit floats, by so many bits of fraction. */
#define MAKE(A, NAME, T, kind)      \
    static T make_##NAME(int value) \
    {                               \
        return (T)value;            \
    }
CHORUS_PLAIN_CTYPES(MAKE, )
CHORUS_FIXED(MAKE, )
static unsigned bits16(int value, unsigned fraction_bits, unsigned bias)
{
    const unsigned exponent = 31u - (unsigned)__builtin_clz((unsigned)value);

    return ((exponent + bias) << fraction_bits) |
           (((unsigned)value << fraction_bits >> exponent) & ((1u << fraction_bits) - 1));
}
static chorus_half make_half(int value)
{
    const chorus_half made = {(uint16_t)bits16(value, 10, 15)};

    return made;
}
static chorus_bfloat16 make_bfloat16(int value)
{
    const chorus_bfloat16 made = {(uint16_t)bits16(value, 7, 127)};

    return made;
}

static int number_of(int pe, int i)
{
    return (pe + i + turn) % 2 + 1;
}

/* Element i of all PEs, combined. */
static int fold(chorus_op op, int i)
{
    uint64_t all = (uint64_t)number_of(0, i);

    for (int pe = 1; pe < n; pe++)
        EXPECT(ref_op_whole(op, 1, &all, (uint64_t)number_of(pe, i)));
    return (int)all;
}

#define TEST_REDUCE(OP, NAME, T, kind)                                    \
    static void reduce##OP##_##NAME(void)                                 \
    {                                                                     \
        T *const dest = (T *)dest_room, *const source = (T *)source_room; \
        T want;                                                           \
                                                                          \
        for (int on_stream = 0; on_stream < 2; on_stream++) {             \
            begin(sizeof(T));                                             \
            for (int i = 0; i < n; i++)                                   \
                source[i] = make_##NAME(number_of(me, i));                \
            MOVE(NAME##OP##_reduce, dest, source, 1);                     \
            want = make_##NAME(fold(CHORUS_OP##OP, 0));                   \
            EXPECT(memcmp(dest, &want, sizeof(T)) == 0);                  \
            MOVE(NAME##OP##_reducescatter, dest + 1, source, 1);          \
            want = make_##NAME(fold(CHORUS_OP##OP, me));                  \
            EXPECT(memcmp(dest + 1, &want, sizeof(T)) == 0);              \
        }                                                                 \
    }
#define TEST_OP(OP, NAMES) NAMES(TEST_REDUCE, OP)
CHORUS_DEVICE_REDUCE_LIST(TEST_OP)

/* A word of the next PE is this PE's alone to change. */
#define TEST_EXTENDED(NAME, T, kind)                                           \
    static void extended_##NAME(void)                                          \
    {                                                                          \
        T *const word = (T *)dest_room;                                        \
                                                                               \
        begin(sizeof(T));                                                      \
        nvshmem_##NAME##_atomic_set(word, (T)(me + 1), next);                  \
        EXPECT(nvshmem_##NAME##_atomic_fetch(word, next) == (T)(me + 1));      \
        EXPECT(nvshmem_##NAME##_atomic_swap(word, (T)9, next) == (T)(me + 1)); \
        nvshmem_barrier_all();                                                 \
        EXPECT(*word == (T)9);                                                 \
    }
CHORUS_AMO_EXTENDED_TYPES(TEST_EXTENDED)
#define TEST_STANDARD(NAME, T, kind)                                                  \
    static void standard_##NAME(void)                                                 \
    {                                                                                 \
        T *const word = (T *)dest_room;                                               \
                                                                                      \
        begin(sizeof(T));                                                             \
        EXPECT(nvshmem_##NAME##_atomic_compare_swap(word, (T)1, (T)7, next) == (T)0); \
        EXPECT(nvshmem_##NAME##_atomic_compare_swap(word, (T)0, (T)5, next) == (T)0); \
        EXPECT(nvshmem_##NAME##_atomic_fetch_inc(word, next) == (T)5);                \
        nvshmem_##NAME##_atomic_inc(word, next);                                      \
        EXPECT(nvshmem_##NAME##_atomic_fetch_add(word, (T)10, next) == (T)7);         \
        nvshmem_##NAME##_atomic_add(word, (T)3, next);                                \
        nvshmem_quiet();                                                              \
        nvshmem_barrier_all();                                                        \
        EXPECT(*word == (T)20);                                                       \
    }
CHORUS_AMO_STANDARD_TYPES(TEST_STANDARD)
#define TEST_BITWISE(NAME, T, kind)                                                \
    static void bitwise_##NAME(void)                                               \
    {                                                                              \
        T *const word = (T *)dest_room;                                            \
                                                                                   \
        begin(sizeof(T));                                                          \
        nvshmem_##NAME##_atomic_or(word, (T)0x3c, next);                           \
        EXPECT(nvshmem_##NAME##_atomic_fetch_and(word, (T)0x1f, next) == (T)0x3c); \
        EXPECT(nvshmem_##NAME##_atomic_fetch_or(word, (T)0x40, next) == (T)0x1c);  \
        EXPECT(nvshmem_##NAME##_atomic_fetch_xor(word, (T)0x0f, next) == (T)0x5c); \
        nvshmem_##NAME##_atomic_and(word, (T)0x57, next);                          \
        nvshmem_##NAME##_atomic_xor(word, (T)0x01, next);                          \
        nvshmem_quiet();                                                           \
        nvshmem_barrier_all();                                                     \
        EXPECT(*word == (T)0x52);                                                  \
    }
CHORUS_AMO_BITWISE_TYPES(TEST_BITWISE)

/* The words come one after another; the second is not looked at. */
#define TEST_WAIT(NAME, T, kind)                                                               \
    static void wait_##NAME(void)                                                              \
    {                                                                                          \
        T *const words = (T *)dest_room;                                                       \
        const int status[3] = {0, 1, 0};                                                       \
        const T one[3] = {1, 1, 1}, two[3] = {2, 2, 2};                                        \
        size_t indices[3] = {9, 9, 9};                                                         \
                                                                                               \
        begin(sizeof(T));                                                                      \
        EXPECT(nvshmem_##NAME##_test(words, NVSHMEM_CMP_NE, 0) == 0);                          \
        EXPECT(nvshmem_##NAME##_test_all(words, 3, status, NVSHMEM_CMP_GT, 0) == 0);           \
        EXPECT(nvshmem_##NAME##_test_any(words, 3, status, NVSHMEM_CMP_EQ, 2) == SIZE_MAX);    \
        EXPECT(nvshmem_##NAME##_test_some(words, 3, indices, status, NVSHMEM_CMP_GE, 1) == 0); \
        EXPECT(nvshmem_##NAME##_test_all_vector(words, 3, status, NVSHMEM_CMP_EQ, two) == 0);  \
        EXPECT(nvshmem_##NAME##_test_any_vector(words, 3, status, NVSHMEM_CMP_EQ, two) ==      \
               SIZE_MAX);                                                                      \
        EXPECT(nvshmem_##NAME##_test_some_vector(words, 3, indices, status, NVSHMEM_CMP_EQ,    \
                                                 two) == 0);                                   \
        nvshmem_barrier_all();                                                                 \
        nvshmem_putmem(words, one, sizeof(T), next);                                           \
        nvshmem_##NAME##_wait_until(words, NVSHMEM_CMP_EQ, 1);                                 \
        EXPECT(nvshmem_##NAME##_wait_until_any(words, 3, status, NVSHMEM_CMP_EQ, 1) == 0);     \
        EXPECT(nvshmem_##NAME##_wait_until_any_vector(words, 3, status, NVSHMEM_CMP_EQ,        \
                                                      one) == 0);                              \
        nvshmem_barrier_all();                                                                 \
        nvshmem_putmem(&words[2], one, sizeof(T), next);                                       \
        nvshmem_##NAME##_wait_until_all(words, 3, status, NVSHMEM_CMP_NE, 0);                  \
        nvshmem_##NAME##_wait_until_all_vector(words, 3, status, NVSHMEM_CMP_EQ, one);         \
        EXPECT(nvshmem_##NAME##_wait_until_some(words, 3, indices, status, NVSHMEM_CMP_GT,     \
                                                0) == 2);                                      \
        EXPECT(indices[0] == 0 && indices[1] == 2);                                            \
        EXPECT(nvshmem_##NAME##_wait_until_some_vector(words, 3, indices, status,              \
                                                       NVSHMEM_CMP_EQ, one) == 2);             \
        EXPECT(nvshmem_##NAME##_test_all(words, 3, status, NVSHMEM_CMP_LE, 1) == 1);           \
        EXPECT(words[1] == 0 && words[2] == 1);                                                \
    }
CHORUS_WAIT_TYPES(TEST_WAIT)

/* Of a stream without a GPU, such a wait has ended when it returns. */
#define TEST_WAIT_ON_STREAM(NAME, T, kind)                                                  \
    static void wait_on_stream_##NAME(void)                                                 \
    {                                                                                       \
        T *const words = (T *)dest_room;                                                    \
        const int status[3] = {0, 1, 0};                                                    \
        const T one[3] = {1, 1, 1};                                                         \
                                                                                            \
        begin(sizeof(T));                                                                   \
        nvshmem_putmem(words, one, sizeof(T), next);                                        \
        nvshmemx_##NAME##_wait_until_on_stream(words, NVSHMEM_CMP_EQ, 1, 0);                \
        EXPECT(words[0] == 1);                                                              \
        nvshmem_putmem(&words[2], one, sizeof(T), next);                                    \
        nvshmemx_##NAME##_wait_until_all_on_stream(words, 3, status, NVSHMEM_CMP_NE, 0, 0); \
        EXPECT(words[1] == 0 && words[2] == 1);                                             \
        nvshmemx_##NAME##_wait_until_all_vector_on_stream(words, 3, status, NVSHMEM_CMP_GE, \
                                                          one, 0);                          \
        EXPECT(words[0] == 1 && words[2] == 1);                                             \
    }
CHORUS_WAIT_TYPES(TEST_WAIT_ON_STREAM)

/* What has no type. */
static void teams(void)
{
    nvshmem_team_config_t config = {0};
    nvshmem_team_t reverse = NVSHMEM_TEAM_INVALID, row, column;

    EXPECT(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &reverse) ==
           0);
    EXPECT(nvshmem_team_my_pe(reverse) == n - 1 - me && nvshmem_team_n_pes(reverse) == n);
    EXPECT(nvshmem_team_translate_pe(reverse, 0, NVSHMEM_TEAM_WORLD) == n - 1);
    config.num_contexts = -2;
    nvshmem_team_get_config(reverse, &config);
    EXPECT(config.num_contexts == 0);
    EXPECT(nvshmem_team_split_2d(reverse, 2, NULL, 0, &row, NULL, 0, &column) == 0);
    EXPECT(nvshmem_team_my_pe(row) == (n - 1 - me) % 2);
    EXPECT(nvshmem_team_n_pes(NVSHMEM_TEAM_SHARED) >= 1);
    EXPECT(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) >= 0);
    EXPECT(nvshmem_team_n_pes(NVSHMEMX_TEAM_SAME_MYPE_NODE) >= 1);
    EXPECT(nvshmem_team_sync(column) == 0 && nvshmem_barrier(row) == 0);
    EXPECT(nvshmemx_team_sync_on_stream(column, 0) == 0);
    EXPECT(nvshmemx_barrier_on_stream(row, 0) == 0);
    nvshmem_team_destroy(row);
    nvshmem_team_destroy(column);
    nvshmem_team_destroy(reverse);
}

/* A team of PEs that know its id alone; its PEs are those of the job, backwards. */
static void team_by_id(void)
{
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmemx_team_uniqueid_t *const ids = (nvshmemx_team_uniqueid_t *)source_room;
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;

    EXPECT(nvshmemx_team_init(&team, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, n, me) ==
           NVSHMEMX_ERROR_INVALID_VALUE);
    for (int round = 0; round < 2 * NVSHMEM_SLOTS; round++) { /* ids are given back */
        if (me == n - 1) EXPECT(nvshmemx_team_get_uniqueid(&ids[1]) == NVSHMEMX_SUCCESS);
        EXPECT(nvshmem_uint64_broadcast(NVSHMEM_TEAM_WORLD, ids, ids + 1, 1, n - 1) == 0);
        config.uniqueid = ids[0];
        EXPECT(nvshmemx_team_init(&team, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, n,
                                  n - 1 - me) == NVSHMEMX_SUCCESS);
        EXPECT(nvshmem_team_my_pe(team) == n - 1 - me && nvshmem_team_n_pes(team) == n);
        EXPECT(nvshmem_team_sync(team) == 0);
        nvshmem_team_destroy(team);
    }
    for (int i = 0; i < NVSHMEM_SLOTS; i++)
        EXPECT(nvshmemx_team_get_uniqueid(ids) == NVSHMEMX_SUCCESS);
    EXPECT(nvshmemx_team_get_uniqueid(ids) == NVSHMEMX_ERROR_OUT_OF_MEMORY);
}

/* Sums by all PEs in one word of PE 0. */
static void sums(void)
{
    double *const total = (double *)dest_room;

    begin(sizeof(double));
    nvshmemx_double_atomic_add(total, 0.5, 0);
    nvshmemx_float_atomic_add((float *)(total + 1), 0.25f, 0);
    EXPECT(nvshmemx_double_atomic_fetch_add(total, 0.5, 0) >= 0.5);
    EXPECT(nvshmemx_float_atomic_fetch_add((float *)(total + 1), 0.25f, 0) >= 0.25f);
    nvshmem_barrier_all();
    EXPECT(me != 0 || (total[0] == n && *(float *)(total + 1) == 0.5f * (float)n));
    nvshmemx_signal_counted_reset(sig);
    EXPECT(nvshmem_signal_fetch(sig) == 0);
}

/* Regions are hints; no address can be chosen; what other calls give is fixed. */
static void fixed(void)
{
    const nvshmemx_region_attrs_t attrs = NVSHMEMX_REGION_ATTRS_INITIALIZER;
    nvshmemx_region_handle_t region = 1;
    int active = 1;

    EXPECT(nvshmemx_region_start(&region, &attrs) == NVSHMEMX_SUCCESS);
    EXPECT(nvshmemx_region_is_active(NVSHMEMX_REGION_HINT_NONE, &active) == NVSHMEMX_SUCCESS);
    EXPECT(active == 0 && nvshmemx_region_stop(region) == NVSHMEMX_SUCCESS);
    EXPECT(nvshmemx_region_start(NULL, &attrs) == NVSHMEMX_ERROR_INVALID_VALUE);
    EXPECT(strcmp(nvshmemx_status_string(NVSHMEMX_SUCCESS), "success") == 0);
    EXPECT(nvshmemx_buffer_register_symmetric_at_preferred_address(dest_room + 1, 1 << 16, NULL,
                                                                   0) == NULL);
    EXPECT(strstr(chorusx_last_error(), "expected whole pages of") != NULL);
}

static void memory(void)
{
    char name[NVSHMEM_MAX_NAME_LEN] = "";
    int provided = -1;
    long *const zeros = (long *)nvshmem_calloc(4, sizeof(long));
    long *const aligned = (long *)nvshmem_align(512, sizeof(long));

    EXPECT(zeros != NULL && zeros[3] == 0 && aligned != NULL && (uintptr_t)aligned % 512 == 0);
    EXPECT(nvshmem_pe_accessible(next) == 1 && nvshmem_addr_accessible(zeros, next) == 1);
    EXPECT(nvshmem_ptr(zeros, me) == zeros);
    EXPECT(nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, zeros) == NULL); /* no switch multicasts */
    nvshmem_query_thread(&provided);
    EXPECT(provided == NVSHMEM_THREAD_MULTIPLE);
    nvshmem_info_get_name(name);
    EXPECT(strncmp(name, NVSHMEM_VENDOR_STRING, 1) == 0);
    nvshmem_free(zeros);
    nvshmem_free(aligned);
}

/* Data, then a signal, ordered by a fence or by a stream; meetings of all. */
static void order(void)
{
    uint64_t *const data = (uint64_t *)dest_room;

    begin(sizeof(*data));
    nvshmem_uint64_p(data, 70 + (uint64_t)me, next);
    nvshmem_fence();
    nvshmemx_signal_op(sig, 1, NVSHMEM_SIGNAL_SET, next);
    EXPECT(nvshmem_signal_wait_until(sig, NVSHMEM_CMP_EQ, 1) == 1);
    EXPECT(*data == 70 + (uint64_t)previous && nvshmem_signal_fetch(sig) == 1);
    nvshmem_sync_all();
    nvshmemx_sync_all_on_stream(0);
    nvshmemx_signal_op_on_stream(sig, 4, NVSHMEM_SIGNAL_ADD, next, 0);
    nvshmemx_signal_wait_until_on_stream(sig, NVSHMEM_CMP_EQ, 5, 0);
    nvshmemx_barrier_all_on_stream(0);
    EXPECT(*sig == 5);
    nvshmem_uint64_put_nbi(data + 1, data, 1, next);
    nvshmemx_flush();
    nvshmemx_uint64_put_nbi_on_stream(data + 2, data, 1, next, 0);
    nvshmemx_flush_on_stream(0);
    nvshmem_barrier_all();
    for (int i = 1; i <= 2; i++)
        EXPECT(data[i] == 70 + (uint64_t)((previous + n - 1) % n));
}

int main(void)
{
    int provided = -1;

    EXPECT(nvshmem_init_thread(NVSHMEM_THREAD_MULTIPLE, &provided) == 0);
    me = nvshmem_my_pe();
    n = nvshmem_n_pes();
    next = (me + 1) % n;
    previous = (me + n - 1) % n;
    EXPECT(n <= PES_MAX);
    dest_room = (char *)nvshmem_malloc((size_t)16 * COUNT);
    source_room = (char *)nvshmem_malloc((size_t)16 * COUNT);
    sig = (uint64_t *)nvshmem_calloc(1, sizeof(*sig));
    EXPECT(dest_room != NULL && source_room != NULL && sig != NULL);
#define RUN(NAME, T, kind) blocks_##NAME(), strides_##NAME(), elements_##NAME(), move_##NAME();
    CHORUS_DEVICE_TYPES(RUN)
#undef RUN
#define RUN(N, bytes) blocks_##N(), strides_##N();
    CHORUS_SIZES(RUN)
#undef RUN
    blocks_mem();
    move_mem();
#define RUN(OP, NAME, T, kind) reduce##OP##_##NAME();
#define RUN_OP(OP, NAMES) NAMES(RUN, OP)
    CHORUS_DEVICE_REDUCE_LIST(RUN_OP)
#undef RUN
#define RUN(NAME, T, kind) extended_##NAME();
    CHORUS_AMO_EXTENDED_TYPES(RUN)
#undef RUN
#define RUN(NAME, T, kind) standard_##NAME();
    CHORUS_AMO_STANDARD_TYPES(RUN)
#undef RUN
#define RUN(NAME, T, kind) bitwise_##NAME();
    CHORUS_AMO_BITWISE_TYPES(RUN)
#undef RUN
#define RUN(NAME, T, kind) wait_##NAME(), wait_on_stream_##NAME();
    CHORUS_WAIT_TYPES(RUN)
#undef RUN
    teams();
    team_by_id();
    sums();
    fixed();
    memory();
    order();
    nvshmem_free(dest_room);
    nvshmem_free(source_room);
    nvshmem_free(sig);
    nvshmem_finalize();
    return 0;
}
