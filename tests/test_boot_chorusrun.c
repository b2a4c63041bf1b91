/* SPDX-License-Identifier: Apache-2.0 */
/* chorusrun as its users see it: the command line, output, place, and limits of the system. */
#include "boot_run.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

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

START_TEST(version__asked__told)
{
    RUN("--version");
    ASSERT_STATUS(0);
    ck_assert_int_eq(count(r.text[0], "chorusrun (chorus) "), 1);
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
    {{"--colour", "true"},
     "chorusrun: unknown option \"--colour\"; expected -n N, --timeout S"},
    {{"--timeout=0", "true"}, "--timeout is \"0\"; expected seconds from 0.001 on"},
    {{"--timeout=1e-12", "true"}, "--timeout is \"1e-12\"; expected seconds from 0.001 on"},
    {{"--timeout=0x10", "true"}, "--timeout is \"0x10\"; expected seconds from 0.001 on"},
    {{"-n", " 2", "true"}, "-n is \" 2\"; expected a whole number from 1 to 1024"},
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

/* Cores as chorusrun counts them, here and now. */
static int count_cores(void)
{
    RUN("-n", "1", "sh", "-c", "echo $CHORUS_N_CORES");
    ASSERT_STATUS(0);
    return (int)strtol(r.text[0], NULL, 10);
}

static void show_places(int n)
{
    char pes[16];

    (void)snprintf(pes, sizeof(pes), "%d", n);
    RUN("-n", pes, "grep", "Cpus_allowed_list:", "/proc/self/status");
    ASSERT_STATUS(0);
    ck_assert_int_eq(count(r.text[0], "\n"), n);
}

START_TEST(place__cores_for_all__each_pe_has_one_of_its_own)
{
    char text[TEXT_BYTES];

    show_places(count_cores());
    memcpy(text, r.text[0], sizeof(text));
    for (char *at = text, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        const char next = end[1];
        end[1] = '\0';
        ck_assert_msg(count(r.text[0], at) == 1, "the place of two PEs: %s", at);
        end[1] = next;
    }
}
END_TEST

/* What is left of the cores is for the threads that make progress. */
START_TEST(place__cores_are_left__pes_are_told_which)
{
    char mine[TEXT_BYTES];
    const int n = count_cores();

    RUN("-n", "1", "sh", "-c", "grep Cpus_allowed_list: /proc/self/status; echo $CHORUS_SPARE");
    ASSERT_STATUS(0);
    ck_assert_int_eq(sscanf(r.text[0], "Cpus_allowed_list: %15s", mine), 1);
    ck_assert_int_eq(strchr(r.text[0], '\n')[1] != '\n', n > 1);
    if (n == 2) ck_assert_int_eq(count(r.text[0], mine), 1);
    (void)snprintf(mine, sizeof(mine), "%d", n);
    RUN("-n", mine, "sh", "-c", "echo left: $CHORUS_SPARE");
    ASSERT_STATUS(0);
    ck_assert_int_eq(count(r.text[0], "left:\n"), n);
}
END_TEST

START_TEST(place__too_few_cores__nobody_is_bound)
{
    const int n = count_cores() + 1;
    char mine[TEXT_BYTES];
    FILE *status = fopen("/proc/self/status", "re");

    ck_assert_ptr_nonnull(status);
    while (fgets(mine, sizeof(mine), status) != NULL)
        if (strncmp(mine, "Cpus_allowed_list:", 18) == 0) break;
    (void)fclose(status);
    show_places(n);
    ck_assert_int_eq(count(r.text[0], mine), n);
}
END_TEST

/* Without the right to pass any number of descriptors, which programs that root starts have. */
static void become_ordinary(void)
{
    for (int right = 0; prctl(PR_CAPBSET_READ, right) >= 0; right++)
        (void)prctl(PR_CAPBSET_DROP, right); /* refused where it is not needed */
}

/* n PEs where this many files may be open. */
static const struct {
    const char *n;
    rlim_t files;
} few_files[] = {{"20", 75}, {"40", 135}, {"64", 205}};

/* Fewer files than descriptors under way: sendmsg refuses (ETOOMANYREFS), though all is well.
 */
START_TEST(files__few_allowed__exchange_works)
{
    const struct rlimit few = {few_files[_i].files, few_files[_i].files};

    become_ordinary();
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    RUN("-n", few_files[_i].n, "--timeout", "50", "BOOT_PE", "exchange");
    ASSERT_STATUS(0);
    ck_assert_str_eq(r.text[1], "");
}
END_TEST

START_TEST(files__too_few_to_start__is_said)
{
    const struct rlimit few = {30, 30};

    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    RUN("-n", "64", "--timeout", "50", "sleep", "60");
    ASSERT_STATUS(126);
    ASSERT_SAYS("of 64: Too many open files; raise the limit with ulimit -n\n");
    ck_assert_int_eq(count(r.text[1], "chorusrun:"), 1);
}
END_TEST

START_TEST(files__too_few_allowed__is_said)
{
    const struct rlimit few = {40, 40};

    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    RUN("-n", "24", "BOOT_PE", "exchange");
    ASSERT_STATUS(1);
    ASSERT_SAYS("gave a descriptor, and chorusrun has too many; raise ulimit -n");
}
END_TEST

static void add_running(TCase *tc)
{
    tcase_add_test(tc, run__program_without_chorus__runs_n_times);
    tcase_add_test(tc, run__options_after_the_program__are_its_own);
    tcase_add_test(tc, run__stdin__goes_to_pe_0_alone);
    tcase_add_test(tc, run__pes_have__no_descriptor_but_their_own);
    tcase_add_test(tc, tag__two_streams__each_line_named_and_kept_apart);
    tcase_add_test(tc, tag__lines_written_in_pieces__come_whole);
    tcase_add_test(tc, version__asked__told);
    tcase_add_loop_test(tc, usage__wrong__says_what_was_found_and_expected, 0,
                        COUNT_OF(bad_usage));
    tcase_add_test(tc, program__missing__one_message_and_127);
    tcase_add_test(tc, program__not_executable__one_message_and_126);
    tcase_add_test(tc, program__interpreter_missing__is_said);
    tcase_add_test(tc, place__cores_are_left__pes_are_told_which);
    tcase_add_test(tc, place__cores_for_all__each_pe_has_one_of_its_own);
    tcase_add_test(tc, place__too_few_cores__nobody_is_bound);
    tcase_add_loop_test(tc, files__few_allowed__exchange_works, 0, COUNT_OF(few_files));
    tcase_add_test(tc, files__too_few_to_start__is_said);
    tcase_add_test(tc, files__too_few_allowed__is_said);
}

int main(void)
{
    return run_suite("boot_chorusrun", add_running);
}
