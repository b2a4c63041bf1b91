/* SPDX-License-Identifier: Apache-2.0 */
/* Names without a type, of C11 and of C++: each family with each of its types. */
#include "expect.h"

#include <mpp/shmemx.h>

static shmem_ctx_t on;

/* Names without a type expand the lists, so within an expanded list they wait until its end. */
#define EXPANDED(...) __VA_ARGS__
#define WAIT_FOR_END()
#define LATER(name) name WAIT_FOR_END()

#define TEST_RMA(A, NAME, T, kind)                                                            \
    static void rma_##NAME(void)                                                              \
    {                                                                                         \
        static T dest[6], source[6];                                                          \
        static uint64_t signal;                                                               \
        T got[2];                                                                             \
        const T *const constant = source;                                                     \
                                                                                              \
        for (int i = 0; i < 6; i++) {                                                         \
            source[i] = (T)(10 * me + i);                                                     \
            dest[i] = (T)99;                                                                  \
        }                                                                                     \
        LATER(shmem_barrier_all)();                                                           \
        LATER(shmem_p)(dest, source[0], next);                                                \
        LATER(shmem_put)(&dest[1], constant + 1, 1, next);                                    \
        LATER(shmem_put_nbi)(&dest[2], source + 2, 1, next);                                  \
        LATER(shmem_put_signal)(&dest[3], source + 3, 1, &signal, 1, SHMEM_SIGNAL_ADD, next); \
        LATER(shmem_put_signal_nbi)                                                           \
        (&dest[4], source + 4, 1, &signal, 1, SHMEM_SIGNAL_ADD, next);                        \
        LATER(shmem_iput)(&dest[5], source + 5, 1, 1, 1, next);                               \
        LATER(EXPECT)(LATER(shmem_g)(constant, next) == (T)(10 * next));                      \
        LATER(shmem_get)(got, constant + 1, 1, next);                                         \
        LATER(shmem_get_nbi)(got + 1, source + 2, 1, next);                                   \
        LATER(shmem_quiet)();                                                                 \
        LATER(EXPECT)(got[0] == (T)(10 * next + 1) && got[1] == (T)(10 * next + 2));          \
        LATER(shmem_iget)(got, source, 1, 3, 2, next);                                        \
        LATER(EXPECT)(got[1] == (T)(10 * next + 3));                                          \
        LATER(shmem_barrier_all)();                                                           \
        LATER(EXPECT)(signal == 2);                                                           \
        for (int i = 0; i < 6; i++)                                                           \
            LATER(EXPECT)(dest[i] == (T)(10 * previous + i));                                 \
    }
EXPANDED(SHMEM_RMA_CTYPES(TEST_RMA, ))

/* The same with a context first. */
#define TEST_CONTEXT(A, NAME, T, kind)                                       \
    static void context_##NAME(void)                                         \
    {                                                                        \
        static T dest[8], source[8];                                         \
        static uint64_t signal;                                              \
        T got[8];                                                            \
        const T *const constant = source;                                    \
                                                                             \
        for (int i = 0; i < 8; i++) {                                        \
            source[i] = (T)(10 * me + i);                                    \
            dest[i] = (T)99;                                                 \
        }                                                                    \
        shmem_barrier_all();                                                 \
        LATER(shmem_p)(on, dest, source[0], next);                           \
        LATER(shmem_put)(on, &dest[1], constant + 1, 1, next);               \
        LATER(shmem_put_nbi)(on, &dest[2], source + 2, 1, next);             \
        LATER(shmem_put_signal)                                              \
        (on, &dest[3], source + 3, 1, &signal, 1, SHMEM_SIGNAL_ADD, next);   \
        LATER(shmem_put_signal_nbi)                                          \
        (on, &dest[4], source + 4, 1, &signal, 1, SHMEM_SIGNAL_ADD, next);   \
        LATER(shmem_iput)(on, &dest[5], source + 5, 1, 1, 1, next);          \
        LATER(shmem_ibput)(on, &dest[6], source + 6, 1, 1, 1, 2, next);      \
        LATER(EXPECT)(LATER(shmem_g)(on, constant, next) == (T)(10 * next)); \
        LATER(shmem_get)(on, got, constant + 1, 1, next);                    \
        LATER(shmem_get_nbi)(on, got + 1, source + 2, 1, next);              \
        LATER(shmem_iget)(on, got + 2, source + 3, 1, 1, 2, next);           \
        LATER(shmem_ibget)(on, got + 4, source + 5, 1, 1, 1, 2, next);       \
        shmem_ctx_quiet(on);                                                 \
        for (int i = 0; i < 6; i++)                                          \
            LATER(EXPECT)(got[i] == (T)(10 * next + i + 1));                 \
        shmem_barrier_all();                                                 \
        LATER(EXPECT)(signal == 2);                                          \
        for (int i = 0; i < 8; i++)                                          \
            LATER(EXPECT)(dest[i] == (T)(10 * previous + i));                \
    }
