/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a job of processes ends when one PE goes wrong: the others do not hang, and what is said
 * names the PE that failed. The program starts itself under chorusrun, whose path it is given;
 * with a second argument it is a PE that behaves so.
 */
#include "chorus/chorusx.h"

#include <check.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_BYTES = 8192 };

static const char *launcher, *self; /* paths */

static int pe_from_environment(void)
{
    const char *text = getenv("CHORUS_PE");

    return text == NULL ? -1 : (int)strtol(text, NULL, 10);
}

static int start_or_say(void)
{
    const int status = chorus_init();

    if (status != CHORUS_OK) (void)fprintf(stderr, "init said: %s\n", chorusx_last_error());
    return status == CHORUS_OK ? EXIT_SUCCESS : 3;
}

static void wait_for_ever(void)
{
    chorus_int_wait_until(chorus_calloc(1, sizeof(int)), CHORUS_CMP_NE, 0);
}

static int put_to_nowhere(void)
{
    static int word;

    (void)start_or_say();
    if (chorus_my_pe() == 1) chorus_int_p(&word, 1, -1);
    wait_for_ever();
    return EXIT_SUCCESS;
}

static int exit_seven(void)
{
    (void)start_or_say();
    if (chorus_my_pe() == 2) chorus_global_exit(7);
    /* Whoever waits here is told to end; that must not become the job's status. */
    chorus_barrier_all();
    return EXIT_SUCCESS;
}

/* The low 8 bits of 256 and of 263 are 0 and 7. */
static int exit_256(void)
{
    (void)start_or_say();
    if (chorus_my_pe() == 1) chorus_global_exit(256);
    chorus_barrier_all();
    return EXIT_SUCCESS;
}

static int exit_263(void)
{
    (void)start_or_say();
    if (chorus_my_pe() == 1) chorus_global_exit(263);
    chorus_barrier_all();
    return EXIT_SUCCESS;
}

static int leave_without_finalize(void)
{
    (void)start_or_say();
    if (chorus_my_pe() != 0) chorus_barrier_all();
    return EXIT_SUCCESS;
}

/* PE 1 ends with the lock, by a signal or without chorus_finalize, while the others are in
 * line. */
static int end_with_the_lock(bool by_signal)
{
    long *lock;

    (void)start_or_say();
    lock = chorus_calloc(1, sizeof(*lock));
    if (chorus_my_pe() == 1) chorus_set_lock(lock);
    chorus_barrier_all();
    if (chorus_my_pe() != 1) chorus_set_lock(lock);
    (void)usleep(50000); /* the others have come; the lock is named either way */
    if (by_signal) (void)raise(SIGKILL);
    return EXIT_SUCCESS;
}

static int be_killed_with_the_lock(void)
{
    return end_with_the_lock(true);
}

static int leave_with_the_lock(void)
{
    return end_with_the_lock(false);
}

/* PE 1 neither clears the lock nor ends. */
static int keep_the_lock(void)
{
    long *lock;

    (void)setenv("CHORUS_TIMEOUT", "0.3", 1);
    (void)start_or_say();
    lock = chorus_calloc(1, sizeof(*lock));
    if (chorus_my_pe() == 1) chorus_set_lock(lock);
    chorus_barrier_all();
    if (chorus_my_pe() == 2) chorus_set_lock(lock);
    (void)sleep(20);
    return EXIT_SUCCESS;
}

static int wait_under_a_wrapper(void)
{
    (void)start_or_say();
    (void)fprintf(stderr, "ready\n");
    wait_for_ever();
    return EXIT_SUCCESS;
}

/* Without a call of the library. */
static int compute_under_a_wrapper(void)
{
    volatile bool is_done = false;

    (void)start_or_say();
    (void)fprintf(stderr, "ready\n");
    while (!is_done)
        continue;
    return EXIT_SUCCESS;
}

static int differ_in_an_option(void)
{
    if (pe_from_environment() == 1) (void)setenv("CHORUS_CTAS", "5", 1);
    return start_or_say();
}

/* No page for the heap: its memory is a file. A limit of addresses would stop the sanitizers.
 */
static int start_without_memory(void)
{
    const struct rlimit none = {0, 0};

    (void)signal(SIGXFSZ, SIG_IGN);
    if (pe_from_environment() == 1) (void)setrlimit(RLIMIT_FSIZE, &none);
    return start_or_say();
}

static const struct {
    const char *name;
    int (*main)(void);
} behaviours[] = {
    {"put_to_nowhere", put_to_nowhere},
    {"exit_seven", exit_seven},
    {"exit_256", exit_256},
    {"exit_263", exit_263},
    {"leave_without_finalize", leave_without_finalize},
    {"be_killed_with_the_lock", be_killed_with_the_lock},
    {"leave_with_the_lock", leave_with_the_lock},
    {"keep_the_lock", keep_the_lock},
    {"wait_under_a_wrapper", wait_under_a_wrapper},
    {"compute_under_a_wrapper", compute_under_a_wrapper},
    {"differ_in_an_option", differ_in_an_option},
    {"start_without_memory", start_without_memory},
};

static int behave(const char *name)
{
    for (size_t i = 0; i < sizeof(behaviours) / sizeof(behaviours[0]); i++)
        if (strcmp(name, behaviours[i].name) == 0) return behaviours[i].main();
    return 98;
}

/* Start a job under wrappers, with each PE a shell that stays. Sets *errors_out to the pipe
 * that all write to as standard error. */
