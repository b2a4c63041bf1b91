/* SPDX-License-Identifier: Apache-2.0 */
/* Put and get of every type and size: to the next PE of a ring, from the previous one. */
#include "api_pes.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 7, GUARD = COUNT };

/* What PE `pe` sends as element i. */
static unsigned value_at(int pe, size_t i)
{
    return (unsigned)pe * 31 + (unsigned)i * 3 + 1;
}

static bool is_from(chorus_type type, const void *element, int pe, size_t i)
{
    _Alignas(16) unsigned char want[16];

    api_store(type, want, value_at(pe, i));
    return api_same(type, element, want);
}

/* dest has COUNT + 1 elements; the last must stay 0. Every PE's part of a round is done when it
 * returns from here. */
#define EXPECT_RING(T, kind, dest, from)                    \
    do {                                                    \
        T zero_;                                            \
        memset(&zero_, 0, sizeof(zero_));                   \
        chorus_barrier_all();                               \
        for (size_t i_ = 0; i_ < COUNT; i_++)               \
            EXPECT(is_from(kind, &(dest)[i_], (from), i_)); \
        EXPECT(api_same(kind, &(dest)[GUARD], &zero_));     \
        memset((dest), 0, (COUNT + 1) * sizeof(T));         \
        chorus_barrier_all();                               \
    } while (0)

#define TEST_TYPE(NAME, T, kind)                                     \
    static void move_##NAME(void)                                    \
    {                                                                \
        T *dest = chorus_calloc(COUNT + 1, sizeof(T));               \
        T *source = chorus_calloc(COUNT, sizeof(T));                 \
        T fetched;                                                   \
        for (size_t i = 0; i < COUNT; i++)                           \
            api_store(kind, &source[i], value_at(api_me(), i));      \
        chorus_barrier_all();                                        \
        chorus_##NAME##_put(dest, source, COUNT, api_next());        \
        EXPECT_RING(T, kind, dest, api_previous());                  \
        chorus_##NAME##_put_nbi(dest, source, COUNT, api_next());    \
        EXPECT_RING(T, kind, dest, api_previous());                  \
        chorus_##NAME##_get(dest, source, COUNT, api_next());        \
        EXPECT_RING(T, kind, dest, api_next());                      \
        chorus_##NAME##_get_nbi(dest, source, COUNT, api_next());    \
        chorus_quiet();                                              \
        EXPECT_RING(T, kind, dest, api_next());                      \
        for (size_t i = 0; i < COUNT; i++)                           \
            chorus_##NAME##_p(&dest[i], source[i], api_next());      \
        EXPECT_RING(T, kind, dest, api_previous());                  \
        fetched = chorus_##NAME##_g(&source[COUNT - 1], api_next()); \
        EXPECT(is_from(kind, &fetched, api_next(), COUNT - 1));      \
        chorus_free(source);                                         \
        chorus_free(dest);                                           \
    }
CHORUS_RMA_TYPES(TEST_TYPE)

static void rma__every_type__arrives_whole(void)
{
#define X(NAME, T, kind) move_##NAME();
    CHORUS_RMA_TYPES(X)
#undef X
}

static void fill_bytes(unsigned char *bytes, size_t n, int pe)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)value_at(pe, i);
}

static void expect_bytes(const unsigned char *bytes, size_t n, int pe)
{
    chorus_barrier_all();
    for (size_t i = 0; i < n; i++)
        EXPECT(bytes[i] == (unsigned char)value_at(pe, i));
    EXPECT(bytes[n] == 0xee);
    chorus_barrier_all();
}

/* Buffers of one size, the byte after dest's end guarded. */
static unsigned char *make_dest(size_t n)
{
    unsigned char *dest = chorus_malloc(n + 1);

    memset(dest, 0xee, n + 1);
    chorus_barrier_all();
    return dest;
}

#define TEST_SIZED(BITS, bytes)                                         \
    static void move_##BITS(void)                                       \
    {                                                                   \
        const size_t n = COUNT * (bytes);                               \
        unsigned char *dest = make_dest(n), *source = chorus_malloc(n); \
        fill_bytes(source, n, api_me());                                \
        chorus_barrier_all();                                           \
        chorus_put##BITS(dest, source, COUNT, api_next());              \
        expect_bytes(dest, n, api_previous());                          \
        chorus_get##BITS(dest, source, COUNT, api_next());              \
        expect_bytes(dest, n, api_next());                              \
        chorus_put##BITS##_nbi(dest, source, COUNT, api_next());        \
        expect_bytes(dest, n, api_previous());                          \
        chorus_get##BITS##_nbi(dest, source, COUNT, api_next());        \
        chorus_quiet();                                                 \
        expect_bytes(dest, n, api_next());                              \
        chorus_free(source);                                            \
        chorus_free(dest);                                              \
    }
