/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a PE when it is not as chorusrun sets it, and a chorusrun that is gone. */
#include "base/clock.h"
#include "boot/boot.h"
#include "boot/message.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int inherited; /* chorusrun's end of the pair that it made */
static int theirs;    /* its end of the PE's own */

/* As chorusrun would set it, for PE 1 of 3. */
static void set_environment(void)
{
    char number[16];
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    inherited = pair[1];
    (void)snprintf(number, sizeof(number), "%d", pair[0]);
    ck_assert_int_eq(setenv("CHORUS_BOOT_FD", number, 1), 0);
    ck_assert_int_eq(setenv("CHORUS_PE", "1", 1), 0);
    ck_assert_int_eq(setenv("CHORUS_N_PES", "3", 1), 0);
    ck_assert_int_eq(setenv("CHORUS_N_CORES", "8", 1), 0);
}

/* As chorusrun does: read JOIN, and go on by the socket that comes with it. */
static void take_join_from(int sock)
{
    struct {
        struct ch_wire_head head;
        struct ch_wire_join body;
    } join;
    union ch_wire_control control;
    int fds[CH_WIRE_CONTROL_FDS];
    struct iovec part = {&join, sizeof(join)};
    struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control};

    h.msg_controllen = sizeof(control);
    ck_assert_int_eq(recvmsg(sock, &h, 0), (ssize_t)sizeof(join));
    ck_assert_uint_eq(join.head.kind, CH_WIRE_JOIN);
    ck_assert_uint_eq(join.body.pe, 1);
    ck_assert_uint_eq(join.body.n, 3);
    ck_assert_uint_eq(ch_wire_extract_fds(&h, fds), 1);
    theirs = fds[0];
}

static void take_join(void)
{
    take_join_from(inherited);
}

static const struct {
    const char *name, *value, *says;
} wrong[] = {
    {"CHORUS_PE", NULL,
     "CHORUS_BOOT_FD is set but CHORUS_PE is not; start the program with chorusrun"},
    {"CHORUS_PE", "3", "CHORUS_PE is \"3\"; expected a whole number from 0 to 2"},
    {"CHORUS_PE", "-1", "CHORUS_PE is \"-1\"; expected"},
    {"CHORUS_PE", "", "CHORUS_PE is \"\"; expected"},
    {"CHORUS_PE", "1 ", "CHORUS_PE is \"1 \"; expected"},
    {"CHORUS_N_PES", "0", "CHORUS_N_PES is \"0\"; expected a whole number from 1 to 1024"},
    {"CHORUS_N_PES", "1025", "CHORUS_N_PES is \"1025\"; expected"},
    {"CHORUS_N_CORES", "0", "CHORUS_N_CORES is \"0\"; expected a whole number from 1"},
    {"CHORUS_BOOT_FD", "x", "CHORUS_BOOT_FD is \"x\"; expected"},
    {"CHORUS_BOOT_FD", "99999999999", "CHORUS_BOOT_FD is \"99999999999\"; expected"},
    {"CHORUS_BOOT_FD", "900",
     "CHORUS_BOOT_FD is 900, which is not a socket of chorusrun in this process"},
    {"CHORUS_BOOT_FD", "0",
     "CHORUS_BOOT_FD is 0, which is not a socket of chorusrun in this process"},
};

START_TEST(environment__wrong__is_refused_by_name_and_value)
{
    struct ch_boot *boot;

    set_environment();
    if (wrong[_i].value == NULL)
        (void)unsetenv(wrong[_i].name);
    else
        (void)setenv(wrong[_i].name, wrong[_i].value, 1);
    ck_assert_int_eq(ch_boot_open(0, false, &boot), CHORUS_ERR_ARG);
    ck_assert_msg(strstr(ch_error_message(), wrong[_i].says) != NULL, "no \"%s\" in: %s",
                  wrong[_i].says, ch_error_message());
}
END_TEST

START_TEST(environment__right__is_what_the_boot_says)
{
    struct ch_boot *boot;

    set_environment();
    ck_assert_int_eq(ch_boot_open(5, false, &boot), CHORUS_OK);
    ck_assert_str_eq(boot->ops->name, "launcher");
    ck_assert_uint_eq(boot->me, 1);
    ck_assert_uint_eq(boot->n, 3);
    ck_assert_uint_eq(boot->n_cores, 8);
    ck_assert_uint_eq(boot->timeout_ns, 5);
    boot->ops->close(boot);
}
END_TEST

