/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symmetric heap against a model: random allocations, some aligned, reallocations and
 * frees, the same on all PEs, each of which holds the heap against a map that is searched for
 * the first fit. Contents are a PE's own, stay as they are, and move with their block.
 */
#include "heap/heap.h"
#include "heap_pes.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIT ((size_t)64) /* blocks begin and end at multiples */
#define HEAP_BYTES ((size_t)1 << 20)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { OPS = 1000 };
#else
enum { OPS = 4000 };
#endif
enum { UNITS = 16384, LIVE_MAX = 200, SEEDS = 2, ALIGNS_LOG2 = 13 };

_Static_assert(UNITS * 64 == HEAP_BYTES, "the map is of the whole heap");

struct live {
    char *at;
    size_t bytes;
    uint32_t number; /* of the operation that wrote its contents */
};

struct model {
    struct ch_heap *heap;
    uint32_t me;
    char *base;
    uint64_t random;
    unsigned char is_owned[UNITS];
    struct live live[LIVE_MAX];
    uint32_t n_live, n_refused, n_moved, n_stayed;
};

static uint64_t draw(struct model *m, uint64_t below)
{
    uint64_t x = m->random;

    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    m->random = x;
    return (x >> 11) % below;
}

static size_t units_of(size_t bytes)
{
    return (bytes + UNIT - 1) / UNIT;
}

/* The first owned one; hi: there is none. */
static size_t find_owned(const struct model *m, size_t lo, size_t hi)
{
    while (lo < hi && !m->is_owned[lo])
        lo++;
    return lo;
}

static int is_free(const struct model *m, size_t lo, size_t hi)
{
    return hi <= UNITS && find_owned(m, lo, hi) == hi;
}

/* Null: nothing fits. */
static char *first_fit(const struct model *m, size_t align, size_t bytes)
{
    const size_t step = align > UNIT ? align / UNIT : 1, count = units_of(bytes);

    for (size_t at = 0, owned; at + count <= UNITS; at = (owned / step + 1) * step) {
        owned = find_owned(m, at, at + count);
        if (owned == at + count) return m->base + at * UNIT;
    }
    return NULL;
}

static void own(struct model *m, const char *at, size_t bytes, int is_owned)
{
    memset(m->is_owned + (size_t)(at - m->base) / UNIT, is_owned, units_of(bytes));
}

static char content(const struct model *m, uint32_t number, size_t i)
{
    return (char)(number * 31 + m->me * 7 + i + i / 251);
}

/* Of the contents, one byte of so many is written and looked at; no power of two. */
enum { STRIDE = 13 };

static void fill(const struct model *m, const struct live *l)
{
    for (size_t i = 0; i < l->bytes; i += STRIDE)
        l->at[i] = content(m, l->number, i);
}

static int is_kept(const struct model *m, const char *at, uint32_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += STRIDE)
        if (at[i] != content(m, number, i)) return 0;
    return 1;
}

/* Mostly small, now and then a good part of the heap. */
static size_t draw_bytes(struct model *m)
{
    return 1 + draw(m, draw(m, 40) == 0 ? HEAP_BYTES / 2 : 4000);
}

static void expect_refused(struct model *m, chorus_status st)
{
    EXPECT(st == CHORUS_ERR_NOMEM);
    m->n_refused++;
}

static void do_alloc(struct model *m, uint32_t number)
{
    const size_t align = (size_t)1 << draw(m, ALIGNS_LOG2), bytes = draw_bytes(m);
    char *const expected = first_fit(m, align, bytes);
    void *got = NULL;
    chorus_status st;

    if (m->n_live == LIVE_MAX) return;
    st = ch_heap_alloc(m->heap, align, bytes, &got);
    if (expected == NULL) {
        expect_refused(m, st);
        return;
    }
    EXPECT(st == CHORUS_OK && got == expected);
    if (got != expected) return;
    own(m, got, bytes, 1);
    m->live[m->n_live] = (struct live){got, bytes, number};
    fill(m, &m->live[m->n_live++]);
}

