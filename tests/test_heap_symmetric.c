/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of one PE: where they lie, how they end, and what bad pointers come to. */
#include "heap/heap.h"
#include "heap_pes.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define K ((size_t)1024)
#define M (1024 * K)

static struct ch_heap *open_alone(uint64_t heap_max, struct ch_boot **boot_out)
{
    ck_assert_int_eq(ch_boot_open_threads(1, 0, boot_out), CHORUS_OK);
    return pes_open_heap(*boot_out, heap_max);
}

static void close_alone(struct ch_heap *heap, struct ch_boot *boot)
{
    ck_assert_int_eq(ch_heap_check(heap), CHORUS_OK);
    ch_heap_close(heap);
    boot->ops->close(boot);
}

static void *get(struct ch_heap *heap, size_t align, size_t bytes)
{
    void *ptr = NULL;

    ck_assert_msg(ch_heap_alloc(heap, align, bytes, &ptr) == CHORUS_OK, "%s",
                  ch_error_message());
    ck_assert_ptr_nonnull(ptr);
    return ptr;
}

#define CK_FAILS(call, code, text)                                               \
    do {                                                                         \
        ck_assert_int_eq((call), (code));                                        \
        ck_assert_msg(pes_message_has(text), "message: %s", ch_error_message()); \
        ck_assert_int_eq(ch_heap_check(heap), CHORUS_OK);                        \
    } while (0)

START_TEST(alloc__power_of_two_alignments__are_kept)
{
    struct ch_boot *boot;
    struct ch_heap *const heap = open_alone(64 * M, &boot);
    void *ptr = heap;

    for (size_t align = 1; align <= 2 * M; align *= 2) {
        get(heap, 8, 24);
        ptr = get(heap, align, align + 8);
        ck_assert_uint_eq((uintptr_t)ptr % align, 0);
        memset(ptr, 0xa5, align + 8);
    }
    CK_FAILS(ch_heap_alloc(heap, 0, 8, &ptr), CHORUS_ERR_ARG, "alignment is 0");
    CK_FAILS(ch_heap_alloc(heap, 24, 8, &ptr), CHORUS_ERR_ARG, "power of two");
    CK_FAILS(ch_heap_alloc(heap, 2 * CH_HEAP_ALIGN_MAX, 8, &ptr), CHORUS_ERR_ARG, "at most");
    close_alone(heap, boot);
}
END_TEST

/* The largest alignment is of addresses, not only of offsets, on every PE. */
START_TEST(alloc__largest_alignment__is_of_the_address)
{
    struct ch_boot *boot;
    struct ch_heap *const heap = open_alone(1 * M, &boot);

    ck_assert_uint_eq((uintptr_t)get(heap, CH_HEAP_ALIGN_MAX, 64) % CH_HEAP_ALIGN_MAX, 0);
    close_alone(heap, boot);
}
END_TEST

START_TEST(alloc__nothing__is_null)
{
    struct ch_boot *boot;
    struct ch_heap *const heap = open_alone(1 * M, &boot);
    void *ptr = heap;

    ck_assert_int_eq(ch_heap_alloc(heap, 8, 0, &ptr), CHORUS_OK);
    ck_assert_ptr_null(ptr);
    ck_assert_int_eq(ch_heap_free(heap, NULL), CHORUS_OK);
    ck_assert_int_eq(ch_heap_realloc(heap, NULL, 0, &ptr), CHORUS_OK);
    ck_assert_ptr_null(ptr);
    close_alone(heap, boot);
}
END_TEST

/* Sizes whose rounding or sum with an offset would wrap, which no limit that one could raise
 * will allow; and one that the limit alone forbids. */
