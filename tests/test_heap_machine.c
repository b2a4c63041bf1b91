/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of memory, on machines that are pretended: folders with the files of each. */
#include "base/limits.h"
#include "heap/segment.h"

#include <check.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define M ((size_t)1024 * 1024)

enum { PATH_BYTES = 512 };

static char root[] = "/tmp/chorus_machine_XXXXXX";

static void make_folders(char *path)
{
    for (char *at = strchr(path + sizeof(root), '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
}

static void write_file(const char *name, const char *text)
{
    char path[PATH_BYTES];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s%s", root, name);
    make_folders(path);
    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* 1024 MiB, of which 700 can be had. */
static void make_machine(void)
{
    strcpy(root + sizeof(root) - 1 - strlen("XXXXXX"), "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    write_file("/proc/meminfo", "MemTotal:        1048576 kB\nMemFree:          102400 kB\n"
                                "MemAvailable:     716800 kB\n");
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info, (void)type, (void)ftw;
    return remove(path);
}

static void remove_machine(void)
{
    ck_assert_int_eq(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void expect_left(size_t bytes, const char *of)
{
    struct ch_memory memory;

    ch_memory_left(root, &memory);
    ck_assert_uint_eq(memory.bytes, bytes);
    ck_assert_msg(strstr(memory.of, of) != NULL, "\"%s\" is not in \"%s\"", of, memory.of);
}

START_TEST(left__no_groups__is_the_machines_less_a_spare)
{
    expect_left(700 * M - 32 * M, "the machine");
}
END_TEST

START_TEST(left__no_files_at_all__is_without_bound)
{
    remove_machine();
    ck_assert_int_eq(mkdir(root, 0700), 0);
    expect_left(SIZE_MAX, "the machine");
}
END_TEST

static void make_v2(const char *mount_root, const char *path)
{
    char text[PATH_BYTES];

    (void)snprintf(text, sizeof(text), "0::%s\n", path);
    write_file("/proc/self/cgroup", text);
    (void)snprintf(text, sizeof(text),
                   "22 1 0:20 / /proc rw - proc proc rw\n"
                   "30 22 0:26 %s /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
                   mount_root);
    write_file("/proc/self/mountinfo", text);
}

/* The group above has the tightest limit, of which it uses 100 MiB and 20 are cached files. */
START_TEST(left__v2__tightest_group_above_counts)
{
    make_v2("/", "/a/b");
    write_file("/sys/fs/cgroup/a/b/memory.max", "536870912\n");
    write_file("/sys/fs/cgroup/a/b/memory.current", "1048576\n");
    expect_left(512 * M - 1 * M - 16 * M, "the control group ");
    write_file("/sys/fs/cgroup/a/memory.max", "268435456\n");
    write_file("/sys/fs/cgroup/a/memory.current", "104857600\n");
    write_file("/sys/fs/cgroup/a/memory.stat",
               "anon 5\nfile 99\ninactive_file 15728640\nactive_file 5242880\n");
    expect_left(256 * M - 80 * M - 8 * M, "/sys/fs/cgroup/a/");
    write_file("/sys/fs/cgroup/a/memory.max", "max\n");
    expect_left(512 * M - 1 * M - 16 * M, "/sys/fs/cgroup/a/b");
    write_file("/sys/fs/cgroup/a/b/memory.max", "max\n");
    expect_left(700 * M - 32 * M, "the machine");
    write_file("/sys/fs/cgroup/a/b/memory.max", "1000\n"); /* lowered since */
    expect_left(0, "/sys/fs/cgroup/a/b");
}
END_TEST

/* A container sees its own group as the topmost, whatever its name outside is. */
START_TEST(left__v2_in_a_container__its_mount_counts)
{
    make_v2("/docker/1234", "/docker/1234");
    write_file("/sys/fs/cgroup/memory.max", "134217728\n");
    write_file("/sys/fs/cgroup/memory.current", "33554432\n");
    expect_left(128 * M - 32 * M - 4 * M, "/sys/fs/cgroup");
    make_v2("/docker/1234", "/docker/1234/inner");
    write_file("/sys/fs/cgroup/inner/memory.max", "67108864\n");
    write_file("/sys/fs/cgroup/inner/memory.current", "0\n");
    expect_left(64 * M - 2 * M, "/sys/fs/cgroup/inner");
    make_v2("/", "/not/seen/here");
    expect_left(128 * M - 32 * M - 4 * M, "/sys/fs/cgroup");
}
END_TEST

/* Version 1 has the memory, and version 2 is mounted beside it without. */
START_TEST(left__v1_beside_v2__v1_counts)
{
    write_file("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/jobs/7\n0::/\n");
    write_file("/proc/self/mountinfo",
               "35 31 0:32 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
               "36 31 0:33 / /sys/fs/cgroup/memory rw shared:1 - cgroup cgroup rw,cpu,memory\n"
               "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    write_file("/sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("/sys/fs/cgroup/memory/jobs/7/memory.usage_in_bytes", "1048576\n");
    expect_left(700 * M - 32 * M, "the machine");
    write_file("/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "536870912\n");
    write_file("/sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", "268435456\n");
    write_file("/sys/fs/cgroup/memory/jobs/memory.stat",
               "inactive_file 1\ntotal_inactive_file 10485760\ntotal_active_file 0\n");
    expect_left(512 * M - 246 * M - 16 * M, "/sys/fs/cgroup/memory/jobs/");
}
END_TEST

/* What chorusrun compares: kills in the process's own group. */
START_TEST(number__of_events__is_found_by_its_whole_name)
{
    struct ch_cgroup group;
    uint64_t kills = 0;

    make_v2("/", "/a");
    write_file("/sys/fs/cgroup/a/memory.events",
               "low 0\nhigh 0\noom 4\noom_kill_group 9\noom_kill 3\n");
    ck_assert(ch_cgroup_find(root, "memory", &group));
    ck_assert(ch_cgroup_read_number(&group, "memory.events", "oom_kill", &kills));
    ck_assert_uint_eq(kills, 3);
    ck_assert(!ch_cgroup_read_number(&group, "memory.events", "oom_kil", &kills));
    ck_assert(!ch_cgroup_read_number(&group, "no.such.file", "oom", &kills));
    ck_assert(ch_cgroup_to_parent(&group));
    ck_assert(!ch_cgroup_to_parent(&group));
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("heap_machine");
    TCase *const tcase = tcase_create("pretended");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, make_machine, remove_machine);
    tcase_add_test(tcase, left__no_groups__is_the_machines_less_a_spare);
    tcase_add_test(tcase, left__no_files_at_all__is_without_bound);
    tcase_add_test(tcase, left__v2__tightest_group_above_counts);
    tcase_add_test(tcase, left__v2_in_a_container__its_mount_counts);
    tcase_add_test(tcase, left__v1_beside_v2__v1_counts);
    tcase_add_test(tcase, number__of_events__is_found_by_its_whole_name);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
