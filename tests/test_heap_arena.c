/* SPDX-License-Identifier: Apache-2.0 */
/* The first-fit allocator, against a map with a byte per granule that says who owns it. */
#include "heap/inside.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define G CH_ARENA_GRANULE

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { N_OPS = 50000 };
#else
enum { N_OPS = 200000 };
#endif

/* A generator of our own: the same sequence on every machine. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    *state = x;
    return x;
}

static void arena_make(struct ch_arena *a, size_t limit)
{
    ck_assert_int_eq(ch_arena_init(a), CHORUS_OK);
    ck_assert_int_eq(ch_arena_reserve(a), CHORUS_OK);
    ch_arena_grow(a, limit);
}

static size_t take(struct ch_arena *a, size_t align, size_t bytes)
{
    size_t offset = SIZE_MAX;

    ck_assert_int_eq(ch_arena_reserve(a), CHORUS_OK);
    ck_assert(ch_arena_alloc(a, align, bytes, &offset));
    ck_assert_int_eq(ch_arena_check(a), CHORUS_OK);
    return offset;
}

static void give(struct ch_arena *a, size_t offset)
{
    ch_arena_free(a, offset);
    ck_assert_int_eq(ch_arena_check(a), CHORUS_OK);
}

/* --- the model: offsets and sizes in granules ----------------------------------------- */

enum { GRANULES_MAX = 1 << 20, LIVE_MAX = 8192, BLOCK_MAX = 40 };

struct live {
    size_t offset, count;
};

struct model {
    struct ch_arena arena;
    unsigned char *is_owned; /* [ceiling] */
    size_t limit, ceiling;
    struct live live[LIVE_MAX];
    size_t n_live, n_live_max;
    uint64_t random;
    int is_exact; /* search the map for the first fit too */
};

static int is_free(const struct model *m, size_t at, size_t count)
{
    if (at + count > m->limit) return 0;
    for (size_t i = at; i < at + count; i++)
        if (m->is_owned[i]) return 0;
    return 1;
}

static size_t model_first_fit(const struct model *m, size_t align, size_t count)
{
    for (size_t at = 0; at + count <= m->limit; at += align)
        if (is_free(m, at, count)) return at;
    return SIZE_MAX;
}

static void model_own(struct model *m, size_t at, size_t count, int owned)
{
    memset(m->is_owned + at, owned, count);
}

/* What the arena and the model say to an allocation; grows both if that helps. */
static void do_alloc(struct model *m)
{
    const size_t align = (size_t)1 << next_random(&m->random) % 5;
    const size_t bytes = 1 + next_random(&m->random) % (BLOCK_MAX * G);
    const size_t count = (bytes + G - 1) / G;
    size_t offset = 0;

    if (m->n_live == m->n_live_max) return;
    ck_assert(ch_arena_reserve(&m->arena) == CHORUS_OK);
    if (!ch_arena_alloc(&m->arena, align * G, bytes, &offset)) {
        const size_t limit = ch_arena_limit_for(&m->arena, 0, align * G, bytes);

        if (m->is_exact) ck_assert(model_first_fit(m, align, count) == SIZE_MAX);
        ck_assert(limit > m->arena.limit);
        if (limit > m->ceiling * G) return;
        ch_arena_grow(&m->arena, limit);
        m->limit = limit / G;
        ck_assert(ch_arena_reserve(&m->arena) == CHORUS_OK);
        ck_assert(ch_arena_alloc(&m->arena, align * G, bytes, &offset));
        ck_assert(offset + count * G == limit);
    }
    ck_assert(offset % (align * G) == 0);
    if (m->is_exact) ck_assert(offset / G == model_first_fit(m, align, count));
    ck_assert(is_free(m, offset / G, count));
    model_own(m, offset / G, count, 1);
    m->live[m->n_live++] = (struct live){offset / G, count};
}

static void do_free(struct model *m)
{
    const size_t victim = next_random(&m->random) % m->n_live;
    const struct live dead = m->live[victim];
    size_t start, bytes;

    ck_assert(ch_arena_find(&m->arena, dead.offset * G, &start, &bytes) == CH_PLACE_BLOCK);
    ck_assert(bytes == dead.count * G);
    if (dead.count > 1)
        ck_assert(ch_arena_find(&m->arena, dead.offset * G + G, &start, &bytes) ==
                  CH_PLACE_INNER);
    ck_assert(start == dead.offset * G);
    ch_arena_free(&m->arena, dead.offset * G);
    ck_assert(ch_arena_find(&m->arena, dead.offset * G, &start, &bytes) == CH_PLACE_FREE);
    model_own(m, dead.offset, dead.count, 0);
    m->live[victim] = m->live[--m->n_live];
}