START_TEST(chorusrun__is_gone__exchange_is_aborted_and_close_returns)
{
    struct ch_boot *boot;

    set_environment();
    ck_assert_int_eq(ch_boot_open(0, false, &boot), CHORUS_OK);
    take_join();
    (void)close(theirs);
    ck_assert_int_eq(boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL), CHORUS_ERR_ABORTED);
    ck_assert_str_eq(ch_error_message(), "chorusrun has ended, and the job with it");
    boot->ops->abort_job(boot, 1);
    boot->ops->close(boot);
}
END_TEST

START_TEST(chorusrun__is_gone_before_joining__open_is_aborted)
{
    struct ch_boot *boot;

    set_environment();
    (void)close(inherited);
    ck_assert_int_eq(ch_boot_open(0, false, &boot), CHORUS_ERR_ABORTED);
    ck_assert_ptr_nonnull(
        strstr(ch_error_message(), "or another process of this PE has joined"));
}
END_TEST

/* A PE that computes, or has left the job if `has_left`; ends well when `hold` does. */
static void be_pe(bool has_left, int hold)
{
    struct ch_boot *boot;
    char byte = 0;

    if (ch_boot_open(0, false, &boot) != CHORUS_OK) exit(3);
    if (has_left) boot->ops->close(boot);
    (void)fcntl(hold, F_SETFL, O_NONBLOCK);
    while (read(hold, &byte, 1) < 0 || byte != 'x')
        continue;
    exit(0);
}

/* As under a wrapper: chorusrun is not its parent, and no death signal comes. */
START_TEST(chorusrun__ends__pe_is_killed_unless_it_has_left)
{
    const bool has_left = _i == 1;
    int hold[2], status;
    pid_t pid;

    set_environment();
    ck_assert_int_eq(pipe(hold), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)close(inherited);
        be_pe(has_left, hold[0]);
    }
    take_join();
    if (has_left) {
        struct ch_wire_head head;
        ck_assert_int_eq(read(theirs, &head, sizeof(head)), (ssize_t)sizeof(head));
    } else {
        (void)usleep(50000);
    }
    (void)close(theirs); /* the end of the conversation is no end of chorusrun */
    ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
    (void)close(inherited);
    if (has_left) ck_assert_int_eq(write(hold[1], "x", 1), 1);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (has_left)
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    else
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
END_TEST

/* By the socket of the process, which a child has, too, without being the PE. */
START_TEST(boot__closed__opens_again_in_this_process_alone)
{
    struct ch_wire_head head;
    struct ch_boot *boot;
    int status, first;
    pid_t pid;

    set_environment();
    ck_assert_int_eq(ch_boot_open(0, false, &boot), CHORUS_OK);
    take_join();
    boot->ops->close(boot);
    ck_assert_int_eq(read(theirs, &head, sizeof(head)), (ssize_t)sizeof(head));
    ck_assert_uint_eq(head.kind, CH_WIRE_LEAVE);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) _exit(ch_boot_open(0, true, &boot) == CHORUS_ERR_ABORTED ? 0 : 1);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    first = theirs;
    ck_assert_int_eq(ch_boot_open(0, true, &boot), CHORUS_OK);
    take_join_from(first);
    ck_assert_int_eq(read(first, &head, sizeof(head)), 0); /* the new one takes its place */
    boot->ops->close(boot);
    ck_assert_int_eq(read(theirs, &head, sizeof(head)), (ssize_t)sizeof(head));
}
END_TEST

START_TEST(chorusrun__answers_nonsense__is_said)
{
    struct ch_boot *boot;
    const char nonsense[64] = "HTTP/1.1 400 Bad Request";

    set_environment();
    ck_assert_int_eq(ch_boot_open(CH_NS_PER_S, false, &boot), CHORUS_OK);
    take_join();
    ck_assert_int_eq(write(theirs, nonsense, sizeof(nonsense)), (ssize_t)sizeof(nonsense));
    ck_assert_int_eq(boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL), CHORUS_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(ch_error_message(), "use the chorusrun of this library"));
    ck_assert_int_eq(boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL), CHORUS_ERR_ABORTED);
    boot->ops->close(boot);
}
END_TEST

