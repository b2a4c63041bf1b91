/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing: PEs see each other, or all are refused, and nothing is left. */
#include "heap/heap.h"
#include "heap_pes.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define M ((size_t)1024 * 1024)

/* PE pe's copy of a symmetric object. */
static uint32_t *on(struct ch_heap *heap, void *symmetric, uint32_t pe)
{
    const char *const own = ch_heap_base(heap, ch_heap_me(heap));

    return (uint32_t *)(void *)(ch_heap_base(heap, pe) + ((char *)symmetric - own));
}

/* Every PE writes its mark into its slot on every PE, and finds everyone's in its own. */
static void peers_main(struct ch_boot *boot)
{
    struct ch_heap *const heap = pes_open_heap(boot, 1 * M);
    void *marks = NULL;

    EXPECT(ch_heap_me(heap) == boot->me && ch_heap_n_pes(heap) == boot->n);
    EXPECT(ch_heap_alloc(heap, 8, boot->n * sizeof(uint32_t), &marks) == CHORUS_OK);
    for (uint32_t pe = 0; pe < boot->n; pe++) {
        EXPECT(ch_heap_is_mapped(heap, pe));
        EXPECT(ch_heap_door(heap, pe)->aborted == 0 && ch_heap_door(heap, pe)->sleepers == 0);
        on(heap, marks, pe)[boot->me] = 100 + boot->me;
    }
    pes_meet(boot);
    for (uint32_t pe = 0; pe < boot->n; pe++)
        EXPECT(((uint32_t *)marks)[pe] == 100 + pe);
    EXPECT(ch_heap_free(heap, marks) == CHORUS_OK);
    EXPECT(ch_heap_check(heap) == CHORUS_OK);
    ch_heap_close(heap);
}

START_TEST(heap__threads__see_each_others_stores)
{
    const int fds = pes_count_fds();

    pes_run_threads(1, peers_main);
    pes_run_threads(5, peers_main);
    ck_assert_int_eq(pes_count_fds(), fds);
}
END_TEST

START_TEST(heap__processes__see_each_others_stores)
{
    pes_run_processes(1, peers_main);
    pes_run_processes(5, peers_main);
}
END_TEST

static void differ_main(struct ch_boot *boot)
{
    const struct ch_options options = pes_options((boot->me == 2 ? 2 : 1) * M);
    struct ch_heap *heap = NULL;

    EXPECT(ch_heap_open(boot, &options, &heap) == CHORUS_ERR_ARG);
    EXPECT(heap == NULL);
    EXPECT(pes_message_has("1048576 bytes on PE 0 and 2097152 on PE 2"));
    EXPECT(pes_message_has("CHORUS_HEAP_MAX"));
}

START_TEST(open__different_heap_max__is_refused_on_all)
{
    const int fds = pes_count_fds();

    pes_run_threads(4, differ_main);
    pes_run_processes(4, differ_main);
    ck_assert_int_eq(pes_count_fds(), fds);
}
END_TEST

/* Mappings of this process whose line says `what`. */
static int count_maps(const char *what)
{
    FILE *const maps = fopen("/proc/self/maps", "re");
    char line[512];
    int count = 0;

    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof(line), maps) != NULL)
        count += strstr(line, what) != NULL;
    (void)fclose(maps);
    return count;
}

static int count_heaps(void)
{
    return count_maps("memfd:chorus");
}

/* What is left of address space that was reserved. */
static int count_unused(void)
{
    return count_maps(" ---p ");
}

static void open_close(struct ch_boot *boot)
{
    struct ch_heap *const heap = pes_open_heap(boot, 1 * M);

    pes_meet(boot);
    if (boot->me == 0) EXPECT(count_heaps() == (int)boot->n); /* one mapping a segment */
    pes_meet(boot);
    ch_heap_close(heap);
}

static void open_and_be_refused(struct ch_boot *boot, int times)
{
    for (int i = 0; i < times; i++) {
        open_close(boot);
        differ_main(boot);
    }
}