EXPANDED(SHMEM_RMA_CTYPES(TEST_CONTEXT, ))

#define TEST_CONTEXT_AMO(A, NAME, T, kind)                                                     \
    static void context_amo_##NAME(void)                                                       \
    {                                                                                          \
        static T word;                                                                         \
        T fetched = 0;                                                                         \
                                                                                               \
        LATER(shmem_atomic_set)(on, &word, (T)2, next);                                        \
        LATER(shmem_atomic_inc)(on, &word, next);                                              \
        LATER(shmem_atomic_add)(on, &word, (T)1, next);                                        \
        LATER(EXPECT)(LATER(shmem_atomic_fetch_inc)(on, &word, next) == (T)4);                 \
        LATER(EXPECT)(LATER(shmem_atomic_fetch_add)(on, &word, (T)1, next) == (T)5);           \
        LATER(EXPECT)(LATER(shmem_atomic_swap)(on, &word, (T)7, next) == (T)6);                \
        LATER(EXPECT)(LATER(shmem_atomic_compare_swap)(on, &word, (T)7, (T)12, next) == (T)7); \
        LATER(shmem_atomic_or)(on, &word, (T)3, next);                                         \
        LATER(EXPECT)(LATER(shmem_atomic_fetch_and)(on, &word, (T)9, next) == (T)15);          \
        LATER(shmem_atomic_xor)(on, &word, (T)1, next);                                        \
        LATER(shmem_atomic_and)(on, &word, (T)12, next);                                       \
        LATER(EXPECT)(LATER(shmem_atomic_fetch_or)(on, &word, (T)1, next) == (T)8);            \
        LATER(EXPECT)(LATER(shmem_atomic_fetch_xor)(on, &word, (T)2, next) == (T)9);           \
        LATER(shmem_atomic_fetch_nbi)(on, &fetched, &word, next);                              \
        shmem_ctx_quiet(on);                                                                   \
        LATER(EXPECT)(fetched == (T)11);                                                       \
        LATER(shmem_atomic_swap_nbi)(on, &fetched, &word, (T)1, next);                         \
        LATER(shmem_atomic_compare_swap_nbi)(on, &fetched, &word, (T)1, (T)2, next);           \
        LATER(shmem_atomic_fetch_inc_nbi)(on, &fetched, &word, next);                          \
        LATER(shmem_atomic_fetch_add_nbi)(on, &fetched, &word, (T)1, next);                    \
        LATER(shmem_atomic_fetch_and_nbi)(on, &fetched, &word, (T)7, next);                    \
        LATER(shmem_atomic_fetch_or_nbi)(on, &fetched, &word, (T)8, next);                     \
        LATER(shmem_atomic_fetch_xor_nbi)(on, &fetched, &word, (T)2, next);                    \
        shmem_ctx_quiet(on);                                                                   \
        LATER(EXPECT)(LATER(shmem_atomic_fetch)(on, &word, next) == (T)14);                    \
    }
EXPANDED(CHORUS_AMO_BITWISE_CTYPES(TEST_CONTEXT_AMO, ))