START_TEST(alloc__absurd_size__is_refused)
{
    static const size_t sizes[] = {SIZE_MAX,        SIZE_MAX - 1, SIZE_MAX - 63,
                                   SIZE_MAX - 4095, SIZE_MAX / 2, (size_t)1 << 47,
                                   1 * M + 1};
    struct ch_boot *boot;
    struct ch_heap *const heap = open_alone(1 * M, &boot);
    void *const block = get(heap, 8, 100);
    void *ptr = block;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        CK_FAILS(ch_heap_alloc(heap, 8, sizes[i], &ptr), CHORUS_ERR_NOMEM,
                 sizes[i] > 1 * M + 1 ? "request less" : "raise CHORUS_HEAP_MAX");
        CK_FAILS(ch_heap_alloc(heap, 1 * M, sizes[i], &ptr), CHORUS_ERR_NOMEM, "largest block");
        CK_FAILS(ch_heap_realloc(heap, block, sizes[i], &ptr), CHORUS_ERR_NOMEM, "requested");
    }
    ck_assert_ptr_eq(ptr, block);
    close_alone(heap, boot);
}
END_TEST

START_TEST(alloc__heap_full__says_what_is_left)
{
    struct ch_boot *boot;
    struct ch_heap *const heap = open_alone(1 * M, &boot);
    char *const block = get(heap, 8, 700 * K);
    void *ptr;

    CK_FAILS(ch_heap_alloc(heap, 8, 400 * K, &ptr), CHORUS_ERR_NOMEM,
             "409600 bytes were requested from the symmetric heap; 331776 of 1048576 are free, "
             "the largest block is 331776");
    CK_FAILS(ch_heap_realloc(heap, block, 2 * M, &ptr), CHORUS_ERR_NOMEM,
             "2097152 bytes were requested");
    ck_assert_ptr_eq(get(heap, 8, 324 * K), block + 700 * K);
    CK_FAILS(ch_heap_alloc(heap, 8, 1, &ptr), CHORUS_ERR_NOMEM, "0 of 1048576 are free");
    ck_assert_int_eq(ch_heap_free(heap, block), CHORUS_OK);
    ck_assert_ptr_eq(get(heap, 8, 700 * K), block);
    close_alone(heap, boot);
}
END_TEST

START_TEST(free__bad_pointer__says_what_it_is)
{
    struct ch_boot *boot;
    struct ch_heap *const heap = open_alone(1 * M, &boot);
    char *const a = get(heap, 8, 100), *const b = get(heap, 8, 100);
    void *local, *ptr;
    int on_stack = 0;

    ck_assert_int_eq(ch_heap_local_alloc(heap, 100, &local), CHORUS_OK);
    CK_FAILS(ch_heap_free(heap, &on_stack), CHORUS_ERR_NOT_SYMMETRIC,
             "not in the symmetric heap");
    CK_FAILS(ch_heap_free(heap, local), CHORUS_ERR_NOT_SYMMETRIC, "not in the symmetric heap");
    CK_FAILS(ch_heap_free(heap, a + 1 * M), CHORUS_ERR_NOT_SYMMETRIC, "not in the symmetric");
    CK_FAILS(ch_heap_free(heap, a - 1), CHORUS_ERR_NOT_SYMMETRIC, "not in the symmetric heap");
    CK_FAILS(ch_heap_free(heap, a + 8), CHORUS_ERR_ARG, "is 8 bytes inside the block at");
    CK_FAILS(ch_heap_free(heap, b + 64), CHORUS_ERR_ARG, "is 64 bytes inside the block at");
    CK_FAILS(ch_heap_free(heap, b + 64 * K), CHORUS_ERR_ARG, "free memory");
    CK_FAILS(ch_heap_realloc(heap, a + 8, 8, &ptr), CHORUS_ERR_ARG, "inside the block");
    ck_assert_int_eq(ch_heap_free(heap, a), CHORUS_OK);
    CK_FAILS(ch_heap_free(heap, a), CHORUS_ERR_ARG, "freed already");
    CK_FAILS(ch_heap_realloc(heap, a, 8, &ptr), CHORUS_ERR_ARG, "freed already");
    ck_assert_int_eq(ch_heap_free(heap, b), CHORUS_OK);
    CK_FAILS(ch_heap_free(heap, b), CHORUS_ERR_ARG, "freed already");
    ch_heap_local_free(heap, local);
    close_alone(heap, boot);
}
END_TEST