/* In a process of its own, a PE leaves nothing behind, whether it opened or was refused. The
 * first time is not counted: a sanitizer's runtime maps what it needs then. */
static void leaves_nothing(struct ch_boot *boot)
{
    int fds, unused;

    open_and_be_refused(boot, 1);
    fds = pes_count_fds();
    unused = count_unused();
    open_and_be_refused(boot, 5);
    EXPECT(pes_count_fds() == fds);
    EXPECT(count_heaps() == 0);
    EXPECT(count_unused() == unused);
}

START_TEST(close__threads__nothing_left)
{
    const int fds = pes_count_fds();

    for (int i = 0; i < 3; i++)
        pes_run_threads(4, open_close);
    ck_assert_int_eq(pes_count_fds(), fds);
    ck_assert_int_eq(count_heaps(), 0);
}
END_TEST

START_TEST(close__processes__nothing_left)
{
    pes_run_processes(3, leaves_nothing);
}
END_TEST

/* Heaps as large as the machine, 64 of them: only address space. */
static void largest_main(struct ch_boot *boot)
{
    struct ch_heap *const heap = pes_open_heap(boot, 0);
    void *word = NULL;

    EXPECT(ch_heap_alloc(heap, 8, 8, &word) == CHORUS_OK);
    *on(heap, word, (boot->me + 1) % boot->n) = boot->me;
    pes_meet(boot);
    EXPECT(*(uint32_t *)word == (boot->me + boot->n - 1) % boot->n);
    ch_heap_close(heap);
}

START_TEST(open__64_pes_of_the_machines_memory__fit)
{
    pes_run_processes(64, largest_main);
}
END_TEST

/* Bytes of address space that this process has. */
static size_t bytes_of_addresses(void)
{
    FILE *const statm = fopen("/proc/self/statm", "re");
    size_t pages = 0;

    ck_assert_ptr_nonnull(statm);
    ck_assert_int_eq(fscanf(statm, "%zu", &pages), 1);
    (void)fclose(statm);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* A segment of 1 MiB has 64 MiB for sync memory besides. Each took a whole GiB once. */
static void addresses_main(struct ch_boot *boot)
{
    const size_t before = bytes_of_addresses();
    struct ch_heap *const heap = pes_open_heap(boot, 1 * M);

    EXPECT(bytes_of_addresses() - before < (boot->n + 1) * 66 * M);
    pes_meet(boot);
    ch_heap_close(heap);
}

START_TEST(open__small_heaps__take_little_address_space)
{
    pes_run_processes(16, addresses_main);
}
END_TEST

/* Mappings of heaps that are left out of core files: "dd" among the flags of smaps. */
static uint32_t count_undumped(void)
{
    FILE *const maps = fopen("/proc/self/smaps", "re");
    char line[512];
    int is_heap = 0;
    uint32_t count = 0;

    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, "memfd:chorus") != NULL) is_heap = 1;
        if (strncmp(line, "VmFlags:", 8) != 0) continue;
        count += is_heap && strstr(line, " dd") != NULL;
        is_heap = 0;
    }
    (void)fclose(maps);
    return count;
}

static void undumped_main(struct ch_boot *boot)
{
    struct ch_heap *const heap = pes_open_heap(boot, 1 * M);

    EXPECT(count_undumped() == boot->n - 1); /* all but its own */
    pes_meet(boot);
    ch_heap_close(heap);
}

START_TEST(open__peers_segments__are_left_out_of_core_files)
{
    pes_run_processes(5, undumped_main);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("heap_open");
    TCase *const tcase = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, heap__threads__see_each_others_stores);
    tcase_add_test(tcase, heap__processes__see_each_others_stores);
    tcase_add_test(tcase, open__different_heap_max__is_refused_on_all);
    tcase_add_test(tcase, close__threads__nothing_left);
    tcase_add_test(tcase, close__processes__nothing_left);
    tcase_add_test(tcase, open__small_heaps__take_little_address_space);
    tcase_add_test(tcase, open__peers_segments__are_left_out_of_core_files);
    tcase_add_test(tcase, open__64_pes_of_the_machines_memory__fit);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