#define TEST_EXTENDED(A, NAME, T, kind)                                     \
    static void extended_##NAME(void)                                       \
    {                                                                       \
        static T word;                                                      \
        T fetched = 0;                                                      \
                                                                            \
        LATER(shmem_atomic_set)(&word, (T)3, next);                         \
        LATER(EXPECT)(LATER(shmem_atomic_fetch)(&word, next) == (T)3);      \
        LATER(EXPECT)(LATER(shmem_atomic_swap)(&word, (T)4, next) == (T)3); \
        LATER(shmem_atomic_fetch_nbi)(&fetched, &word, next);               \
        LATER(shmem_quiet)();                                               \
        LATER(EXPECT)(fetched == (T)4);                                     \
        LATER(shmem_atomic_swap_nbi)(&fetched, &word, (T)5, next);          \
        LATER(shmem_barrier_all)();                                         \
        LATER(EXPECT)(word == (T)5);                                        \
    }
EXPANDED(CHORUS_AMO_EXTENDED_CTYPES(TEST_EXTENDED, ))

#define TEST_STANDARD(A, NAME, T, kind)                                                   \
    static void standard_##NAME(void)                                                     \
    {                                                                                     \
        static T word;                                                                    \
        T fetched = 0;                                                                    \
                                                                                          \
        LATER(shmem_atomic_inc)(&word, next);                                             \
        LATER(EXPECT)(LATER(shmem_atomic_fetch_inc)(&word, next) == (T)1);                \
        LATER(shmem_atomic_add)(&word, (T)2, next);                                       \
        LATER(EXPECT)(LATER(shmem_atomic_fetch_add)(&word, (T)2, next) == (T)4);          \
        LATER(EXPECT)(LATER(shmem_atomic_compare_swap)(&word, (T)6, (T)7, next) == (T)6); \
        LATER(shmem_atomic_compare_swap_nbi)(&fetched, &word, (T)7, (T)8, next);          \
        LATER(shmem_quiet)();                                                             \
        LATER(shmem_atomic_fetch_inc_nbi)(&fetched, &word, next);                         \
        LATER(shmem_quiet)();                                                             \
        LATER(shmem_atomic_fetch_add_nbi)(&fetched, &word, (T)1, next);                   \
        LATER(shmem_barrier_all)();                                                       \
        LATER(EXPECT)(fetched == (T)9 && word == (T)10);                                  \
    }
EXPANDED(CHORUS_AMO_STANDARD_CTYPES(TEST_STANDARD, ))

#define TEST_BITWISE(A, NAME, T, kind)                                            \
    static void bitwise_##NAME(void)                                              \
    {                                                                             \
        static T word;                                                            \
        T fetched = 0;                                                            \
                                                                                  \
        LATER(shmem_atomic_or)(&word, (T)12, next);                               \
        LATER(EXPECT)(LATER(shmem_atomic_fetch_or)(&word, (T)3, next) == (T)12);  \
        LATER(shmem_atomic_and)(&word, (T)13, next);                              \
        LATER(EXPECT)(LATER(shmem_atomic_fetch_and)(&word, (T)9, next) == (T)13); \
        LATER(shmem_atomic_xor)(&word, (T)1, next);                               \
        LATER(EXPECT)(LATER(shmem_atomic_fetch_xor)(&word, (T)2, next) == (T)8);  \
        LATER(shmem_atomic_fetch_and_nbi)(&fetched, &word, (T)15, next);          \
        LATER(shmem_quiet)();                                                     \
        LATER(shmem_atomic_fetch_or_nbi)(&fetched, &word, (T)1, next);            \
        LATER(shmem_quiet)();                                                     \
        LATER(shmem_atomic_fetch_xor_nbi)(&fetched, &word, (T)8, next);           \
        LATER(shmem_barrier_all)();                                               \
        LATER(EXPECT)(fetched == (T)11 && word == (T)3);                          \
    }
EXPANDED(CHORUS_AMO_BITWISE_CTYPES(TEST_BITWISE, ))

