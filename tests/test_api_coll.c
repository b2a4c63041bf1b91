/* SPDX-License-Identifier: Apache-2.0 */
/* The typed collectives of hosts alone, blocking and on a stream, for every type; what they
 * refuse; and operators of the program. */
#include "api_pes.h"

#include <stdint.h>
#include <string.h>

enum { COUNT = 3 };

/* What PE pe has at place i: small, so that sums are exact in every type. */
static int value_of(int pe, int i)
{
    return pe * 5 + i % 3 + 1;
}

/* Where each PE's block of a collect begins: PE p gives p + 1 elements. */
static int first_of(int pe)
{
    return pe * (pe + 1) / 2;
}

/* What is in a dest after the call: element i, or -1 where nothing was written. */
static int collected(int i)
{
    int pe = 0;

    while (i >= first_of(pe + 1))
        pe++;
    return pe < api_n() ? value_of(pe, i - first_of(pe)) : -1;
}

/* Element 2 * i of dest is element 3 * i of a source. */
static int exchanged_apart(int i)
{
    const int element = i / 2;

    if (i % 2 != 0 || element >= api_n() * COUNT) return -1;
    return value_of(element / COUNT, (api_me() * COUNT + element % COUNT) * 3);
}

/* PE p sends PE q p + 1 elements from place q on; they go to place 4 * p. */
static int exchanged_in_blocks(int i)
{
    const int from = i / 4;

    return from < api_n() && i % 4 <= from ? value_of(from, api_me() + i % 4) : -1;
}

static int gathered(int i)
{
    return api_me() == api_n() - 1 && i < api_n() * COUNT ? value_of(i / COUNT, i % COUNT) : -1;
}

static int scattered(int i)
{
    return i < COUNT ? value_of(api_n() - 1, api_me() * COUNT + i) : -1;
}

static int sum_up_to(int pes, int i)
{
    int sum = 0;

    for (int pe = 0; pe < pes; pe++)
        sum += value_of(pe, i);
    return i < COUNT ? sum : -1;
}

static int scanned_in(int i)
{
    return sum_up_to(api_me() + 1, i);
}

static int scanned_ex(int i)
{
    return sum_up_to(api_me(), i);
}

static int reduced_to(int i)
{
    return api_me() == 0 ? sum_up_to(api_n(), i) : -1;
}

/* The blocks of an alltoallv. */
struct lists {
    size_t counts_in[API_PES_MAX], offsets_in[API_PES_MAX], counts_out[API_PES_MAX],
        offsets_out[API_PES_MAX];
};

static void list_blocks(struct lists *l)
{
    for (int pe = 0; pe < api_n(); pe++) {
        l->counts_in[pe] = (size_t)pe + 1;
        l->offsets_in[pe] = (size_t)pe * 4;
        l->counts_out[pe] = (size_t)api_me() + 1;
        l->offsets_out[pe] = (size_t)pe;
    }
}

enum { ROOM = 64, POISON = 100 };

static char *element(void *buffer, chorus_type type, int i)
{
    static const size_t bytes_of[] = {
#define X(T, ctype, class, bytes) bytes,
        CHORUS_TYPE_LIST(X)
#undef X
    };

    return (char *)buffer + (size_t)i * bytes_of[type];
}

static void poison(chorus_type type, void *dest)
{
    for (int i = 0; i < ROOM; i++)
        api_store(type, element(dest, type, i), POISON);
}

static bool is_as(chorus_type type, void *dest, int (*expected)(int i))
{
    long double want[2];

    for (int i = 0; i < ROOM; i++) {
        api_store(type, want, expected(i) < 0 ? POISON : (unsigned)expected(i));
        if (!api_same(type, element(dest, type, i), want)) return false;
    }
    return true;
}

/* A call, and what it leaves in dest; then the same on a stream. */
#define GIVES(kind, call, expected)                              \
    do {                                                         \
        poison(kind, dest);                                      \
        EXPECT((call) == CHORUS_OK);                             \
        EXPECT(chorusx_stream_synchronize(stream) == CHORUS_OK); \
        EXPECT(is_as(kind, dest, expected));                     \
    } while (0)
