/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusrun --hosts with a launcher whose hosts are all this machine: what PEs find, how the
 * job ends, what is refused. tests/net/run does the same over namespaces of their own.
 */
#include "boot_run.h"

#include <stdlib.h>
#include <sys/wait.h>

#define ON(hosts) "--hosts", hosts, "--launcher", "LAUNCH_HERE"

/* Lines come in any order; each must be there once. */
static void require_lines(const char *const *lines, int n)
{
    for (int i = 0; i < n; i++)
        ck_assert_msg(count(r.text[0], lines[i]) == 1, "not once \"%s\" in: %s", lines[i],
                      r.text[0]);
}

START_TEST(pes__on_two_hosts__have_their_numbers_and_the_folder)
{
    static const char *const lines[] = {"[0] 0 of 3 in /\n", "[1] 1 of 3 in /\n",
                                        "[2] 2 of 3 in /\n"};

    ck_assert_int_eq(chdir("/"), 0);
    RUN("-n", "3", "--tag", ON("a:2,greeting"), "sh", "-c",
        "echo $CHORUS_PE of $CHORUS_N_PES in $(pwd)");
    ASSERT_STATUS(0);
    require_lines(lines, 3);
    ck_assert_str_eq(r.text[1], "");
}
END_TEST

/* What PE 0 does not read is nobody's; the others read nothing. */
START_TEST(input__goes_to_pe_0)
{
    static const char *const lines[] = {"PE 0: line of stdin.\n", "PE 1: .\n"};

    RUN("-n", "2", ON("a,b"), "sh", "-c", "echo \"PE $CHORUS_PE: $(cat).\"");
    ASSERT_STATUS(0);
    require_lines(lines, 2);
    ck_assert_uint_eq(strlen(r.text[0]), strlen(lines[0]) + strlen(lines[1]));
    RUN("-n", "2", ON("a,b"), "sh", "-c", "exec 0<&-; sleep 0.2");
    ASSERT_STATUS(0);
}
END_TEST

START_TEST(variables__of_chorus_and_named_ones__are_there)
{
    ck_assert_int_eq(setenv("CHORUS_LOG", "some level", 1), 0);
    ck_assert_int_eq(setenv("NAMED", "two words", 1), 0);
    RUN("-n", "2", ON("a,b"), "-x", "NAMED", "-x", "GIVEN=a=b", "sh", "-c",
        "echo $CHORUS_LOG, $NAMED, $GIVEN");
    ASSERT_STATUS(0);
    ck_assert_int_eq(count(r.text[0], "some level, two words, a=b\n"), 2);
}
END_TEST

