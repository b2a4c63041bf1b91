/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusrun as its users see it: exit status, messages, output, and that nothing is left.
 * CHORUSRUN and BOOT_PE in the environment name the programs.
 */
#include "base/clock.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_BYTES = 64 * 1024, ARGS_MAX = 16 };

/* A job ends within a second of a failure; its PEs would stay for 60. The margin is for busy
 * machines and sanitizers. */
#define END_NS (20 * CH_NS_PER_S)

/* A run of chorusrun under way, and what came out of it. */
struct run {
    pid_t pid;
    int fds[2]; /* its stdout and stderr; -1 at their end */
    size_t used[2];
    char text[2][TEXT_BYTES];
    int status; /* exit status, or 128 + signal */
};

static struct run r;

/* Start chorusrun with these arguments; BOOT_PE among them stands for its path. */
static void start(const char *const *args)
{
    const char *argv[ARGS_MAX] = {getenv("CHORUSRUN")};
    int out[2], err[2], in[2], n = 1;

    ck_assert_ptr_nonnull(argv[0]);
    for (; *args != NULL && n < ARGS_MAX - 1; args++)
        argv[n++] = strcmp(*args, "BOOT_PE") == 0 ? getenv("BOOT_PE") : *args;
    r = (struct run){.status = -1};
    ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(err, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
    r.pid = fork();
    ck_assert_int_ge(r.pid, 0);
    if (r.pid == 0) {
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)dup2(err[1], STDERR_FILENO);
        /* execv changes none of its arguments; its type is older than const. */
        (void)execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(99);
    }
    ck_assert_int_eq(write(in[1], "line of stdin\n", 14), 14);
    (void)close(in[0]);
    (void)close(in[1]);
    (void)close(out[1]);
    (void)close(err[1]);
    r.fds[0] = out[0];
    r.fds[1] = err[0];
}

/* Read what came. Returns false at the end of both, which is when all who held them are gone.
 */
static bool read_some(void)
{
    struct pollfd p[2] = {{r.fds[0], POLLIN, 0}, {r.fds[1], POLLIN, 0}};

    if (r.fds[0] < 0 && r.fds[1] < 0) return false;
    ck_assert_int_gt(poll(p, 2, -1), 0);
    for (int i = 0; i < 2; i++) {
        ssize_t n;
        if (p[i].revents == 0) continue;
        n = read(r.fds[i], r.text[i] + r.used[i], TEXT_BYTES - 1 - r.used[i]);
        ck_assert_int_ge(n, 0);
        r.used[i] += (size_t)n;
        if (n > 0) continue;
        (void)close(r.fds[i]);
        r.fds[i] = -1;
    }
    return true;
}

