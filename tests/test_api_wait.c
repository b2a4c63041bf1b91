/* SPDX-License-Identifier: Apache-2.0 */
/* Wait and test: every comparison on every type, sets, masks and what they return. */
#include "api_pes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 6 };

/* Comparisons of a word that is 3 with 2, 3 and 4; signed types with -1 too. */
#define EXPECT_CMP(NAME, CMP, with_2, with_3, with_4)                        \
    do {                                                                     \
        EXPECT(chorus_##NAME##_test(word, CHORUS_CMP_##CMP, 2) == (with_2)); \
        EXPECT(chorus_##NAME##_test(word, CHORUS_CMP_##CMP, 3) == (with_3)); \
        EXPECT(chorus_##NAME##_test(word, CHORUS_CMP_##CMP, 4) == (with_4)); \
    } while (0)
#define TEST_TYPE(NAME, T, kind)                                                         \
    static void compare_##NAME(void)                                                     \
    {                                                                                    \
        T *word = chorus_calloc(1, sizeof(T));                                           \
        const T minus_one = (T)-1;                                                       \
        chorus_##NAME##_p(word, 3, api_next());                                          \
        chorus_##NAME##_wait_until(word, CHORUS_CMP_EQ, 3);                              \
        EXPECT_CMP(NAME, EQ, 0, 1, 0);                                                   \
        EXPECT_CMP(NAME, NE, 1, 0, 1);                                                   \
        EXPECT_CMP(NAME, GT, 1, 0, 0);                                                   \
        EXPECT_CMP(NAME, GE, 1, 1, 0);                                                   \
        EXPECT_CMP(NAME, LT, 0, 0, 1);                                                   \
        EXPECT_CMP(NAME, LE, 0, 1, 1);                                                   \
        EXPECT(chorus_##NAME##_test(word, CHORUS_CMP_GT, minus_one) == (minus_one < 0)); \
        EXPECT(chorus_##NAME##_test(word, CHORUS_CMP_LT, minus_one) == (minus_one > 0)); \
        chorus_free(word);                                                               \
    }
/* minus_one < 0 is never true of unsigned types; that is what is tested. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
CHORUS_WAIT_TYPES(TEST_TYPE)
#pragma GCC diagnostic pop

static void test__every_comparison_of_every_type__as_in_c(void)
{
#define X(NAME, T, kind) compare_##NAME();
    CHORUS_WAIT_TYPES(X)
#undef X
}

/* Words 0..5 hold 0..5; word 4 is masked where there is a mask. */
#define TEST_SETS(NAME, T, kind)                                                               \
    static void sets_##NAME(void)                                                              \
    {                                                                                          \
        T *words = chorus_calloc(COUNT, sizeof(T));                                            \
        const T each[COUNT] = {1, 1, 1, 1, 1, 6};                                              \
        const int mask[COUNT] = {0, 0, 0, 0, 1, 0};                                            \
        size_t indices[COUNT], n;                                                              \
        for (size_t i = 0; i < COUNT; i++)                                                     \
            chorus_##NAME##_p(&words[i], (T)i, api_next());                                    \
        chorus_##NAME##_wait_until_all(words, COUNT, NULL, CHORUS_CMP_GE, 0);                  \
        chorus_##NAME##_wait_until(&words[COUNT - 1], CHORUS_CMP_EQ, COUNT - 1);               \
        chorus_barrier_all();                                                                  \
        EXPECT(chorus_##NAME##_test_all(words, COUNT, NULL, CHORUS_CMP_LT, 6) == 1);           \
        EXPECT(chorus_##NAME##_test_all(words, COUNT, NULL, CHORUS_CMP_NE, 4) == 0);           \
        EXPECT(chorus_##NAME##_test_all(words, COUNT, mask, CHORUS_CMP_NE, 4) == 1);           \
        EXPECT(chorus_##NAME##_test_any(words, COUNT, NULL, CHORUS_CMP_EQ, 4) == 4);           \
        EXPECT(chorus_##NAME##_test_any(words, COUNT, mask, CHORUS_CMP_EQ, 4) == SIZE_MAX);    \
        EXPECT(chorus_##NAME##_wait_until_any(words, COUNT, mask, CHORUS_CMP_GE, 4) == 5);     \
        n = chorus_##NAME##_test_some(words, COUNT, indices, mask, CHORUS_CMP_GT, 2);          \
        EXPECT(n == 2 && indices[0] + indices[1] == 8 && indices[0] * indices[1] == 15);       \
        n = chorus_##NAME##_wait_until_some(words, COUNT, indices, NULL, CHORUS_CMP_LE, 0);    \
        EXPECT(n == 1 && indices[0] == 0);                                                     \
        EXPECT(chorus_##NAME##_test_some(words, COUNT, indices, NULL, CHORUS_CMP_GT, 5) == 0); \
        EXPECT(chorus_##NAME##_test_all_vector(words, COUNT, NULL, CHORUS_CMP_GE, each) == 0); \
        EXPECT(chorus_##NAME##_test_all_vector(words, 1, NULL, CHORUS_CMP_LT, each) == 1);     \
        EXPECT(chorus_##NAME##_test_any_vector(words, COUNT, NULL, CHORUS_CMP_EQ, each) == 1); \
        n = chorus_##NAME##_test_some_vector(words, COUNT, indices, NULL, CHORUS_CMP_LT,       \
                                             each);                                            \
        EXPECT(n == 2 && indices[0] + indices[1] == 5 && indices[0] * indices[1] == 0);        \
        chorus_##NAME##_wait_until_all_vector(words + 1, 4, NULL, CHORUS_CMP_GE, each);        \
        EXPECT(chorus_##NAME##_wait_until_any_vector(words, COUNT, NULL, CHORUS_CMP_EQ,        \
                                                     each) == 1);                              \
        n = chorus_##NAME##_wait_until_some_vector(words, COUNT, indices, NULL, CHORUS_CMP_EQ, \
                                                   each);                                      \
        EXPECT(n == 1 && indices[0] == 1);                                                     \
        chorus_free(words);                                                                    \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
CHORUS_WAIT_TYPES(TEST_SETS)
#pragma GCC diagnostic pop

static void sets__every_type__find_what_is_met(void)
{
#define X(NAME, T, kind) sets_##NAME();
    CHORUS_WAIT_TYPES(X)
#undef X
}

/* Empty: no element, or all masked. Nothing can be waited for, so nothing is. */
static void sets__empty__return_at_once(void)
{
    int *words = chorus_calloc(2, sizeof(*words));
    const int all[2] = {1, 1};
    const int values[2] = {7, 7};
    size_t indices[2];

    for (size_t n = 0; n <= 2; n += 2) {
        const int *mask = n == 0 ? NULL : all;

        chorus_int_wait_until_all(words, n, mask, CHORUS_CMP_EQ, 7);
        chorus_int_wait_until_all_vector(words, n, mask, CHORUS_CMP_EQ, values);
        EXPECT(chorus_int_wait_until_any(words, n, mask, CHORUS_CMP_EQ, 7) == SIZE_MAX);
        EXPECT(chorus_int_wait_until_any_vector(words, n, mask, CHORUS_CMP_EQ, values) ==
               SIZE_MAX);
        EXPECT(chorus_int_wait_until_some(words, n, indices, mask, CHORUS_CMP_EQ, 7) == 0);
        EXPECT(chorus_int_test_all(words, n, mask, CHORUS_CMP_EQ, 7) == 1);
        EXPECT(chorus_int_test_any(words, n, mask, CHORUS_CMP_EQ, 7) == SIZE_MAX);
        EXPECT(chorus_int_test_some(words, n, indices, mask, CHORUS_CMP_EQ, 7) == 0);
    }
    chorus_free(words);
}

/* OpenSHMEM 1.5: a series of calls must eventually return every index that is met, also when
 * the caller masks none. */
static void any__several_met__each_is_returned_in_time(void)
{
    int *words = chorus_calloc(4, sizeof(*words)), *others = chorus_calloc(2, sizeof(*others));
    unsigned seen_waiting = 0, seen_testing = 0;

    for (int i = 0; i < 400; i++) {
        seen_waiting |= 1u << chorus_int_wait_until_any(words, 4, NULL, CHORUS_CMP_EQ, 0);
        seen_testing |= 1u << chorus_int_test_any(others, 2, NULL, CHORUS_CMP_EQ, 0);
    }
    EXPECT(seen_waiting == 0xf);
    EXPECT(seen_testing == 0x3);
    chorus_free(others);
    chorus_free(words);
}

/* Words arrive one after another, each on its own; a wait for some never misses one. */
static void some__words_arrive_one_by_one__all_are_found(void)
{
    enum { WORDS = 40 };
    long *words = chorus_calloc(WORDS, sizeof(*words));
    int mask[WORDS] = {0};
    size_t indices[WORDS], found = 0;

    for (int i = 0; i < WORDS; i++)
        chorus_long_p(&words[i], i + 1, api_next());
    while (found < WORDS) {
        const size_t n =
            chorus_long_wait_until_some(words, WORDS, indices, mask, CHORUS_CMP_NE, 0);

        EXPECT(n >= 1);
        for (size_t k = 0; k < n; k++) {
            EXPECT(words[indices[k]] == (long)indices[k] + 1 && mask[indices[k]] == 0);
            mask[indices[k]] = 1;
        }
        found += n;
    }
    chorus_free(words);
}

/* A word that is met, then changed again, counts: wait_until_all takes words as they come. */
static void wait__ping_pong__every_step_is_seen(void)
{
    short *ball = chorus_calloc(1, sizeof(*ball));

    for (short i = 1; i <= 300; i++) {
        if (api_me() == 0) chorus_short_p(ball, i, api_next());
        chorus_short_wait_until(ball, CHORUS_CMP_EQ, i);
        if (api_me() != 0) chorus_short_p(ball, i, api_next());
    }
    chorus_free(ball);
}

static void wait__bad_arguments__are_named(void)
{
    int *word = chorus_calloc(2, sizeof(*word)), mine = 0;

    chorus_int_wait_until(word, 6, 1);
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_int_wait_until: cmp is 6; expected a CHORUS_CMP_");
    chorus_int_wait_until(&mine, CHORUS_CMP_EQ, 1);
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "chorus_int_wait_until: ivar is");
    EXPECT(chorus_int_test_any(word, SIZE_MAX, NULL, CHORUS_CMP_EQ, 1) == SIZE_MAX);
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_int_test_any: 18446744073709551615 elements");
    EXPECT(chorus_int_test((int *)(void *)((char *)word + 1), CHORUS_CMP_EQ, 0) == 0);
    EXPECT_REPORT(CHORUS_ERR_ARG, "expected a multiple of 4");
    EXPECT(chorus_signal_wait_until(NULL, CHORUS_CMP_EQ, 0) == 0);
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "chorus_signal_wait_until: sig_addr is");
    chorus_free(word);
}

/* On a stream; behind each wait a number is stored that says so. Words come one by one, and the
 * second is not looked at. */
#define TEST_ON_STREAM(NAME, T, kind)                                                          \
    static void on_stream_##NAME(chorus_stream_t stream)                                       \
    {                                                                                          \
        T *words = chorus_calloc(3, sizeof(T));                                                \
        int *passed = chorus_calloc(1, sizeof(*passed));                                       \
        const T each[3] = {3, 9, (T)-1};                                                       \
        const int mask[3] = {0, 1, 0}, numbers[3] = {1, 2, 3};                                 \
                                                                                               \
        QUEUED(chorusx_##NAME##_wait_until_on_stream(words, CHORUS_CMP_GE, 2, stream), 0);     \
        QUEUED(chorusx_##NAME##_wait_until_all_on_stream(words, 3, mask, CHORUS_CMP_NE, 0,     \
                                                         stream),                              \
               1);                                                                             \
        QUEUED(chorusx_##NAME##_wait_until_all_vector_on_stream(words, 3, mask, CHORUS_CMP_EQ, \
                                                                each, stream),                 \
               2);                                                                             \
        chorus_barrier_all();                                                                  \
        EXPECT(chorus_int_test(passed, CHORUS_CMP_EQ, 0));                                     \
        chorus_barrier_all();                                                                  \
        chorus_##NAME##_p(&words[0], 2, api_next());                                           \
        chorus_int_wait_until(passed, CHORUS_CMP_EQ, 1);                                       \
        chorus_barrier_all();                                                                  \
        chorus_##NAME##_p(&words[2], 5, api_next());                                           \
        chorus_int_wait_until(passed, CHORUS_CMP_EQ, 2);                                       \
        chorus_barrier_all();                                                                  \
        chorus_##NAME##_p(&words[2], (T)-1, api_next());                                       \
        chorus_##NAME##_p(&words[0], 3, api_next());                                           \
        EXPECT(chorusx_stream_synchronize(stream) == CHORUS_OK && *passed == 3);               \
        chorus_free(passed);                                                                   \
        chorus_free(words);                                                                    \
    }
#define QUEUED(wait, i)                                                               \
    do {                                                                              \
        EXPECT((wait) == CHORUS_OK);                                                  \
        EXPECT(chorusx_int_put_on_stream(passed, &numbers[i], 1, api_me(), stream) == \
               CHORUS_OK);                                                            \
    } while (0)
CHORUS_WAIT_TYPES(TEST_ON_STREAM)

static void on_stream__words_come_one_by_one__what_is_behind_runs_in_time(void)
{
    chorus_stream_t stream = NULL;

    EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);
#define X(NAME, T, kind) on_stream_##NAME(stream);
    CHORUS_WAIT_TYPES(X)
#undef X
    EXPECT(chorusx_stream_destroy(stream) == CHORUS_OK);
}

#define EXPECT_LAST(part) EXPECT(strstr(chorusx_last_error(), (part)) != NULL)
static void on_stream__bad_arguments__are_named(void)
{
    int *word = chorus_calloc(2, sizeof(*word)), mine = 0;
    chorus_stream_t stream = NULL;

    EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);
    EXPECT(chorusx_int_wait_until_on_stream(word, 6, 1, stream) == CHORUS_ERR_ARG);
    EXPECT_LAST("chorusx_int_wait_until_on_stream: cmp is 6; expected a CHORUS_CMP_");
    EXPECT(chorusx_int_wait_until_all_on_stream(&mine, 1, NULL, CHORUS_CMP_EQ, 1, stream) ==
           CHORUS_ERR_NOT_SYMMETRIC);
    EXPECT_LAST("chorusx_int_wait_until_all_on_stream: ivars is");
    EXPECT(chorusx_int_wait_until_all_vector_on_stream(word, SIZE_MAX, NULL, CHORUS_CMP_EQ,
                                                       &mine, stream) == CHORUS_ERR_ARG);
    EXPECT_LAST("18446744073709551615 elements");
    EXPECT(chorusx_int_wait_until_on_stream(word, CHORUS_CMP_EQ, 0, NULL) == CHORUS_ERR_ARG);
    EXPECT_LAST("stream is null");
    EXPECT(chorusx_int_wait_until_all_on_stream(word, 0, NULL, CHORUS_CMP_EQ, 1, stream) ==
           CHORUS_OK);
    EXPECT(chorusx_stream_synchronize(stream) == CHORUS_OK);
    EXPECT(chorusx_stream_destroy(stream) == CHORUS_OK);
    chorus_free(word);
}

#define TESTS(X)                                                     \
    X(test__every_comparison_of_every_type__as_in_c)                 \
    X(sets__every_type__find_what_is_met)                            \
    X(sets__empty__return_at_once)                                   \
    X(any__several_met__each_is_returned_in_time)                    \
    X(some__words_arrive_one_by_one__all_are_found)                  \
    X(wait__ping_pong__every_step_is_seen)                           \
    X(wait__bad_arguments__are_named)                                \
    X(on_stream__words_come_one_by_one__what_is_behind_runs_in_time) \
    X(on_stream__bad_arguments__are_named)
API_MAIN(TESTS)
