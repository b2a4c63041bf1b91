/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that a program puts together by an id: any process may have made it. */
#include "chorus/chorusx.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* SECRET_BYTE: in an id, one that belongs to the secret. */
enum { PES_MAX = 5, MESSAGE_BYTES = 600, SECRET_BYTE = 20 };

/* What the processes of a test share. */
static struct shared {
    chorusx_uniqueid_t id;
    int is_made; /* atomic */
    char messages[PES_MAX][MESSAGE_BYTES];
} * shared;

static void share(void)
{
    shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
}

/* What one process is told to be. */
struct part {
    int rank, n_ranks;
    /* LEAVES: makes it and ends; DAMAGES: a byte of it changes on the way. */
    enum { TAKES, MAKES, LEAVES, DAMAGES } id;
};

/* 0: it joined, and every PE's number came to every PE. */
static int be_pe(const struct part *part)
{
    chorusx_init_attr_t attr = {.heap = CHORUS_HEAP_host};
    chorusx_uniqueid_t id;
    long *from, sum = 0;

    if (part->id == MAKES || part->id == LEAVES) {
        if (chorusx_get_uniqueid(&shared->id) != CHORUS_OK) return 10;
        __atomic_store_n(&shared->is_made, 1, __ATOMIC_RELEASE);
    }
    if (part->id == LEAVES) return 0;
    while (!__atomic_load_n(&shared->is_made, __ATOMIC_ACQUIRE))
        (void)usleep(1000);
    id = shared->id;
    id.bytes[SECRET_BYTE] ^= part->id == DAMAGES;
    if (chorusx_set_attr_uniqueid_args(part->rank, part->n_ranks, &id, &attr) != CHORUS_OK)
        return 11;
    if (chorusx_init_attr(CHORUSX_INIT_UNIQUEID | CHORUSX_INIT_HEAP, &attr) != CHORUS_OK) {
        (void)snprintf(shared->messages[part->rank], MESSAGE_BYTES, "%s", chorusx_last_error());
        return 12;
    }
    if (chorus_my_pe() != part->rank || chorus_n_pes() != part->n_ranks) return 13;
    from = chorus_calloc((size_t)part->n_ranks, sizeof(*from));
    for (int pe = 0; pe < part->n_ranks; pe++)
        chorus_long_p(&from[part->rank], part->rank + 1, pe);
    chorus_barrier_all();
    for (int pe = 0; pe < part->n_ranks; pe++)
        sum += from[pe];
    if (sum != (long)part->n_ranks * (part->n_ranks + 1) / 2) return 14;
    chorus_finalize();
    return 0;
}

