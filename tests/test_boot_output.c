/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What chorusrun does with output: PEs that flood it, readers that do not read, are slow or go
 * away, a disk that is full. Signals and deadlines must be served in all of these.
 */
#include "boot_run.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>

/* Read and forget what comes on the two files, or on stderr alone, until its end. */
static void forget_output(bool reads_stdout)
{
    struct pollfd p[2] = {{reads_stdout ? r.fds[0] : -1, POLLIN, 0}, {r.fds[1], POLLIN, 0}};
    char text[4096];

    while (p[1].fd >= 0) {
        ck_assert_int_gt(poll(p, 2, -1), 0);
        if (p[0].revents != 0 && read(p[0].fd, text, sizeof(text)) <= 0) p[0].fd = -1;
        if (p[1].revents != 0 && read_text(1) == 0) p[1].fd = -1;
    }
}

static void take_status(void)
{
    int status;

    ck_assert_int_eq(waitpid(r.pid, &status, 0), r.pid);
    r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* One PE that always had more kept chorusrun in a loop, for as long as it had. */
START_TEST(flood__is_read__timeout_is_served)
{
    const uint64_t before = ch_clock_ns();

    START("-n", "4", "--tag", "--timeout", "0.4", "yes", "");
    forget_output(true);
    take_status();
    ck_assert_uint_lt(ch_clock_ns() - before, END_NS);
    ASSERT_STATUS(124);
    ASSERT_SAYS("after 0.4 s, 4 PEs are still running");
}
END_TEST

START_TEST(flood__nobody_reads__timeout_is_served)
{
    START("-n", "4", "--tag", "--timeout", "0.4", "yes", "");
    forget_output(false);
    take_status();
    ASSERT_STATUS(124);
    ASSERT_SAYS("after 0.4 s, 4 PEs are still running");
    ASSERT_SAYS("no process reads standard output: the last output is lost\n");
    ck_assert_int_eq(count(r.text[1], "chorusrun:"), 2);
}
END_TEST

/* The PEs have ended; what they wrote is more than a pipe holds. */
START_TEST(output__nobody_reads_the_rest__timeout_is_served)
{
    START("-n", "2", "--tag", "--timeout", "1.5", "seq", "30000");
    forget_output(false);
    take_status();
    ASSERT_STATUS(124);
    ASSERT_SAYS("after 1.5 s, all PEs have ended, but not all that they wrote has been read\n");
}
END_TEST

/* While PEs run, and when they have ended; each says that on stderr, and has time to. What the
 * four write in the second case is more than the pipe holds and fits into the queue. */
static const char *const programs[] = {"echo go >&2; yes", "seq 15000; echo go >&2"};

START_TEST(output__nobody_reads__signal_is_served)
{
    START("-n", "4", "--tag", "sh", "-c", programs[_i]);
    while (count(r.text[1], "] go\n") < 4)
        ck_assert_uint_gt(read_text(1), 0);
    (void)usleep(100000);
    ck_assert_int_eq(kill(r.pid, SIGTERM), 0);
    forget_output(false);
    take_status();
    ASSERT_STATUS(_i == 0 ? 128 + SIGTERM : 125);
    ASSERT_SAYS("no process reads standard output: the last output is lost\n");
}
END_TEST

/* Its own messages must not hold chorusrun up either: the PEs have filled the pipe. */
START_TEST(messages__nobody_reads__timeout_is_served)
{
    START("-n", "2", "--timeout", "0.4", "sh", "-c", "yes >&2");
    take_status();
    ASSERT_STATUS(124);
}
END_TEST

/* Run by the shell, whose output and status are looked at. */
static void shell(const char *command)
{
    FILE *p = popen(command, "re");
    int status;

    r = (struct run){.status = -1};
    ck_assert_ptr_nonnull(p);
    r.used[0] = fread(r.text[0], 1, TEXT_BYTES - 1, p);
    status = pclose(p);
    ck_assert(WIFEXITED(status));
    r.status = WEXITSTATUS(status);
}

START_TEST(output__disk_is_full__is_said_with_a_status)
{
    shell("$CHORUSRUN -n 2 --tag echo text 2>&1 >/dev/full");
    ASSERT_STATUS(125);
    ck_assert_str_eq(r.text[0], "chorusrun: cannot write to standard output: No space left on "
                                "device; ending the job\n");
    shell("$CHORUSRUN -n 2 --tag sh -c 'echo text >&2' 2>/dev/full");
    ASSERT_STATUS(125);
    ck_assert_str_eq(r.text[0], "");
}
END_TEST

START_TEST(output__reader_goes__job_ends_as_by_sigpipe)
{
    START("-n", "4", "--tag", "yes", "");
    (void)close(r.fds[0]);
    forget_output(false);
    take_status();
    ASSERT_STATUS(128 + SIGPIPE);
    ASSERT_SAYS("chorusrun: the reader of standard output has closed it; ending the job\n");
}
END_TEST

/* More than pipes and queue hold, to one who begins late: nothing is lost, though PE 0 fails.
 */
START_TEST(output__reader_is_slow__gets_all)
{
    shell(
        "($CHORUSRUN -n 1 --tag sh -c 'seq 600000; exit 3'; echo status $?) | (sleep 0.4; awk "
        "'{ if ($1 == \"status\") s = $2; else sum += $2 } "
        "END { printf \"%d %.0f %s\\n\", NR, sum, s }')");
    ck_assert_str_eq(r.text[0], "600001 180000300000 3\n");
}
END_TEST

/* Both go to one pipe, and lines stay whole, also where a write is split. */
START_TEST(output__both_are_one_file__lines_stay_whole)
{
    shell("$CHORUSRUN -n 4 --tag sh -c 'yes aaaaaaaaaaaaaaaaaaaaaaaa | head -n 20000 & "
          "yes bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb | head -n 20000 >&2; wait' 2>&1 | "
          "grep -cxE '\\[[0-3]\\] (a{24}|b{30})'");
    ck_assert_str_eq(r.text[0], "160000\n");
}
END_TEST

/* A line that is longer than what chorusrun keeps comes in pieces, each with its tag. */
START_TEST(output__long_line__comes_in_pieces)
{
    shell("$CHORUSRUN -n 1 --tag sh -c 'yes | tr -d \"\\n\" | head -c 100000' | wc");
    ASSERT_STATUS(0);
    ck_assert_int_eq((int)strtol(r.text[0], NULL, 10), 2);
    ck_assert_ptr_nonnull(strstr(r.text[0], "100010"));
}
END_TEST

/* What a PE left behind holds the pipe, and writes for ever. */
START_TEST(output__held_by_a_process_left_behind__job_ends)
{
    shell("$CHORUSRUN -n 2 --tag sh -c 'yes & sleep 0.2' | wc -c");
    ck_assert_int_gt((int)strtol(r.text[0], NULL, 10), 0);
}
END_TEST

/* A non-blocking mode would be that of every process with the same file. */
START_TEST(output__is_a_shared_file__keeps_its_mode)
{
    shell(
        "$CHORUSRUN -n 2 --tag sh -c 'yes | head -n 100000; grep flags /proc/$PPID/fdinfo/1' |"
        " grep flags");
    ck_assert_int_eq(count(r.text[0], "flags:\t01\n"), 2);
}
END_TEST

static void add_output(TCase *tc)
{
    tcase_add_test(tc, flood__is_read__timeout_is_served);
    tcase_add_test(tc, flood__nobody_reads__timeout_is_served);
    tcase_add_test(tc, output__nobody_reads_the_rest__timeout_is_served);
    tcase_add_loop_test(tc, output__nobody_reads__signal_is_served, 0, COUNT_OF(programs));
    tcase_add_test(tc, messages__nobody_reads__timeout_is_served);
    tcase_add_test(tc, output__disk_is_full__is_said_with_a_status);
    tcase_add_test(tc, output__reader_goes__job_ends_as_by_sigpipe);
    tcase_add_test(tc, output__reader_is_slow__gets_all);
    tcase_add_test(tc, output__both_are_one_file__lines_stay_whole);
    tcase_add_test(tc, output__long_line__comes_in_pieces);
    tcase_add_test(tc, output__held_by_a_process_left_behind__job_ends);
    tcase_add_test(tc, output__is_a_shared_file__keeps_its_mode);
}

int main(void)
{
    return run_suite("boot_output", add_output);
}
