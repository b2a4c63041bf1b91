/* SPDX-License-Identifier: Apache-2.0 */
/* Waits that end: by a store that wakes, by a deadline, by an abort. */
#include "base/clock.h"
#include "base/exec.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct scene {
    struct ch_door door;
    struct ch_wait_policy policy;
    uint64_t word;
};

static void nap(long ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    (void)nanosleep(&t, NULL);
}

static void open_scene(struct scene *s, uint32_t pes, uint64_t timeout_ns)
{
    *s = (struct scene){.word = 0};
    ch_wait_policy_init(&s->policy, &s->door, pes, 2, timeout_ns);
}

static void *store_later(void *arg)
{
    struct scene *s = arg;

    nap(50);
    ch_word_store(&s->word, 7, CH_DATA);
    ch_notify(&s->policy, &s->door);
    return NULL;
}

static void *abort_later(void *arg)
{
    nap(50);
    ch_door_abort(&((struct scene *)arg)->door);
    return NULL;
}

/* 2 PEs have a core each, 8 share them: all three kinds of waiting. */
START_TEST(wait__word_is_stored__ends_and_leaves_no_sleeper)
{
    struct scene s;
    pthread_t thread;

    open_scene(&s, _i == 0 ? 2 : 8, 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, store_later, &s), 0);
    ck_assert_int_eq(ch_word_wait(&s.policy, &s.word, 5), CHORUS_OK);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_eq(s.door.sleepers, 0);
}
END_TEST

START_TEST(wait__nobody_stores__ends_at_the_deadline)
{
    struct scene s;
    uint64_t begin;

    open_scene(&s, 2, 30 * CH_NS_PER_MS);
    begin = ch_clock_ns();
    ck_assert_int_eq(ch_word_wait(&s.policy, &s.word, 1), CHORUS_ERR_TIMEOUT);
    ck_assert(ch_clock_ns() - begin >= 30 * CH_NS_PER_MS);
    ck_assert_uint_eq(s.door.sleepers, 0);
}
END_TEST

START_TEST(wait__job_is_ending__ends)
{
    struct scene s;
    pthread_t thread;

    open_scene(&s, 8, 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, abort_later, &s), 0);
    ck_assert_int_eq(ch_word_wait(&s.policy, &s.word, 1), CHORUS_ERR_ABORTED);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

/* As a wait of the program does. */
static void *listen(void *arg)
{
    struct scene *s = arg;
    struct ch_wait w = {.is_listening = true};

    while (ch_word_load(&s->word) == 0 && ch_wait_slow(&s->policy, &w) == CHORUS_OK)
        continue;
    ch_wait_end(&s->policy, &w);
    return NULL;
}

/* A put wakes who waits for memory of the program; of others it knows nothing. */
START_TEST(wait__of_the_program__is_woken_by_puts)
{
    struct scene s;
    pthread_t thread;

    open_scene(&s, 8, 20 * CH_NS_PER_S);
    ck_assert_int_eq(pthread_create(&thread, NULL, listen, &s), 0);
    while (__atomic_load_n(&s.door.listeners, __ATOMIC_ACQUIRE) == 0)
        nap(1);
    ck_assert_uint_eq(__atomic_load_n(&s.door.sleepers, __ATOMIC_ACQUIRE), 1);
    ch_door_ring(&s.door); /* while it must wait: it may see by itself what is stored */
    ck_assert_uint_ge(__atomic_load_n(&s.door.wakes, __ATOMIC_ACQUIRE), 1);
    ch_word_store(&s.word, 1, CH_DATA);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_eq(s.door.listeners, 0);
    ck_assert_uint_eq(s.door.sleepers, 0);
}
END_TEST

/* A program that computes on the core of this process, until it is killed. */
static pid_t compute_here(void)
{
    const pid_t child = fork();

    if (child != 0) return child;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile uint64_t i = 0;; i++)
        continue;
}

static void stay_on_one_core(void)
{
    cpu_set_t all, one;
    size_t core = 0;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
    while (!CPU_ISSET(core, &all))
        core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
}

/* 2 PEs have a core each, 8 share them. Each yield takes a time slice of the other program, so
 * the wait sleeps early, and needs far fewer than the polls that it otherwise makes first. */
START_TEST(wait__other_program_computes_on_the_core__sleeps_early)
{
    struct scene s;
    struct ch_wait w = {0};
    pid_t child;

    stay_on_one_core();
    child = compute_here();
    ck_assert_int_gt(child, 0);
    open_scene(&s, _i == 0 ? 2 : 8, 20 * CH_NS_PER_S);
    while (s.door.sleepers == 0)
        ck_assert_int_eq(ch_wait_slow(&s.policy, &w), CHORUS_OK);
    ck_assert_uint_lt(w.polls, s.policy.polls);
    ch_wait_end(&s.policy, &w);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

static chorus_status make_slowly(struct ch_progress *self, bool *moved_out)
{
    (void)self, (void)moved_out;
    nap(1);
    return CHORUS_OK;
}

static void leave_none(struct ch_progress *self)
{
    (void)self;
}

/* A PE with its own core, whose polls take 1 ms each: it makes hundreds of them in place of
 * millions. */
START_TEST(wait__polls_of_a_network_take_long__sleeps_after_a_time)
{
    struct ch_progress slow = {.make = make_slowly, .leave = leave_none};
    struct scene s;
    struct ch_wait w = {0};

    open_scene(&s, 2, 0);
    ch_wait_policy_set_progress(&s.policy, &slow);
    for (int i = 0; i < 600; i++)
        ck_assert_int_eq(ch_wait_slow(&s.policy, &w), CHORUS_OK);
    ck_assert_uint_eq(w.polls, s.policy.polls);
    ck_assert_uint_eq(s.door.sleepers, 1);
    ch_wait_end(&s.policy, &w);
    ck_assert_uint_eq(s.door.sleepers, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("door");
    TCase *tcase = tcase_create("waits");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, wait__word_is_stored__ends_and_leaves_no_sleeper, 0, 2);
    tcase_add_test(tcase, wait__nobody_stores__ends_at_the_deadline);
    tcase_add_test(tcase, wait__job_is_ending__ends);
    tcase_add_test(tcase, wait__of_the_program__is_woken_by_puts);
    tcase_add_loop_test(tcase, wait__other_program_computes_on_the_core__sleeps_early, 0, 2);
    tcase_add_test(tcase, wait__polls_of_a_network_take_long__sleeps_after_a_time);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
