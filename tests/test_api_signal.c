/* SPDX-License-Identifier: Apache-2.0 */
/* Put with signal of every type and size: whoever sees the signal sees the data. */
#include "api_pes.h"

#include <stdint.h>
#include <string.h>

enum { COUNT = 9 };

static unsigned value_at(int pe, unsigned round, size_t i)
{
    return (unsigned)pe * 31 + round * 11 + (unsigned)i * 2;
}

static bool is_from(chorus_type type, const void *element, int pe, unsigned round, size_t i)
{
    _Alignas(16) unsigned char want[16];

    api_store(type, want, value_at(pe, round, i));
    return api_same(type, element, want);
}

/* Two rounds: SET by the blocking form, ADD by the nbi form; the data is read at once. */
#define TEST_SIGNAL(NAME, T, kind, PUT, PUT_NBI)                                \
    static void signal_##NAME(void)                                             \
    {                                                                           \
        T *dest = chorus_calloc(COUNT, sizeof(T)), source[COUNT];               \
        uint64_t *signal = chorus_calloc(1, sizeof(*signal));                   \
        for (size_t i = 0; i < COUNT; i++)                                      \
            api_store(kind, &source[i], value_at(api_me(), 0, i));              \
        PUT(dest, source, COUNT, signal, 40, CHORUS_SIGNAL_SET, api_next());    \
        EXPECT(chorus_signal_wait_until(signal, CHORUS_CMP_NE, 0) == 40);       \
        for (size_t i = 0; i < COUNT; i++)                                      \
            EXPECT(is_from(kind, &dest[i], api_previous(), 0, i));              \
        chorus_sync_all();                                                      \
        for (size_t i = 0; i < COUNT; i++)                                      \
            api_store(kind, &source[i], value_at(api_me(), 1, i));              \
        PUT_NBI(dest, source, COUNT, signal, 2, CHORUS_SIGNAL_ADD, api_next()); \
        EXPECT(chorus_signal_wait_until(signal, CHORUS_CMP_GT, 40) == 42);      \
        for (size_t i = 0; i < COUNT; i++)                                      \
            EXPECT(is_from(kind, &dest[i], api_previous(), 1, i));              \
        EXPECT(chorus_signal_fetch(signal) == 42);                              \
        chorus_sync_all();                                                      \
        chorusx_signal_op(signal, 7, CHORUS_SIGNAL_ADD, api_next());            \
        EXPECT(chorus_signal_wait_until(signal, CHORUS_CMP_GT, 42) == 49);      \
        chorus_free(signal);                                                    \
        chorus_free(dest);                                                      \
    }

#define TEST_TYPE(NAME, T, kind) \
    TEST_SIGNAL(NAME, T, kind, chorus_##NAME##_put_signal, chorus_##NAME##_put_signal_nbi)
CHORUS_RMA_TYPES(TEST_TYPE)

/* A type of the machine for each size. */
#define SIZED_8 uint8_t, CHORUS_TYPE_u8
#define SIZED_16 uint16_t, CHORUS_TYPE_u16
#define SIZED_32 float, CHORUS_TYPE_f32
#define SIZED_64 uint64_t, CHORUS_TYPE_u64
#define SIZED_128 double _Complex, CHORUS_TYPE_c128
#define TEST_SIZED_OF(...) TEST_SIGNAL(__VA_ARGS__)
#define TEST_SIZED(BITS, bytes)                                        \
    TEST_SIZED_OF(bits##BITS, SIZED_##BITS, chorus_put##BITS##_signal, \
                  chorus_put##BITS##_signal_nbi)
CHORUS_SIZES(TEST_SIZED)

TEST_SIGNAL(bytes, uint8_t, CHORUS_TYPE_u8, chorus_putmem_signal, chorus_putmem_signal_nbi)

static void put_signal__every_type_and_size__data_is_there_first(void)
{
#define X(NAME, T, kind) signal_##NAME();
    CHORUS_RMA_TYPES(X)
#undef X
#define X(BITS, bytes) signal_bits##BITS();
    CHORUS_SIZES(X)
#undef X
    signal_bytes();
}

/* Many PEs, one word: added signals count arrivals, data of all is there. */
static void put_signal__all_to_one_with_add__counts_arrivals(void)
{
    enum { BYTES = 3000 };
    unsigned char *dest = chorus_calloc(API_PES_MAX, BYTES), mine[BYTES];
    uint64_t *arrived = chorus_calloc(1, sizeof(*arrived));
    const uint64_t n = (uint64_t)api_n();

    memset(mine, api_me() + 1, sizeof(mine));
    if (api_n() <= API_PES_MAX) {
        chorus_putmem_signal(dest + (size_t)api_me() * BYTES, mine, BYTES, arrived, 1,
                             CHORUS_SIGNAL_ADD, 0);
        if (api_me() == 0) EXPECT(chorus_signal_wait_until(arrived, CHORUS_CMP_EQ, n) == n);
        for (size_t i = 0; i < n * BYTES && api_me() == 0; i++)
            EXPECT(dest[i] == i / BYTES + 1);
    }
    chorus_free(arrived);
    chorus_free(dest);
}

static void put_signal__count_zero__signals_all_the_same(void)
{
    uint64_t *signal = chorus_calloc(1, sizeof(*signal));

    chorus_int_put_signal(NULL, NULL, 0, signal, 6, CHORUS_SIGNAL_SET, api_next());
    EXPECT(chorus_signal_wait_until(signal, CHORUS_CMP_EQ, 6) == 6);
    chorus_free(signal);
}

static void put_signal__bad_arguments__are_named(void)
{
    int *dest = chorus_calloc(1, sizeof(*dest));
    uint64_t *signal = chorus_calloc(2, sizeof(*signal)), mine = 0;
    const int one = 1;

    chorus_int_put_signal(dest, &one, 1, signal, 1, 2, api_me());
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_int_put_signal: sig_op is 2");
    chorus_int_put_signal(dest, &one, 1, &mine, 1, CHORUS_SIGNAL_SET, api_me());
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "sig_addr is");
    chorus_int_put_signal(dest, &one, 1, (uint64_t *)(void *)((char *)signal + 4), 1,
                          CHORUS_SIGNAL_SET, api_me());
    EXPECT_REPORT(CHORUS_ERR_ARG, "sig_addr is");
    chorus_put8_signal(dest, &one, 1, signal, 1, CHORUS_SIGNAL_SET, -1);
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_put8_signal: pe is -1");
    EXPECT(chorus_signal_fetch(&mine) == 0);
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "chorus_signal_fetch: sig_addr is");
    EXPECT(*dest == 0 && chorus_signal_fetch(signal) == 0);
    chorus_free(signal);
    chorus_free(dest);
}