#define TEST_WAIT(A, NAME, T, kind)                                                            \
    static void wait_##NAME(void)                                                              \
    {                                                                                          \
        static T words[2];                                                                     \
        const T one[2] = {1, 1};                                                               \
        size_t found[2];                                                                       \
                                                                                               \
        LATER(shmem_putmem)(words, one, sizeof(one), next);                                    \
        LATER(shmem_wait_until)(&words[1], SHMEM_CMP_EQ, (T)1);                                \
        LATER(shmem_wait_until_all)(words, 2, NULL, SHMEM_CMP_EQ, (T)1);                       \
        LATER(EXPECT)(LATER(shmem_wait_until_any)(words, 2, NULL, SHMEM_CMP_EQ, (T)1) < 2);    \
        LATER(EXPECT)                                                                          \
        (LATER(shmem_wait_until_some)(words, 2, found, NULL, SHMEM_CMP_EQ, (T)1) == 2);        \
        LATER(shmem_wait_until_all_vector)(words, 2, NULL, SHMEM_CMP_EQ, one);                 \
        LATER(EXPECT)                                                                          \
        (LATER(shmem_wait_until_any_vector)(words, 2, NULL, SHMEM_CMP_EQ, one) < 2);           \
        LATER(EXPECT)                                                                          \
        (LATER(shmem_wait_until_some_vector)(words, 2, found, NULL, SHMEM_CMP_EQ, one) == 2);  \
        LATER(EXPECT)(LATER(shmem_test)(words, SHMEM_CMP_NE, (T)1) == 0);                      \
        LATER(EXPECT)(LATER(shmem_test_all)(words, 2, NULL, SHMEM_CMP_EQ, (T)1) == 1);         \
        LATER(EXPECT)(LATER(shmem_test_any)(words, 2, NULL, SHMEM_CMP_EQ, (T)0) == SIZE_MAX);  \
        LATER(EXPECT)(LATER(shmem_test_some)(words, 2, found, NULL, SHMEM_CMP_EQ, (T)0) == 0); \
        LATER(EXPECT)(LATER(shmem_test_all_vector)(words, 2, NULL, SHMEM_CMP_EQ, one) == 1);   \
        LATER(EXPECT)(LATER(shmem_test_any_vector)(words, 2, NULL, SHMEM_CMP_EQ, one) < 2);    \
        LATER(EXPECT)                                                                          \
        (LATER(shmem_test_some_vector)(words, 2, found, NULL, SHMEM_CMP_EQ, one) == 2);        \
    }
EXPANDED(CHORUS_WAIT_CTYPES(TEST_WAIT, ))

#define TEST_MOVE(A, NAME, T, kind)                                                           \
    static void move_##NAME(void)                                                             \
    {                                                                                         \
        static T dest[16], source[16];                                                        \
                                                                                              \
        for (int i = 0; i < n; i++)                                                           \
            source[i] = (T)(10 * me + i);                                                     \
        LATER(EXPECT)(LATER(shmem_sync)(SHMEM_TEAM_WORLD) == 0);                              \
        LATER(EXPECT)(LATER(shmem_broadcast)(SHMEM_TEAM_WORLD, dest, source, 1, n - 1) == 0); \
        LATER(EXPECT)(dest[0] == (T)(10 * (n - 1)));                                          \
        LATER(EXPECT)(LATER(shmem_fcollect)(SHMEM_TEAM_WORLD, dest, source, 1) == 0);         \
        LATER(EXPECT)(dest[n - 1] == (T)(10 * (n - 1)));                                      \
        LATER(EXPECT)(LATER(shmem_alltoall)(SHMEM_TEAM_WORLD, dest, source, 1) == 0);         \
        LATER(EXPECT)(dest[n - 1] == (T)(10 * (n - 1) + me));                                 \
        LATER(EXPECT)(LATER(shmem_collect)(SHMEM_TEAM_WORLD, dest, source, 1) == 0);          \
        LATER(EXPECT)(dest[n - 1] == (T)(10 * (n - 1)));                                      \
        LATER(EXPECT)(LATER(shmem_alltoalls)(SHMEM_TEAM_WORLD, dest, source, 1, 1, 1) == 0);  \
        LATER(EXPECT)(dest[n - 1] == (T)(10 * (n - 1) + me));                                 \
        LATER(EXPECT)(LATER(shmem_max_reduce)(SHMEM_TEAM_WORLD, dest, source, 1) == 0);       \
        LATER(EXPECT)(dest[0] == (T)(10 * (n - 1)));                                          \
        LATER(EXPECT)(LATER(shmem_min_reduce)(SHMEM_TEAM_WORLD, dest, source, 1) == 0);       \
        LATER(EXPECT)(dest[0] == (T)0);                                                       \
    }