static int is_filled(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != (unsigned char)(i * 7 + 1)) return 0;
    return 1;
}

START_TEST(realloc__grow_move_shrink__keeps_contents)
{
    struct ch_boot *boot;
    struct ch_heap *const heap = open_alone(1 * M, &boot);
    unsigned char *const a = get(heap, 8, 1000);
    void *grown, *moved, *shrunk;

    for (size_t i = 0; i < 1000; i++)
        a[i] = (unsigned char)(i * 7 + 1);
    ck_assert_int_eq(ch_heap_realloc(heap, a, 5000, &grown), CHORUS_OK);
    ck_assert_ptr_eq(grown, a); /* what follows was free */
    get(heap, 8, 8);
    ck_assert_int_eq(ch_heap_realloc(heap, grown, 300 * K, &moved), CHORUS_OK);
    ck_assert_ptr_ne(moved, a);
    ck_assert(is_filled(moved, 1000));
    ck_assert_int_eq(ch_heap_realloc(heap, moved, 100, &shrunk), CHORUS_OK);
    ck_assert_ptr_eq(shrunk, moved);
    ck_assert(is_filled(shrunk, 100));
    ck_assert_ptr_eq(get(heap, 8, 5000), a); /* what it left is free */
    ck_assert_int_eq(ch_heap_realloc(heap, shrunk, 0, &shrunk), CHORUS_OK);
    ck_assert_ptr_null(shrunk);
    close_alone(heap, boot);
}
END_TEST

START_TEST(contains__committed_part_only)
{
    struct ch_boot *boot;
    struct ch_heap *const heap = open_alone(64 * M, &boot);
    char *const a = get(heap, 8, 100);
    struct ch_heap_info info;

    ch_heap_info_get(heap, &info);
    ck_assert_uint_lt(info.committed_bytes, 64 * M);
    ck_assert(ch_heap_contains(heap, a, info.committed_bytes));
    ck_assert(!ch_heap_contains(heap, a, info.committed_bytes + 1));
    ck_assert(!ch_heap_contains(heap, a + 1, info.committed_bytes));
    ck_assert(!ch_heap_contains(heap, a + 64 * M - 8, 8));
    ck_assert(!ch_heap_contains(heap, a, SIZE_MAX));
    ck_assert(!ch_heap_contains(heap, a + 8, SIZE_MAX - 7));
    ck_assert(!ch_heap_contains(heap, a - 1, 1));
    ck_assert(!ch_heap_contains(heap, &boot, 8));
    ck_assert(!ch_heap_contains(heap, NULL, 0));
    close_alone(heap, boot);
}
END_TEST

START_TEST(info__after_alloc_and_free__adds_up)
{
    struct ch_boot *boot;
    struct ch_heap *const heap = open_alone(8 * M, &boot);
    void *const a = get(heap, 8, 1 * M), *const b = get(heap, 8, 100);
    struct ch_heap_info info;
    void *local;

    ck_assert_int_eq(ch_heap_local_alloc(heap, 1000, &local), CHORUS_OK);
    ck_assert_int_eq(ch_heap_free(heap, a), CHORUS_OK);
    ch_heap_info_get(heap, &info);
    ck_assert_uint_eq(info.reserved_bytes, 8 * M);
    ck_assert_uint_eq(info.committed_bytes, 4 * M);
    ck_assert_uint_eq(info.used_bytes, 128);
    ck_assert_uint_eq(info.free_bytes, 8 * M - 128);
    ck_assert_uint_eq(info.largest_free_bytes, 7 * M - 128);
    ck_assert_uint_eq(info.high_water_bytes, 1 * M + 128);
    ck_assert_uint_eq(info.blocks, 1);
    ck_assert_uint_eq(info.local_used_bytes, 1024);
    get(heap, 8, info.largest_free_bytes); /* it can be had */
    ck_assert_int_eq(ch_heap_free(heap, b), CHORUS_OK);
    ch_heap_local_free(heap, local);
    ch_heap_info_get(heap, &info);
    ck_assert_uint_eq(info.local_used_bytes, 0);
    close_alone(heap, boot);
}
END_TEST

