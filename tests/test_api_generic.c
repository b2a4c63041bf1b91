/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names without a type do what the typed calls do, for every name of every type. Built again
 * with TEST_ON_CTX, one-sided calls are made on a context, and do what those without do.
 */
#include "api_pes.h"

#include <stdint.h>

enum { COUNT = 3, ROOM = COUNT * API_PES_MAX };

/* What both kinds of call write to, and from: symmetric, ROOM elements each. */
struct buffers {
    void *generic, *typed, *source;
    chorus_ctx_t ctx;
};

static unsigned value_at(int pe, int i)
{
    return (unsigned)(pe * 31 + i * 3 + 1);
}

static char *element(void *buffer, size_t bytes, int i)
{
    return (char *)buffer + (size_t)i * bytes;
}

static struct buffers make(chorus_type type, size_t bytes)
{
    struct buffers b = {chorus_malloc(ROOM * bytes), chorus_malloc(ROOM * bytes),
                        chorus_malloc(ROOM * bytes), CHORUS_CTX_INVALID};

    for (int i = 0; i < ROOM; i++) {
        api_store(type, element(b.generic, bytes, i), 99);
        api_store(type, element(b.typed, bytes, i), 99);
        api_store(type, element(b.source, bytes, i), value_at(api_me(), i));
    }
    EXPECT(chorus_team_create_ctx(CHORUS_TEAM_WORLD, 0, &b.ctx) == CHORUS_OK);
    chorus_barrier_all();
    return b;
}

/* When all PEs' calls are over, both buffers hold the same. */
static void settle(chorus_type type, size_t bytes, const struct buffers *b)
{
    chorus_ctx_quiet(b->ctx);
    chorus_barrier_all();
    for (int i = 0; i < ROOM; i++)
        EXPECT(api_same(type, element(b->generic, bytes, i), element(b->typed, bytes, i)));
    chorus_barrier_all();
}

static void release(const struct buffers *b)
{
    chorus_ctx_destroy(b->ctx);
    chorus_free(b->source);
    chorus_free(b->typed);
    chorus_free(b->generic);
}

/* Names without a type expand the lists, so within an expanded list they wait until its end. */
#define EXPANDED(...) __VA_ARGS__
#define WAIT_FOR_END()
#define GENERIC(function) chorus_##function WAIT_FOR_END()

#ifdef TEST_ON_CTX
#define ONE_SIDED(function) chorus_##function WITH_CTX
#define WITH_CTX(...) WAIT_FOR_END()(b.ctx, __VA_ARGS__)
#else
#define ONE_SIDED(function) GENERIC(function)
#endif

/* A call by both names, of arguments that use `dest`. */
#define ALIKE(NAME, T, kind, function, arguments) \
    do {                                          \
        dest = b.generic;                         \
        ONE_SIDED(function) arguments;            \
        dest = b.typed;                           \
        chorus_##NAME##_##function arguments;     \
        settle(kind, sizeof(T), &b);              \
    } while (0)
/* The name of the call, after that of the type, begins with _. */
#define ALIKE_CALL(NAME, T, kind, function, arguments)    \
    do {                                                  \
        int code;                                         \
        dest = b.generic;                                 \
        code = chorus##function WAIT_FOR_END() arguments; \
        EXPECT(code == CHORUS_OK);                        \
        dest = b.typed;                                   \
        code = chorus_##NAME##function arguments;         \
        EXPECT(code == CHORUS_OK);                        \
        settle(kind, sizeof(T), &b);                      \
    } while (0)