/* A failure that says it is none would pass for success, with nothing in the results. */
START_TEST(chorusrun__fails_with_success__is_refused)
{
    struct ch_wire_head head = ch_wire_head_of(CH_WIRE_FAIL);
    struct ch_boot *boot;

    set_environment();
    head.code = _i;
    ck_assert_int_eq(ch_boot_open(CH_NS_PER_S, false, &boot), CHORUS_OK);
    take_join();
    ck_assert_int_eq(write(theirs, &head, sizeof(head)), (ssize_t)sizeof(head));
    ck_assert_int_eq(boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL), CHORUS_ERR_SYSTEM);
    boot->ops->close(boot);
}
END_TEST

/* A busy chorusrun: it reads the exchange and the question who is missing, answers that after
 * `after_us`, and then the exchange; or nothing, if after_us is 0. */
static void answer_late(unsigned after_us)
{
    static const char missing[] = "PE 2";
    struct ch_wire_head head;

    ck_assert_int_eq(recv(theirs, &head, sizeof(head), MSG_WAITALL), (ssize_t)sizeof(head));
    ck_assert_uint_eq(head.kind, CH_WIRE_EXCHANGE);
    ck_assert_int_eq(recv(theirs, &head, sizeof(head), MSG_WAITALL), (ssize_t)sizeof(head));
    ck_assert_uint_eq(head.kind, CH_WIRE_ASK);
    if (after_us == 0) return;
    (void)usleep(after_us);
    head = ch_wire_head_of(CH_WIRE_TOLD);
    head.bytes = strlen(missing);
    ck_assert_int_eq(write(theirs, &head, sizeof(head)), (ssize_t)sizeof(head));
    ck_assert_int_eq(write(theirs, missing, strlen(missing)), (ssize_t)strlen(missing));
    head = ch_wire_head_of(CH_WIRE_RESULT);
    ck_assert_int_eq(write(theirs, &head, sizeof(head)), (ssize_t)sizeof(head));
}

static void note_missing(void *arg, const char *missing, uint64_t waited_ns)
{
    (void)waited_ns;
    (void)snprintf(arg, CH_WIRE_REASON_BYTES, "%s", missing);
}

/* After the time in which chorusrun names PEs at the end of an exchange, which is a second. */
START_TEST(chorusrun__is_slow_to_name_the_missing__exchange_goes_on)
{
    const unsigned after_us = _i == 0 ? 1200000 : 0;
    char missing[CH_WIRE_REASON_BYTES] = "";
    struct ch_boot *boot;
    int status;
    pid_t pid;

    set_environment();
    ck_assert_int_eq(ch_boot_open(2 * CH_NS_PER_S, false, &boot), CHORUS_OK);
    take_join();
    boot->warn_ns = CH_NS_PER_MS;
    boot->warn = note_missing;
    boot->warn_arg = missing;
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        answer_late(after_us);
        _exit(0);
    }
    if (after_us > 0) {
        ck_assert_int_eq(boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL), CHORUS_OK);
        ck_assert_str_eq(missing, "PE 2");
    } else {
        ck_assert_int_eq(boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL),
                         CHORUS_ERR_TIMEOUT);
        ck_assert_str_eq(ch_error_message(),
                         "exchange among all PEs: not all of 3 PEs came within 2 s");
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    boot->ops->close(boot);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("boot_launcher");
    TCase *tc = tcase_create("all");
    SRunner *runner;
    int n_failed;

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, environment__wrong__is_refused_by_name_and_value, 0,
                        (int)(sizeof(wrong) / sizeof(wrong[0])));
    tcase_add_test(tc, environment__right__is_what_the_boot_says);
    tcase_add_test(tc, chorusrun__is_gone__exchange_is_aborted_and_close_returns);
    tcase_add_test(tc, chorusrun__is_gone_before_joining__open_is_aborted);
    tcase_add_loop_test(tc, chorusrun__ends__pe_is_killed_unless_it_has_left, 0, 2);
    tcase_add_test(tc, boot__closed__opens_again_in_this_process_alone);
    tcase_add_test(tc, chorusrun__answers_nonsense__is_said);
    tcase_add_loop_test(tc, chorusrun__fails_with_success__is_refused, 0, 2);
    tcase_add_loop_test(tc, chorusrun__is_slow_to_name_the_missing__exchange_goes_on, 0, 2);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