/* A block stays where it shrinks, or where what has memory behind it is free. */
static char *place_after(struct model *m, const struct live *l, size_t bytes)
{
    const size_t begin = (size_t)(l->at - m->base) / UNIT, end = begin + units_of(l->bytes),
                 wanted = begin + units_of(bytes);
    struct ch_heap_info info;

    ch_heap_info_get(m->heap, &info);
    if (wanted <= end || (wanted * UNIT <= info.committed_bytes && is_free(m, end, wanted))) {
        m->n_stayed++;
        return l->at;
    }
    m->n_moved++;
    return first_fit(m, UNIT, bytes);
}

static void do_realloc(struct model *m, uint32_t number)
{
    struct live *const l = &m->live[draw(m, m->n_live)];
    const size_t bytes = draw_bytes(m), kept = bytes < l->bytes ? bytes : l->bytes;
    char *const expected = place_after(m, l, bytes);
    void *got = NULL;
    const chorus_status st = ch_heap_realloc(m->heap, l->at, bytes, &got);

    if (expected == NULL) {
        expect_refused(m, st);
        EXPECT(is_kept(m, l->at, l->number, l->bytes));
        return;
    }
    EXPECT(st == CHORUS_OK && got == expected);
    if (got != expected) return;
    EXPECT(is_kept(m, got, l->number, kept));
    own(m, l->at, l->bytes, 0);
    own(m, got, bytes, 1);
    *l = (struct live){got, bytes, number};
    fill(m, l);
}

static void do_free(struct model *m)
{
    struct live *const l = &m->live[draw(m, m->n_live)];
    void *none = m;

    EXPECT(is_kept(m, l->at, l->number, l->bytes));
    if (draw(m, 8) == 0)
        EXPECT(ch_heap_realloc(m->heap, l->at, 0, &none) == CHORUS_OK && none == NULL);
    else
        EXPECT(ch_heap_free(m->heap, l->at) == CHORUS_OK);
    own(m, l->at, l->bytes, 0);
    *l = m->live[--m->n_live];
}

static void do_one(struct model *m, uint32_t number)
{
    const uint64_t what = draw(m, 10);

    if (what < 4 || m->n_live == 0)
        do_alloc(m, number);
    else if (what < 7)
        do_realloc(m, number);
    else
        do_free(m);
}

/* The first block is where the heap begins. */
static void find_base(struct model *m)
{
    void *first = NULL;

    EXPECT(ch_heap_alloc(m->heap, 8, 8, &first) == CHORUS_OK);
    EXPECT(ch_heap_free(m->heap, first) == CHORUS_OK);
    m->base = first;
}

static void run_model(struct ch_boot *boot, uint64_t seed, size_t step)
{
    struct ch_options options = pes_options(HEAP_BYTES);
    struct model *const m = calloc(1, sizeof(*m));
    struct ch_heap_info info;

    options.heap_step = step;
    EXPECT(m != NULL && ch_heap_open(boot, &options, &m->heap) == CHORUS_OK);
    m->me = boot->me;
    m->random = 0x9e3779b97f4a7c15ull * (seed + 1);
    find_base(m);
    for (uint32_t i = 0; i < OPS; i++) {
        do_one(m, i);
        if (i % 50 == 0) EXPECT(ch_heap_check(m->heap) == CHORUS_OK);
    }
    EXPECT(m->n_refused > 0 && m->n_moved > 5 && m->n_stayed > 5);
    while (m->n_live > 0)
        do_free(m);
    ch_heap_info_get(m->heap, &info);
    EXPECT(info.used_bytes == 0 && info.blocks == 0 && info.largest_free_bytes == HEAP_BYTES);
    pes_meet(boot);
    ch_heap_close(m->heap);
    free(m);
}

/* All of its memory at once, and as it is needed. */
static void model_main(struct ch_boot *boot)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        run_model(boot, seed, HEAP_BYTES);
        run_model(boot, seed, UNIT);
    }
}

START_TEST(heap__random_calls__are_first_fit_and_keep_contents)
{
    pes_run_threads(3, model_main);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("heap_model");
    TCase *const tcase = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, heap__random_calls__are_first_fit_and_keep_contents);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
