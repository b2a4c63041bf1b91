/* SPDX-License-Identifier: Apache-2.0 */
/* The symmetric heap through the public calls: same object everywhere, or a clear no. */
#include "api_pes.h"

#include <stdint.h>
#include <string.h>

static chorusx_heap_info_t heap_info(void)
{
    chorusx_heap_info_t info;

    memset(&info, 0, sizeof(info));
    EXPECT(chorusx_heap_info(&info) == CHORUS_OK);
    return info;
}

/* Nothing was taken or lost since. */
static void expect_heap(const chorusx_heap_info_t *before)
{
    const chorusx_heap_info_t now = heap_info();

    EXPECT(now.used_bytes == before->used_bytes);
    EXPECT(now.blocks == before->blocks);
    EXPECT(now.free_bytes == before->free_bytes);
    EXPECT(now.largest_free_bytes == before->largest_free_bytes);
}

static void malloc__object_of_each_pe__is_reached_by_all(void)
{
    int *words = chorus_malloc(API_PES_MAX * sizeof(*words));

    EXPECT(words != NULL && (uintptr_t)words % 64 == 0);
    for (int pe = 0; pe < api_n() && api_me() < API_PES_MAX; pe++)
        chorus_int_p(&words[api_me()], 10 * api_me() + pe,
                     pe); /* right after: it is a barrier */
    chorus_barrier_all();
    for (int pe = 0; pe < api_n() && pe < API_PES_MAX; pe++)
        EXPECT(words[pe] == 10 * pe + api_me());
    chorus_free(words);
}

static void malloc_with_hints__each_hint__is_memory_as_any_other(void)
{
    static const long hints[] = {0,
                                 CHORUS_MALLOC_ATOMICS_REMOTE,
                                 CHORUS_MALLOC_SIGNAL_REMOTE,
                                 CHORUS_MALLOC_ATOMICS_REMOTE | CHORUS_MALLOC_SIGNAL_REMOTE,
                                 12, /* unknown ones, by a later version of the standard */
                                 -1};

    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        int *word = chorus_malloc_with_hints(sizeof(*word), hints[i]);

        EXPECT(word != NULL && (uintptr_t)word % 64 == 0);
        chorus_int_p(word, api_me(), api_next()); /* right after: it is a barrier */
        chorus_barrier_all();
        EXPECT(*word == api_previous());
        chorus_free(word);
    }
}

static void calloc__memory_used_before__is_zero(void)
{
    enum { BYTES = 5000 };
    unsigned char *dirty = chorus_malloc(BYTES), *clean;

    memset(dirty, 0xff, BYTES);
    chorus_free(dirty);
    clean = chorus_calloc(BYTES / 4, 4);
    for (int i = 0; i < BYTES; i++)
        EXPECT(clean[i] == 0);
    chorus_free(clean);
}

static void calloc__product_that_overflows__is_null_with_a_message(void)
{
    const chorusx_heap_info_t before = heap_info();

    EXPECT(chorus_calloc(SIZE_MAX / 2, 4) == NULL);
    EXPECT(strstr(chorusx_last_error(), "chorus_calloc: 9223372036854775807 elements of 4") !=
           NULL);
    expect_heap(&before);
}

static void align__power_of_two__is_kept(void)
{
    for (size_t alignment = 1; alignment <= (size_t)1 << 20; alignment *= 4) {
        char *ptr = chorus_align(alignment, 100);

        EXPECT(ptr != NULL && (uintptr_t)ptr % alignment == 0);
        chorus_putmem(ptr, "to the next", 12, api_next());
        chorus_barrier_all();
        EXPECT(strcmp(ptr, "to the next") == 0);
        chorus_free(ptr);
    }
}

static void align__not_a_power_of_two__is_null_with_a_message(void)
{
    static const size_t bad[] = {0, 3, 48, SIZE_MAX};
    const chorusx_heap_info_t before = heap_info();

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        EXPECT(chorus_align(bad[i], 64) == NULL);
        EXPECT(strstr(chorusx_last_error(), "expected a power of two") != NULL);
    }
    expect_heap(&before);
}

static void malloc__zero_bytes__does_nothing(void)
{
    const chorusx_heap_info_t before = heap_info();

    EXPECT(chorus_malloc(0) == NULL);
    EXPECT(chorus_calloc(0, 8) == NULL && chorus_calloc(8, 0) == NULL);
    EXPECT(chorus_align(64, 0) == NULL && chorus_malloc_with_hints(0, 0) == NULL);
    EXPECT(chorus_realloc(NULL, 0) == NULL);
    chorus_free(NULL);
    expect_heap(&before);
}

