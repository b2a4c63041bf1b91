/* SPDX-License-Identifier: Apache-2.0 */
/* A vote: all get all values, or all follow the first that failed; and what it sends. */
#include "boot/boot.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PES_MAX = 5, MESSAGE_BYTES = 1024, NEVER = -1 };

/* A voter on a thread: what it says, and what it is told. */
struct voter {
    pthread_t thread;
    struct ch_boot *boot;
    chorus_status mine;
    uint64_t value;
    uint32_t n_exchanges;
    size_t bytes_given;
    bool has_hosts;
    int breaks_at; /* the exchange that fails here; NEVER */
    chorus_status told;
    uint64_t all[PES_MAX];
    char message[MESSAGE_BYTES];
};

static chorus_status counting_exchange(void *self, const void *blob, size_t bytes,
                                       void *blobs_out)
{
    struct voter *v = self;

    if ((int)v->n_exchanges++ == v->breaks_at)
        return CH_FAIL(CHORUS_ERR_ABORTED, "the exchange broke");
    v->bytes_given += bytes;
    return v->boot->ops->exchange(v->boot, blob, bytes, -1, blobs_out, NULL);
}

/* The voters are PEs 10, 11, ... of a job. */
static uint32_t number(const void *self, uint32_t voter)
{
    (void)self;
    return 10 + voter;
}

/* The second voter's host has no name. */
static const char *host(const void *self, uint32_t voter)
{
    (void)self;
    return voter == 0 ? "one" : NULL;
}

static void *take_part(void *arg)
{
    struct voter *v = arg;
    const struct ch_voters voters = {v->boot->n, v, counting_exchange, number,
                                     v->has_hosts ? host : NULL};
    const struct ch_vote vote = {"step", v->mine, &v->value, sizeof(v->value)};

    if (v->mine != CHORUS_OK) (void)CH_FAIL(v->mine, "reason of %u", v->boot->me);
    v->told = ch_vote(&voters, &vote, v->all);
    (void)snprintf(v->message, sizeof(v->message), "%s", ch_error_message());
    v->boot->ops->close(v->boot);
    return NULL;
}

/* Voters that succeed, to be changed by the test. */
static void prepare(struct voter voters[], uint32_t n)
{
    memset(voters, 0, n * sizeof(voters[0]));
    for (uint32_t i = 0; i < n; i++) {
        voters[i].value = 100 + i;
        voters[i].breaks_at = NEVER;
    }
}

static void run(struct voter voters[], uint32_t n)
{
    struct ch_boot *boots[PES_MAX];

    ck_assert_int_eq(ch_boot_open_threads(n, 0, boots), CHORUS_OK);
    for (uint32_t i = 0; i < n; i++) {
        voters[i].boot = boots[i];
        ck_assert_int_eq(pthread_create(&voters[i].thread, NULL, take_part, &voters[i]), 0);
    }
    for (uint32_t i = 0; i < n; i++)
        ck_assert_int_eq(pthread_join(voters[i].thread, NULL), 0);
}

/* One exchange of a status and the values: messages travel only when something failed. */
START_TEST(vote__all_succeed__gives_all_values_in_one_exchange)
{
    struct voter voters[PES_MAX];

    for (uint32_t n = 1; n <= PES_MAX; n++) {
        prepare(voters, n);
        run(voters, n);
        for (uint32_t i = 0; i < n; i++) {
            ck_assert_int_eq(voters[i].told, CHORUS_OK);
            ck_assert_uint_eq(voters[i].n_exchanges, 1);
            ck_assert_uint_eq(voters[i].bytes_given, 16);
            for (uint32_t k = 0; k < n; k++)
                ck_assert_uint_eq(voters[i].all[k], 100 + k);
        }
    }
}
END_TEST