/* Every block costs entries in the bookkeeping, which grows by a vote of its own. */
START_TEST(alloc__many_small_blocks__bookkeeping_grows)
{
    enum { N = 3000 };
    static void *blocks[N];
    struct ch_boot *boot;
    struct ch_heap *const heap = open_alone(1 * M, &boot);

    for (int i = 0; i < N; i++)
        blocks[i] = get(heap, 8, 64);
    for (int i = 0; i < N; i += 2)
        ck_assert_int_eq(ch_heap_free(heap, blocks[i]), CHORUS_OK);
    ck_assert_int_eq(ch_heap_check(heap), CHORUS_OK);
    for (int i = 1; i < N; i += 2)
        ck_assert_int_eq(ch_heap_free(heap, blocks[i]), CHORUS_OK);
    close_alone(heap, boot);
}
END_TEST

/* --- the local part --------------------------------------------------------------------- */

static int is_zero(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0) return 0;
    return 1;
}

START_TEST(local__used_memory_again__is_zero)
{
    struct ch_boot *boot;
    struct ch_heap *const heap = open_alone(1 * M, &boot);
    void *a, *b, *c;

    ck_assert_int_eq(ch_heap_local_alloc(heap, 100, &a), CHORUS_OK);
    ck_assert_int_eq(ch_heap_local_alloc(heap, 3 * M, &b), CHORUS_OK);
    ck_assert(is_zero(a, 100) && is_zero(b, 3 * M));
    ck_assert_uint_eq((uintptr_t)a % 128, 0);
    ck_assert_uint_eq((uintptr_t)b % 128, 0);
    memset(b, 0xff, 3 * M);
    ch_heap_local_free(heap, b);
    ck_assert_int_eq(ch_heap_local_alloc(heap, 2 * M, &c), CHORUS_OK);
    ck_assert_ptr_eq(c, b);
    ck_assert(is_zero(c, 2 * M));
    memset(c, 0xff, 2 * M);
    ch_heap_local_free(heap, c);
    ck_assert_int_eq(ch_heap_local_alloc(heap, 5 * M, &c), CHORUS_OK); /* in part used before */
    ck_assert_ptr_eq(c, b);
    ck_assert(is_zero(c, 5 * M));
    ck_assert(!ch_heap_contains(heap, c, 8)); /* it is not symmetric */
    CK_FAILS(ch_heap_local_alloc(heap, 1024 * M, &a), CHORUS_ERR_NOMEM, "1073741824 bytes");
    CK_FAILS(ch_heap_local_alloc(heap, 63 * M, &a), CHORUS_ERR_NOMEM, "destroy teams");
    CK_FAILS(ch_heap_local_alloc(heap, 0, &a), CHORUS_ERR_ARG, "0 bytes");
    ch_heap_local_free(heap, NULL);
    close_alone(heap, boot);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("heap_symmetric");
    TCase *const tcase = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, alloc__power_of_two_alignments__are_kept);
    tcase_add_test(tcase, alloc__largest_alignment__is_of_the_address);
    tcase_add_test(tcase, alloc__nothing__is_null);
    tcase_add_test(tcase, alloc__absurd_size__is_refused);
    tcase_add_test(tcase, alloc__heap_full__says_what_is_left);
    tcase_add_test(tcase, free__bad_pointer__says_what_it_is);
    tcase_add_test(tcase, realloc__grow_move_shrink__keeps_contents);
    tcase_add_test(tcase, contains__committed_part_only);
    tcase_add_test(tcase, info__after_alloc_and_free__adds_up);
    tcase_add_test(tcase, alloc__many_small_blocks__bookkeeping_grows);
    tcase_add_test(tcase, local__used_memory_again__is_zero);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
