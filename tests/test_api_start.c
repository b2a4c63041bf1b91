/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a start costs that grows with the number of PEs: exchanges, their bytes, and memory. The
 * PEs are threads, so that all of it is in this process.
 */
#include "api/context.h"
#include "api/check.h"

#include "chorus/chorusx.h"

#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PES = 24 };

/* A boot that counts what its PE gives to exchanges. */
struct counting_boot {
    struct ch_boot base;
    struct ch_boot *inner;
    uint32_t n_exchanges;
    size_t bytes_given;
};

struct pe {
    pthread_t thread;
    struct counting_boot boot;
    chorus_status status;
    size_t behind; /* bytes of memory that all segments have after the start; seen by PE 0 */
};

static chorus_status counting_exchange(struct ch_boot *base, const void *blob, size_t bytes,
                                       int fd, void *blobs_out, int *fds_out)
{
    struct counting_boot *boot = (struct counting_boot *)(void *)base;

    boot->n_exchanges++;
    boot->bytes_given += bytes;
    return boot->inner->ops->exchange(boot->inner, blob, bytes, fd, blobs_out, fds_out);
}

static void counting_close(struct ch_boot *base)
{
    struct counting_boot *boot = (struct counting_boot *)(void *)base;

    boot->inner->ops->close(boot->inner);
}

static const struct ch_boot_ops counting_ops = {
    .name = "counting",
    .exchange = counting_exchange,
    .close = counting_close,
};

/* Bytes behind the memfds of this process. */
static size_t bytes_behind_heaps(void)
{
    DIR *const dir = opendir("/proc/self/fd");
    const struct dirent *entry;
    size_t bytes = 0;

    if (dir == NULL) return SIZE_MAX;
    while ((entry = readdir(dir)) != NULL) {
        char target[64] = {0};
        struct stat found;

        if (readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) < 0) continue;
        if (strncmp(target, "/memfd:chorus", 13) != 0) continue;
        if (fstatat(dirfd(dir), entry->d_name, &found, 0) == 0)
            bytes += (size_t)found.st_blocks * 512;
    }
    (void)closedir(dir);
    return bytes;
}

static void *start_and_end(void *arg)
{
    struct pe *pe = arg;
    struct ch_boot *inner = pe->boot.inner;
    struct ch_context *context = NULL;
    struct ch_options options;

    pe->status = ch_options_read(&options);
    if (pe->status == CHORUS_OK)
        pe->status = ch_context_open(&options, &pe->boot.base, CHORUS_THREAD_SINGLE, &context);
    if (pe->status != CHORUS_OK) return NULL;
    (void)inner->ops->exchange(inner, NULL, 0, -1, NULL, NULL); /* all have started */
    if (inner->me == 0) pe->behind = bytes_behind_heaps();
    pe->status = inner->ops->exchange(inner, NULL, 0, -1, NULL, NULL);
    ch_context_close(context);
    return NULL;
}

static void run(struct pe pes[], uint32_t n)
{
    struct ch_boot *boots[PES];

    memset(pes, 0, n * sizeof(pes[0]));
    ck_assert_int_eq(ch_boot_open_threads(n, 0, boots), CHORUS_OK);
    for (uint32_t i = 0; i < n; i++) {
        pes[i].boot = (struct counting_boot){.base = *boots[i], .inner = boots[i]};
        pes[i].boot.base.ops = &counting_ops;
        ck_assert_int_eq(pthread_create(&pes[i].thread, NULL, start_and_end, &pes[i]), 0);
    }
    for (uint32_t i = 0; i < n; i++)
        ck_assert_int_eq(pthread_join(pes[i].thread, NULL), 0);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_int_eq(pes[i].status, CHORUS_OK);
}

/* Hosts, options and tables, greetings, connected, everything made, teams. PEs that are
 * processes have one more, of descriptors. Every byte given goes to all PEs: no messages while
 * nothing fails.
 */
START_TEST(start__of_many_pes__takes_six_short_exchanges)
{
    static struct pe pes[PES];

    run(pes, PES);
    for (uint32_t i = 0; i < PES; i++) {
        ck_assert_uint_eq(pes[i].boot.n_exchanges, 6);
        ck_assert_uint_le(pes[i].boot.bytes_given, 184);
    }
}
END_TEST

/* The sync memory of the predefined teams is some 30 MB a PE, of which a start stores to none.
 */
START_TEST(start__of_many_pes__backs_little_memory)
{
    static struct pe pes[PES];

    run(pes, PES);
    ck_assert_uint_gt(pes[0].behind, 0);
    ck_assert_uint_le(pes[0].behind, PES * (size_t)(64 << 10));
}
END_TEST

/* On the transport, a context of the program is an ordering domain of its own. */
START_TEST(context__made_by_the_program__is_not_that_of_algorithms)
{
    ch_team_handle team;
    chorus_ctx_t ctx;
    uint32_t number;

    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    ck_assert_int_eq(chorus_ctx_create(0, &ctx), CHORUS_OK);
    ck_assert_int_eq(ch_ctx_find(ch_context_get(), "test", ctx, &number, &team), CHORUS_OK);
    ck_assert_uint_eq(number, CH_CTX_PROGRAM);
    chorus_ctx_destroy(ctx);
    chorus_finalize();
}
END_TEST

static int reported;
static char report[512];

static void keep_report(int code, const char *message)
{
    reported = code;
    (void)snprintf(report, sizeof(report), "%s", message);
}

/* No machine of tests starts so many PEs, so a job of one says that it has them. */
START_TEST(lock__job_of_more_pes_than_a_place_names__is_unsupported)
{
    long *lock;

    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    (void)chorusx_set_error_handler(keep_report);
    lock = chorus_calloc(1, sizeof(*lock));
    ch_context_get()->boot->n = 32768;
    chorus_set_lock(lock);
    ch_context_get()->boot->n = 1;
    ck_assert_int_eq(reported, CHORUS_ERR_UNSUPPORTED);
    ck_assert_str_eq(report, "chorus_set_lock: the job has 32768 PEs; locks serve up to 32767");
    chorus_set_lock(lock);
    chorus_clear_lock(lock);
    chorus_free(lock);
    chorus_finalize();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("api_start");
    TCase *tcase = tcase_create("threads");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_add_test(tcase, context__made_by_the_program__is_not_that_of_algorithms);
    tcase_add_test(tcase, lock__job_of_more_pes_than_a_place_names__is_unsupported);
    tcase_add_test(tcase, start__of_many_pes__takes_six_short_exchanges);
    tcase_add_test(tcase, start__of_many_pes__backs_little_memory);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