static void do_resize(struct model *m)
{
    struct live *const b = &m->live[next_random(&m->random) % m->n_live];
    const size_t count = 1 + next_random(&m->random) % BLOCK_MAX;
    const int fits = count <= b->count || is_free(m, b->offset + b->count, count - b->count);

    ck_assert(ch_arena_reserve(&m->arena) == CHORUS_OK);
    ck_assert(ch_arena_resize(&m->arena, b->offset * G, count * G) == fits);
    if (!fits) return;
    model_own(m, b->offset, b->count, 0);
    model_own(m, b->offset, count, 1);
    b->count = count;
}

static void check_totals(const struct model *m)
{
    size_t owned = 0;

    ck_assert_msg(ch_arena_check(&m->arena) == CHORUS_OK, "%s", ch_error_message());
    for (size_t i = 0; i < m->n_live; i++)
        owned += m->live[i].count;
    ck_assert_uint_eq(m->arena.used_bytes, owned * G);
    ck_assert_uint_eq(m->arena.n_used, m->n_live);
}

static void random_run(size_t ceiling, size_t n_live_max, int is_exact, size_t walk_every)
{
    struct model *const m = calloc(1, sizeof(*m));
    const size_t n_ops = getenv("CHORUS_TEST_FULL") != NULL ? 5 * (size_t)N_OPS : N_OPS;

    ck_assert_ptr_nonnull(m);
    m->is_owned = calloc(ceiling, 1);
    ck_assert_ptr_nonnull(m->is_owned);
    m->limit = ceiling / 4, m->ceiling = ceiling;
    m->n_live_max = n_live_max, m->is_exact = is_exact;
    m->random = 0x9e3779b97f4a7c15u;
    arena_make(&m->arena, m->limit * G);
    for (size_t op = 0; op < n_ops; op++) {
        const unsigned what = (unsigned)(next_random(&m->random) % 16);

        if (m->n_live == 0 || what < 8)
            do_alloc(m);
        else if (what < 14)
            do_free(m);
        else
            do_resize(m);
        if (op % walk_every == 0) check_totals(m);
    }
    ck_assert_uint_ge(m->n_live, n_live_max * 3 / 4); /* it was about that many blocks */
    while (m->n_live > 0)
        do_free(m);
    check_totals(m);
    ck_assert_uint_eq(m->arena.n_blocks, 1); /* all coalesced */
    ck_assert_uint_eq(ch_arena_largest(&m->arena, m->arena.limit), m->arena.limit);
    ch_arena_clear(&m->arena);
    free(m->is_owned);
    free(m);
}

START_TEST(arena__random_calls_nearly_full__are_first_fit)
{
    random_run(2048, 96, 1, 10);
}
END_TEST

START_TEST(arena__random_calls_thousands_of_blocks__keep_invariants)
{
    random_run(GRANULES_MAX, 4000, 0, 1000);
}
END_TEST

/* --- one rule a test ------------------------------------------------------------------ */

/* Two PEs that make the same calls compute the same offsets. */
START_TEST(arena__same_calls__same_offsets)
{
    struct ch_arena a, b;
    size_t at[256] = {0};
    uint64_t random = 7;

    arena_make(&a, 4096 * G);
    arena_make(&b, 4096 * G);
    for (unsigned i = 0; i < 2000; i++) {
        const unsigned slot = (unsigned)(next_random(&random) % 256);
        const size_t bytes = 1 + next_random(&random) % (8 * G);
        const size_t align = (size_t)1 << next_random(&random) % 11;

        if (at[slot] != 0) {
            give(&a, at[slot] - 1);
            give(&b, at[slot] - 1);
            at[slot] = 0;
        } else {
            at[slot] = take(&a, align, bytes) + 1;
            ck_assert_uint_eq(take(&b, align, bytes) + 1, at[slot]);
        }
    }
    ch_arena_clear(&a);
    ch_arena_clear(&b);
}
END_TEST

/* Four blocks, then the two in the middle freed in both orders, then the ends. */
START_TEST(arena__free__joins_both_neighbours)
{
    static const unsigned orders[][4] = {
        {1, 2, 0, 3}, {2, 1, 3, 0}, {0, 2, 1, 3}, {3, 1, 2, 0}};
    const size_t lone = 5; /* entries: three blocks in use between two holes at most */

    for (unsigned o = 0; o < 4; o++) {
        struct ch_arena a;
        size_t at[4];

        arena_make(&a, 4 * G);
        for (unsigned i = 0; i < 4; i++)
            at[i] = take(&a, 1, G);
        for (unsigned i = 0; i < 4; i++) {
            give(&a, at[orders[o][i]]);
            ck_assert_uint_lt(a.n_blocks, lone);
        }
        ck_assert_uint_eq(a.n_blocks, 1);
        ck_assert_uint_eq(take(&a, 1, 4 * G), 0);
        ch_arena_clear(&a);
    }
}
END_TEST