#define ON_STREAM(...) (__VA_ARGS__, stream)
#define BOTH(kind, prefix, function, arguments, expected)                          \
    do {                                                                           \
        GIVES(kind, prefix##function arguments, expected);                         \
        GIVES(kind, chorusx_##function##_on_stream ON_STREAM arguments, expected); \
    } while (0)

#define MOVES(NAME, mem, T, kind, bytes)                                                   \
    do {                                                                                   \
        BOTH(kind, chorus_, NAME##collect##mem,                                            \
             (team, dest, source, ((size_t)api_me() + 1) * (bytes)), collected);           \
        BOTH(kind, chorus_, NAME##alltoalls##mem, (team, dest, source, 2, 3, COUNT),       \
             exchanged_apart);                                                             \
        BOTH(kind, chorusx_, NAME##alltoallv##mem,                                         \
             (team, dest, l.counts_in, l.offsets_in, source, l.counts_out, l.offsets_out), \
             exchanged_in_blocks);                                                         \
        BOTH(kind, chorusx_, NAME##gather##mem,                                            \
             (team, dest, source, COUNT * (bytes), api_n() - 1), gathered);                \
        BOTH(kind, chorusx_, NAME##scatter##mem,                                           \
             (team, dest, source, COUNT * (bytes), api_n() - 1), scattered);               \
    } while (0)
#define ADDS(NAME, kind)                                                                 \
    do {                                                                                 \
        BOTH(kind, chorus_, NAME##_sum_inscan, (team, dest, source, COUNT), scanned_in); \
        BOTH(kind, chorus_, NAME##_sum_exscan, (team, dest, source, COUNT), scanned_ex); \
        BOTH(kind, chorusx_, NAME##_sum_reduce_to, (team, dest, source, COUNT, 0),       \
             reduced_to);                                                                \
    } while (0)

/* With symmetric dest and source for ROOM elements, and a stream. */
#define WITH_BUFFERS(T, kind, ...)                                                            \
    do {                                                                                      \
        const chorus_team_t team = CHORUS_TEAM_WORLD;                                         \
        T *dest = chorus_malloc(ROOM * sizeof(T)), *source = chorus_malloc(ROOM * sizeof(T)); \
        chorus_stream_t stream;                                                               \
                                                                                              \
        EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);                                  \
        for (int i = 0; i < ROOM; i++)                                                        \
            api_store(kind, element(source, kind, i), (unsigned)value_of(api_me(), i));       \
        __VA_ARGS__;                                                                          \
        EXPECT(chorusx_stream_destroy(stream) == CHORUS_OK);                                  \
        chorus_free(source);                                                                  \
        chorus_free(dest);                                                                    \
    } while (0)

#define X(NAME, T, kind)                                     \
    static void move_##NAME(void)                            \
    {                                                        \
        struct lists l;                                      \
                                                             \
        list_blocks(&l);                                     \
        WITH_BUFFERS(T, kind, MOVES(NAME##_, , T, kind, 1)); \
    }
CHORUS_RMA_TYPES(X)
#undef X
#define X(NAME, T, kind)                         \
    static void add_##NAME(void)                 \
    {                                            \
        WITH_BUFFERS(T, kind, ADDS(NAME, kind)); \
    }
CHORUS_REDUCE_ARITHMETIC_TYPES(X)
#undef X

static void moves__every_type__go_where_they_should(void)
{
#define X(NAME, T, kind) move_##NAME();
    CHORUS_RMA_TYPES(X)
#undef X
}

static void moves__of_plain_memory__go_where_they_should(void)
{
    struct lists l;

    list_blocks(&l);
    WITH_BUFFERS(unsigned char, CHORUS_TYPE_u8, MOVES(, mem, unsigned char, CHORUS_TYPE_u8, 1));
}

static void sums__every_type__are_of_the_right_pes(void)
{
#define X(NAME, T, kind) add_##NAME();
    CHORUS_REDUCE_ARITHMETIC_TYPES(X)
#undef X
}

/* Each operator reaches the root: what all give alike, combined by itself. */
#define X_OF(OP, NAME, T, kind)                                                         \
    do {                                                                                \
        T *dest = chorus_calloc(1, sizeof(T)), *source = chorus_calloc(1, sizeof(T));   \
                                                                                        \
        EXPECT(chorusx_##NAME##OP##_reduce_to(CHORUS_TEAM_WORLD, dest, source, 1, 0) == \
               CHORUS_OK);                                                              \
        EXPECT(api_same(kind, dest, source));                                           \
        chorus_free(source);                                                            \
        chorus_free(dest);                                                              \
    } while (0);

static void reduce_to__every_operator_and_type__serves(void)
{
#define Y(OP, NAMES) NAMES(X_OF, OP)
    CHORUS_REDUCE_LIST(Y)
#undef Y
}

static void arguments__outside_their_range__are_named(void)
{
    int *dest = chorus_calloc(ROOM, sizeof(int)), *source = chorus_calloc(ROOM, sizeof(int));
    const chorus_team_t world = CHORUS_TEAM_WORLD;
    const size_t counts[API_PES_MAX] = {1}, far[API_PES_MAX] = {SIZE_MAX};

    EXPECT_FAILS(chorus_int_alltoalls(world, dest, source, 0, 1, 1), CHORUS_ERR_ARG,
                 "chorus_int_alltoalls: dst is 0; expected 1 or more");
    EXPECT_FAILS(chorus_int_alltoalls(world, dest, source, 1, -2, 1), CHORUS_ERR_ARG,
                 "sst is -2");
    EXPECT_FAILS(chorus_int_alltoalls(world, dest, source, PTRDIFF_MAX, 1, 8), CHORUS_ERR_ARG,
                 "exceed the address space");
    EXPECT_FAILS(chorus_int_collect(world, dest, dest, 1), CHORUS_ERR_ARG, "overlap");
    EXPECT_FAILS(chorusx_int_gather(world, dest, source, 1, api_n()), CHORUS_ERR_ARG,
                 "chorusx_int_gather: root is");
    EXPECT_FAILS(chorusx_int_alltoallv(world, dest, counts, NULL, source, counts, counts),
                 CHORUS_ERR_ARG, "the counts or offsets of dest are null");
    EXPECT_FAILS(chorusx_int_alltoallv(world, dest, counts, counts, source, counts, far),
                 CHORUS_ERR_ARG, "block 0 of source has 1 elements from element");
    EXPECT(chorus_int_collect(world, NULL, NULL, 0) == CHORUS_OK);
    chorus_free(source);
    chorus_free(dest);
}

/* --- operators of the program ------------------------------------------------------------- */
static void most_bits(void *acc, const void *in, size_t count)
{
    uint32_t *to = acc;
    const uint32_t *from = in;

    for (size_t i = 0; i < count; i++)
        if (__builtin_popcount(from[i]) > __builtin_popcount(to[i])) to[i] = from[i];
}

static void operator_of_the_program__combines(void)
{
    uint32_t *dest = chorus_calloc(2, sizeof(*dest)),
             *source = chorus_calloc(2, sizeof(*source));
    chorusx_call call = {.coll = CHORUS_COLL_reduce,
                         .dest = dest,
                         .source = source,
                         .count = 2,
                         .type = CHORUS_TYPE_u32,
                         .op = CHORUS_OP_sum,
                         .combine = most_bits};

    source[0] = (2u << api_me()) - 1;
    source[1] = 1u << api_me();
    EXPECT(chorusx_collective(&call, NULL) == CHORUS_OK);
    EXPECT(dest[0] == (2u << (api_n() - 1)) - 1);
    EXPECT(__builtin_popcount(dest[1]) == 1);
    call.coll = CHORUS_COLL_inscan;
    EXPECT(chorusx_collective(&call, NULL) == CHORUS_OK);
    EXPECT(dest[0] == source[0] && dest[1] == 1);
    call.type = CHORUS_TYPE_f16;
    EXPECT_FAILS(chorusx_collective(&call, NULL), CHORUS_ERR_ARG,
                 "an operator of the program cannot combine f16");
    chorus_free(source);
    chorus_free(dest);
}

/* Each CTA combines a part of the elements. */
static void operator_of_the_program__with_ctas__combines_all(void)
{
    enum { MANY = 4099 };
    uint32_t *dest = chorus_calloc(MANY, sizeof(*dest)),
             *source = chorus_calloc(MANY, sizeof(*source));
    chorusx_call call = {.coll = CHORUS_COLL_reduce,
                         .dest = dest,
                         .source = source,
                         .count = MANY,
                         .type = CHORUS_TYPE_u32,
                         .op = CHORUS_OP_sum,
                         .algo = "ring",
                         .ctas = 2,
                         .combine = most_bits};
    uint32_t wrong = 0;

    for (uint32_t i = 0; i < MANY; i++)
        source[i] = ((2u << api_me()) - 1) << i % 7;
    EXPECT(chorusx_collective(&call, NULL) == CHORUS_OK);
    for (uint32_t i = 0; i < MANY; i++)
        wrong += dest[i] != ((2u << (api_n() - 1)) - 1) << i % 7;
    EXPECT(wrong == 0);
    chorus_free(source);
    chorus_free(dest);
}

enum { OWN_TEXT = 0x5a5a0000 };

/* A maximum that also says whether it got anything but the program's own values. */
static void largest(void *acc, const void *in, size_t count)
{
    uint32_t *to = acc;
    const uint32_t *from = in;

    for (size_t i = 0; i < count; i++) {
        EXPECT(to[i] >> 16 == OWN_TEXT >> 16 && from[i] >> 16 == OWN_TEXT >> 16);
        if (from[i] > to[i]) to[i] = from[i];
    }
}

/* Whatever is in the memory of messages from an earlier call of another type. */
static void operator_of_the_program__after_other_calls__gets_values_of_its_call(void)
{
    enum { EACH = 16 };
    const size_t count = EACH * (size_t)api_n();
    uint64_t *before = chorus_calloc(count, sizeof(*before)),
             *sums = chorus_calloc(EACH, sizeof(*sums));
    uint32_t *source = chorus_calloc(count, sizeof(*source)),
             *dest = chorus_calloc(EACH, sizeof(*dest));
    const chorusx_call call = {.coll = CHORUS_COLL_reducescatter,
                               .dest = dest,
                               .source = source,
                               .count = EACH,
                               .type = CHORUS_TYPE_u32,
                               .op = CHORUS_OP_max,
                               .combine = largest};

    for (size_t i = 0; i < count; i++) {
        before[i] = UINT64_MAX;
        source[i] = OWN_TEXT + (uint32_t)(i + count * (size_t)api_me());
    }
    EXPECT(chorus_uint64_max_reducescatter(CHORUS_TEAM_WORLD, sums, before, EACH) == CHORUS_OK);
    EXPECT(chorusx_collective(&call, NULL) == CHORUS_OK);
    for (uint32_t i = 0; i < EACH; i++)
        EXPECT(dest[i] == OWN_TEXT + (uint32_t)(api_me() * EACH) + i +
                              (uint32_t)count * (uint32_t)(api_n() - 1));
    chorus_free(dest);
    chorus_free(source);
    chorus_free(sums);
    chorus_free(before);
}

#define TESTS(X)                                                           \
    X(operator_of_the_program__after_other_calls__gets_values_of_its_call) \
    X(operator_of_the_program__with_ctas__combines_all)                    \
    X(moves__every_type__go_where_they_should)                             \
    X(moves__of_plain_memory__go_where_they_should)                        \
    X(sums__every_type__are_of_the_right_pes)                              \
    X(reduce_to__every_operator_and_type__serves)                          \
    X(arguments__outside_their_range__are_named)                           \
    X(operator_of_the_program__combines)
API_MAIN(TESTS)