EXPANDED(SHMEM_RMA_CTYPES(TEST_MOVE, ))

#define TEST_ARITHMETIC(A, NAME, T, kind)                                                \
    static void arithmetic_##NAME(void)                                                  \
    {                                                                                    \
        static T dest[1], source[1];                                                     \
                                                                                         \
        source[0] = (T)2;                                                                \
        LATER(EXPECT)(LATER(shmem_sum_reduce)(SHMEM_TEAM_WORLD, dest, source, 1) == 0);  \
        LATER(EXPECT)(dest[0] == (T)(2 * n));                                            \
        LATER(EXPECT)(LATER(shmem_sum_inscan)(SHMEM_TEAM_WORLD, dest, source, 1) == 0);  \
        LATER(EXPECT)(dest[0] == (T)(2 * (me + 1)));                                     \
        LATER(EXPECT)(LATER(shmem_sum_exscan)(SHMEM_TEAM_WORLD, dest, source, 1) == 0);  \
        LATER(EXPECT)(dest[0] == (T)(2 * me));                                           \
        LATER(EXPECT)(LATER(shmem_prod_reduce)(SHMEM_TEAM_WORLD, dest, source, 1) == 0); \
        LATER(EXPECT)(dest[0] == (T)(1 << n));                                           \
    }
EXPANDED(SHMEM_ARITHMETIC_CTYPES(TEST_ARITHMETIC, ))

#define TEST_BITS(A, NAME, T, kind)                                                     \
    static void bits_##NAME(void)                                                       \
    {                                                                                   \
        static T dest[1], source[1];                                                    \
                                                                                        \
        source[0] = (T)(1 << me);                                                       \
        LATER(EXPECT)(LATER(shmem_or_reduce)(SHMEM_TEAM_WORLD, dest, source, 1) == 0);  \
        LATER(EXPECT)(dest[0] == (T)((1 << n) - 1));                                    \
        LATER(EXPECT)(LATER(shmem_xor_reduce)(SHMEM_TEAM_WORLD, dest, source, 1) == 0); \
        LATER(EXPECT)(dest[0] == (T)((1 << n) - 1));                                    \
        LATER(EXPECT)(LATER(shmem_and_reduce)(SHMEM_TEAM_WORLD, dest, source, 1) == 0); \
        LATER(EXPECT)(dest[0] == (T)(n == 1));                                          \
    }
EXPANDED(CHORUS_REDUCE_BITWISE_CTYPES(TEST_BITS, ))

#define TEST_OLD(A, NAME, T, kind)                                       \
    static void old_##NAME(void)                                         \
    {                                                                    \
        static T word;                                                   \
                                                                         \
        LATER(shmem_set)(&word, (T)1, next);                             \
        LATER(shmem_add)(&word, (T)1, next);                             \
        LATER(shmem_inc)(&word, next);                                   \
        LATER(EXPECT)(LATER(shmem_fadd)(&word, (T)1, next) == (T)3);     \
        LATER(EXPECT)(LATER(shmem_finc)(&word, next) == (T)4);           \
        LATER(EXPECT)(LATER(shmem_cswap)(&word, (T)5, (T)6, next) == 5); \
        LATER(EXPECT)(LATER(shmem_swap)(&word, (T)7, next) == (T)6);     \
        LATER(EXPECT)(LATER(shmem_fetch)(&word, next) == (T)7);          \
    }
EXPANDED(SHMEM_OLD_AMO_CTYPES(TEST_OLD, ))