/* Hosts that are one machine share its cores: no two PEs are bound to one. */
START_TEST(cores__of_hosts_on_one_machine__are_shared)
{
    char n_cores[16];

    (void)snprintf(n_cores, sizeof(n_cores), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    RUN("-n", "2", ON("a,b"), "sh", "-c",
        "taskset -p $$ | sed 's/.*: //'; echo $CHORUS_N_CORES >&2");
    ASSERT_STATUS(0);
    if (strcmp(n_cores, "2") == 0) {
        ck_assert_int_eq(count(r.text[0], "1\n"), 1);
        ck_assert_int_eq(count(r.text[0], "2\n"), 1);
        ck_assert_str_eq(r.text[1], "1\n1\n");
    }
}
END_TEST

/* If they are too few, PEs of one host are on one core, and those of the other on another;
 * three hosts are not bound. */
START_TEST(cores__fewer_than_pes__are_divided_among_hosts)
{
    char n_cores[16];

    (void)snprintf(n_cores, sizeof(n_cores), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    if (strcmp(n_cores, "2") != 0) return;
    RUN("-n", "4", ON("a:2,b:2"), "sh", "-c", "taskset -p $$ | sed \"s/.*: /$CHORUS_PE on /\"");
    ASSERT_STATUS(0);
    require_lines((const char *[]){"0 on 1\n", "1 on 1\n", "2 on 2\n", "3 on 2\n"}, 4);
    RUN("-n", "3", ON("a,b,c"), "sh", "-c", "taskset -p $$ | sed 's/.*: //'");
    ASSERT_STATUS(0);
    ck_assert_int_eq(count(r.text[0], "3\n"), 3);
}
END_TEST

/* More than any window or queue, and none of it lost. */
START_TEST(output__of_many_bytes__is_whole)
{
    RUN("-n", "2", ON("a,b"), "sh", "-c",
        "if [ $CHORUS_PE = 0 ]; then exec >&2; fi; yes 'a line of output' | head -n 3000");
    ASSERT_STATUS(0);
    ck_assert_int_eq(count(r.text[0], "a line of output\n"), 3000);
    ck_assert_int_eq(count(r.text[1], "a line of output\n"), 3000);
}
END_TEST

static const struct {
    const char *script;
    int status;
    const char *says[2];
} failures[] = {
    {"[ $CHORUS_PE = 2 ] && exit 3; sleep 60",
     3,
     {"chorusrun: PE 2 (pid ", " on b) exited with status 3; ending the job\n"}},
    {"[ $CHORUS_PE = 1 ] && kill -KILL $$; sleep 60",
     137,
     {"chorusrun: PE 1 (pid ", " on a) was killed by signal 9 (Killed); ending the job\n"}},
    {"trap '' TERM; sleep 60 & [ $CHORUS_PE = 2 ] && exit 3; wait; wait",
     3,
     {"chorusrun: PE 2 (pid ", " on b) exited with status 3; ending the job\n"}},
    {"[ $CHORUS_PE = 1 ] && kill -STOP $$; sleep 0.5; exit 5",
     5,
     {"exited with status 5; ending the job\n", " on a) has been stopped by signal 19"}},
};

START_TEST(pe__fails__job_ends_on_all_hosts_with_its_status_and_name)
{
    const uint64_t before = ch_clock_ns();

    RUN("-n", "3", ON("a:2,b"), "sh", "-c", failures[_i].script);
    ck_assert_uint_lt(ch_clock_ns() - before, END_NS);
    ASSERT_STATUS(failures[_i].status);
    ASSERT_SAYS(failures[_i].says[0]);
    ASSERT_SAYS(failures[_i].says[1]);
}
END_TEST

static const struct {
    const char *hosts, *program;
    int status;
    const char *says;
} refusals[] = {
    {"a,unknown", "true", 126, "cannot start PEs on host unknown: "},
    {"a,unknown", "true", 126,
     "/launch_here exited with status 255: launch_here: no host unknown\n"},
    {"a,bare", "true", 127,
     "chorusrun: host bare: cannot run true: No such file or directory\n"},
    {"a,old", "true", 126, "chorusrun: host old has chorusrun 0.0.1 and this is "},
    {"a,babbling", "true", 126,
     "chorusrun: host babbling: 64 KiB were received from there, and no greeting of an "
     "agent\n"},
    {"a,foreign", "true", 126,
     "chorusrun: host foreign: its agent sent a message that no agent of this version"},
    {"a,mute", "true", 124, "chorusrun: after 2 s, no agent has connected from host mute\n"},
    {"a:2", "true", 0, ""},
    {"a", "true", 2, "chorusrun: -n is 2, but --hosts has 1 PE on 1 host; make them agree\n"},
    {"a:2,b:2", "true", 2,
     "chorusrun: -n is 2, but --hosts has 4 PEs on 2 hosts; make them agree\n"},
    {"a,a", "true", 2,
     "chorusrun: --hosts names a twice; give all its PEs at once, as in a:2\n"},
    {"a:2,b:0", "true", 2,
     "chorusrun: --hosts has \"b:0\"; expected names of hosts, each with 1 to"},
    {"a,", "true", 2, "chorusrun: --hosts has \"\"; expected names of hosts"},
    {"a,:1", "true", 2, "chorusrun: --hosts has \":1\"; expected names of hosts"},
    {"a,-b", "true", 2, "chorusrun: --hosts has \"-b\"; expected names of hosts"},
    {"a:1:1,b", "true", 2, "chorusrun: --hosts has \"a:1:1\"; expected names of hosts"},
};

START_TEST(hosts__that_cannot_be__are_told)
{
    RUN("-n", "2", "--timeout", "2", ON(refusals[_i].hosts), refusals[_i].program);
    ASSERT_STATUS(refusals[_i].status);
    ASSERT_SAYS(refusals[_i].says);
    ck_assert_int_le(count(r.text[1], "chorusrun:"), 1);
}
END_TEST

START_TEST(launcher__is_missing_or_alone__is_told)
{
    RUN("-n", "2", "--hosts", "a:2", "--launcher", "/nonexistent/ssh -v", "true");
    ASSERT_STATUS(127);
    ASSERT_SAYS("cannot run the launcher /nonexistent/ssh: No such file or directory; name "
                "another with --launcher\n");
    RUN("-n", "2", "--launcher", "ssh", "true");
    ASSERT_STATUS(2);
    ASSERT_SAYS("--launcher is for --hosts, which is missing\n");
    RUN("-n", "2", "--hosts", "a:2", "--launcher", " ", "true");
    ASSERT_STATUS(2);
    ASSERT_SAYS("--launcher is empty; expected a command such as ssh\n");
    RUN("-n", "2", "-x", "NOT_THERE", "true");
    ASSERT_STATUS(2);
    ASSERT_SAYS("-x is \"NOT_THERE\"; expected a variable that is set, or NAME=VALUE\n");
}
END_TEST

/* The agent of PE 1 is the parent of its shell. Others are told which host was lost, and why.
 */
START_TEST(agent__is_killed__its_host_is_named_and_the_job_ends)
{
    const uint64_t before = ch_clock_ns();

    RUN("-n", "2", ON("a,b"), "sh", "-c", "[ $CHORUS_PE = 1 ] && kill -KILL $PPID; sleep 60");
    ck_assert_uint_lt(ch_clock_ns() - before, END_NS);
    ASSERT_STATUS(1);
    ASSERT_SAYS("chorusrun: host b was lost: ");
    ASSERT_SAYS("/launch_here was killed by signal 9 (Killed); ending the job\n");
}
END_TEST

/* PEs hold the pipes that this test reads, so their end is seen. */
/* Its PE would run on, and nobody would hear of its end. */
START_TEST(agent__is_stopped__its_host_is_named_and_the_job_ends)
{
    ck_assert_int_eq(setenv("CHORUS_TIMEOUT", "2", 1), 0);
    ck_assert_int_eq(setenv("CHORUS_LINK_TIMEOUT", "1", 1), 0);
    RUN("-n", "2", ON("a,b"), "sh", "-c",
        "[ $CHORUS_PE = 0 ] || { sleep 0.5; kill -STOP $PPID; }; exec sleep 60");
    ck_assert_int_eq(unsetenv("CHORUS_TIMEOUT"), 0);
    ck_assert_int_eq(unsetenv("CHORUS_LINK_TIMEOUT"), 0);
    ASSERT_STATUS(1);
    ck_assert_int_eq(count(r.text[1], "chorusrun: host b: its chorusrun has not answered for 4 "
                                      "s; is it stopped? ending the job\n"),
                     1);
}
END_TEST

START_TEST(front__is_killed__agents_end_their_pes)
{
    const uint64_t before = ch_clock_ns();

    START("-n", "3", ON("a:2,b"), "sh", "-c", "echo here; sleep 60");
    while (count(r.text[0], "here\n") < 3)
        ck_assert(read_some());
    (void)kill(r.pid, SIGKILL);
    finish();
    ck_assert_uint_lt(ch_clock_ns() - before, END_NS);
    ASSERT_STATUS(128 + SIGKILL);
}
END_TEST

START_TEST(signal__is_sent__reaches_pes_of_all_hosts)
{
    START("-n", "3", ON("a:2,b"), "sh", "-c",
          "trap 'echo got; exit 0' USR1; echo here; while :; do sleep 0.1; done");
    while (count(r.text[0], "here\n") < 3)
        ck_assert(read_some());
    (void)kill(r.pid, SIGUSR1);
    finish();
    ASSERT_STATUS(0);
    ck_assert_int_eq(count(r.text[0], "got\n"), 3);
}
END_TEST

START_TEST(signal__before_agents_came__ends_the_job)
{
    const uint64_t before = ch_clock_ns();

    START("-n", "2", ON("a,mute"), "true");
    (void)usleep(300000);
    (void)kill(r.pid, SIGTERM);
    finish();
    ck_assert_uint_lt(ch_clock_ns() - before, END_NS);
    ASSERT_STATUS(128 + SIGTERM);
    ASSERT_SAYS("signal 15 (Terminated) came before the job began\n");
}
END_TEST

START_TEST(timeout__passes__pes_of_all_hosts_are_named)
{
    RUN("-n", "2", "--timeout", "1", ON("a,b"), "sleep", "60");
    ASSERT_STATUS(124);
    ASSERT_SAYS("after 1 s, 2 PEs are still running: PE 0 (pid ");
    ASSERT_SAYS(" on a), PE 1 (pid ");
    ASSERT_SAYS(" on b); ending the job\n");
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, pes__on_two_hosts__have_their_numbers_and_the_folder);
    tcase_add_test(tc, input__goes_to_pe_0);
    tcase_add_test(tc, variables__of_chorus_and_named_ones__are_there);
    tcase_add_test(tc, cores__of_hosts_on_one_machine__are_shared);
    tcase_add_test(tc, cores__fewer_than_pes__are_divided_among_hosts);
    tcase_add_test(tc, output__of_many_bytes__is_whole);
    tcase_add_loop_test(tc, pe__fails__job_ends_on_all_hosts_with_its_status_and_name, 0,
                        COUNT_OF(failures));
    tcase_add_loop_test(tc, hosts__that_cannot_be__are_told, 0, COUNT_OF(refusals));
    tcase_add_test(tc, launcher__is_missing_or_alone__is_told);
    tcase_add_test(tc, agent__is_killed__its_host_is_named_and_the_job_ends);
    tcase_add_test(tc, agent__is_stopped__its_host_is_named_and_the_job_ends);
    tcase_add_test(tc, front__is_killed__agents_end_their_pes);
    tcase_add_test(tc, signal__is_sent__reaches_pes_of_all_hosts);
    tcase_add_test(tc, signal__before_agents_came__ends_the_job);
    tcase_add_test(tc, timeout__passes__pes_of_all_hosts_are_named);
}

int main(void)
{
    return run_suite("boot_hosts", add);
}
