/* SPDX-License-Identifier: Apache-2.0 */
/* A boot alone and a boot of threads: what everyone gets, who waits, and how it fails. */
#include "base/clock.h"
#include "boot/boot.h"

#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PES_MAX = 64, ROUNDS = 20 };

#define PLENTY_NS (60 * CH_NS_PER_S)

/* The first expectation that failed on any thread: Check's own asserts are for one thread. */
static const char *failed;

#define EXPECT(condition)                                                          \
    do {                                                                           \
        const char *expected_ = NULL;                                              \
        if (!(condition))                                                          \
            (void)__atomic_compare_exchange_n(&failed, &expected_, #condition, 0,  \
                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
    } while (0)

struct pe {
    pthread_t thread;
    struct ch_boot *boot;
    void (*main)(struct ch_boot *boot);
};

static void *pe_run(void *arg)
{
    struct pe *pe = arg;

    pe->main(pe->boot);
    return NULL;
}

static void run(uint32_t n, uint64_t timeout_ns, void (*pe_main)(struct ch_boot *boot))
{
    struct ch_boot *boots[PES_MAX];
    struct pe pes[PES_MAX];

    ck_assert_int_eq(ch_boot_open_threads(n, timeout_ns, boots), CHORUS_OK);
    for (uint32_t i = 0; i < n; i++) {
        pes[i] = (struct pe){.boot = boots[i], .main = pe_main};
        ck_assert_int_eq(pthread_create(&pes[i].thread, NULL, pe_run, &pes[i]), 0);
    }
    for (uint32_t i = 0; i < n; i++)
        ck_assert_int_eq(pthread_join(pes[i].thread, NULL), 0);
    ck_assert_msg(failed == NULL, "on a PE: %s", failed);
}

static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    ck_assert_ptr_nonnull(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static int file_with(uint32_t word)
{
    const int fd = memfd_create("test", MFD_CLOEXEC);

    EXPECT(fd >= 0);
    EXPECT(pwrite(fd, &word, sizeof(word), 0) == (ssize_t)sizeof(word));
    return fd;
}

static uint32_t word_of(int fd)
{
    uint32_t word = UINT32_MAX;

    EXPECT(pread(fd, &word, sizeof(word), 0) == (ssize_t)sizeof(word));
    return word;
}

START_TEST(alone__exchange__gives_own_blob_and_a_copy_of_the_descriptor)
{
    const int before = count_fds();
    struct ch_boot *boot;
    uint32_t blob = 17, got = 0;
    int copy = -1, fd;

    ck_assert_int_eq(ch_boot_open(PLENTY_NS, false, &boot), CHORUS_OK);
    ck_assert_str_eq(boot->ops->name, "alone");
    ck_assert_uint_eq(boot->me, 0);
    ck_assert_uint_eq(boot->n, 1);
    ck_assert_uint_ge(boot->n_cores, 1);
    ck_assert(boot->ops->abort_job == NULL);
    fd = file_with(18);
    ck_assert_int_eq(boot->ops->exchange(boot, &blob, sizeof(blob), fd, &got, &copy),
                     CHORUS_OK);
    ck_assert_uint_eq(got, 17);
    ck_assert_int_ne(copy, fd);
    ck_assert_uint_eq(word_of(copy), 18);
    close(copy);
    close(fd);
    boot->ops->close(boot);
    ck_assert_int_eq(count_fds(), before);
}
END_TEST

/* The blob is on the stack and changes between rounds: an exchange that lets a PE go before
 * all have read it gives wrong values, and a report of the thread sanitizer. */
static void exchange_words(struct ch_boot *boot)
{
    uint32_t got[PES_MAX];

    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t mine = 1000 * round + boot->me;
        EXPECT(boot->ops->exchange(boot, &mine, sizeof(mine), -1, got, NULL) == CHORUS_OK);
        mine = UINT32_MAX;
        for (uint32_t pe = 0; pe < boot->n; pe++)
            EXPECT(got[pe] == 1000 * round + pe);
    }
    boot->ops->close(boot);
}

static void exchange_files(struct ch_boot *boot)
{
    const int fd = file_with(boot->me + 7);
    int fds[PES_MAX];
    uint16_t got[PES_MAX];
    const uint16_t mine = (uint16_t)(3 * boot->me);

    EXPECT(boot->ops->exchange(boot, &mine, sizeof(mine), fd, got, fds) == CHORUS_OK);
    close(fd);
    for (uint32_t pe = 0; pe < boot->n; pe++) {
        EXPECT(got[pe] == 3 * pe);
        EXPECT(word_of(fds[pe]) == pe + 7);
        close(fds[pe]);
    }
    boot->ops->close(boot);
}

static const uint32_t pe_counts[] = {1, 2, 5, PES_MAX};

START_TEST(threads__many_exchanges__everyone_gets_all_in_pe_order)
{
    run(pe_counts[_i], PLENTY_NS, exchange_words);
}
END_TEST

START_TEST(threads__exchange_with_descriptors__each_is_a_copy_and_none_leaks)
{
    const int before = count_fds();

    run(pe_counts[_i], PLENTY_NS, exchange_files);
    ck_assert_int_eq(count_fds(), before);
}
END_TEST

static uint32_t n_came;

static void exchange_nothing(struct ch_boot *boot)
{
    __atomic_fetch_add(&n_came, 1, __ATOMIC_RELAXED);
    EXPECT(boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL) == CHORUS_OK);
    EXPECT(__atomic_load_n(&n_came, __ATOMIC_RELAXED) == boot->n);
    boot->ops->close(boot);
}

