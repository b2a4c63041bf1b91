/* SPDX-License-Identifier: Apache-2.0 */
/* What CPU quotas of control groups are worth in cores, from files as the system shows them. */
#include "boot/place.h"

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NONE UINT32_MAX

struct file {
    const char *path, *text;
};

struct machine {
    struct file files[5];
    uint32_t cores;
};

/* Make the folders that lead to a file. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
}

static void write_file(const char *root, const struct file *file)
{
    char path[PATH_MAX];
    FILE *out;

    (void)snprintf(path, sizeof(path), "%s/%s", root, file->path);
    make_folders(path);
    out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert(fputs(file->text, out) >= 0);
    ck_assert_int_eq(fclose(out), 0);
}

#define GROUP "proc/self/cgroup"
#define SYS "sys/fs/cgroup"

/* Both versions are mounted everywhere; processes need not be in groups of both. */
static const struct file mounts = {
    "proc/self/mountinfo",
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
    "31 23 0:27 / /sys/fs/cgroup/cpuset rw,nosuid - cgroup cgroup rw,cpuset\n"
    "32 23 0:28 / /sys/fs/cgroup/cpu rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n"};

static const struct machine machines[] = {
    {{{NULL, NULL}}, NONE},
    {{{GROUP, "0::/\n"}}, NONE},
    {{{GROUP, "0::/\n"}, {SYS "/cpu.max", "max 100000\n"}}, NONE},
    {{{GROUP, "0::/\n"}, {SYS "/cpu.max", "400000 100000\n"}}, 4},
    {{{GROUP, "0::/\n"}, {SYS "/cpu.max", "399999 100000\n"}}, 3},
    {{{GROUP, "0::/\n"}, {SYS "/cpu.max", "50000 100000\n"}}, 1},
    {{{GROUP, "0::/\n"}, {SYS "/cpu.max", "nonsense\n"}}, NONE},
    {{{GROUP, "0::/\n"}, {SYS "/cpu.max", "400000 0\n"}}, NONE},
    {{{GROUP, "no colons\n0:one\n"}, {SYS "/cpu.max", "400000 100000\n"}}, NONE},
    /* The group itself, one above, and one that only the host sees. */
    {{{GROUP, "0::/a/b\n"},
      {SYS "/a/b/cpu.max", "200000 100000\n"},
      {SYS "/a/cpu.max", "800000 100000\n"}},
     2},
    {{{GROUP, "0::/a/b\n"},
      {SYS "/a/b/cpu.max", "max 100000\n"},
      {SYS "/a/cpu.max", "800000 100000\n"}},
     8},
    {{{GROUP, "0::/docker/x\n"}, {SYS "/cpu.max", "300000 100000\n"}}, 3},
    /* Version 1, beside other controllers and beside version 2 without any. */
    {{{GROUP, "3:cpuset:/a\n2:cpu,cpuacct:/a\n0::/\n"},
      {SYS "/cpu/a/cpu.cfs_quota_us", "600000\n"},
      {SYS "/cpu/a/cpu.cfs_period_us", "100000\n"}},
     6},
    {{{GROUP, "2:cpuacct,cpu:/\n"},
      {SYS "/cpu/cpu.cfs_quota_us", "-1\n"},
      {SYS "/cpu/cpu.cfs_period_us", "100000\n"}},
     NONE},
    {{{GROUP, "2:cpuset:/a\n"},
      {SYS "/cpu/a/cpu.cfs_quota_us", "600000\n"},
      {SYS "/cpu/a/cpu.cfs_period_us", "100000\n"}},
     NONE},
};

START_TEST(quota__files_of_a_system__are_worth_whole_cores)
{
    const struct machine *machine = &machines[_i];
    char root[] = "/tmp/test_boot_quota.XXXXXX", command[64];

    ck_assert_ptr_nonnull(mkdtemp(root));
    write_file(root, &mounts);
    for (size_t i = 0; i < 5 && machine->files[i].path != NULL; i++)
        write_file(root, &machine->files[i]);
    ck_assert_uint_eq(ch_quota_cores(root), machine->cores);
    (void)snprintf(command, sizeof(command), "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(cores__with_the_quota_of_this_process__are_no_more_than_it)
{
    const uint32_t cores = ch_place_count_cores();

    ck_assert_uint_ge(cores, 1);
    ck_assert_uint_le(cores, ch_quota_cores(""));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("boot_quota");
    TCase *tcase = tcase_create("quota");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, quota__files_of_a_system__are_worth_whole_cores, 0,
                        sizeof(machines) / sizeof(machines[0]));
    tcase_add_test(tcase, cores__with_the_quota_of_this_process__are_no_more_than_it);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