START_TEST(arena__hole_before_aligned_block__is_used_later)
{
    struct ch_arena a;

    arena_make(&a, 64 * G);
    ck_assert_uint_eq(take(&a, 1, 1), 0);
    ck_assert_uint_eq(take(&a, 16 * G, G), 16 * G);
    ck_assert_uint_eq(take(&a, 1, 15 * G), G);
    ck_assert_uint_eq(ch_arena_largest(&a, 64 * G), 47 * G);
    ck_assert_uint_eq(ch_arena_largest(&a, 100 * G), 83 * G);
    ch_arena_clear(&a);
}
END_TEST

START_TEST(arena__full__says_which_limit_would_do)
{
    struct ch_arena a;
    size_t offset = 1;

    arena_make(&a, 8 * G);
    ck_assert_uint_eq(take(&a, 1, 5 * G), 0);
    ck_assert(!ch_arena_alloc(&a, 1, 4 * G, &offset));
    ck_assert_uint_eq(offset, 1);
    ck_assert_uint_eq(ch_arena_limit_for(&a, 0, 1, 4 * G), 9 * G);
    ck_assert_uint_eq(ch_arena_limit_for(&a, 0, 4 * G, 4 * G), 12 * G);
    ck_assert_uint_eq(ch_arena_limit_for(&a, 0, 1, 3 * G), 8 * G);
    ch_arena_grow(&a, 12 * G);
    ck_assert_uint_eq(take(&a, 4 * G, 4 * G), 8 * G);
    ch_arena_clear(&a);
}
END_TEST

/* High water is of all time; use is of now. */
START_TEST(arena__use_falls__high_water_stays)
{
    struct ch_arena a;

    arena_make(&a, 64 * G);
    take(&a, 1, 10 * G);
    give(&a, 0);
    take(&a, 1, 3 * G);
    ck_assert_uint_eq(a.used_bytes, 3 * G);
    ck_assert_uint_eq(a.high_water_bytes, 10 * G);
    ck_assert(ch_arena_resize(&a, 0, 12 * G));
    ck_assert_uint_eq(a.high_water_bytes, 12 * G);
    ch_arena_clear(&a);
}
END_TEST

/* The walker sees each kind of damage. */
START_TEST(arena_check__damaged__says_so)
{
    struct ch_arena a, good;

    arena_make(&a, 64 * G);
    take(&a, 1, G);
    take(&a, 1, G);
    good = a;
#define DAMAGE(change, restore, text)                            \
    do {                                                         \
        change;                                                  \
        ck_assert_int_eq(ch_arena_check(&a), CHORUS_ERR_STATE);  \
        ck_assert_ptr_nonnull(strstr(ch_error_message(), text)); \
        restore;                                                 \
        ck_assert_int_eq(ch_arena_check(&a), CHORUS_OK);         \
    } while (0)
    DAMAGE(a.limit += G, a = good, "end at the limit");
    DAMAGE(a.used_bytes -= G, a = good, "in use");
    DAMAGE(a.n_used = 3, a = good, "in use");
    DAMAGE(a.high_water_bytes = 0, a = good, "high water");
    DAMAGE(a.blocks[1].is_used = false, a.blocks[1].is_used = true, "are not one");
    DAMAGE(a.blocks[1].offset = 0, a.blocks[1].offset = G, "ends at");
    DAMAGE(a.blocks[1].offset = G + 8, a.blocks[1].offset = G, "heap block");
#undef DAMAGE
    ch_arena_clear(&a);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("heap_arena");
    TCase *const tcase = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 100);
    tcase_add_test(tcase, arena__random_calls_nearly_full__are_first_fit);
    tcase_add_test(tcase, arena__random_calls_thousands_of_blocks__keep_invariants);
    tcase_add_test(tcase, arena__same_calls__same_offsets);
    tcase_add_test(tcase, arena__free__joins_both_neighbours);
    tcase_add_test(tcase, arena__hole_before_aligned_block__is_used_later);
    tcase_add_test(tcase, arena__full__says_which_limit_would_do);
    tcase_add_test(tcase, arena__use_falls__high_water_stays);
    tcase_add_test(tcase, arena_check__damaged__says_so);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
