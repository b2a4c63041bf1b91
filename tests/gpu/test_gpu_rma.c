/* SPDX-License-Identifier: Apache-2.0 */
/* Put, get, atomics, signals and waits of the host on objects in GPU memory. */
#include "gpu_pes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PES_MAX = 64 };

/* Bytes that differ by PE, place and round. */
static unsigned char pattern(int pe, size_t i, int round)
{
    return (unsigned char)(31 * (unsigned)pe + 7 * (unsigned)i + 101 * (unsigned)round +
                           i / 251);
}

static void fill_here(unsigned char *here, size_t bytes, int round)
{
    for (size_t i = 0; i < bytes; i++)
        here[i] = pattern(gpu_me(), i, round);
}

static bool is_from(const unsigned char *here, size_t bytes, int pe, int round)
{
    for (size_t i = 0; i < bytes; i++)
        if (here[i] != pattern(pe, i, round)) return false;
    return true;
}

static const size_t lengths[] = {1, 2, 3, 4, 7, 8, 16, 100, 4096, 65537, (1 << 20) + 3};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]), LONGEST = (1 << 20) + 3 };

/* From the host and from the GPU, to an aligned and to an odd address. */
static void put__any_bytes_from_host_or_gpu__arrive(void)
{
    unsigned char *here = malloc(LONGEST), *there = malloc(LONGEST);
    unsigned char *object = chorus_calloc(LONGEST + 64, 1), *staged = gpu_alloc(LONGEST);
    int round = 0;

    for (int i = 0; i < LENGTHS; i++) {
        for (int how = 0; how < 4; how++) {
            unsigned char *dest = object + (how & 1);
            const size_t bytes = lengths[i];

            fill_here(here, bytes, ++round);
            gpu_copy(staged, here, bytes);
            chorus_putmem(dest, how & 2 ? staged : here, bytes, gpu_next());
            chorus_quiet();
            gpu_meet();
            gpu_copy(there, dest, bytes);
            EXPECT(is_from(there, bytes, gpu_previous(), round));
            gpu_meet();
        }
    }
    gpu_free(staged);
    chorus_free(object);
    free(there);
    free(here);
}

static void get__any_bytes_to_host_or_gpu__are_the_peer_s(void)
{
    unsigned char *here = malloc(LONGEST), *there = malloc(LONGEST);
    unsigned char *object = chorus_calloc(LONGEST + 64, 1), *staged = gpu_alloc(LONGEST);
    int round = 1000;

    for (int i = 0; i < LENGTHS; i++) {
        const size_t bytes = lengths[i];

        fill_here(here, bytes, ++round);
        gpu_copy(object, here, bytes);
        gpu_meet();
        chorus_getmem(there, object, bytes, gpu_next());
        EXPECT(is_from(there, bytes, gpu_next(), round));
        chorus_getmem(staged, object, bytes, gpu_previous());
        gpu_copy(there, staged, bytes);
        EXPECT(is_from(there, bytes, gpu_previous(), round));
        gpu_meet();
    }
    gpu_free(staged);
    chorus_free(object);
    free(there);
    free(here);
}

