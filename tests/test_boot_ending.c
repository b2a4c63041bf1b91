/* SPDX-License-Identifier: Apache-2.0 */
/* How a job under chorusrun ends: with which status and message, and that nothing is left. */
#include "boot_run.h"

/* How PE 1 goes wrong, and what chorusrun makes of it. */
static const struct {
    const char *act, *argument;
    int status;
    const char *says;
} failures[] = {
    {"die_before_join", NULL, 3, "exited with status 3; ending the job\n"},
    {"die_after_join", NULL, 3, "exited with status 3; ending the job\n"},
    {"be_stubborn", NULL, 3, "exited with status 3; ending the job\n"},
    {"crash", NULL, 137, "was killed by signal 9 (Killed); ending the job\n"},
    {"exit_inside", NULL, 1, "exited with status 0 without leaving the job (finalize)"},
    {"abort", "5", 5, "ended the job with status 5\n"},
    {"become_another", NULL, 1, "became another program (exec), or closed its files, without"},
};

/* A PE fails because another was killed, and chorusrun, which was stopped meanwhile, finds that
 * both have ended. */
START_TEST(killed__beside_a_pe_that_fails__is_named)
{
    RUN("-n", "2", "sh", "-c",
        "if [ $CHORUS_PE = 0 ]; then sleep 0.2; exit 9; fi; "
        "kill -STOP $PPID; (sleep 0.5; kill -CONT $PPID) & kill -KILL $$");
    ASSERT_STATUS(128 + SIGKILL);
    ck_assert_msg(strncmp(r.text[1], "chorusrun: PE 1 (", 17) == 0, "stderr: %s", r.text[1]);
    ck_assert_int_eq(count(r.text[1], "was killed by signal 9"), 1);
}
END_TEST

START_TEST(pe_1__fails__job_ends_soon_with_its_status_and_name)
{
    const uint64_t before = ch_clock_ns();

    RUN("-n", "5", "BOOT_PE", failures[_i].act, failures[_i].argument);
    ck_assert_uint_lt(ch_clock_ns() - before, END_NS);
    ASSERT_STATUS(failures[_i].status);
    ASSERT_SAYS("chorusrun: PE 1 (pid ");
    ASSERT_SAYS(failures[_i].says);
    ck_assert_int_eq(count(r.text[1], "chorusrun: P"), 1);
}
END_TEST

/* The shell holds the socket that chorusrun made, and lives on. */
START_TEST(pe_1__dies_under_a_wrapper_that_stays__is_named_and_the_job_ends)
{
    const uint64_t before = ch_clock_ns();

    RUN("-n", "2", "sh", "-c", "$BOOT_PE crash; sleep 60; true");
    ck_assert_uint_lt(ch_clock_ns() - before, END_NS);
    ASSERT_STATUS(1);
    ASSERT_SAYS("chorusrun: PE 1 (pid ");
    ASSERT_SAYS("still runs, but its program (pid ");
    ASSERT_SAYS("ended without leaving the job (finalize); ending the job\n");
}
END_TEST

/* Nobody waits for a program that has ended; what the wrappers do afterwards is their affair.
 */
START_TEST(all_pes__end_under_wrappers_without_leaving__wrappers_go_on)
{
    RUN("-n", "2", "sh", "-c", "$BOOT_PE exit_both; sleep 1; echo on");
    ASSERT_STATUS(0);
    ck_assert_int_eq(count(r.text[0], "on\n"), 2);
}
END_TEST

START_TEST(pe__joins_a_second_time__is_told)
{
    RUN("-n", "2", "sh", "-c", "$BOOT_PE exchange && $BOOT_PE exchange");
    ASSERT_STATUS(91);
    ASSERT_SAYS(
        "or another process of this PE has joined the job already; only one of them can");
}
END_TEST

/* How PE 1 breaks the protocol. Each of these was taken, and leaked descriptors or answers. */
static const struct {
    const char *act, *says;
} breaches[] = {
    {"ask_again", "began an exchange before its last one had ended\n"},
    {"join_with_descriptors", "sent a message in a format that chorusrun does not know"},
    {"join_twice", "joined the job twice (init)\n"},
    {"not_join", "sent a message before it joined the job\n"},
};

START_TEST(pe_1__breaks_the_protocol__is_named_and_the_job_ends)
{
    RUN("-n", "2", "--timeout", "50", "WIRE_PE", breaches[_i].act);
    ASSERT_STATUS(1);
    ASSERT_SAYS("chorusrun: PE 1 (pid ");
    ASSERT_SAYS(breaches[_i].says);
    ck_assert_int_eq(count(r.text[1], "chorusrun: P"), 1);
}
END_TEST

