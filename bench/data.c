/* SPDX-License-Identifier: Apache-2.0 */
#include "data.h"

#include "random.h"
#include "terms.h"
#include "tests/ref/ref_origin.h"

#include <complex.h>
#include <string.h>

/* --- moved data: random bytes ------------------------------------------------------------- */

/* The stream of random bytes that `from` sends to `to`: the same for all, if a source has one
 * block. */
static uint64_t stream_seed(const struct ch_data *data, uint32_t from, uint32_t to)
{
    const uint64_t target = ch_work_is_to_each(data->work->coll) ? to : 0;

    return ch_random(data->seed, ((uint64_t)from << 32) | target);
}

static void fill_bytes(void *at, size_t bytes, uint64_t seed)
{
    const size_t words = bytes / sizeof(uint64_t);
    const uint64_t last = ch_random(seed, words);
    unsigned char *out = at;

    for (size_t i = 0; i < words; i++) {
        const uint64_t word = ch_random(seed, i);

        memcpy(out + i * sizeof(word), &word, sizeof(word));
    }
    memcpy(out + words * sizeof(last), &last, bytes % sizeof(last));
}

/* Number of elements in `at` that differ from the stream, compared in pieces that fit on the
 * stack. */
static uint64_t wrong_bytes(const unsigned char *at, size_t bytes, size_t element,
                            uint64_t seed)
{
    unsigned char want[512];
    uint64_t wrong = 0;

    for (size_t lo = 0; lo < bytes; lo += sizeof(want)) {
        const size_t piece = bytes - lo < sizeof(want) ? bytes - lo : sizeof(want);
        const uint64_t first = lo / sizeof(uint64_t);

        fill_bytes(want, piece, seed + first * CH_RANDOM_STEP);
        if (memcmp(want, at + lo, piece) == 0) continue;
        for (size_t i = 0; i < piece; i += element)
            if (memcmp(want + i, at + lo + i, element) != 0) wrong++;
    }
    return wrong;
}

/* --- reduced data: terms as elements of each type ----------------------------------------- */

/* The 16-bit float of an integer that it represents exactly. */
static uint16_t bits16(int64_t value, unsigned fraction_bits, unsigned bias)
{
    const uint64_t magnitude = (uint64_t)(value < 0 ? -value : value);
    const unsigned sign = value < 0 ? 0x8000u : 0u;
    unsigned exponent, fraction;

    if (magnitude == 0) return 0;
    exponent = 63u - (unsigned)__builtin_clzll(magnitude);
    fraction =
        (unsigned)((magnitude << fraction_bits) >> exponent) & ((1u << fraction_bits) - 1);
    return (uint16_t)(sign | ((exponent + bias) << fraction_bits) | fraction);
}

#define BITS_f16(value) bits16(value, 10, 15)
#define BITS_bf16(value) bits16(value, 7, 127)

#define MAKE_INT(T, ctype, number) ((ctype)(number).re)
#define MAKE_UINT(T, ctype, number) ((ctype)(number).re)
#define MAKE_FLOAT(T, ctype, number) ((ctype)(number).re)
#define MAKE_HALF(T, ctype, number) ((ctype){.bits = BITS_##T((number).re)})
#define MAKE_COMPLEX(T, ctype, number) \
    ((ctype)((double)(number).re + (double)(number).im * _Complex_I))

#define SAME_INT(a, b) ((a) == (b))
#define SAME_UINT(a, b) ((a) == (b))
#define SAME_FLOAT(a, b) ((a) == (b))
#define SAME_HALF(a, b) ((a).bits == (b).bits)
#define SAME_COMPLEX(a, b) ((a) == (b))

/* Element i of PEs from 0 to `of`, combined: over all PEs, or their sum. */
static struct ch_number combined(const struct ch_terms *terms, uint64_t i, uint32_t of)
{
    struct ch_number all = {0, 0};

    if (of == terms->pes) return ch_terms_out(terms, i);
    for (uint32_t pe = 0; pe < of; pe++) {
        const struct ch_number number =
            ch_terms_in(terms, i, (uint32_t)((pe + i) % terms->pes));

        all.re += number.re;
        all.im += number.im;
    }
    return all;
}

