/* SPDX-License-Identifier: Apache-2.0 */
/* Strided puts and gets of every type and size: what lies between the elements stays. */
#include "api_pes.h"

#include <stdint.h>
#include <string.h>

enum {
    COUNT = 5,
    DST = 3,
    SST = 2,
    DEST_ELEMENTS = (COUNT - 1) * DST + 2,
    SOURCE_ELEMENTS = COUNT * SST
};

static unsigned value_at(int pe, size_t i)
{
    return (unsigned)pe * 31 + (unsigned)i * 5 + 1;
}

/* Element i of dest is element i / DST of every SST-th of PE `from`'s source, or still 0. */
static bool is_spread(chorus_type type, const void *element, size_t i, int from)
{
    const bool is_target = i % DST == 0 && i / DST < COUNT;
    _Alignas(16) unsigned char want[16];

    api_store(type, want, is_target ? value_at(from, i / DST * SST) : 0);
    return api_same(type, element, want);
}

#define EXPECT_SPREAD(T, kind, dest, from)                    \
    do {                                                      \
        chorus_barrier_all();                                 \
        for (size_t i_ = 0; i_ < DEST_ELEMENTS; i_++)         \
            EXPECT(is_spread(kind, &(dest)[i_], i_, (from))); \
        memset((dest), 0, DEST_ELEMENTS * sizeof(T));         \
        chorus_barrier_all();                                 \
    } while (0)

#define TEST_STRIDED(NAME, T, kind, PUT, GET)                   \
    static void spread_##NAME(void)                             \
    {                                                           \
        T *dest = chorus_calloc(DEST_ELEMENTS, sizeof(T));      \
        T *source = chorus_malloc(SOURCE_ELEMENTS * sizeof(T)); \
        for (size_t i = 0; i < SOURCE_ELEMENTS; i++)            \
            api_store(kind, &source[i], value_at(api_me(), i)); \
        chorus_barrier_all();                                   \
        PUT(dest, source, DST, SST, COUNT, api_next());         \
        EXPECT_SPREAD(T, kind, dest, api_previous());           \
        GET(dest, source, DST, SST, COUNT, api_next());         \
        EXPECT_SPREAD(T, kind, dest, api_next());               \
        chorus_free(source);                                    \
        chorus_free(dest);                                      \
    }

#define TEST_TYPE(NAME, T, kind) \
    TEST_STRIDED(NAME, T, kind, chorus_##NAME##_iput, chorus_##NAME##_iget)
CHORUS_RMA_TYPES(TEST_TYPE)

/* A type of the machine for each size. */
#define SIZED_8 uint8_t, CHORUS_TYPE_u8
#define SIZED_16 uint16_t, CHORUS_TYPE_u16
#define SIZED_32 float, CHORUS_TYPE_f32
#define SIZED_64 uint64_t, CHORUS_TYPE_u64
#define SIZED_128 double _Complex, CHORUS_TYPE_c128
#define TEST_SIZED_OF(...) TEST_STRIDED(__VA_ARGS__)
#define TEST_SIZED(BITS, bytes) \
    TEST_SIZED_OF(bits##BITS, SIZED_##BITS, chorus_iput##BITS, chorus_iget##BITS)
CHORUS_SIZES(TEST_SIZED)

static void strided__every_type__leaves_the_gaps(void)
{
#define X(NAME, T, kind) spread_##NAME();
    CHORUS_RMA_TYPES(X)
#undef X
}

static void strided__every_size__leaves_the_gaps(void)
{
#define X(BITS, bytes) spread_bits##BITS();
    CHORUS_SIZES(X)
#undef X
}

static void strided__stride_below_one__names_it(void)
{
    int *dest = chorus_calloc(4, sizeof(*dest));
    const int source[4] = {1, 2, 3, 4};
    int got[4] = {0};

    chorus_int_iput(dest, source, 0, 1, 2, api_me());
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_int_iput: dst is 0 elements; expected 1 or more");
    chorus_int_iget(got, dest, 1, -1, 2, api_me());
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_int_iget: sst is -1 elements");
    EXPECT(dest[0] == 0 && dest[1] == 0);
    chorus_free(dest);
}

static void strided__last_element_past_the_heap__is_refused(void)
{
    int *dest = chorus_calloc(4, sizeof(*dest));
    const int source[2] = {1, 2};

    chorus_int_iput(dest, source, PTRDIFF_MAX / 8, 1, 2, api_me());
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "chorus_int_iput: dest is");
    chorus_int_iput(dest, source, PTRDIFF_MAX, 1, SIZE_MAX, api_me());
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_int_iput:");
    chorus_iput64(dest, source, 1, 1, 1, -1);
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_iput64: pe is -1");
    EXPECT(dest[0] == 0);
    chorus_free(dest);
}

static void strided__count_zero__moves_nothing(void)
{
    chorus_int_iput(NULL, NULL, 1, 1, 0, api_me());
    chorus_iget128(NULL, NULL, 7, 9, 0, api_me());
}

#define TESTS(X)                                       \
    X(strided__every_type__leaves_the_gaps)            \
    X(strided__every_size__leaves_the_gaps)            \
    X(strided__stride_below_one__names_it)             \
    X(strided__last_element_past_the_heap__is_refused) \
    X(strided__count_zero__moves_nothing)
API_MAIN(TESTS)