/* One of the two has the PE; the other one must not wait for answers, nor disturb. */
START_TEST(pe_1__is_two_processes_at_once__one_joins)
{
    RUN("-n", "2", "--timeout", "50", "sh", "-c",
        "if [ $CHORUS_PE = 0 ]; then exec $BOOT_PE exchange; fi; "
        "$BOOT_PE exchange & $BOOT_PE exchange; a=$?; wait $!; echo $((a + $?))");
    ASSERT_STATUS(0);
    ck_assert_str_eq(r.text[0], "91\n");
}
END_TEST

/* As a script that sets the variable for all: both joined as PE 0, and waited for PE 1. */
START_TEST(pe_1__joins_as_pe_0__is_named_and_the_job_ends)
{
    RUN("-n", "2", "--timeout", "50", "env", "CHORUS_PE=0", "BOOT_PE", "exchange");
    ASSERT_STATUS(1);
    ASSERT_SAYS("joined as PE 0 of 2, but was started as PE 1 of 2; leave CHORUS_PE");
}
END_TEST

START_TEST(pe_1__ends_the_job_with_0__has_time_to_write_and_chorusrun_is_silent)
{
    RUN("-n", "5", "BOOT_PE", "abort", "0");
    ASSERT_STATUS(0);
    ck_assert_str_eq(r.text[0], "last words\n");
    ck_assert_str_eq(r.text[1], "");
}
END_TEST

static const char *const fine[] = {"never_join", "leave_early", "differ"};

START_TEST(pe_1__is_not_in_an_exchange__others_are_told_why)
{
    RUN("-n", "3", "BOOT_PE", fine[_i]);
    ASSERT_STATUS(0);
    ck_assert_str_eq(r.text[1], "");
}
END_TEST

/* The peers' failures are what PE 1's absence led to, so it is named beside them. */
START_TEST(pe_1__never_joined_and_others_fail__is_named)
{
    RUN("-n", "3", "BOOT_PE", "be_missed");
    ASSERT_STATUS(5);
    ASSERT_SAYS("chorusrun: PE 0 (pid ");
    ASSERT_SAYS("exited with status 5; ending the job\n");
    ASSERT_SAYS("chorusrun: before that, PE 1 (pid ");
    ASSERT_SAYS(") exited with status 0 without joining the job (init)\n");
    RUN("-n", "3", "--timeout", "2", "BOOT_PE", "be_missed_by_all");
    ASSERT_STATUS(124);
    ASSERT_SAYS("chorusrun: before that, PE 1 (pid ");
}
END_TEST

/* Its peers fail at their deadline; that it cannot come, chorusrun alone can tell. */
START_TEST(pe_1__is_stopped_and_others_fail__is_named)
{
    RUN("-n", "2", "sh", "-c", "[ $CHORUS_PE = 1 ] && kill -STOP $$; sleep 0.5; exit 5");
    ASSERT_STATUS(5);
    ASSERT_SAYS("chorusrun: PE 1 (pid ");
    ASSERT_SAYS(") has been stopped by signal 19 (Stopped (signal))\n");
}
END_TEST

START_TEST(pe_1__comes_late__exchange_times_out)
{
    RUN("-n", "3", "BOOT_PE", "come_late");
    ASSERT_STATUS(6);
    ASSERT_SAYS(
        "exchange among all PEs: not all of 3 PEs came within 0.2 s; missing: PE 1 (pid ");
}
END_TEST

START_TEST(pe_1__started_a_child_and_failed__child_is_ended_too)
{
    const uint64_t before = ch_clock_ns();

    /* The children hold the output open: it ends when they have. */
    RUN("-n", "2", "sh", "-c", "sleep 60 & [ $CHORUS_PE = 1 ] && exit 4; sleep 60; true");
    ck_assert_uint_lt(ch_clock_ns() - before, END_NS);
    ASSERT_STATUS(4);
}
END_TEST

START_TEST(timeout__passes__names_who_is_running)
{
    const uint64_t before = ch_clock_ns();

    RUN("-n", "3", "--timeout", "0.5", "sh", "-c", "[ $CHORUS_PE = 1 ] || exec sleep 60");
    ck_assert_uint_lt(ch_clock_ns() - before, END_NS);
    ASSERT_STATUS(124);
    ASSERT_SAYS("chorusrun: after 0.5 s, 2 PEs are still running: PE 0 (pid ");
    ASSERT_SAYS(", PE 2 (pid ");
    ck_assert_int_eq(count(r.text[1], "PE 1"), 0); /* nobody joined, so nobody misses it */
}
END_TEST