CHORUS_SIZES(TEST_SIZED)

static void rma__every_size__arrives_whole(void)
{
#define X(BITS, bytes) move_##BITS();
    CHORUS_SIZES(X)
#undef X
}

/* From private memory too: only the far side must be symmetric. */
static void rma__bytes_from_private_memory__arrive_whole(void)
{
    enum { BYTES = 1001 };
    unsigned char mine[BYTES + 1];
    unsigned char *dest = make_dest(BYTES);

    fill_bytes(mine, BYTES, api_me());
    chorus_putmem(dest, mine, BYTES, api_next());
    expect_bytes(dest, BYTES, api_previous());
    mine[BYTES] = 0xee;
    chorus_getmem(mine, dest, BYTES, api_next()); /* which holds what this PE put there */
    expect_bytes(mine, BYTES, api_me());
    chorus_putmem_nbi(dest, mine, BYTES, api_me());
    expect_bytes(dest, BYTES, api_me());
    chorus_getmem_nbi(mine, dest, BYTES, api_next());
    chorus_quiet();
    expect_bytes(mine, BYTES, api_next());
    chorus_free(dest);
}

static void rma__count_zero__moves_nothing_from_any_address(void)
{
    int here = 5;

    chorus_int_put(NULL, NULL, 0, api_next());
    chorus_int_get(&here, NULL, 0, api_next());
    chorus_putmem(NULL, NULL, 0, api_next());
    EXPECT(here == 5);
}

static void fence__put_before_and_after__flag_comes_second(void)
{
    long *word = chorus_calloc(2, sizeof(*word));

    for (long round = 1; round <= 200; round++) {
        chorus_long_p(&word[0], round * 7, api_next());
        chorus_fence();
        chorus_long_p(&word[1], round, api_next());
        chorus_long_wait_until(&word[1], CHORUS_CMP_GE, round);
        EXPECT(word[0] >= round * 7);
        chorus_sync_all();
    }
    chorus_free(word);
}

static void put__pe_out_of_range__names_the_pes_there_are(void)
{
    int *dest = chorus_calloc(1, sizeof(*dest));
    int mine = 5;
    char last[64];

    (void)snprintf(last, sizeof(last), "expected 0 to %d", api_n() - 1);
    chorus_int_p(dest, 9, -1);
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_int_p: pe is -1");
    chorus_int_put(dest, dest, 1, api_n());
    EXPECT_REPORT(CHORUS_ERR_ARG, last);
    EXPECT(chorus_int_g(dest, -1) == 0);
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_int_g: pe is -1");
    chorus_putmem(dest, dest, 4, -1);
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_putmem: pe is -1");
    chorus_get32(dest, dest, 0, -1);
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_get32: pe is -1");
    chorus_int_get(&mine, dest, 1, -1);
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_int_get: pe is -1");
    EXPECT(mine == 5);
    chorus_barrier_all();
    EXPECT(*dest == 0);
    chorus_free(dest);
}

static void put__dest_not_in_heap__names_the_argument(void)
{
    int mine[2] = {1, 2};
    int *dest = chorus_calloc(1, sizeof(*dest));
    chorusx_heap_info_t info;

    chorus_int_put(mine, mine, 2, api_me());
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "chorus_int_put: dest is");
    chorus_int_get(mine, mine, 2, api_me());
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "chorus_int_get: source is");
    EXPECT(chorusx_heap_info(&info) == CHORUS_OK);
    chorus_putmem(dest, mine, info.reserved_bytes + 1, api_me());
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "end past the heap's end");
    EXPECT(*dest == 0);
    chorus_free(dest);
}

static void put__count_that_overflows__is_refused(void)
{
    long *dest = chorus_calloc(1, sizeof(*dest));

    chorus_long_put(dest, dest, SIZE_MAX / 4, api_me());
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_long_put: 4611686018427387903 elements of 8 bytes");
    chorus_get128(dest, dest, SIZE_MAX / 8, api_me());
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_get128:");
    chorus_free(dest);
}

#define TESTS(X)                                       \
    X(rma__every_type__arrives_whole)                  \
    X(rma__every_size__arrives_whole)                  \
    X(rma__bytes_from_private_memory__arrive_whole)    \
    X(rma__count_zero__moves_nothing_from_any_address) \
    X(fence__put_before_and_after__flag_comes_second)  \
    X(put__pe_out_of_range__names_the_pes_there_are)   \
    X(put__dest_not_in_heap__names_the_argument)       \
    X(put__count_that_overflows__is_refused)
API_MAIN(TESTS)