static void finish(void)
{
    int status;

    while (read_some())
        continue;
    ck_assert_int_eq(waitpid(r.pid, &status, 0), r.pid);
    r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define START(...) start((const char *const[]){__VA_ARGS__, NULL})
#define RUN(...)            \
    do {                    \
        START(__VA_ARGS__); \
        finish();           \
    } while (0)

#define ASSERT_STATUS(expected)                                                           \
    ck_assert_msg(r.status == (expected), "status %d, expected %d; stderr: %s", r.status, \
                  (expected), r.text[1])
#define ASSERT_SAYS(expected)                                                            \
    ck_assert_msg(strstr(r.text[1], (expected)) != NULL, "no \"%s\" in: %s", (expected), \
                  r.text[1])

static int count(const char *text, const char *what)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

START_TEST(run__program_without_chorus__runs_n_times)
{
    RUN("-n", "4", "sh", "-c", "echo pe $CHORUS_PE of $CHORUS_N_PES");
    ASSERT_STATUS(0);
    ck_assert_int_eq(count(r.text[0], "of 4\n"), 4);
    for (int pe = 0; pe < 4; pe++) {
        char line[32];
        (void)snprintf(line, sizeof(line), "pe %d of 4\n", pe);
        ck_assert_int_eq(count(r.text[0], line), 1);
    }
    ck_assert_str_eq(r.text[1], "");
}
END_TEST

START_TEST(run__options_after_the_program__are_its_own)
{
    RUN("-n", "1", "echo", "-n", "--timeout", "x", "--tag");
    ASSERT_STATUS(0);
    ck_assert_str_eq(r.text[0], "--timeout x --tag");
}
END_TEST

START_TEST(run__stdin__goes_to_pe_0_alone)
{
    RUN("-n", "3", "cat");
    ASSERT_STATUS(0);
    ck_assert_str_eq(r.text[0], "line of stdin\n");
}
END_TEST

START_TEST(run__pes_have__no_descriptor_but_their_own)
{
    /* Standard files, the socket, and the one with which ls reads. */
    RUN("-n", "3", "--tag", "sh", "-c",
        "for f in /proc/$$/fd/*; do readlink $f; done | grep -c socket");
    ASSERT_STATUS(0);
    ck_assert_int_eq(count(r.text[0], "] 1\n"), 3);
}
END_TEST

START_TEST(tag__two_streams__each_line_named_and_kept_apart)
{
    RUN("-n", "2", "--tag", "sh", "-c", "printf 'one\\n\\ntwo'; echo bad >&2");
    ASSERT_STATUS(0);
    for (int pe = 0; pe < 2; pe++) {
        char line[32];
        (void)snprintf(line, sizeof(line), "[%d] one\n", pe);
        ck_assert_int_eq(count(r.text[0], line), 1);
        (void)snprintf(line, sizeof(line), "[%d] \n", pe);
        ck_assert_int_eq(count(r.text[0], line), 1);
        (void)snprintf(line, sizeof(line), "[%d] two\n", pe);
        ck_assert_int_eq(count(r.text[0], line), 1);
        (void)snprintf(line, sizeof(line), "[%d] bad\n", pe);
        ck_assert_int_eq(count(r.text[1], line), 1);
    }
    ck_assert_int_eq(count(r.text[0], "bad"), 0);
}
END_TEST

START_TEST(tag__lines_written_in_pieces__come_whole)
{
    RUN("-n", "4", "--tag", "sh", "-c",
        "for i in 1 2 3 4 5 6 7 8 9; do printf aaaa; printf 'bbbb\\n'; done");
    ASSERT_STATUS(0);
    ck_assert_int_eq(count(r.text[0], "] aaaabbbb\n"), 36);
    ck_assert_int_eq(count(r.text[0], "\n"), 36);
}
END_TEST

static const struct {
    const char *args[4];
    const char *says;
} bad_usage[] = {
    {{"-n", "0", "true"}, "-n is \"0\"; expected a whole number from 1 to 1024"},
    {{"-n", "-2", "true"}, "-n is \"-2\"; expected a whole number from 1 to 1024"},
    {{"-n", "two", "true"}, "-n is \"two\"; expected"},
    {{"-n", "4x", "true"}, "-n is \"4x\"; expected"},
    {{"-n", "1025", "true"}, "-n is \"1025\"; expected"},
    {{"-n", "99999999999999999999", "true"}, "-n is \"99999999999999999999\"; expected"},
    {{"-n"}, "chorusrun: option requires an argument -- 'n'"},
    {{"-n", "2", NULL}, "the program is missing; give it as in: chorusrun -n 4 program"},
    {{"true"}, "the number of PEs is missing; give it as in: chorusrun -n 4 program"},
    {{"--colour", "true"}, "chorusrun: unrecognized option '--colour'"},
    {{"--timeout=0", "true"}, "--timeout is \"0\"; expected seconds from 0.001 on"},
    {{"--timeout=1e-12", "true"}, "--timeout is \"1e-12\"; expected seconds from 0.001 on"},
    {{"--timeout=1m", "true"}, "--timeout is \"1m\"; expected seconds from 0.001 on"},
};

START_TEST(usage__wrong__says_what_was_found_and_expected)
{
    start(bad_usage[_i].args);
    finish();
    ASSERT_STATUS(2);
    ASSERT_SAYS(bad_usage[_i].says);
}
END_TEST

START_TEST(program__missing__one_message_and_127)
{
    RUN("-n", "3", "no-such-program");
    ASSERT_STATUS(127);
    ck_assert_str_eq(r.text[1],
                     "chorusrun: cannot run no-such-program: No such file or directory\n");
}
END_TEST

START_TEST(program__not_executable__one_message_and_126)
{
    RUN("-n", "3", "/dev/null");
    ASSERT_STATUS(126);
    ck_assert_str_eq(r.text[1], "chorusrun: cannot run /dev/null: Permission denied\n");
}
END_TEST

START_TEST(program__interpreter_missing__is_said)
{
    char path[] = "/tmp/boot_script_XXXXXX";
    const int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "#!/no/such\n", 11), 11);
    ck_assert_int_eq(fchmod(fd, 0700), 0);
    (void)close(fd);
    RUN("-n", "2", path);
    (void)unlink(path);
    ASSERT_STATUS(127);
    ASSERT_SAYS("the interpreter it names does not exist");
}
END_TEST

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
    {"exit_inside", NULL, 1, "exited with status 0 without leaving the job (chorus_finalize)"},
    {"abort", "5", 5, "ended the job with status 5\n"},
};