/* Each name of a put and of a get stores another value, from the next PE and from this one. */
static void vendor_blocks(long mine)
{
    static long words[8];
    long got[4] = {0};

    for (int i = 0; i < 8; i++)
        words[i] = -1;
    shmem_barrier_all();
    shmemx_ctx_long_ibput(on, &words[0], &mine, 1, 1, 1, 1, next);
    shmemx_ibput(&words[1], &mine, 1, 1, 1, 1, next);
    shmemx_ibput(on, &words[2], &mine, 1, 1, 1, 1, next);
    shmemx_ctx_ibput64(on, &words[3], &mine, 1, 1, 1, 1, next);
    shmem_ctx_quiet(on);
    shmem_barrier_all();
    for (int i = 0; i < 4; i++)
        EXPECT(words[i] == mine - me + previous && words[i + 4] == -1);
    shmemx_ctx_long_ibget(on, &got[0], &words[0], 1, 1, 1, 1, next);
    shmemx_ibget(&got[1], &words[1], 1, 1, 1, 1, next);
    shmemx_ibget(on, &got[2], &words[2], 1, 1, 1, 1, next);
    shmemx_ctx_ibget64(on, &got[3], &words[3], 1, 1, 1, 1, next);
    for (int i = 0; i < 4; i++)
        EXPECT(got[i] == mine);
    shmem_barrier_all();
}

static void vendor_scans(shmemx_team_t team)
{
    static int sums[4], ones[1];

    ones[0] = 1 + me;
    EXPECT(shmemx_int_sum_inscan(team, &sums[0], ones, 1) == 0);
    EXPECT(shmemx_int_sum_exscan(team, &sums[1], ones, 1) == 0);
    EXPECT(shmemx_sum_inscan(team, &sums[2], ones, 1) == 0);
    EXPECT(shmemx_sum_exscan(team, &sums[3], ones, 1) == 0);
    EXPECT(sums[0] == (me + 1) * (me + 2) / 2 && sums[2] == sums[0]);
    EXPECT(sums[1] == me * (me + 1) / 2 && sums[3] == sums[1]);
}

/* What shmemx.h has of others. */
static void vendor_names(void)
{
    static long word;
    const long mine = 5 + me;
    const double before = shmemx_wtime();
    shmemx_team_t team = SHMEMX_TEAM_INVALID;

    EXPECT(shmemx_team_split_strided(SHMEMX_TEAM_WORLD, 0, 1, n, NULL, 0, &team) == 0);
    EXPECT(shmemx_team_my_pe(team) == me);
    shmemx_long_ibput(&word, &mine, 1, 1, 1, 1, next);
    EXPECT(shmemx_team_sync(team) == 0);
    EXPECT(word == 5 + previous && shmemx_wtime() >= before);
    shmem_barrier_all();
    vendor_blocks(mine);
    vendor_scans(team);
    shmemx_team_destroy(team);
}

int main(void)
{
    static long pSync[SHMEM_BARRIER_SYNC_SIZE];
    static uint64_t signal;

    shmem_init();
    find_neighbours();
    EXPECT(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &on) == 0);
#define RUN(family, NAME, T, kind) family##_##NAME();
    SHMEM_RMA_CTYPES(RUN, rma)
    CHORUS_AMO_EXTENDED_CTYPES(RUN, extended)
    CHORUS_AMO_STANDARD_CTYPES(RUN, standard)
    CHORUS_AMO_BITWISE_CTYPES(RUN, bitwise)
    CHORUS_WAIT_CTYPES(RUN, wait)
    SHMEM_RMA_CTYPES(RUN, move)
    SHMEM_ARITHMETIC_CTYPES(RUN, arithmetic)
    CHORUS_REDUCE_BITWISE_CTYPES(RUN, bits)
    SHMEM_OLD_AMO_CTYPES(RUN, old)
    SHMEM_RMA_CTYPES(RUN, context)
    CHORUS_AMO_BITWISE_CTYPES(RUN, context_amo)
    shmem_signal_set(&signal, 1, next);
    shmem_signal_add(on, &signal, 1, next);
    shmem_signal_add(&signal, 1, next);
    (void)shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 3);
    vendor_names();
    shmem_sync(0, 0, n, pSync);
    shmem_finalize();
    return 0;
}