static pid_t start_wrapped(const char *n, const char *behaviour, int *errors_out)
{
    char command[TEXT_BYTES];
    int ends[2];
    pid_t pid;

    (void)snprintf(command, sizeof(command), "%s - %s; true", self, behaviour);
    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execl(launcher, launcher, "-n", n, "sh", "-c", command, (char *)NULL);
        _exit(97);
    }
    (void)close(ends[1]);
    *errors_out = ends[0];
    return pid;
}

/* Run a job of 3; its exit status, and what it wrote to standard error. */
static int run_job(const char *behaviour, char error_out[TEXT_BYTES])
{
    size_t got = 0;
    ssize_t bytes;
    int ends[2], status;
    pid_t pid;

    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execl(launcher, launcher, "-n", "3", "--timeout", "50", self, "-", behaviour,
                    (char *)NULL);
        _exit(97);
    }
    (void)close(ends[1]);
    while ((bytes = read(ends[0], error_out + got, TEXT_BYTES - 1 - got)) > 0)
        got += (size_t)bytes;
    error_out[got] = '\0';
    (void)close(ends[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void assert_job(const char *behaviour, int status, const char *part)
{
    char error[TEXT_BYTES];
    const int got = run_job(behaviour, error);

    ck_assert_msg(got == status, "%s ended with status %d and \"%s\"", behaviour, got, error);
    ck_assert_msg(strstr(error, part) != NULL, "\"%s\" is not in \"%s\"", part, error);
}

START_TEST(report__one_pe_fails__ends_the_job_and_names_it)
{
    assert_job("put_to_nowhere", 1, "chorus: PE 1: chorus_int_p: pe is -1");
}
END_TEST

START_TEST(global_exit__one_pe__ends_the_job_with_its_status)
{
    assert_job("exit_seven", 7, "");
}
END_TEST

START_TEST(global_exit__status_of_more_than_a_byte__is_not_success)
{
    assert_job("exit_256", 1, "PE 1");
    assert_job("exit_263", 7, "PE 1");
}
END_TEST

START_TEST(exit_without_finalize__others_in_a_barrier__do_not_hang)
{
    assert_job("leave_without_finalize", 1, "PE 0");
}
END_TEST

START_TEST(set_lock__holder_dies__is_named)
{
    assert_job("be_killed_with_the_lock", 137, "PE 1 (pid");
    assert_job("be_killed_with_the_lock", 137, "chorus_set_lock");
    assert_job("leave_with_the_lock", 1, "PE 1");
    assert_job("keep_the_lock", 1,
               "chorus_set_lock: PE 2 waited 0.3 s for a lock that PE 1 holds");
}
END_TEST

static const struct {
    const char *n, *behaviour;
} wrapped[] = {{"1", "compute_under_a_wrapper"}, {"3", "wait_under_a_wrapper"}};

/* The system kills the wrappers, and has to kill what they started too. */
START_TEST(chorusrun__is_killed__pes_under_wrappers_end)
{
    char text[TEXT_BYTES];
    size_t got = 0;
    ssize_t bytes;
    int errors;
    const pid_t pid = start_wrapped(wrapped[_i].n, wrapped[_i].behaviour, &errors);

    while (got < strlen("ready\n") * strtoul(wrapped[_i].n, NULL, 10)) {
        bytes = read(errors, text + got, TEXT_BYTES - got);
        ck_assert_int_gt(bytes, 0);
        got += (size_t)bytes;
    }
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    /* The pipe ends when the last PE has; waits of the library go on for 300 s. A shell that
     * the system kills after its PE still says "Killed". */
    while ((bytes = read(errors, text, TEXT_BYTES)) > 0)
        continue;
    ck_assert_int_eq(bytes, 0);
    (void)close(errors);
}
END_TEST

START_TEST(init__an_option_differs__fails_everywhere)
{
    assert_job("differ_in_an_option", 3,
               "init said: chorus_init: CHORUS_CTAS is 5 on PE 1 and 0 on PE 0");
}
END_TEST

START_TEST(init__one_pe_has_no_memory__others_do_not_hang)
{
    /* Its own words, or what the others were told: one of them ends the job first. */
    assert_job("start_without_memory", 3, "heap: ");
}
END_TEST

static int run_tests(void)
{
    Suite *suite = suite_create("api_job");
    TCase *tcase = tcase_create("processes");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, report__one_pe_fails__ends_the_job_and_names_it);
    tcase_add_test(tcase, global_exit__one_pe__ends_the_job_with_its_status);
    tcase_add_test(tcase, global_exit__status_of_more_than_a_byte__is_not_success);
    tcase_add_test(tcase, exit_without_finalize__others_in_a_barrier__do_not_hang);
    tcase_add_test(tcase, set_lock__holder_dies__is_named);
    tcase_add_loop_test(tcase, chorusrun__is_killed__pes_under_wrappers_end, 0, 2);
    tcase_add_test(tcase, init__an_option_differs__fails_everywhere);
    tcase_add_test(tcase, init__one_pe_has_no_memory__others_do_not_hang);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* "LAUNCHER": the tests. "- BEHAVIOUR": a PE of one of their jobs. */
int main(int argc, char **argv)
{
    if (argc == 3) return behave(argv[2]);
    if (argc != 2) return 96;
    launcher = argv[1];
    self = argv[0];
    return run_tests();
}