/* Each width of a single element, and a type that no word holds. */
#define P_AND_G(NAME, T)                                                            \
    do {                                                                            \
        T *object = chorus_calloc(4, sizeof(T));                                    \
        chorus_##NAME##_p(&object[1], (T)(gpu_me() + 5), gpu_next());               \
        gpu_meet();                                                                 \
        EXPECT(chorus_##NAME##_g(&object[1], gpu_me()) == (T)(gpu_previous() + 5)); \
        EXPECT(chorus_##NAME##_g(&object[1], gpu_next()) == (T)(gpu_me() + 5));     \
        EXPECT(chorus_##NAME##_g(&object[0], gpu_me()) == 0);                       \
        EXPECT(chorus_##NAME##_g(&object[2], gpu_me()) == 0);                       \
        chorus_free(object);                                                        \
    } while (0)

static void p_and_g__each_width__one_element_and_no_other(void)
{
    P_AND_G(schar, signed char);
    P_AND_G(short, short);
    P_AND_G(int, int);
    P_AND_G(float, float);
    P_AND_G(long, long);
    P_AND_G(double, double);
    P_AND_G(longdouble, long double);
}

static void iput_and_iget__strides__leave_the_gaps_alone(void)
{
    enum { COUNT = 20 };
    int *object = chorus_calloc(3 * COUNT, sizeof(*object));
    int here[2 * COUNT], there[3 * COUNT];

    for (int i = 0; i < 2 * COUNT; i++)
        here[i] = 1000 * (gpu_me() + 1) + i;
    chorus_int_iput(object, here, 3, 2, COUNT, gpu_next());
    gpu_meet();
    gpu_copy(there, object, sizeof(there));
    for (int i = 0; i < 3 * COUNT; i++)
        EXPECT(there[i] == (i % 3 == 0 ? 1000 * (gpu_previous() + 1) + 2 * (i / 3) : 0));
    memset(there, 0, sizeof(there));
    chorus_int_iget(there, object, 2, 3, COUNT, gpu_next());
    for (int i = 0; i < COUNT; i++)
        EXPECT(there[2 * i] == 1000 * (gpu_me() + 1) + 2 * i && there[2 * i + 1] == 0);
    chorus_free(object);
}

static void amo__all_pes_at_once__none_is_lost(void)
{
    enum { TIMES = 200 };
    uint32_t *narrow = chorus_calloc(2, sizeof(*narrow));
    uint64_t *wide = chorus_calloc(2, sizeof(*wide));
    const uint64_t big = UINT64_C(1) << 33;

    for (int i = 0; i < TIMES; i++) {
        chorus_uint32_atomic_inc(narrow, 0);
        (void)chorus_uint64_atomic_fetch_add(wide, big, 0);
    }
    gpu_meet();
    EXPECT(chorus_uint32_g(narrow, 0) == (uint32_t)(TIMES * gpu_n()));
    EXPECT(chorus_uint64_g(wide, 0) == big * TIMES * (uint64_t)gpu_n());
    EXPECT(chorus_uint32_g(narrow + 1, 0) == 0 && chorus_uint64_g(wide + 1, 0) == 0);
    chorus_free(wide);
    chorus_free(narrow);
}

#define EACH_AMO(NAME, T, object)                                                        \
    do {                                                                                 \
        const int next = gpu_next();                                                     \
        chorus_##NAME##_atomic_set((object), (T)12, next);                               \
        EXPECT(chorus_##NAME##_atomic_fetch((object), next) == 12);                      \
        EXPECT(chorus_##NAME##_atomic_fetch_and((object), (T)10, next) == 12);           \
        EXPECT(chorus_##NAME##_atomic_fetch_or((object), (T)3, next) == 8);              \
        EXPECT(chorus_##NAME##_atomic_fetch_xor((object), (T)1, next) == 11);            \
        EXPECT(chorus_##NAME##_atomic_swap((object), (T)20, next) == 10);                \
        EXPECT(chorus_##NAME##_atomic_compare_swap((object), (T)19, (T)1, next) == 20);  \
        EXPECT(chorus_##NAME##_atomic_compare_swap((object), (T)20, (T)30, next) == 20); \
        EXPECT(chorus_##NAME##_atomic_fetch_inc((object), next) == 30);                  \
        chorus_##NAME##_atomic_add((object), (T)-32, next);                              \
        EXPECT(chorus_##NAME##_atomic_fetch((object), next) == (T)-1);                   \
        gpu_meet();                                                                      \
    } while (0)

static void amo__each_operation__does_what_it_says(void)
{
    int32_t *narrow = chorus_calloc(1, sizeof(*narrow));
    uint64_t *wide = chorus_calloc(1, sizeof(*wide));
    double *real = chorus_calloc(1, sizeof(*real));

    EACH_AMO(int32, int32_t, narrow);
    EACH_AMO(uint64, uint64_t, wide);
    chorus_double_atomic_set(real, -0.5, gpu_next());
    EXPECT(chorus_double_atomic_swap(real, 2.25, gpu_next()) == -0.5);
    EXPECT(chorus_double_atomic_fetch(real, gpu_next()) == 2.25);
    gpu_meet();
    chorus_free(real);
    chorus_free(wide);
    chorus_free(narrow);
}

/* Whoever sees the signal sees the data, again and again. */
static void put_signal__around_the_ring__data_comes_first(void)
{
    enum { BYTES = 300000, ROUNDS = 50 };
    unsigned char *here = malloc(BYTES), *object = chorus_calloc(BYTES, 1);
    uint64_t *signals = chorus_calloc(2, sizeof(*signals));

    for (int round = 1; round <= ROUNDS; round++) {
        fill_here(here, BYTES, round);
        chorus_putmem_signal(object, here, BYTES, &signals[0], (uint64_t)round,
                             CHORUS_SIGNAL_SET, gpu_next());
        EXPECT(chorus_signal_wait_until(&signals[0], CHORUS_CMP_GE, (uint64_t)round) ==
               (uint64_t)round);
        gpu_copy(here, object, BYTES);
        EXPECT(is_from(here, BYTES, gpu_previous(), round));
        chorus_putmem_signal(object, here, 0, &signals[1], 3, CHORUS_SIGNAL_ADD,
                             gpu_previous()); /* the object may be overwritten */
        (void)chorus_signal_wait_until(&signals[1], CHORUS_CMP_EQ, 3 * (uint64_t)round);
    }
    EXPECT(chorus_signal_fetch(&signals[0]) == ROUNDS);
    chorus_free(signals);
    chorus_free(object);
    free(here);
}

static void wait_and_test__words_of_all_pes__are_seen(void)
{
    long *words = chorus_calloc(PES_MAX, sizeof(*words));
    const size_t n = (size_t)gpu_n();
    size_t indices[PES_MAX], found = 0;
    int done[PES_MAX] = {0};

    EXPECT(!chorus_long_test(&words[0], CHORUS_CMP_NE, 0));
    EXPECT(chorus_long_test_any(words, n, NULL, CHORUS_CMP_GT, 0) == SIZE_MAX);
    gpu_meet();
    for (int pe = 0; pe < gpu_n(); pe++)
        chorus_long_p(&words[gpu_me()], 10 + gpu_me(), pe);
    chorus_long_wait_until(&words[gpu_previous()], CHORUS_CMP_EQ, 10 + gpu_previous());
    while (found < n) {
        const size_t i = chorus_long_wait_until_any(words, n, done, CHORUS_CMP_GE, 10);

        EXPECT(i < n && done[i] == 0);
        done[i] = 1;
        found++;
    }
    EXPECT(chorus_long_wait_until_some(words, n, indices, NULL, CHORUS_CMP_GE, 10) == n);
    chorus_long_wait_until_all(words, n, NULL, CHORUS_CMP_GE, 10);
    EXPECT(chorus_long_test_all(words, n, NULL, CHORUS_CMP_GE, 10));
    EXPECT(!chorus_long_test_all(words, n + 1, NULL, CHORUS_CMP_GE, 10));
    gpu_meet();
    chorus_free(words);
}

/* Beside sync memory, in another part of the GPU's memory than the heap. */
static void object_of_a_team__each_kind_of_access__reaches_it(void)
{
    enum { COUNT = 5000 };
    const long n = gpu_n(), sum = 1000 * (n * (n - 1) / 2);
    long *mine = malloc(COUNT * sizeof(*mine)), *words;
    chorus_team_t team;
    uint64_t *signal;

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), NULL, 0, &team) ==
           CHORUS_OK);
    words = chorusx_team_malloc(team, 2 * COUNT * sizeof(*words));
    signal = chorusx_team_malloc(team, sizeof(*signal));
    EXPECT(words != NULL && signal != NULL);
    for (int i = 0; i < COUNT; i++)
        mine[i] = 1000 * gpu_me() + i;
    chorus_long_put_signal(words, mine, COUNT, signal, 9, CHORUS_SIGNAL_SET, gpu_next());
    EXPECT(chorus_signal_wait_until(signal, CHORUS_CMP_EQ, 9) == 9);
    gpu_copy(mine, words, COUNT * sizeof(*mine));
    for (int i = 0; i < COUNT; i++)
        EXPECT(mine[i] == 1000 * gpu_previous() + i);
    EXPECT(chorus_long_sum_reduce(team, words + COUNT, words, COUNT) == CHORUS_OK);
    gpu_copy(mine, words + COUNT, COUNT * sizeof(*mine));
    for (int i = 0; i < COUNT; i++)
        EXPECT(mine[i] == sum + n * i);
    gpu_meet();
    chorus_long_atomic_add(words + COUNT, gpu_me() + 1, gpu_next());
    chorus_quiet();
    gpu_meet();
    EXPECT(chorus_long_g(words + COUNT, gpu_me()) == sum + gpu_previous() + 1);
    gpu_meet();
    EXPECT(chorusx_team_free(team, signal) == CHORUS_OK);
    chorus_team_destroy(team);
    free(mine);
}

static void put__bad_arguments__are_refused_and_change_nothing(void)
{
    int *object = chorus_calloc(1, sizeof(*object)), *apart = gpu_alloc(sizeof(*apart));
    int host = 3;

    chorus_int_put(&host, &host, 1, gpu_me());
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "not in the symmetric heap");
    chorus_int_put(apart, &host, 1, gpu_me());
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "not in the symmetric heap");
    chorus_int_put(object, &host, 1, gpu_n());
    EXPECT_REPORT(CHORUS_ERR_ARG, "pe is");
    chorus_int_atomic_add((int *)(void *)((char *)object + 1), 1, gpu_me());
    EXPECT_REPORT(CHORUS_ERR_ARG, "expected a multiple of 4");
    EXPECT(chorus_int_g(object, gpu_me()) == 0);
    gpu_free(apart);
    chorus_free(object);
}

#define CASES(X)                                         \
    X(put__any_bytes_from_host_or_gpu__arrive)           \
    X(get__any_bytes_to_host_or_gpu__are_the_peer_s)     \
    X(p_and_g__each_width__one_element_and_no_other)     \
    X(iput_and_iget__strides__leave_the_gaps_alone)      \
    X(amo__all_pes_at_once__none_is_lost)                \
    X(amo__each_operation__does_what_it_says)            \
    X(put_signal__around_the_ring__data_comes_first)     \
    X(wait_and_test__words_of_all_pes__are_seen)         \
    X(object_of_a_team__each_kind_of_access__reaches_it) \
    X(put__bad_arguments__are_refused_and_change_nothing)
GPU_MAIN(CASES)
