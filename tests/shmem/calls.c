/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each typed and sized call, for each of its types, on variables of the program: every PE
 * writes to the next one and reads what the one before wrote.
 */
#include "expect.h"

#include <string.h>

enum { COUNT = 8, PES_MAX = 16 };

/* Values are small and differ from PE to PE and call to call. */
static int turn;
#define VALUE(T, pe, i) ((T)(7 * (pe) + (i) + turn % 3 + 1))
#define POISON(T, array)                                                \
    do {                                                                \
        for (size_t i = 0; i < sizeof(array) / sizeof((array)[0]); i++) \
            (array)[i] = (T)100;                                        \
    } while (0)

/* One-sided calls, of this program on the default context, of contexts.c on another. */
#ifndef CALL
#define CALL(name, ...) shmem_##name(__VA_ARGS__)
#define QUIET() shmem_quiet()
#endif

/* All have poisoned, then all have written. */
static void finish(void)
{
    QUIET();
    shmem_barrier_all();
}

static void meet(void)
{
    finish();
    turn++;
}

#define TEST_RMA(NAME, T, kind)                                                               \
    static void rma_##NAME(void)                                                              \
    {                                                                                         \
        static T dest[COUNT], source[COUNT];                                                  \
        static uint64_t signal;                                                               \
        T got[COUNT];                                                                         \
                                                                                              \
        meet();                                                                               \
        for (int i = 0; i < COUNT; i++)                                                       \
            source[i] = VALUE(T, me, i);                                                      \
        POISON(T, dest);                                                                      \
        signal = 0;                                                                           \
        finish();                                                                             \
        CALL(NAME##_p, &dest[0], VALUE(T, me, 5), next);                                      \
        EXPECT(CALL(NAME##_g, &source[3], next) == VALUE(T, next, 3));                        \
        CALL(NAME##_put, &dest[1], &source[1], 2, next);                                      \
        CALL(NAME##_put_nbi, &dest[3], &source[3], 1, next);                                  \
        CALL(NAME##_put_signal, &dest[4], &source[4], 1, &signal, 3, SHMEM_SIGNAL_ADD, next); \
        CALL(NAME##_put_signal_nbi, &dest[5], &source[5], 1, &signal, 4, SHMEM_SIGNAL_ADD,    \
             next);                                                                           \
        EXPECT(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 7) == 7);                       \
        EXPECT(shmem_signal_fetch(&signal) == 7);                                             \
        CALL(NAME##_get, got, source, 3, next);                                               \
        CALL(NAME##_get_nbi, got + 3, source + 3, 2, next);                                   \
        QUIET();                                                                              \
        for (int i = 0; i < 5; i++)                                                           \
            EXPECT(got[i] == VALUE(T, next, i));                                              \
        finish();                                                                             \
        EXPECT(dest[0] == VALUE(T, previous, 5));                                             \
        for (int i = 1; i < 6; i++)                                                           \
            EXPECT(dest[i] == VALUE(T, previous, i));                                         \
        EXPECT(dest[6] == (T)100);                                                            \
        finish();                                                                             \
        POISON(T, dest);                                                                      \
        finish();                                                                             \
        CALL(NAME##_iput, dest, source, 3, 2, 2, next);                                       \
        CALL(NAME##_iget, got, source, 1, 2, 3, next);                                        \
        EXPECT(got[0] == VALUE(T, next, 0) && got[2] == VALUE(T, next, 4));                   \
        finish();                                                                             \
        EXPECT(dest[0] == VALUE(T, previous, 0) && dest[3] == VALUE(T, previous, 2));         \
        EXPECT(dest[1] == (T)100 && dest[2] == (T)100 && dest[6] == (T)100);                  \
        finish();                                                                             \
        POISON(T, dest);                                                                      \
        finish();                                                                             \
        CALL(NAME##_ibput, dest, source, 3, 4, 2, 2, next);                                   \
        CALL(NAME##_ibget, got, source, 2, 3, 2, 2, next);                                    \
        EXPECT(got[1] == VALUE(T, next, 1) && got[2] == VALUE(T, next, 3));                   \
        finish();                                                                             \
        EXPECT(dest[1] == VALUE(T, previous, 1) && dest[2] == (T)100);                        \
        EXPECT(dest[3] == VALUE(T, previous, 4) && dest[4] == VALUE(T, previous, 5));         \
    }
SHMEM_RMA_TYPES(TEST_RMA)

/* Elements of a number of bits, and bytes: the same on arrays of bytes. */
#define TEST_BLOCKS(NAME, bytes)                                                              \
    static void blocks_##NAME(void)                                                           \
    {                                                                                         \
        static _Alignas(16) unsigned char dest[6 * (bytes)], source[6 * (bytes)];             \
        static uint64_t signal;                                                               \
        unsigned char got[6 * (bytes)];                                                       \
                                                                                              \
        meet();                                                                               \
        for (int i = 0; i < 6 * (bytes); i++)                                                 \
            source[i] = (unsigned char)(VALUE(int, me, i));                                   \
        POISON(unsigned char, dest);                                                          \
        signal = 0;                                                                           \
        finish();                                                                             \
        CALL(put##NAME, dest, source, 2, next);                                               \
        CALL(put##NAME##_nbi, dest + 2 * (bytes), source + 2 * (bytes), 1, next);             \
        CALL(put##NAME##_signal, dest + 3 * (bytes), source + 3 * (bytes), 1, &signal, 5,     \
             SHMEM_SIGNAL_SET, next);                                                         \
        CALL(put##NAME##_signal_nbi, dest + 4 * (bytes), source + 4 * (bytes), 1, &signal, 1, \
             SHMEM_SIGNAL_ADD, next);                                                         \
        (void)shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 6);                              \
        CALL(get##NAME, got, source, 4, next);                                                \
        CALL(get##NAME##_nbi, got + 4 * (bytes), source + 4 * (bytes), 2, next);              \
        QUIET();                                                                              \
        for (int i = 0; i < 6 * (bytes); i++)                                                 \
            EXPECT(got[i] == (unsigned char)VALUE(int, next, i));                             \
        finish();                                                                             \
        for (int i = 0; i < 5 * (bytes); i++)                                                 \
            EXPECT(dest[i] == (unsigned char)VALUE(int, previous, i));                        \
        EXPECT(dest[5 * (bytes)] == 100);                                                     \
    }
#define TEST_STRIDES(BITS, bytes)                                                      \
    static void strides_##BITS(void)                                                   \
    {                                                                                  \
        static _Alignas(16) unsigned char dest[6 * (bytes)], source[6 * (bytes)];      \
        unsigned char got[2 * (bytes)];                                                \
                                                                                       \
        meet();                                                                        \
        for (int i = 0; i < 6 * (bytes); i++)                                          \
            source[i] = (unsigned char)VALUE(int, me, i);                              \
        POISON(unsigned char, dest);                                                   \
        finish();                                                                      \
        CALL(iput##BITS, dest, source, 2, 3, 2, next);                                 \
        CALL(iget##BITS, got, source, 1, 3, 2, next);                                  \
        EXPECT(got[bytes] == (unsigned char)VALUE(int, next, 3 * (bytes)));            \
        finish();                                                                      \
        EXPECT(dest[0] == (unsigned char)VALUE(int, previous, 0));                     \
        EXPECT(dest[2 * (bytes)] == (unsigned char)VALUE(int, previous, 3 * (bytes))); \
        EXPECT(dest[bytes] == 100);                                                    \
        finish();                                                                      \
        CALL(ibput##BITS, dest, source, 2, 3, 1, 2, next);                             \
        CALL(ibget##BITS, got, source, 1, 2, 1, 2, next);                              \
        EXPECT(got[bytes] == (unsigned char)VALUE(int, next, 2 * (bytes)));            \
        finish();                                                                      \
        EXPECT(dest[2 * (bytes)] == (unsigned char)VALUE(int, previous, 3 * (bytes))); \
    }
CHORUS_SIZES(TEST_BLOCKS)
TEST_BLOCKS(mem, 1)
CHORUS_SIZES(TEST_STRIDES)

static void signals(void)
{
    static uint64_t signal;

    meet();
    signal = 0;
    finish();
    CALL(signal_set, &signal, 5, next);
    CALL(signal_add, &signal, 2, next);
    EXPECT(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 7) == 7);
}

/* A word of the next PE is this PE's alone to change. */
#define TEST_EXTENDED(NAME, T, kind)                                            \
    static void extended_##NAME(void)                                           \
    {                                                                           \
        static T word;                                                          \
        T fetched = 0;                                                          \
                                                                                \
        meet();                                                                 \
        CALL(NAME##_atomic_set, &word, VALUE(T, me, 1), next);                  \
        EXPECT(CALL(NAME##_atomic_fetch, &word, next) == VALUE(T, me, 1));      \
        EXPECT(CALL(NAME##_atomic_swap, &word, (T)9, next) == VALUE(T, me, 1)); \
        CALL(NAME##_atomic_fetch_nbi, &fetched, &word, next);                   \
        QUIET();                                                                \
        EXPECT(fetched == (T)9);                                                \
        CALL(NAME##_atomic_swap_nbi, &fetched, &word, (T)11, next);             \
        QUIET();                                                                \
        EXPECT(fetched == (T)9);                                                \
        finish();                                                               \
        EXPECT(word == (T)11);                                                  \
    }
CHORUS_AMO_EXTENDED_TYPES(TEST_EXTENDED)

#define TEST_STANDARD(NAME, T, kind)                                               \
    static void standard_##NAME(void)                                              \
    {                                                                              \
        static T word;                                                             \
        T fetched = 0;                                                             \
                                                                                   \
        meet();                                                                    \
        CALL(NAME##_atomic_set, &word, (T)5, next);                                \
        EXPECT(CALL(NAME##_atomic_compare_swap, &word, (T)4, (T)1, next) == 5);    \
        EXPECT(CALL(NAME##_atomic_compare_swap, &word, (T)5, (T)6, next) == 5);    \
        EXPECT(CALL(NAME##_atomic_fetch_inc, &word, next) == 6);                   \
        CALL(NAME##_atomic_inc, &word, next);                                      \
        EXPECT(CALL(NAME##_atomic_fetch_add, &word, (T)10, next) == 8);            \
        CALL(NAME##_atomic_add, &word, (T)2, next);                                \
        CALL(NAME##_atomic_compare_swap_nbi, &fetched, &word, (T)20, (T)30, next); \
        QUIET();                                                                   \
        EXPECT(fetched == 20);                                                     \
        CALL(NAME##_atomic_fetch_inc_nbi, &fetched, &word, next);                  \
        QUIET();                                                                   \
        EXPECT(fetched == 30);                                                     \
        CALL(NAME##_atomic_fetch_add_nbi, &fetched, &word, (T)9, next);            \
        QUIET();                                                                   \
        EXPECT(fetched == 31);                                                     \
        finish();                                                                  \
        EXPECT(word == 40);                                                        \
    }
CHORUS_AMO_STANDARD_TYPES(TEST_STANDARD)

#define TEST_BITWISE(NAME, T, kind)                                          \
    static void bitwise_##NAME(void)                                         \
    {                                                                        \
        static T word;                                                       \
        T fetched = 0;                                                       \
                                                                             \
        meet();                                                              \
        CALL(NAME##_atomic_set, &word, (T)0x3c, next);                       \
        EXPECT(CALL(NAME##_atomic_fetch_and, &word, (T)0x1f, next) == 0x3c); \
        EXPECT(CALL(NAME##_atomic_fetch_or, &word, (T)0x40, next) == 0x1c);  \
        EXPECT(CALL(NAME##_atomic_fetch_xor, &word, (T)0x0f, next) == 0x5c); \
        CALL(NAME##_atomic_and, &word, (T)0x57, next);                       \
        CALL(NAME##_atomic_or, &word, (T)0x20, next);                        \
        CALL(NAME##_atomic_xor, &word, (T)0x01, next);                       \
        CALL(NAME##_atomic_fetch_and_nbi, &fetched, &word, (T)0x7e, next);   \
        QUIET();                                                             \
        EXPECT(fetched == 0x72);                                             \
        CALL(NAME##_atomic_fetch_or_nbi, &fetched, &word, (T)0x0c, next);    \
        QUIET();                                                             \
        EXPECT(fetched == 0x72);                                             \
        CALL(NAME##_atomic_fetch_xor_nbi, &fetched, &word, (T)0x03, next);   \
        QUIET();                                                             \
        EXPECT(fetched == 0x7e);                                             \
        finish();                                                            \
        EXPECT(word == 0x7d);                                                \
    }
CHORUS_AMO_BITWISE_TYPES(TEST_BITWISE)

/* The words come one after another; the second is not looked at. */
#define TEST_WAIT(NAME, T, kind)                                                              \
    static void wait_##NAME(void)                                                             \
    {                                                                                         \
        static T words[3];                                                                    \
        static const int status[3] = {0, 1, 0};                                               \
        const T one[3] = {1, 1, 1}, two[3] = {2, 2, 2};                                       \
        const T value = 1;                                                                    \
        size_t indices[3];                                                                    \
                                                                                              \
        meet();                                                                               \
        words[0] = words[1] = words[2] = 0;                                                   \
        shmem_barrier_all();                                                                  \
        EXPECT(shmem_##NAME##_test(words, SHMEM_CMP_NE, 0) == 0);                             \
        EXPECT(shmem_##NAME##_test_all(words, 3, status, SHMEM_CMP_GT, 0) == 0);              \
        EXPECT(shmem_##NAME##_test_any(words, 3, status, SHMEM_CMP_EQ, 2) == SIZE_MAX);       \
        EXPECT(shmem_##NAME##_test_some(words, 3, indices, status, SHMEM_CMP_GE, 1) == 0);    \
        EXPECT(shmem_##NAME##_test_all_vector(words, 3, status, SHMEM_CMP_EQ, two) == 0);     \
        EXPECT(shmem_##NAME##_test_any_vector(words, 3, status, SHMEM_CMP_EQ, two) ==         \
               SIZE_MAX);                                                                     \
        EXPECT(shmem_##NAME##_test_some_vector(words, 3, indices, status, SHMEM_CMP_EQ,       \
                                               two) == 0);                                    \
        shmem_barrier_all();                                                                  \
        shmem_putmem(&words[0], &value, sizeof(T), next);                                     \
        shmem_##NAME##_wait_until(words, SHMEM_CMP_EQ, 1);                                    \
        EXPECT(shmem_##NAME##_wait_until_any(words, 3, status, SHMEM_CMP_EQ, 1) == 0);        \
        EXPECT(shmem_##NAME##_wait_until_any_vector(words, 3, status, SHMEM_CMP_EQ, one) ==   \
               0);                                                                            \
        shmem_barrier_all();                                                                  \
        shmem_putmem(&words[2], &value, sizeof(T), next);                                     \
        shmem_##NAME##_wait_until_all(words, 3, status, SHMEM_CMP_LE, 1);                     \
        shmem_##NAME##_wait_until_all_vector(words, 3, status, SHMEM_CMP_EQ, one);            \
        EXPECT(shmem_##NAME##_wait_until_some(words, 3, indices, status, SHMEM_CMP_LT, 2) ==  \
               2);                                                                            \
        EXPECT(indices[0] == 0 && indices[1] == 2);                                           \
        EXPECT(shmem_##NAME##_wait_until_some_vector(words, 3, indices, status, SHMEM_CMP_EQ, \
                                                     one) == 2);                              \
        EXPECT(shmem_##NAME##_test(words, SHMEM_CMP_EQ, 1) == 1);                             \
        EXPECT(shmem_##NAME##_test_all(words, 3, status, SHMEM_CMP_EQ, 1) == 1);              \
        EXPECT(words[1] == 0);                                                                \
    }
CHORUS_WAIT_TYPES(TEST_WAIT)

#define TEST_OLD_WAIT(NAME, T, kind)                  \
    static void old_wait_##NAME(void)                 \
    {                                                 \
        static T word;                                \
        const T value = 3;                            \
                                                      \
        meet();                                       \
        word = 1;                                     \
        shmem_barrier_all();                          \
        shmem_putmem(&word, &value, sizeof(T), next); \
        shmem_##NAME##_wait(&word, 1);                \
        EXPECT(word == 3);                            \
    }
SHMEM_OLD_INT_TYPES(TEST_OLD_WAIT)

#define TEST_OLD_AMO(NAME, T, kind)                            \
    static void old_amo_##NAME(void)                           \
    {                                                          \
        static T word;                                         \
                                                               \
        meet();                                                \
        shmem_##NAME##_set(&word, (T)2, next);                 \
        shmem_##NAME##_add(&word, (T)3, next);                 \
        shmem_##NAME##_inc(&word, next);                       \
        EXPECT(shmem_##NAME##_cswap(&word, 6, 10, next) == 6); \
        EXPECT(shmem_##NAME##_fadd(&word, (T)4, next) == 10);  \
        EXPECT(shmem_##NAME##_finc(&word, next) == 14);        \
        shmem_barrier_all();                                   \
        EXPECT(word == 15);                                    \
    }
SHMEM_OLD_AMO_TYPES(TEST_OLD_AMO)

#define TEST_OLD_EXTENDED(NAME, T, kind)                     \
    static void old_extended_##NAME(void)                    \
    {                                                        \
        static T word;                                       \
                                                             \
        meet();                                              \
        shmem_##NAME##_set(&word, (T)4, next);               \
        EXPECT(shmem_##NAME##_swap(&word, (T)8, next) == 4); \
        EXPECT(shmem_##NAME##_fetch(&word, next) == 8);      \
        shmem_barrier_all();                                 \
        EXPECT(word == 8);                                   \
    }
SHMEM_OLD_AMO_EXTENDED_TYPES(TEST_OLD_EXTENDED)

#define TEST_MOVE(NAME, T, kind)                                                               \
    static void move_##NAME(void)                                                              \
    {                                                                                          \
        static T dest[3 * PES_MAX], source[3 * PES_MAX];                                       \
        const int root = n - 1;                                                                \
                                                                                               \
        meet();                                                                                \
        for (int i = 0; i < 3 * n; i++)                                                        \
            source[i] = VALUE(T, me, i);                                                       \
        POISON(T, dest);                                                                       \
        EXPECT(shmem_##NAME##_broadcast(SHMEM_TEAM_WORLD, dest, source, 3, root) == 0);        \
        EXPECT(dest[0] == VALUE(T, root, 0) && dest[2] == VALUE(T, root, 2));                  \
        EXPECT(dest[3] == (T)100);                                                             \
        POISON(T, dest);                                                                       \
        EXPECT(shmem_##NAME##_fcollect(SHMEM_TEAM_WORLD, dest, source, 3) == 0);               \
        for (int i = 0; i < 3 * n; i++)                                                        \
            EXPECT(dest[i] == VALUE(T, i / 3, i % 3));                                         \
        POISON(T, dest);                                                                       \
        EXPECT(shmem_##NAME##_alltoall(SHMEM_TEAM_WORLD, dest, source, 3) == 0);               \
        for (int i = 0; i < 3 * n; i++)                                                        \
            EXPECT(dest[i] == VALUE(T, i / 3, 3 * me + i % 3));                                \
        POISON(T, dest);                                                                       \
        EXPECT(shmem_##NAME##_collect(SHMEM_TEAM_WORLD, dest, source, (size_t)(1 + me % 2)) == \
               0);                                                                             \
        for (int pe = 0, at = 0; pe < n; at += 1 + pe++ % 2)                                   \
            EXPECT(dest[at] == VALUE(T, pe, 0) &&                                              \
                   (pe % 2 == 0 || dest[at + 1] == VALUE(T, pe, 1)));                          \
        POISON(T, dest);                                                                       \
        EXPECT(shmem_##NAME##_alltoalls(SHMEM_TEAM_WORLD, dest, source, 3, 2, 1) == 0);        \
        for (int i = 0; i < 3 * n; i++)                                                        \
            EXPECT(dest[i] == (i % 3 != 0 ? (T)100 : VALUE(T, i / 3, 2 * me)));                \
    }
SHMEM_RMA_TYPES(TEST_MOVE)

static void move_bytes(void)
{
    static char dest[3 * PES_MAX], source[3 * PES_MAX];

    meet();
    for (int i = 0; i < 3 * n; i++)
        source[i] = VALUE(char, me, i);
    EXPECT(shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, 3, 0) == 0);
    EXPECT(dest[2] == VALUE(char, 0, 2));
    EXPECT(shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, source, 2) == 0);
    EXPECT(dest[2 * n - 1] == VALUE(char, n - 1, 1));
    EXPECT(shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, 3) == 0);
    EXPECT(dest[3 * n - 1] == VALUE(char, n - 1, 3 * me + 2));
    EXPECT(shmem_collectmem(SHMEM_TEAM_WORLD, dest, source, 1) == 0);
    EXPECT(dest[n - 1] == VALUE(char, n - 1, 0));
    EXPECT(shmem_alltoallsmem(SHMEM_TEAM_WORLD, dest, source, 2, 1, 1) == 0);
    EXPECT(dest[2 * (n - 1)] == VALUE(char, n - 1, me));
}

#define TEST_SCAN(NAME, T, kind)                                                   \
    static void scan_##NAME(void)                                                  \
    {                                                                              \
        static T dest[2], source[2];                                               \
        T before = (T)0;                                                           \
                                                                                   \
        meet();                                                                    \
        source[0] = source[1] = (T)(me + turn % 3);                                \
        for (int pe = 0; pe < me; pe++)                                            \
            before = (T)(before + (T)(pe + turn % 3));                             \
        dest[0] = dest[1] = (T)100;                                                \
        EXPECT(shmem_##NAME##_sum_inscan(SHMEM_TEAM_WORLD, dest, source, 1) == 0); \
        EXPECT(dest[0] == (T)(before + source[0]) && dest[1] == (T)100);           \
        EXPECT(shmem_##NAME##_sum_exscan(SHMEM_TEAM_WORLD, dest, source, 2) == 0); \
        EXPECT(dest[0] == before && dest[1] == before);                            \
    }
SHMEM_ARITHMETIC_TYPES(TEST_SCAN)

/* x OP y, as C writes it. */
#define FOLD_and(x, y) ((x) & (y))
#define FOLD_or(x, y) ((x) | (y))
#define FOLD_xor(x, y) ((x) ^ (y))
#define FOLD_min(x, y) ((x) < (y) ? (x) : (y))
#define FOLD_max(x, y) ((x) > (y) ? (x) : (y))
#define FOLD_sum(x, y) ((x) + (y))
#define FOLD_prod(x, y) ((x) * (y))

/* Of a team, then of the active set of all PEs. */
#define TEST_FOLD(PREFIX, NAME, T, OP, CALL)                              \
    static void PREFIX##OP##_##NAME(void)                                 \
    {                                                                     \
        static T dest[2], source[2], pWrk[SHMEM_REDUCE_MIN_WRKDATA_SIZE]; \
        static long pSync[SHMEM_REDUCE_SYNC_SIZE];                        \
        T expected = (T)(turn % 2 + 1);                                   \
                                                                          \
        (void)pWrk, (void)pSync;                                          \
        meet();                                                           \
        source[0] = (T)0;                                                 \
        source[1] = (T)((me + turn) % 2 + 1);                             \
        expected = (T)((0 + turn) % 2 + 1);                               \
        for (int pe = 1; pe < n; pe++)                                    \
            expected = (T)FOLD##OP(expected, (T)((pe + turn) % 2 + 1));   \
        dest[0] = dest[1] = (T)100;                                       \
        CALL;                                                             \
        EXPECT(dest[0] == (T)0 && dest[1] == expected);                   \
    }
#define TEST_REDUCE(OP, NAME, T, kind) \
    TEST_FOLD(reduce, NAME, T, OP,     \
              EXPECT(shmem_##NAME##OP##_reduce(SHMEM_TEAM_WORLD, dest, source, 2) == 0))
#define TEST_TO_ALL(OP, NAME, T, kind) \
    TEST_FOLD(to_all, NAME, T, OP,     \
              shmem_##NAME##OP##_to_all(dest, source, 2, 0, 0, n, pWrk, pSync))
#define TEST_REDUCE_OP(OP, NAMES) NAMES(TEST_REDUCE, OP)
SHMEM_REDUCE_LIST(TEST_REDUCE_OP)
#define TEST_TO_ALL_OP(OP, NAMES) NAMES(TEST_TO_ALL, OP)
SHMEM_TO_ALL_LIST(TEST_TO_ALL_OP)

static void run(void)
{
#define RUN(NAME, T, kind) rma_##NAME();
    SHMEM_RMA_TYPES(RUN)
#undef RUN
#define RUN(BITS, bytes) blocks_##BITS(), strides_##BITS();
    CHORUS_SIZES(RUN)
#undef RUN
    blocks_mem();
    signals();
#define RUN(NAME, T, kind) extended_##NAME();
    CHORUS_AMO_EXTENDED_TYPES(RUN)
#undef RUN
#define RUN(NAME, T, kind) standard_##NAME();
    CHORUS_AMO_STANDARD_TYPES(RUN)
#undef RUN
#define RUN(NAME, T, kind) bitwise_##NAME();
    CHORUS_AMO_BITWISE_TYPES(RUN)
#undef RUN
#define RUN(NAME, T, kind) wait_##NAME();
    CHORUS_WAIT_TYPES(RUN)
#undef RUN
#define RUN(NAME, T, kind) old_wait_##NAME();
    SHMEM_OLD_INT_TYPES(RUN)
#undef RUN
#define RUN(NAME, T, kind) old_amo_##NAME();
    SHMEM_OLD_AMO_TYPES(RUN)
#undef RUN
#define RUN(NAME, T, kind) old_extended_##NAME();
    SHMEM_OLD_AMO_EXTENDED_TYPES(RUN)
#undef RUN
#define RUN(NAME, T, kind) move_##NAME();
    SHMEM_RMA_TYPES(RUN)
#undef RUN
    move_bytes();
#define RUN(NAME, T, kind) scan_##NAME();
    SHMEM_ARITHMETIC_TYPES(RUN)
#undef RUN
#define RUN_OP(OP, NAMES) NAMES(RUN, OP)
#define RUN(OP, NAME, T, kind) reduce##OP##_##NAME();
    SHMEM_REDUCE_LIST(RUN_OP)
#undef RUN
#define RUN(OP, NAME, T, kind) to_all##OP##_##NAME();
    SHMEM_TO_ALL_LIST(RUN_OP)
#undef RUN
}

#ifndef CONTEXTS
int main(void)
{
    shmem_init();
    find_neighbours();
    EXPECT(n <= PES_MAX);
    run();
    shmem_finalize();
    return 0;
}
#endif
