/* SPDX-License-Identifier: Apache-2.0 */
/* Atomics: what each form does to the word and gives back, and that none gets lost. */
#include "api_pes.h"

#include <stdint.h>
#include <string.h>

enum { ROUNDS = 500 };

/* One PE works on the word of its next PE, which nobody else touches meanwhile. */
#define TEST_EXTENDED(NAME, T, kind)                           \
    static void extended_##NAME(void)                          \
    {                                                          \
        T *word = chorus_calloc(2, sizeof(T)), old = 9;        \
        const int pe = api_next();                             \
        chorus_##NAME##_atomic_set(word, 5, pe);               \
        EXPECT(chorus_##NAME##_atomic_fetch(word, pe) == 5);   \
        EXPECT(chorus_##NAME##_atomic_swap(word, 7, pe) == 5); \
        chorus_##NAME##_atomic_swap_nbi(&old, word, 11, pe);   \
        chorus_quiet();                                        \
        EXPECT(old == 7);                                      \
        chorus_##NAME##_atomic_fetch_nbi(&old, word, pe);      \
        chorus_quiet();                                        \
        EXPECT(old == 11);                                     \
        chorus_barrier_all();                                  \
        EXPECT(word[0] == 11 && word[1] == 0);                 \
        chorus_free(word);                                     \
    }
CHORUS_AMO_EXTENDED_TYPES(TEST_EXTENDED)

#define TEST_STANDARD(NAME, T, kind)                                      \
    static void standard_##NAME(void)                                     \
    {                                                                     \
        T *word = chorus_calloc(2, sizeof(T)), old = 9;                   \
        const int pe = api_next();                                        \
        EXPECT(chorus_##NAME##_atomic_compare_swap(word, 1, 8, pe) == 0); \
        EXPECT(chorus_##NAME##_atomic_compare_swap(word, 0, 8, pe) == 0); \
        EXPECT(chorus_##NAME##_atomic_fetch_inc(word, pe) == 8);          \
        chorus_##NAME##_atomic_inc(word, pe);                             \
        EXPECT(chorus_##NAME##_atomic_fetch_add(word, 20, pe) == 10);     \
        chorus_##NAME##_atomic_add(word, (T)-5, pe);                      \
        chorus_##NAME##_atomic_compare_swap_nbi(&old, word, 25, 30, pe);  \
        chorus_quiet();                                                   \
        EXPECT(old == 25);                                                \
        chorus_##NAME##_atomic_fetch_inc_nbi(&old, word, pe);             \
        chorus_quiet();                                                   \
        EXPECT(old == 30);                                                \
        chorus_##NAME##_atomic_fetch_add_nbi(&old, word, 2, pe);          \
        chorus_quiet();                                                   \
        EXPECT(old == 31);                                                \
        chorus_barrier_all();                                             \
        EXPECT(word[0] == 33 && word[1] == 0);                            \
        chorus_free(word);                                                \
    }
CHORUS_AMO_STANDARD_TYPES(TEST_STANDARD)

#define TEST_BITWISE_OP(NAME, T, OP, start, operand, result)                       \
    do {                                                                           \
        T old_ = 0;                                                                \
        chorus_##NAME##_atomic_set(word, (start), pe);                             \
        EXPECT(chorus_##NAME##_atomic_fetch_##OP(word, (operand), pe) == (start)); \
        EXPECT(chorus_##NAME##_atomic_fetch(word, pe) == (result));                \
        chorus_##NAME##_atomic_set(word, (start), pe);                             \
        chorus_##NAME##_atomic_##OP(word, (operand), pe);                          \
        EXPECT(chorus_##NAME##_atomic_fetch(word, pe) == (result));                \
        chorus_##NAME##_atomic_set(word, (start), pe);                             \
        chorus_##NAME##_atomic_fetch_##OP##_nbi(&old_, word, (operand), pe);       \
        chorus_quiet();                                                            \
        EXPECT(old_ == (start));                                                   \
        EXPECT(chorus_##NAME##_atomic_fetch(word, pe) == (result));                \
    } while (0)
#define TEST_BITWISE(NAME, T, kind)                      \
    static void bitwise_##NAME(void)                     \
    {                                                    \
        T *word = chorus_calloc(2, sizeof(T));           \
        const int pe = api_next();                       \
        TEST_BITWISE_OP(NAME, T, and, 0x6c, 0x3a, 0x28); \
        TEST_BITWISE_OP(NAME, T, or, 0x6c, 0x3a, 0x7e);  \
        TEST_BITWISE_OP(NAME, T, xor, 0x6c, 0x3a, 0x56); \
        chorus_barrier_all();                            \
        EXPECT(word[1] == 0);                            \
        chorus_free(word);                               \
    }
CHORUS_AMO_BITWISE_TYPES(TEST_BITWISE)

static void amo__every_type__changes_the_word_alone(void)
{
#define X(NAME, T, kind) extended_##NAME();
    CHORUS_AMO_EXTENDED_TYPES(X)
#undef X
#define X(NAME, T, kind) standard_##NAME();
    CHORUS_AMO_STANDARD_TYPES(X)
#undef X
#define X(NAME, T, kind) bitwise_##NAME();
    CHORUS_AMO_BITWISE_TYPES(X)
#undef X
}

static void amo__all_pes_on_one_word__none_is_lost(void)
{
    long *sum = chorus_calloc(1, sizeof(*sum));
    unsigned *bits = chorus_calloc(1, sizeof(*bits));

    for (int i = 0; i < ROUNDS; i++) {
        chorus_long_atomic_add(sum, 3, 0);
        chorus_uint_atomic_or(bits, 1u << api_me(), 0);
    }
    chorus_barrier_all();
    EXPECT(chorus_long_atomic_fetch(sum, 0) == 3L * ROUNDS * api_n());
    EXPECT(chorus_uint_atomic_fetch(bits, 0) == (1u << api_n()) - 1);
    chorus_free(bits);
    chorus_free(sum);
}

/* A lock of compare and swap around a plain counter: atomics order what surrounds them. */
static void amo__lock_of_compare_swap__guards_plain_data(void)
{
    int *lock = chorus_calloc(1, sizeof(*lock));
    int *count = chorus_calloc(1, sizeof(*count));

    for (int i = 0; i < 50; i++) {
        while (chorus_int_atomic_compare_swap(lock, 0, api_me() + 1, 0) != 0)
            ;
        chorus_int_p(count, chorus_int_g(count, 0) + 1, 0);
        chorus_quiet();
        EXPECT(chorus_int_atomic_swap(lock, 0, 0) == api_me() + 1);
    }
    chorus_barrier_all();
    EXPECT(chorus_int_g(count, 0) == 50 * api_n());
    chorus_free(count);
    chorus_free(lock);
}

static void amo__float_with_special_bits__keeps_them(void)
{
    double *word = chorus_calloc(1, sizeof(*word));
    double old;

    chorus_double_atomic_set(word, -0.0, api_next());
    old = chorus_double_atomic_swap(word, 1e300, api_next());
    EXPECT(old == 0.0 && __builtin_signbit(old));
    chorus_barrier_all();
    EXPECT(*word == 1e300);
    chorus_free(word);
}

static void amo__bad_arguments__are_named(void)
{
    char *bytes = chorus_calloc(3, 8);
    int mine = 3;
    long old = 9;

    chorus_int_atomic_set((int *)(void *)bytes, 1, -1);
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_int_atomic_set: pe is -1");
    EXPECT(chorus_int_atomic_fetch_add(&mine, 1, api_me()) == 0);
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "chorus_int_atomic_fetch_add: dest is");
    EXPECT(chorus_int_atomic_fetch(&mine, api_me()) == 0);
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "chorus_int_atomic_fetch: source is");
    chorus_long_atomic_fetch_add_nbi(&old, (long *)(void *)(bytes + 4), 1, api_me());
    EXPECT_REPORT(CHORUS_ERR_ARG, "expected a multiple of 8");
    EXPECT(old == 0 && mine == 3);
    chorus_free(bytes);
}

#define TESTS(X)                                    \
    X(amo__every_type__changes_the_word_alone)      \
    X(amo__all_pes_on_one_word__none_is_lost)       \
    X(amo__lock_of_compare_swap__guards_plain_data) \
    X(amo__float_with_special_bits__keeps_them)     \
    X(amo__bad_arguments__are_named)
API_MAIN(TESTS)