START_TEST(vote__some_fail__all_follow_the_first)
{
    struct voter voters[PES_MAX];

    for (uint32_t first = 0; first < PES_MAX; first++) {
        char expected[64];

        prepare(voters, PES_MAX);
        voters[first].mine = CHORUS_ERR_NOMEM;
        if (first + 1 < PES_MAX) voters[PES_MAX - 1].mine = CHORUS_ERR_TABLE;
        run(voters, PES_MAX);
        (void)snprintf(expected, sizeof(expected), "step: PE %u: reason of %u", 10 + first,
                       first);
        for (uint32_t i = 0; i < PES_MAX; i++) {
            ck_assert_int_eq(voters[i].told, CHORUS_ERR_NOMEM);
            ck_assert_str_eq(voters[i].message, expected);
            ck_assert_uint_eq(voters[i].n_exchanges, 2);
            ck_assert_uint_eq(voters[i].all[i], 0); /* results come with success alone */
        }
    }
}
END_TEST

START_TEST(vote__hosts_are_known__names_that_of_the_failure)
{
    struct voter voters[2];

    for (int failed = 0; failed < 2; failed++) {
        prepare(voters, 2);
        voters[failed].mine = CHORUS_ERR_SYSTEM;
        voters[0].has_hosts = voters[1].has_hosts = true;
        run(voters, 2);
        for (int i = 0; i < 2; i++)
            ck_assert_str_eq(voters[i].message, failed == 0
                                                    ? "step: PE 10 on host one: reason of 0"
                                                    : "step: PE 11: reason of 1");
    }
}
END_TEST

START_TEST(vote__alone__fails_with_its_own_reason)
{
    struct voter voter;

    prepare(&voter, 1);
    voter.mine = CHORUS_ERR_SYSTEM;
    run(&voter, 1);
    ck_assert_int_eq(voter.told, CHORUS_ERR_SYSTEM);
    ck_assert_str_eq(voter.message, "step: PE 10: reason of 0");
}
END_TEST

START_TEST(vote__exchange_fails__fails_the_vote)
{
    struct voter voters[2];

    for (int at = 0; at < 2; at++) {
        prepare(voters, 2);
        voters[0].mine = CHORUS_ERR_NOMEM;
        voters[1].breaks_at = at;
        run(voters, 2);
        for (int i = 0; i < 2; i++)
            ck_assert_int_eq(voters[i].told, CHORUS_ERR_ABORTED);
        ck_assert_str_eq(voters[0].message, "step: reason of 0");
        ck_assert_str_eq(voters[1].message, "the exchange broke");
    }
}
END_TEST

/* With too few descriptors, the exchange of them breaks, and so does the vote on it. */
START_TEST(vote__failed_step_broke_the_exchange__keeps_the_reason)
{
    struct voter voters[2];

    prepare(voters, 2);
    voters[1].mine = CHORUS_ERR_SYSTEM;
    voters[1].breaks_at = 0;
    run(voters, 2);
    ck_assert_int_eq(voters[1].told, CHORUS_ERR_ABORTED);
    ck_assert_str_eq(voters[1].message, "step: reason of 1");
}
END_TEST

START_TEST(vote__of_a_job_without_values__takes_no_room_for_them)
{
    struct ch_boot *boot;
    struct ch_vote vote = {.step = "start"};

    ck_assert_int_eq(ch_boot_open_threads(1, 0, &boot), CHORUS_OK);
    ck_assert_int_eq(ch_boot_vote(boot, &vote, NULL), CHORUS_OK);
    vote.mine = CH_FAIL(CHORUS_ERR_ARG, "no good");
    ck_assert_int_eq(ch_boot_vote(boot, &vote, NULL), CHORUS_ERR_ARG);
    ck_assert_str_eq(ch_error_message(), "start: PE 0: no good");
    boot->ops->close(boot);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("boot_vote");
    TCase *const tcase = tcase_create("threads");
    SRunner *const runner = srunner_create(suite);
    int n_failed;

    tcase_add_test(tcase, vote__all_succeed__gives_all_values_in_one_exchange);
    tcase_add_test(tcase, vote__some_fail__all_follow_the_first);
    tcase_add_test(tcase, vote__hosts_are_known__names_that_of_the_failure);
    tcase_add_test(tcase, vote__alone__fails_with_its_own_reason);
    tcase_add_test(tcase, vote__exchange_fails__fails_the_vote);
    tcase_add_test(tcase, vote__failed_step_broke_the_exchange__keeps_the_reason);
    tcase_add_test(tcase, vote__of_a_job_without_values__takes_no_room_for_them);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