START_TEST(pe_1__fails__job_ends_soon_with_its_status_and_name)
{
    const uint64_t before = ch_clock_ns();

    RUN("-n", "5", "BOOT_PE", failures[_i].act, failures[_i].argument);
    ck_assert_uint_lt(ch_clock_ns() - before, END_NS);
    ASSERT_STATUS(failures[_i].status);
    ASSERT_SAYS("chorusrun: PE 1 (pid ");
    ASSERT_SAYS(failures[_i].says);
    ck_assert_int_eq(count(r.text[1], "chorusrun:"), 1);
}
END_TEST

START_TEST(pe_1__ends_the_job_with_0__is_silent)
{
    RUN("-n", "5", "BOOT_PE", "abort", "0");
    ASSERT_STATUS(0);
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

START_TEST(pe_1__comes_late__exchange_times_out)
{
    RUN("-n", "3", "BOOT_PE", "come_late");
    ASSERT_STATUS(6);
    ASSERT_SAYS("exchange at start: not all of 3 PEs came within 0.2 s\n");
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
    ck_assert_int_eq(count(r.text[1], "PE 1"), 0);
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

/* The pipes end when the last PE that holds them is gone. */
START_TEST(chorusrun__is_killed__takes_pes_with_it)
{
    const uint64_t before = ch_clock_ns();

    START("-n", "3", "BOOT_PE", "await_signal");
    while (count(r.text[0], "ready\n") == 0 && read_some())
        continue;
    ck_assert_int_eq(kill(r.pid, SIGKILL), 0);
    finish();
    ASSERT_STATUS(128 + SIGKILL);
    ck_assert_uint_lt(ch_clock_ns() - before, END_NS);
}
END_TEST

/* Fewer files than poll places, and for an ordinary user fewer than descriptors under way:
 * poll then refuses (EINVAL), and sendmsg (ETOOMANYREFS), though all is well. */
START_TEST(files__few_allowed__exchange_works)
{
    struct rlimit old, few;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = (struct rlimit){60, 60};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    RUN("-n", "20", "BOOT_PE", "exchange");
    ASSERT_STATUS(0);
}
END_TEST

START_TEST(files__too_few_allowed__is_said)
{
    struct rlimit few = {40, 40};

    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    RUN("-n", "24", "BOOT_PE", "exchange");
    ASSERT_STATUS(1);
    ASSERT_SAYS("gave a descriptor, and chorusrun has too many; raise ulimit -n");
}
END_TEST

#define COUNT_OF(array) (int)(sizeof(array) / sizeof((array)[0]))

static void add_running(TCase *tc)
{
    tcase_add_test(tc, run__program_without_chorus__runs_n_times);
    tcase_add_test(tc, run__options_after_the_program__are_its_own);
    tcase_add_test(tc, run__stdin__goes_to_pe_0_alone);
    tcase_add_test(tc, run__pes_have__no_descriptor_but_their_own);
    tcase_add_test(tc, tag__two_streams__each_line_named_and_kept_apart);
    tcase_add_test(tc, tag__lines_written_in_pieces__come_whole);
    tcase_add_loop_test(tc, usage__wrong__says_what_was_found_and_expected, 0,
                        COUNT_OF(bad_usage));
    tcase_add_test(tc, program__missing__one_message_and_127);
    tcase_add_test(tc, program__not_executable__one_message_and_126);
    tcase_add_test(tc, program__interpreter_missing__is_said);
}

static void add_ending(TCase *tc)
{
    tcase_add_loop_test(tc, pe_1__fails__job_ends_soon_with_its_status_and_name, 0,
                        COUNT_OF(failures));
    tcase_add_test(tc, pe_1__ends_the_job_with_0__is_silent);
    tcase_add_loop_test(tc, pe_1__is_not_in_an_exchange__others_are_told_why, 0,
                        COUNT_OF(fine));
    tcase_add_test(tc, pe_1__comes_late__exchange_times_out);
    tcase_add_test(tc, pe_1__started_a_child_and_failed__child_is_ended_too);
    tcase_add_test(tc, timeout__passes__names_who_is_running);
    tcase_add_test(tc, timeout__many_pes__names_some_and_counts_the_rest);
    tcase_add_loop_test(tc, signal__to_chorusrun__reaches_every_pe, 0, COUNT_OF(signals));
    tcase_add_test(tc, signal__that_pes_do_not_catch__is_the_status);
    tcase_add_test(tc, chorusrun__is_killed__takes_pes_with_it);
    tcase_add_test(tc, files__few_allowed__exchange_works);
    tcase_add_test(tc, files__too_few_allowed__is_said);
}

int main(void)
{
    Suite *suite = suite_create("boot_chorusrun");
    TCase *tc = tcase_create("all");
    SRunner *runner;
    int n_failed;

    tcase_set_timeout(tc, 60);
    add_running(tc);
    add_ending(tc);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