/* A stream waits for a signal before it sends on: the word goes round all PEs by streams alone.
 */
static void stream__waits_for_a_signal__then_sends_on(void)
{
    const int me = api_me(), n = api_n(), next = (me + 1) % n;
    uint64_t *signal = chorus_calloc(1, sizeof(*signal));
    int *word = chorus_calloc(2, sizeof(*word)), got = -1, one = 1000;
    chorus_stream_t stream;

    EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);
    for (uint64_t round = 1; round <= 3; round++) {
        if (me == 0) word[0] = (int)round;
        if (me == 0)
            EXPECT(chorusx_int_put_signal_on_stream(word, word, 1, signal, 1, CHORUS_SIGNAL_ADD,
                                                    next, stream) == 0);
        EXPECT(chorusx_signal_wait_until_on_stream(signal, CHORUS_CMP_GE, round, stream) == 0);
        if (me != 0)
            EXPECT(chorusx_int_put_signal_on_stream(word, word, 1, signal, 1, CHORUS_SIGNAL_ADD,
                                                    next, stream) == 0);
        EXPECT(chorusx_int_get_on_stream(&got, word, 1, me, stream) == 0);
        EXPECT(chorusx_stream_synchronize(stream) == CHORUS_OK);
        EXPECT(got == (int)round);
        chorus_barrier_all();
    }
    EXPECT(chorusx_int_put_on_stream(word + 1, &one, 1, next, stream) == 0);
    EXPECT(chorusx_quiet_on_stream(stream) == 0);
    EXPECT(chorusx_stream_synchronize(stream) == CHORUS_OK);
    chorus_barrier_all();
    EXPECT(word[1] == one);
    EXPECT(chorusx_signal_wait_until_on_stream(signal, 77, 1, stream) == CHORUS_ERR_ARG);
    EXPECT(chorusx_signal_op_on_stream(signal, 1, CHORUS_SIGNAL_SET, n, stream) ==
           CHORUS_ERR_ARG);
    EXPECT(chorusx_quiet_on_stream(NULL) == CHORUS_ERR_ARG);
    chorus_barrier_all();
    EXPECT(chorusx_stream_destroy(stream) == CHORUS_OK);
    chorus_free(word);
    chorus_free(signal);
}

#define TESTS(X)                                            \
    X(put_signal__every_type_and_size__data_is_there_first) \
    X(put_signal__all_to_one_with_add__counts_arrivals)     \
    X(put_signal__count_zero__signals_all_the_same)         \
    X(put_signal__bad_arguments__are_named)                 \
    X(stream__waits_for_a_signal__then_sends_on)
API_MAIN(TESTS)