static void run(const struct part *parts, int n, int statuses_out[])
{
    pid_t pids[PES_MAX];

    for (int i = 0; i < n; i++) {
        pids[i] = fork();
        ck_assert_int_ge(pids[i], 0);
        if (pids[i] == 0) _exit(be_pe(&parts[i]));
    }
    for (int i = 0; i < n; i++) {
        int status;
        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        statuses_out[i] = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
}

START_TEST(uniqueid__any_process_makes_it__all_join)
{
    struct part parts[PES_MAX];
    int statuses[PES_MAX];

    share();
    for (int i = 0; i < PES_MAX; i++)
        parts[i] = (struct part){i, PES_MAX, i == _i ? MAKES : TAKES};
    run(parts, PES_MAX, statuses);
    for (int i = 0; i < PES_MAX; i++)
        ck_assert_msg(statuses[i] == 0, "PE %d ended with %d: %s", i, statuses[i],
                      shared->messages[i]);
}
END_TEST

START_TEST(uniqueid__one_process__is_a_job)
{
    const struct part part = {0, 1, MAKES};
    int status;

    share();
    run(&part, 1, &status);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* A start that cannot be fails for the same reason on all, those that come late too. */
START_TEST(uniqueid__parts_do_not_fit__all_are_told_alike)
{
    static const struct {
        struct part parts[3];
        const char *says;
    } wrong[] = {
        {{{0, 3, MAKES}, {1, 3, TAKES}, {1, 3, TAKES}}, "two processes are PE 1: one on host "},
        {{{0, 3, MAKES}, {1, 2, TAKES}, {2, 3, TAKES}}, "was started as PE 1 of 2, and others"},
    };
    int statuses[3];

    share();
    run(wrong[_i].parts, 3, statuses);
    for (int i = 0; i < 3; i++) {
        const char *const message = shared->messages[wrong[_i].parts[i].rank];
        ck_assert_int_eq(statuses[i], 12);
        ck_assert_msg(strstr(message, wrong[_i].says) != NULL, "process %d: %s", i, message);
    }
}
END_TEST

START_TEST(uniqueid__pe_is_missing__others_name_it)
{
    const struct part parts[2] = {{0, 3, TAKES}, {2, 3, MAKES}};
    int statuses[2];

    share();
    ck_assert_int_eq(setenv("CHORUS_TIMEOUT", "0.5", 1), 0);
    run(parts, 2, statuses);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(statuses[i], 12);
        ck_assert_ptr_nonnull(strstr(shared->messages[parts[i].rank],
                                     "2 of 3 PEs came within 0.5 s; PE 1 never joined"));
    }
}
END_TEST

/* The process that made the id listened for the others. */
START_TEST(uniqueid__maker_is_gone__the_others_say_so)
{
    const struct part parts[2] = {{0, 2, LEAVES}, {1, 2, TAKES}};
    int statuses[2];

    share();
    ck_assert_int_eq(setenv("CHORUS_TIMEOUT", "0.5", 1), 0);
    run(parts, 2, statuses);
    ck_assert_int_eq(statuses[1], 12);
    ck_assert_msg(strstr(shared->messages[1], "PE 1 could not join the job at ") != NULL, "%s",
                  shared->messages[1]);
}
END_TEST

START_TEST(uniqueid__secret_differs__all_are_told_whose)
{
    const struct part parts[3] = {{0, 3, MAKES}, {1, 3, DAMAGES}, {2, 3, TAKES}};
    int statuses[3];

    share();
    ck_assert_int_eq(setenv("CHORUS_TIMEOUT", "0.5", 1), 0);
    run(parts, 3, statuses);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(statuses[i], 12);
        ck_assert_msg(strstr(shared->messages[i],
                             i == 1 ? "has another secret: it is of another job"
                                    : " connections had another secret than the job's (start "
                                      "all PEs of a job with one launcher, unique id or "
                                      "CHORUS_SECRET), from PE 1 of 3 on host ") != NULL,
                      "PE %d: %s", i, shared->messages[i]);
    }
}
END_TEST

#define ASSERT_REFUSED(call, part)                                             \
    do {                                                                       \
        ck_assert_int_eq((call), CHORUS_ERR_ARG);                              \
        ck_assert_msg(strstr(chorusx_last_error(), (part)) != NULL, "not: %s", \
                      chorusx_last_error());                                   \
    } while (0)

START_TEST(uniqueid__arguments_wrong__are_refused)
{
    chorusx_uniqueid_t id, noise = {"not an id"};
    chorusx_init_attr_t attr;

    ASSERT_REFUSED(chorusx_get_uniqueid(NULL), "id is null");
    ck_assert_int_eq(chorusx_get_uniqueid(&id), CHORUS_OK);
    ASSERT_REFUSED(chorusx_set_attr_uniqueid_args(0, 1, NULL, &attr), "id is null");
    ASSERT_REFUSED(chorusx_set_attr_uniqueid_args(0, 1, &id, NULL), "attr is null");
    ASSERT_REFUSED(chorusx_set_attr_uniqueid_args(0, 0, &id, &attr), "n_ranks is 0");
    ASSERT_REFUSED(chorusx_set_attr_uniqueid_args(2, 2, &id, &attr),
                   "rank is 2; expected 0 to 1");
    ASSERT_REFUSED(chorusx_set_attr_uniqueid_args(-1, 2, &id, &attr), "rank is -1");
    ASSERT_REFUSED(chorusx_set_attr_uniqueid_args(0, 2, &noise, &attr), "id was not made by");
    memset(&attr, 0, sizeof(attr));
    ASSERT_REFUSED(chorusx_init_attr(CHORUSX_INIT_UNIQUEID, &attr), "n_ranks is 0");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("api_uniqueid");
    TCase *tc = tcase_create("all");
    SRunner *runner;
    int n_failed;

    tcase_add_loop_test(tc, uniqueid__any_process_makes_it__all_join, 0, PES_MAX);
    tcase_add_test(tc, uniqueid__one_process__is_a_job);
    tcase_add_loop_test(tc, uniqueid__parts_do_not_fit__all_are_told_alike, 0, 2);
    tcase_add_test(tc, uniqueid__pe_is_missing__others_name_it);
    tcase_add_test(tc, uniqueid__maker_is_gone__the_others_say_so);
    tcase_add_test(tc, uniqueid__secret_differs__all_are_told_whose);
    tcase_add_test(tc, uniqueid__arguments_wrong__are_refused);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