static void realloc__grow_and_shrink__keeps_the_contents(void)
{
    int *words = chorus_realloc(NULL, 8 * sizeof(*words));
    void *wall = chorus_malloc(64); /* so that growing must move */
    chorusx_heap_info_t with_wall;

    for (int i = 0; i < 8; i++)
        words[i] = api_me() * 100 + i;
    words = chorus_realloc(words, 4000 * sizeof(*words));
    for (int i = 0; i < 8; i++)
        EXPECT(chorus_int_g(&words[i], api_next()) == api_next() * 100 + i);
    chorus_barrier_all();
    words = chorus_realloc(words, 3 * sizeof(*words));
    for (int i = 0; i < 3; i++)
        EXPECT(words[i] == api_me() * 100 + i);
    with_wall = heap_info();
    EXPECT(chorus_realloc(words, 0) == NULL);
    EXPECT(heap_info().blocks == with_wall.blocks - 1);
    chorus_free(wall);
}

static void malloc__more_than_there_is__is_null_on_all_pes(void)
{
    const chorusx_heap_info_t before = heap_info();
    int *words = chorus_calloc(2, sizeof(*words));
    void *most;

    EXPECT(chorus_malloc(before.reserved_bytes + 1) == NULL);
    EXPECT(strstr(chorusx_last_error(), "are free, the largest block is") != NULL);
    EXPECT(chorus_malloc(SIZE_MAX) == NULL);
    words[1] = 7;
    EXPECT(chorus_realloc(words, SIZE_MAX / 2) == NULL);
    EXPECT(words[1] == 7);
    most = chorus_malloc(4096); /* it still serves */
    EXPECT(most != NULL);
    chorus_free(most);
    chorus_free(words);
    expect_heap(&before);
}

static void free__pointer_that_is_no_block__is_reported_and_heap_intact(void)
{
    int mine = 0;
    char *block = chorus_malloc(1000);
    const chorusx_heap_info_t before = heap_info();

    chorus_free(&mine);
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "is not in the symmetric heap");
    chorus_free(block + 16);
    EXPECT_REPORT(CHORUS_ERR_ARG, "16 bytes inside the block");
    EXPECT(chorus_realloc(block + 16, 10) == NULL);
    EXPECT_REPORT(CHORUS_ERR_ARG, "16 bytes inside the block");
    expect_heap(&before);
    chorus_free(block);
    chorus_free(block);
    EXPECT_REPORT(CHORUS_ERR_ARG, "was it freed already?");
    EXPECT(heap_info().blocks == before.blocks - 1);
}

/* The heap grows in steps; each new part is reachable from everywhere. */
static void malloc__past_the_first_step__grows_everywhere(void)
{
    enum { BLOCKS = 6, BYTES = 3 << 20 };
    char *blocks[BLOCKS];

    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = chorus_malloc(BYTES);
        EXPECT(blocks[i] != NULL);
        chorus_char_p(&blocks[i][BYTES - 1], (char)(i + api_me()), api_next());
    }
    chorus_barrier_all();
    for (int i = 0; i < BLOCKS; i++)
        EXPECT(blocks[i][BYTES - 1] == (char)(i + api_previous()));
    for (int i = 0; i < BLOCKS; i++)
        chorus_free(blocks[i]);
}

static void ptr__of_each_pe__is_its_memory(void)
{
    int *word = chorus_malloc(sizeof(*word)), mine = 0;

    *word = api_me() + 50;
    chorus_barrier_all();
    for (int pe = 0; pe < api_n(); pe++) {
        const int *there = chorus_ptr(word, pe);

        if (chorus_team_translate_pe(CHORUS_TEAM_WORLD, pe, CHORUS_TEAM_SHARED) >= 0)
            EXPECT(there != NULL && *there == pe + 50);
        else
            EXPECT(there == NULL);
        EXPECT(chorus_addr_accessible(word, pe) == 1);
    }
    EXPECT(chorus_ptr(word, api_me()) == word);
    EXPECT(chorus_ptr(word, -1) == NULL);
    EXPECT(strstr(chorusx_last_error(), "chorus_ptr: pe is -1") != NULL);
    EXPECT(chorus_ptr(&mine, 0) == NULL);
    EXPECT(strstr(chorusx_last_error(), "chorus_ptr: addr is") != NULL);
    EXPECT(chorus_addr_accessible(&mine, 0) == 0);
    EXPECT(chorus_addr_accessible(word, api_n()) == 0);
    EXPECT(chorus_pe_accessible(api_n() - 1) == 1);
    EXPECT(chorus_pe_accessible(-1) == 0 && chorus_pe_accessible(api_n()) == 0);
    chorus_barrier_all();
    chorus_free(word);
}

#define TESTS(X)                                                   \
    X(malloc__object_of_each_pe__is_reached_by_all)                \
    X(malloc_with_hints__each_hint__is_memory_as_any_other)        \
    X(calloc__memory_used_before__is_zero)                         \
    X(calloc__product_that_overflows__is_null_with_a_message)      \
    X(align__power_of_two__is_kept)                                \
    X(align__not_a_power_of_two__is_null_with_a_message)           \
    X(malloc__zero_bytes__does_nothing)                            \
    X(realloc__grow_and_shrink__keeps_the_contents)                \
    X(malloc__more_than_there_is__is_null_on_all_pes)              \
    X(free__pointer_that_is_no_block__is_reported_and_heap_intact) \
    X(malloc__past_the_first_step__grows_everywhere)               \
    X(ptr__of_each_pe__is_its_memory)
API_MAIN(TESTS)