START_TEST(threads__exchange_of_nothing__is_a_barrier)
{
    run(5, 0, exchange_nothing);
}
END_TEST

static void pe_1_leaves(struct ch_boot *boot)
{
    if (boot->me != 1) {
        EXPECT(boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL) == CHORUS_ERR_ABORTED);
        EXPECT(strcmp(ch_error_message(), "exchange among all PEs: PE 1 left the job") == 0);
        EXPECT(boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL) == CHORUS_ERR_ABORTED);
        EXPECT(strstr(ch_error_message(), "PE 1 left the job") != NULL);
    }
    boot->ops->close(boot);
}

START_TEST(threads__pe_left__others_are_aborted_and_told_who)
{
    run(3, 0, pe_1_leaves);
}
END_TEST

static pthread_barrier_t all_failed;

static void pe_2_does_not_come(struct ch_boot *boot)
{
    chorus_status st;

    if (boot->me != 2) {
        st = boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL);
        EXPECT(st == CHORUS_ERR_TIMEOUT || st == CHORUS_ERR_ABORTED);
        EXPECT(strstr(ch_error_message(), "PE 2 did not") != NULL);
        if (st == CHORUS_ERR_TIMEOUT) __atomic_fetch_add(&n_came, 1, __ATOMIC_RELAXED);
    }
    (void)pthread_barrier_wait(&all_failed);
    boot->ops->close(boot);
}

START_TEST(threads__pe_does_not_come__one_times_out_and_the_rest_are_aborted)
{
    (void)pthread_barrier_init(&all_failed, NULL, 4);
    run(4, 200 * CH_NS_PER_MS, pe_2_does_not_come);
    ck_assert_uint_eq(n_came, 1);
    (void)pthread_barrier_destroy(&all_failed);
}
END_TEST

static void pe_1_gives_more(struct ch_boot *boot)
{
    const char blob[8] = "";
    char got[8 * 3];

    EXPECT(boot->ops->exchange(boot, blob, boot->me == 1 ? 8 : 4, -1, got, NULL) ==
           CHORUS_ERR_ARG);
    EXPECT(strstr(ch_error_message(), "8 bytes") != NULL);
    EXPECT(strstr(ch_error_message(), "4 bytes") != NULL);
    EXPECT(boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL) == CHORUS_OK);
    boot->ops->close(boot);
}

START_TEST(threads__blobs_of_unlike_bytes__everyone_is_told_and_the_job_goes_on)
{
    run(3, PLENTY_NS, pe_1_gives_more);
}
END_TEST

START_TEST(threads__none__is_refused)
{
    struct ch_boot *boot;

    ck_assert_int_eq(ch_boot_open_threads(0, 0, &boot), CHORUS_ERR_ARG);
    ck_assert_ptr_nonnull(strstr(ch_error_message(), "0 threads"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("boot_threads");
    TCase *tc = tcase_create("all");
    SRunner *runner;
    int n_failed;

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, alone__exchange__gives_own_blob_and_a_copy_of_the_descriptor);
    tcase_add_loop_test(tc, threads__many_exchanges__everyone_gets_all_in_pe_order, 0, 4);
    tcase_add_loop_test(tc, threads__exchange_with_descriptors__each_is_a_copy_and_none_leaks,
                        0, 4);
    tcase_add_test(tc, threads__exchange_of_nothing__is_a_barrier);
    tcase_add_test(tc, threads__pe_left__others_are_aborted_and_told_who);
    tcase_add_test(tc, threads__pe_does_not_come__one_times_out_and_the_rest_are_aborted);
    tcase_add_test(tc, threads__blobs_of_unlike_bytes__everyone_is_told_and_the_job_goes_on);
    tcase_add_test(tc, threads__none__is_refused);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