START_TEST(timeout__many_pes__names_some_and_counts_the_rest)
{
    RUN("-n", "20", "--timeout", "0.5", "sleep", "60");
    ASSERT_STATUS(124);
    ASSERT_SAYS("20 PEs are still running: PE 0 (pid ");
    ASSERT_SAYS("and 4 more; ending the job\n");
}
END_TEST

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

START_TEST(signal__to_chorusrun__reaches_every_pe)
{
    char line[16];

    START("-n", "3", "BOOT_PE", "await_signal");
    while (count(r.text[0], "ready\n") == 0 && read_some())
        continue;
    ck_assert_int_eq(kill(r.pid, signals[_i]), 0);
    finish();
    ASSERT_STATUS(0);
    (void)snprintf(line, sizeof(line), "got %d\n", signals[_i]);
    ck_assert_int_eq(count(r.text[0], line), 3);
}
END_TEST

START_TEST(signal__that_pes_do_not_catch__is_the_status)
{
    START("-n", "2", "sh", "-c", "echo ready; exec sleep 60");
    while (count(r.text[0], "ready\n") < 2 && read_some())
        continue;
    ck_assert_int_eq(kill(r.pid, SIGTERM), 0);
    finish();
    ASSERT_STATUS(128 + SIGTERM);
}
END_TEST

/* PEs that do not ask for their end, and one from which the death signal was taken. */
static const char *const killed[] = {"await_signal", "lose_death_signal"};

/* The pipes end when the last PE that holds them is gone. */
START_TEST(chorusrun__is_killed__takes_pes_with_it)
{
    const uint64_t before = ch_clock_ns();

    START("-n", "3", "BOOT_PE", killed[_i]);
    while (count(r.text[0], "ready\n") == 0 && read_some())
        continue;
    ck_assert_int_eq(kill(r.pid, SIGKILL), 0);
    finish();
    ASSERT_STATUS(128 + SIGKILL);
    ck_assert_uint_lt(ch_clock_ns() - before, END_NS);
}
END_TEST

static void add_ending(TCase *tc)
{
    tcase_add_loop_test(tc, pe_1__fails__job_ends_soon_with_its_status_and_name, 0,
                        COUNT_OF(failures));
    tcase_add_loop_test(tc, pe_1__breaks_the_protocol__is_named_and_the_job_ends, 0,
                        COUNT_OF(breaches));
    tcase_add_test(tc, killed__beside_a_pe_that_fails__is_named);
    tcase_add_test(tc, pe_1__dies_under_a_wrapper_that_stays__is_named_and_the_job_ends);
    tcase_add_test(tc, all_pes__end_under_wrappers_without_leaving__wrappers_go_on);
    tcase_add_test(tc, pe__joins_a_second_time__is_told);
    tcase_add_loop_test(tc, pe_1__is_two_processes_at_once__one_joins, 0, 5);
    tcase_add_test(tc, pe_1__joins_as_pe_0__is_named_and_the_job_ends);
    tcase_add_test(tc, pe_1__ends_the_job_with_0__has_time_to_write_and_chorusrun_is_silent);
    tcase_add_loop_test(tc, pe_1__is_not_in_an_exchange__others_are_told_why, 0,
                        COUNT_OF(fine));
    tcase_add_test(tc, pe_1__never_joined_and_others_fail__is_named);
    tcase_add_test(tc, pe_1__is_stopped_and_others_fail__is_named);
    tcase_add_test(tc, pe_1__comes_late__exchange_times_out);
    tcase_add_test(tc, pe_1__started_a_child_and_failed__child_is_ended_too);
    tcase_add_test(tc, timeout__passes__names_who_is_running);
    tcase_add_test(tc, timeout__many_pes__names_some_and_counts_the_rest);
    tcase_add_loop_test(tc, signal__to_chorusrun__reaches_every_pe, 0, COUNT_OF(signals));
    tcase_add_test(tc, signal__that_pes_do_not_catch__is_the_status);
    tcase_add_loop_test(tc, chorusrun__is_killed__takes_pes_with_it, 0, COUNT_OF(killed));
}

int main(void)
{
    return run_suite("boot_ending", add_ending);
}
