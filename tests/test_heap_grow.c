/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth: all PEs or none. One PE's fallocate is made to fail by its limit on the size of
 * files, which is why PEs are processes here.
 */
#include "heap/heap.h"
#include "heap_pes.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define M ((size_t)1024 * 1024)

/* Bytes behind this process's memfd. */
static size_t bytes_behind_heap(void)
{
    DIR *const dir = opendir("/proc/self/fd");
    const struct dirent *entry;
    struct stat found = {0};

    EXPECT(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        char target[64] = {0};
        const ssize_t got = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

        if (got < 0 || strncmp(target, "/memfd:chorus", 13) != 0) continue;
        EXPECT(found.st_nlink == 0); /* one descriptor: the own segment's */
        EXPECT(fstatat(dirfd(dir), entry->d_name, &found, 0) == 0);
        found.st_nlink = 1;
    }
    (void)closedir(dir);
    return (size_t)found.st_blocks * 512;
}

static void limit_files(rlim_t bytes)
{
    const struct rlimit limit = {bytes, RLIM_INFINITY};

    (void)signal(SIGXFSZ, SIG_IGN); /* so that fallocate returns EFBIG */
    EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void same_info(const struct ch_heap *heap, const struct ch_heap_info *before)
{
    struct ch_heap_info now;

    ch_heap_info_get(heap, &now);
    EXPECT(memcmp(&now, before, sizeof(now)) == 0);
}

static void one_fails_main(struct ch_boot *boot)
{
    struct ch_heap *const heap = pes_open_heap(boot, 64 * M);
    struct ch_heap_info before;
    void *first = NULL, *block = NULL, *again = NULL;
    size_t behind;

    EXPECT(ch_heap_alloc(heap, 8, 1 * M, &first) == CHORUS_OK);
    behind = bytes_behind_heap();
    EXPECT(behind >= 4 * M);
    ch_heap_info_get(heap, &before);

    if (boot->me == 1) limit_files(1 * M);
    EXPECT(ch_heap_alloc(heap, 8, 16 * M, &block) == CHORUS_ERR_NOMEM);
    EXPECT(pes_message_has(
        "16777216 bytes were requested from the symmetric heap; 66060288 of 67108864"));
    EXPECT(pes_message_has("PE 1: could not get memory from its host: File too large"));
    EXPECT(block == NULL);
    same_info(heap, &before);
    EXPECT(bytes_behind_heap() == behind); /* those that had it gave it back */
    EXPECT(ch_heap_check(heap) == CHORUS_OK);
    EXPECT(ch_heap_realloc(heap, first, 16 * M, &again) == CHORUS_ERR_NOMEM);
    same_info(heap, &before);

    EXPECT(ch_heap_alloc(heap, 8, 1 * M, &block) == CHORUS_OK); /* needs no growth */
    if (boot->me == 1) limit_files(RLIM_INFINITY);
    EXPECT(ch_heap_realloc(heap, first, 16 * M, &again) == CHORUS_OK);
    EXPECT((char *)again == (char *)block + 1 * M); /* the same place on every PE */
    memset(again, 1, 16 * M);
    EXPECT(ch_heap_check(heap) == CHORUS_OK);
    ch_heap_close(heap);
}

START_TEST(grow__one_pe_fails__none_grows)
{
    pes_run_processes(3, one_fails_main);
}
END_TEST

static void heap_full_main(struct ch_boot *boot)
{
    struct ch_heap *const heap = pes_open_heap(boot, 1 * M);
    struct ch_heap_info before;
    void *block = NULL, *other = NULL;

    EXPECT(ch_heap_alloc(heap, 8, 1 * M - 64, &block) == CHORUS_OK);
    ch_heap_info_get(heap, &before);
    EXPECT(before.committed_bytes == 1 * M && before.largest_free_bytes == 64);
    EXPECT(ch_heap_alloc(heap, 8, 65, &other) == CHORUS_ERR_NOMEM);
    same_info(heap, &before);
    EXPECT(ch_heap_free(heap, block) == CHORUS_OK);
    EXPECT(ch_heap_alloc(heap, 8, 1 * M, &other) == CHORUS_OK && other == block);
    EXPECT(ch_heap_check(heap) == CHORUS_OK);
    pes_meet(boot);
    ch_heap_close(heap);
}

START_TEST(grow__heap_max_reached__fails_on_all)
{
    pes_run_threads(4, heap_full_main);
    pes_run_processes(4, heap_full_main);
}
END_TEST

/* More than the machine has, asked of Linux, would end in a kill and not in an error. */
static void machine_full_main(struct ch_boot *boot)
{
    const size_t machine = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    struct ch_heap *const heap = pes_open_heap(boot, 0);
    struct ch_heap_info before;
    void *block = NULL;

    EXPECT(ch_heap_alloc(heap, 8, 64, &block) == CHORUS_OK);
    ch_heap_info_get(heap, &before);
    EXPECT(before.reserved_bytes >= machine / 4 * 3);
    EXPECT(ch_heap_alloc(heap, 8, machine / 4 * 3, &block) == CHORUS_ERR_NOMEM);
    EXPECT(pes_message_has("could not get memory from its host"));
    same_info(heap, &before);
    ch_heap_close(heap);
}

START_TEST(grow__machine_full__fails_on_all)
{
    pes_run_processes(2, machine_full_main);
}
END_TEST

/* A program's error: PEs that do not make the same allocations. */
static void differ_main(struct ch_boot *boot)
{
    struct ch_heap *const heap = pes_open_heap(boot, 64 * M);
    void *block = NULL;

    EXPECT(ch_heap_alloc(heap, 8, (boot->me + 5) * M, &block) == CHORUS_ERR_ARG);
    EXPECT(pes_message_has(
        "PE 0 requests 5242880 bytes from the symmetric heap, and PE 1 requests 6291456"));
    EXPECT(pes_message_has("same allocations in the same order"));
    EXPECT(ch_heap_check(heap) == CHORUS_OK);
    EXPECT(ch_heap_alloc(heap, 8, 5 * M, &block) == CHORUS_OK);
    pes_meet(boot);
    ch_heap_close(heap);
}

START_TEST(grow__pes_ask_for_different_bytes__is_an_error_on_all)
{
    pes_run_threads(3, differ_main);
}
END_TEST

static void local_fails_main(struct ch_boot *boot)
{
    struct ch_heap *const heap = pes_open_heap(boot, 64 * M);
    void *block = NULL;
    size_t behind;

    EXPECT(ch_heap_local_alloc(heap, 1000, &block) == CHORUS_OK);
    behind = bytes_behind_heap();
    limit_files(3 * M);
    EXPECT(ch_heap_local_alloc(heap, 16 * M, &block) == CHORUS_ERR_NOMEM);
    EXPECT(pes_message_has(
        "16777216 bytes of sync memory were requested from the system: File too large"));
    EXPECT(bytes_behind_heap() == behind);
    EXPECT(ch_heap_check(heap) == CHORUS_OK);
    limit_files(RLIM_INFINITY);
    EXPECT(ch_heap_local_alloc(heap, 16 * M, &block) == CHORUS_OK);
    ch_heap_close(heap);
}

START_TEST(local__machine_refuses__is_an_error_of_this_pe)
{
    pes_run_processes(1, local_fails_main);
}
END_TEST

/* Sync memory that no algorithm uses takes none of the machine's. */
static void local_unused_main(struct ch_boot *boot)
{
    struct ch_heap *const heap = pes_open_heap(boot, 64 * M);
    const size_t before = bytes_behind_heap();
    void *block = NULL;

    EXPECT(ch_heap_local_alloc(heap, 32 * M, &block) == CHORUS_OK);
    EXPECT(bytes_behind_heap() <= before + 1 * M);
    EXPECT(((const char *)block)[0] == 0 && ((const char *)block)[32 * M - 1] == 0);
    memset((char *)block + 8 * M, 1, 16 * M);
    EXPECT(bytes_behind_heap() >= before + 16 * M);
    EXPECT(bytes_behind_heap() <= before + 17 * M);
    ch_heap_close(heap);
}

START_TEST(local__not_used__takes_no_memory)
{
    pes_run_processes(1, local_unused_main);
}
END_TEST

/* Memory that an earlier team had is cleared where that team used it, and nowhere else. */
static void local_again_main(struct ch_boot *boot)
{
    struct ch_heap *const heap = pes_open_heap(boot, 64 * M);
    void *first = NULL, *again = NULL;
    size_t before, n_wrong = 0;

    EXPECT(ch_heap_local_alloc(heap, 32 * M, &first) == CHORUS_OK);
    memset((char *)first + 8 * M - 100, 1, 1 * M);
    ((char *)first)[20 * M] = 1;
    before = bytes_behind_heap();
    ch_heap_local_free(heap, first);
    EXPECT(ch_heap_local_alloc(heap, 16 * M, &again) == CHORUS_OK);
    EXPECT(again == first);
    EXPECT(((const char *)first)[20 * M] == 1); /* not of this block */
    ch_heap_local_free(heap, again);
    EXPECT(ch_heap_local_alloc(heap, 40 * M, &again) == CHORUS_OK);
    EXPECT(again == first);
    EXPECT(bytes_behind_heap() <= before + 1 * M);
    for (size_t i = 0; i < 40 * M; i++)
        n_wrong += ((const char *)again)[i] != 0;
    EXPECT(n_wrong == 0);
    ch_heap_close(heap);
}

START_TEST(local__used_in_part__is_cleared_there_alone)
{
    pes_run_processes(1, local_again_main);
}
END_TEST

/* Peers store to sync memory before its owner does: the owner's node is to be asked for it. */
static void local_policy_main(struct ch_boot *boot)
{
    struct ch_heap *const heap = pes_open_heap(boot, 64 * M);
    void *block = NULL;
    int policy = -1;

    EXPECT(ch_heap_local_alloc(heap, 1 * M, &block) == CHORUS_OK);
    if (syscall(SYS_get_mempolicy, &policy, NULL, 0, block, MPOL_F_ADDR) == 0)
        EXPECT(policy == MPOL_PREFERRED);
    ch_heap_close(heap);
}

START_TEST(local__of_a_pe__is_asked_of_its_node)
{
    pes_run_processes(1, local_policy_main);
}
END_TEST

/* On some kernels a signal undoes an fallocate in progress; growth goes on nonetheless. */
static void on_alarm(int number)
{
    (void)number;
}

static void signals_main(struct ch_boot *boot)
{
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    struct ch_heap *const heap = pes_open_heap(boot, 256 * M);
    struct sigaction action = {.sa_handler = on_alarm};
    void *block = NULL;

    EXPECT(sigaction(SIGALRM, &action, NULL) == 0);
    EXPECT(setitimer(ITIMER_REAL, &often, NULL) == 0);
    EXPECT(ch_heap_alloc(heap, 8, 128 * M, &block) == CHORUS_OK);
    EXPECT(setitimer(ITIMER_REAL, &never, NULL) == 0);
    memset(block, 1, 128 * M);
    ch_heap_close(heap);
}

START_TEST(grow__signals_meanwhile__succeeds)
{
    pes_run_processes(1, signals_main);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("heap_grow");
    TCase *const tcase = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, grow__one_pe_fails__none_grows);
    tcase_add_test(tcase, grow__heap_max_reached__fails_on_all);
    tcase_add_test(tcase, grow__machine_full__fails_on_all);
    tcase_add_test(tcase, grow__pes_ask_for_different_bytes__is_an_error_on_all);
    tcase_add_test(tcase, local__machine_refuses__is_an_error_of_this_pe);
    tcase_add_test(tcase, local__not_used__takes_no_memory);
    tcase_add_test(tcase, local__used_in_part__is_cleared_there_alone);
    tcase_add_test(tcase, local__of_a_pe__is_asked_of_its_node);
    tcase_add_test(tcase, grow__signals_meanwhile__succeeds);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