#define ALIKE_TEAM(NAME, T, kind, function, arguments) \
    ALIKE_CALL(NAME, T, kind, _##function, arguments)

/* The same for calls that give a value, which is kept at the end of the buffers. */
#define ALIKE_VALUE(NAME, T, kind, function, arguments)                  \
    do {                                                                 \
        dest = b.generic;                                                \
        ((T *)b.generic)[ROOM - 1] = ONE_SIDED(function) arguments;      \
        dest = b.typed;                                                  \
        ((T *)b.typed)[ROOM - 1] = chorus_##NAME##_##function arguments; \
        settle(kind, sizeof(T), &b);                                     \
    } while (0)

/* --- remote memory access, and collectives that move -------------------------------------- */
#define TEST_RMA(NAME, T, kind)                                                         \
    static void move_##NAME(void)                                                       \
    {                                                                                   \
        const int next = api_next();                                                    \
        const chorus_team_t team = CHORUS_TEAM_WORLD;                                   \
        const struct buffers b = make(kind, sizeof(T));                                 \
        uint64_t *signal = chorus_calloc(1, sizeof(*signal));                           \
        T *dest;                                                                        \
        const T *source = b.source;                                                     \
        ALIKE(NAME, T, kind, p, (dest, source[1], next));                               \
        ALIKE_VALUE(NAME, T, kind, g, (source + 2, next));                              \
        ALIKE(NAME, T, kind, put, (dest, source, COUNT, next));                         \
        ALIKE(NAME, T, kind, get, (dest, source + 1, COUNT, next));                     \
        ALIKE(NAME, T, kind, put_nbi, (dest, source + 2, COUNT, next));                 \
        ALIKE(NAME, T, kind, get_nbi, (dest, source, COUNT, next));                     \
        ALIKE(NAME, T, kind, iput, (dest, source + 1, 2, 1, COUNT, next));              \
        ALIKE(NAME, T, kind, iget, (dest, source, 1, 2, COUNT, next));                  \
        ALIKE(NAME, T, kind, ibput, (dest, source, 2, 2, 2, 2, next));                  \
        ALIKE(NAME, T, kind, ibget, (dest, source + 1, 2, 3, 2, 2, next));              \
        ALIKE(NAME, T, kind, put_signal,                                                \
              (dest, source + 1, COUNT, signal, 1, CHORUS_SIGNAL_ADD, next));           \
        ALIKE(NAME, T, kind, put_signal_nbi,                                            \
              (dest, source + 2, COUNT, signal, 1, CHORUS_SIGNAL_ADD, next));           \
        EXPECT(chorus_signal_fetch(signal) == 4);                                       \
        ALIKE_TEAM(NAME, T, kind, broadcast, (team, dest, source, COUNT, api_n() - 1)); \
        ALIKE_TEAM(NAME, T, kind, fcollect, (team, dest, source + 1, COUNT));           \
        ALIKE_TEAM(NAME, T, kind, alltoall, (team, dest, source, COUNT));               \
        ALIKE_TEAM(NAME, T, kind, collect, (team, dest, source + 1, (size_t)api_me())); \
        ALIKE_TEAM(NAME, T, kind, alltoalls, (team, dest, source, 2, 1, 1));            \
        chorus_free(signal);                                                            \
        release(&b);                                                                    \
    }
EXPANDED(CHORUS_RMA_TYPES(TEST_RMA))

static void rma__names_without_type__move_as_typed(void)
{
#define X(NAME, T, kind) move_##NAME();
    CHORUS_RMA_TYPES(X)
#undef X
    EXPECT(chorus_sync(CHORUS_TEAM_WORLD) == CHORUS_OK);
    EXPECT_FAILS(chorus_sync(CHORUS_TEAM_INVALID), CHORUS_ERR_ARG,
                 "team is CHORUS_TEAM_INVALID");
}

/* --- atomics ------------------------------------------------------------------------------ */
/* Each PE has its own words, on the next one. */
#define TEST_EXTENDED(NAME, T, kind)                                                        \
    static void exchange_##NAME(void)                                                       \
    {                                                                                       \
        const int next = api_next();                                                        \
        const struct buffers b = make(kind, sizeof(T));                                     \
        T *dest, *fetch[2] = {b.generic, b.typed};                                          \
        ALIKE(NAME, T, kind, atomic_set, (dest, 5, next));                                  \
        ALIKE_VALUE(NAME, T, kind, atomic_fetch, (dest, next));                             \
        ALIKE_VALUE(NAME, T, kind, atomic_swap, (dest, 7, next));                           \
        ALIKE(NAME, T, kind, atomic_fetch_nbi, (fetch[dest == b.typed] + 3, dest, next));   \
        ALIKE(NAME, T, kind, atomic_swap_nbi, (fetch[dest == b.typed] + 4, dest, 9, next)); \
        EXPECT(fetch[0][3] == 7 && fetch[0][4] == 7 && fetch[0][0] == 9);                   \
        release(&b);                                                                        \
    }
EXPANDED(CHORUS_AMO_EXTENDED_TYPES(TEST_EXTENDED))

#define TEST_STANDARD(NAME, T, kind)                                                          \
    static void add_##NAME(void)                                                              \
    {                                                                                         \
        const int next = api_next();                                                          \
        const struct buffers b = make(kind, sizeof(T));                                       \
        T *dest, *fetch[2] = {b.generic, b.typed};                                            \
        ALIKE_VALUE(NAME, T, kind, atomic_compare_swap, (dest, 99, 5, next));                 \
        ALIKE_VALUE(NAME, T, kind, atomic_fetch_inc, (dest, next));                           \
        ALIKE(NAME, T, kind, atomic_inc, (dest, next));                                       \
        ALIKE_VALUE(NAME, T, kind, atomic_fetch_add, (dest, 10, next));                       \
        ALIKE(NAME, T, kind, atomic_add, (dest, 20, next));                                   \
        ALIKE(NAME, T, kind, atomic_compare_swap_nbi,                                         \
              (fetch[dest == b.typed] + 3, dest, 37, 50, next));                              \
        ALIKE(NAME, T, kind, atomic_fetch_inc_nbi, (fetch[dest == b.typed] + 4, dest, next)); \
        ALIKE(NAME, T, kind, atomic_fetch_add_nbi,                                            \
              (fetch[dest == b.typed] + 5, dest, 4, next));                                   \
        EXPECT(fetch[0][3] == 37 && fetch[0][4] == 50 && fetch[0][5] == 51);                  \
        EXPECT(fetch[0][0] == 55);                                                            \
        release(&b);                                                                          \
    }
EXPANDED(CHORUS_AMO_STANDARD_TYPES(TEST_STANDARD))

#define TEST_BITWISE_OP(NAME, T, kind, OP, value)                         \
    ALIKE_VALUE(NAME, T, kind, atomic_fetch_##OP, (dest, (value), next)); \
    ALIKE(NAME, T, kind, atomic_##OP, (dest, (value) + 1, next));         \
    ALIKE(NAME, T, kind, atomic_fetch_##OP##_nbi,                         \
          (fetch[dest == b.typed] + 3, dest, (value) + 2, next))
#define TEST_BITWISE(NAME, T, kind)                     \
    static void combine_##NAME(void)                    \
    {                                                   \
        const int next = api_next();                    \
        const struct buffers b = make(kind, sizeof(T)); \
        T *dest, *fetch[2] = {b.generic, b.typed};      \
        TEST_BITWISE_OP(NAME, T, kind, xor, 0x35);      \
        TEST_BITWISE_OP(NAME, T, kind, or, 0x140);      \
        TEST_BITWISE_OP(NAME, T, kind, and, 0x164);     \
        EXPECT(fetch[0][3] != 99 && fetch[0][0] != 99); \
        release(&b);                                    \
    }
EXPANDED(CHORUS_AMO_BITWISE_TYPES(TEST_BITWISE))

static void amo__names_without_type__do_as_typed(void)
{
#define X(NAME, T, kind) exchange_##NAME();
    CHORUS_AMO_EXTENDED_TYPES(X)
#undef X
#define X(NAME, T, kind) add_##NAME();
    CHORUS_AMO_STANDARD_TYPES(X)
#undef X
#define X(NAME, T, kind) combine_##NAME();
    CHORUS_AMO_BITWISE_TYPES(X)
#undef X
}

/* --- waits and tests ---------------------------------------------------------------------- */
/* Words of this PE that the previous one writes: 1, 2, 3. */
#define ARRIVE(words)                                         \
    do {                                                      \
        for (int i_ = 0; i_ < COUNT; i_++)                    \
            (words)[i_] = 0;                                  \
        chorus_sync_all();                                    \
        for (int i_ = 0; i_ < COUNT; i_++)                    \
            GENERIC(p)(&(words)[i_], values[i_], api_next()); \
    } while (0)
#define EXPECT_ARRIVED(words)                                          \
    do {                                                               \
        EXPECT((words)[0] == 1 && (words)[1] == 2 && (words)[2] == 3); \
        chorus_sync_all();                                             \
    } while (0)

#define GIVES(function, arguments, want)                         \
    do {                                                         \
        const size_t got_ = (size_t)GENERIC(function) arguments; \
        EXPECT(got_ == (want));                                  \
    } while (0)

/* Of words that have arrived. */
#define TEST_ARRIVED(words, values, which)                                                    \
    GIVES(wait_until_any_vector, (words + 1, 1, NULL, CHORUS_CMP_EQ, values + 1), 0);         \
    GIVES(wait_until_some_vector, (words, COUNT, which, NULL, CHORUS_CMP_EQ, values), COUNT); \
    GIVES(test, (words, CHORUS_CMP_EQ, 1), 1);                                                \
    GIVES(test, (words, CHORUS_CMP_EQ, 2), 0);                                                \
    GIVES(test_all, (words, COUNT, NULL, CHORUS_CMP_LT, 4), 1);                               \
    GIVES(test_all, (words, COUNT, NULL, CHORUS_CMP_EQ, 2), 0);                               \
    GIVES(test_any, (words, COUNT, NULL, CHORUS_CMP_EQ, 2), 1);                               \
    GIVES(test_some, (words, COUNT, which, NULL, CHORUS_CMP_GE, 2), 2);                       \
    EXPECT(which[0] == 1 && which[1] == 2);                                                   \
    GIVES(test_all_vector, (words, COUNT, NULL, CHORUS_CMP_EQ, values), 1);                   \
    GIVES(test_any_vector, (words, COUNT, NULL, CHORUS_CMP_NE, values), SIZE_MAX);            \
    GIVES(test_some_vector, (words, COUNT, which, NULL, CHORUS_CMP_LE, values), COUNT)

#define TEST_WAIT(NAME, T, kind)                                                   \
    static void wait_##NAME(void)                                                  \
    {                                                                              \
        T *words = chorus_calloc(COUNT, sizeof(T));                                \
        const T values[COUNT] = {1, 2, 3};                                         \
        size_t which[COUNT];                                                       \
        ARRIVE(words);                                                             \
        for (int i = 0; i < COUNT; i++)                                            \
            GENERIC(wait_until)(&words[i], CHORUS_CMP_EQ, values[i]);              \
        EXPECT_ARRIVED(words);                                                     \
        ARRIVE(words);                                                             \
        GENERIC(wait_until_all)(words, COUNT, NULL, CHORUS_CMP_GT, 0);             \
        EXPECT_ARRIVED(words);                                                     \
        ARRIVE(words);                                                             \
        GIVES(wait_until_any, (words, COUNT, NULL, CHORUS_CMP_EQ, 3), 2);          \
        GIVES(wait_until_some, (words, COUNT, which, NULL, CHORUS_CMP_EQ, 3), 1);  \
        EXPECT(which[0] == 2);                                                     \
        GENERIC(wait_until_all_vector)(words, COUNT, NULL, CHORUS_CMP_EQ, values); \
        TEST_ARRIVED(words, values, which);                                        \
        EXPECT_ARRIVED(words);                                                     \
        chorus_free(words);                                                        \
    }
EXPANDED(CHORUS_WAIT_TYPES(TEST_WAIT))

static void wait__names_without_type__see_what_arrives(void)
{
#define X(NAME, T, kind) wait_##NAME();
    CHORUS_WAIT_TYPES(X)
#undef X
}

/* --- reductions --------------------------------------------------------------------------- */
#define TEST_REDUCE(OP, NAME, T, kind)                                                    \
    static void reduce##OP##_##NAME(void)                                                 \
    {                                                                                     \
        const struct buffers b = make(kind, sizeof(T));                                   \
        const T *source = b.source;                                                       \
        T *dest;                                                                          \
        ALIKE_CALL(NAME, T, kind, OP##_reduce, (CHORUS_TEAM_WORLD, dest, source, COUNT)); \
        ALIKE_CALL(NAME, T, kind, OP##_reducescatter,                                     \
                   (CHORUS_TEAM_WORLD, dest, source, COUNT));                             \
        release(&b);                                                                      \
    }
#define TEST_SCAN(NAME, T, kind)                                                         \
    static void scan_##NAME(void)                                                        \
    {                                                                                    \
        const struct buffers b = make(kind, sizeof(T));                                  \
        const T *source = b.source;                                                      \
        T *dest;                                                                         \
        ALIKE_TEAM(NAME, T, kind, sum_inscan, (CHORUS_TEAM_WORLD, dest, source, COUNT)); \
        ALIKE_TEAM(NAME, T, kind, sum_exscan, (CHORUS_TEAM_WORLD, dest, source, COUNT)); \
        release(&b);                                                                     \
    }
EXPANDED(CHORUS_REDUCE_ARITHMETIC_TYPES(TEST_SCAN))
#define TEST_OP(OP, NAMES) NAMES(TEST_REDUCE, OP)
EXPANDED(CHORUS_REDUCE_LIST(TEST_OP))

#define RUN_REDUCE(OP, NAME, T, kind) reduce##OP##_##NAME();
#define RUN_OP(OP, NAMES) NAMES(RUN_REDUCE, OP)

static void reduce__names_without_type__combine_as_typed(void)
{
    CHORUS_REDUCE_LIST(RUN_OP)
#define X(NAME, T, kind) scan_##NAME();
    CHORUS_REDUCE_ARITHMETIC_TYPES(X)
#undef X
}

/* --- arguments ---------------------------------------------------------------------------- */
/* Each argument is evaluated once; arrays, pointers to const and calls in calls will do. */
static void generic__arguments__are_evaluated_once(void)
{
    int *dest = chorus_calloc(2, sizeof(*dest)), *at = dest;
    const int mine[2] = {3, 4};
    const int *from = dest;
    int n_calls = 0;

    chorus_put((n_calls++, at), mine, 2, api_next());
    EXPECT(n_calls == 1);
    chorus_barrier_all();
    EXPECT(chorus_g(from, api_next()) == 3);
    chorus_p(&dest[1], chorus_g(&from[1], api_me()) + chorus_g(from, api_me()), api_me());
    EXPECT(dest[1] == 7);
    chorus_put(dest, mine, 1, -1);
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_int_put: pe is -1");
    chorus_barrier_all();
    chorus_free(dest);
}

#define TESTS(X)                                    \
    X(rma__names_without_type__move_as_typed)       \
    X(amo__names_without_type__do_as_typed)         \
    X(wait__names_without_type__see_what_arrives)   \
    X(reduce__names_without_type__combine_as_typed) \
    X(generic__arguments__are_evaluated_once)
API_MAIN(TESTS)