#define X(T, ctype, class, bytes)                                                           \
    static void fill_##T(const struct ch_terms *terms, uint32_t me, size_t count, void *at) \
    {                                                                                       \
        ctype *const out = at;                                                              \
        uint32_t turn = me;                                                                 \
                                                                                            \
        for (size_t i = 0; i < count; i++) {                                                \
            const struct ch_number number = ch_terms_in(terms, i, turn);                    \
            out[i] = MAKE_##class(T, ctype, number);                                        \
            if (++turn == terms->pes) turn = 0;                                             \
        }                                                                                   \
    }                                                                                       \
    static uint64_t wrong_##T(const struct ch_terms *terms, uint32_t of, size_t first,      \
                              size_t count, const void *at)                                 \
    {                                                                                       \
        const ctype *const got = at;                                                        \
        uint64_t wrong = 0;                                                                 \
                                                                                            \
        for (size_t i = 0; i < count; i++) {                                                \
            const struct ch_number number = combined(terms, first + i, of);                 \
            const ctype want = MAKE_##class(T, ctype, number);                              \
            if (!SAME_##class(got[i], want)) wrong++;                                       \
        }                                                                                   \
        return wrong;                                                                       \
    }
CHORUS_TYPE_LIST(X)
#undef X

static const struct {
    void (*fill)(const struct ch_terms *terms, uint32_t me, size_t count, void *at);
    uint64_t (*wrong)(const struct ch_terms *terms, uint32_t of, size_t first, size_t count,
                      const void *at);
} typed[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, class, bytes) {fill_##T, wrong_##T},
    CHORUS_TYPE_LIST(X)
#undef X
};

/* --- calls -------------------------------------------------------------------------------- */

void ch_data_fill(const struct ch_data *data, void *source)
{
    const struct ch_work *const work = data->work;
    const size_t block = work->count * ch_sweep_type_bytes[work->type];
    const uint32_t blocks = ch_work_is_to_each(work->coll) ? data->pes : 1;
    const chorus_coll coll = (chorus_coll)work->coll;
    struct ch_terms terms;

    if (ch_coll_is_from_root(coll) && data->me != data->root) return;
    if (!ch_work_moves(work)) return;
    if (ch_work_reduces(work)) {
        const size_t count =
            ch_work_source_bytes(work, data->pes) / ch_sweep_type_bytes[work->type];

        ch_terms_make(&terms, work->type, work->op, data->pes, data->seed);
        typed[work->type].fill(&terms, data->me, count, source);
        return;
    }
    for (uint32_t to = 0; to < blocks; to++)
        fill_bytes((char *)source + to * block, block, stream_seed(data, data->me, to));
}

void ch_data_poison(const struct ch_data *data, void *dest)
{
    memset(dest, CH_DATA_POISON, ch_work_dest_bytes(data->work, data->pes));
}

/* Of a block of dest. */
static struct ref_origin origin_of(const struct ch_data *data, uint32_t block)
{
    return ref_origin_of((chorus_coll)data->work->coll, data->pes, data->root, data->me,
                         data->work->count, block);
}

uint64_t ch_data_wrong(const struct ch_data *data, const void *dest)
{
    const struct ch_work *const work = data->work;
    const size_t element = ch_sweep_type_bytes[work->type];
    const size_t block = work->count * element;
    const uint32_t blocks = ch_work_is_from_each(work->coll) ? data->pes : 1;
    uint64_t wrong = 0;

    if (!ch_work_moves(work)) return 0;
    if (ch_work_reduces(work)) {
        const struct ref_origin o = origin_of(data, 0);
        struct ch_terms terms;

        ch_terms_make(&terms, work->type, work->op, data->pes, data->seed);
        return typed[work->type].wrong(&terms, o.hi, o.first, work->count, dest);
    }
    for (uint32_t k = 0; k < blocks; k++)
        wrong += wrong_bytes((const unsigned char *)dest + k * block, block, element,
                             stream_seed(data, origin_of(data, k).lo, data->me));
    return wrong;
}
