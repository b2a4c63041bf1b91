/* SPDX-License-Identifier: Apache-2.0 */
/* The secret that PEs of one user agree on: who makes it, who gets it, and what is left. */
#include "base/clock.h"
#include "boot/ways.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PES = 48, NOBODY_ID = 65534, PATH_BYTES = 64 };

static char run_folder[] = "/tmp/chorus-test-XXXXXX"; /* $XDG_RUNTIME_DIR */
static char folder[PATH_BYTES];                       /* the library's, in it */
static uint32_t n_made;                               /* atomic */

static void setup(void)
{
    (void)strcpy(run_folder + sizeof(run_folder) - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(run_folder));
    (void)snprintf(folder, sizeof(folder), "%s/chorus", run_folder);
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", run_folder, 1), 0);
    ck_assert_int_eq(setenv("HOME", run_folder, 1), 0);
    n_made = 0;
}

static uint32_t count_files(void)
{
    DIR *const dir = opendir(folder);
    uint32_t count = 0;

    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *each; (each = readdir(dir)) != NULL;)
        if (each->d_name[0] != '.') count++;
    (void)closedir(dir);
    return count;
}

static void teardown(void)
{
    char command[2 * PATH_BYTES];

    (void)snprintf(command, sizeof(command), "rm -rf %s", run_folder);
    ck_assert_int_eq(system(command), 0);
}

static chorus_status draw(const void *arg, unsigned char secret_out[CH_BOOT_SECRET_BYTES])
{
    (void)arg;
    randombytes_buf(secret_out, CH_BOOT_SECRET_BYTES);
    (void)__atomic_add_fetch(&n_made, 1, __ATOMIC_RELAXED);
    return CHORUS_OK;
}

struct pe {
    pthread_t thread;
    struct ch_share_terms terms;
    unsigned char secret[CH_BOOT_SECRET_BYTES];
    struct ch_share *share;
    chorus_status status;
};

static struct pe pe_of(const char *name)
{
    struct pe pe = {.terms = {.make = draw, .timeout_ns = 20 * CH_NS_PER_S}};

    (void)snprintf(pe.terms.name, sizeof(pe.terms.name), "%s", name);
    return pe;
}

static void *pe_run(void *arg)
{
    struct pe *const pe = arg;

    pe->status = ch_share_open(&pe->terms, pe->secret, &pe->share);
    return NULL;
}

static void open_one(struct pe *pe)
{
    (void)pe_run(pe);
    ck_assert_msg(pe->status == CHORUS_OK, "%s", ch_error_message());
}

/* All begin at the same time. */
START_TEST(secret__of_many_pes__is_made_once_and_no_file_remains)
{
    static struct pe pes[PES];
    uint32_t n_shares = 0;

    for (int i = 0; i < PES; i++) {
        pes[i] = pe_of("job");
        ck_assert_int_eq(pthread_create(&pes[i].thread, NULL, pe_run, &pes[i]), 0);
    }
    for (int i = 0; i < PES; i++)
        ck_assert_int_eq(pthread_join(pes[i].thread, NULL), 0);
    for (int i = 0; i < PES; i++) {
        ck_assert_int_eq(pes[i].status, CHORUS_OK);
        ck_assert_mem_eq(pes[i].secret, pes[0].secret, sizeof(pes[0].secret));
        n_shares += pes[i].share != NULL;
    }
    ck_assert_uint_eq(n_made, 1);
    ck_assert_uint_eq(n_shares, 1);
    ck_assert_uint_eq(count_files(), 2);
    for (int i = 0; i < PES; i++)
        ch_share_close(pes[i].share);
    ck_assert_uint_eq(count_files(), 0);
}
END_TEST

START_TEST(secret__of_another_job__is_another)
{
    struct pe a = pe_of("a"), b = pe_of("b"), later = pe_of("a");

    open_one(&a);
    open_one(&b);
    open_one(&later);
    ck_assert_mem_ne(a.secret, b.secret, sizeof(a.secret));
    ck_assert_mem_eq(a.secret, later.secret, sizeof(a.secret));
    ck_assert(a.share != NULL && b.share != NULL && later.share == NULL);
    ch_share_close(a.share);
    ch_share_close(b.share);
}
END_TEST

/* A PE that was started with another CHORUS_SECRET does not get that of the others. */
START_TEST(secret__of_another_claim__is_not_given)
{
    struct pe a = pe_of("job"), b = pe_of("job");

    b.terms.claim[0] = 1;
    open_one(&a);
    open_one(&b);
    ck_assert_mem_ne(a.secret, b.secret, sizeof(a.secret));
    ck_assert_ptr_null(b.share);
    ch_share_close(a.share);
}
END_TEST

/* Leaves its files, as a PE that is killed while it starts. */
static void die_sharing(const char *name)
{
    const pid_t pid = fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct pe pe = pe_of(name);
        (void)pe_run(&pe);
        (void)raise(SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
}

START_TEST(files__of_a_killed_pe__are_replaced_and_removed)
{
    struct pe pe = pe_of("job");

    die_sharing("job");
    die_sharing("another");
    ck_assert_uint_eq(count_files(), 2); /* the second has removed those of the first */
    die_sharing("job");
    open_one(&pe);
    ck_assert_uint_eq(n_made, 1);
    ck_assert_uint_eq(count_files(), 2);
    ch_share_close(pe.share);
    ck_assert_uint_eq(count_files(), 0);
}
END_TEST

/* ---- other users ---- */

static void expect_elsewhere(void)
{
    char path[CH_OWN_PATH_BYTES];
    int fd;

    if (ch_open_own_folder(path, &fd) != CHORUS_OK) return;
    ck_assert_str_ne(path, folder);
    (void)close(fd);
}

START_TEST(folder__that_others_may_use__is_not_used)
{
    char path[CH_OWN_PATH_BYTES], other[PATH_BYTES];
    int fd;

    (void)snprintf(other, sizeof(other), "%s/other", run_folder);
    ck_assert_int_eq(ch_open_own_folder(path, &fd), CHORUS_OK);
    ck_assert_str_eq(path, folder);
    (void)close(fd);
    ck_assert_int_eq(chmod(folder, 0750), 0);
    expect_elsewhere();
    ck_assert_int_eq(rmdir(folder), 0);
    ck_assert_int_eq(mkdir(other, 0700), 0);
    ck_assert_int_eq(symlink(other, folder), 0);
    expect_elsewhere();
    ck_assert_int_eq(unlink(folder), 0);
    ck_assert_int_eq(chmod(run_folder, 0777), 0); /* whose content others may replace */
    expect_elsewhere();
    ck_assert_int_eq(chmod(run_folder, 0700), 0);
    if (geteuid() != 0) return;
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    ck_assert_int_eq(chown(folder, NOBODY_ID, NOBODY_ID), 0);
    expect_elsewhere();
}
END_TEST

static struct sockaddr_un at_path(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    (void)snprintf(at.sun_path, sizeof(at.sun_path), "%.90s", path);
    return at;
}

/* Another user, to whom a mistake gave access to the folder, asks as a PE does. Exits with the
 * number of bytes that it received. */
static void ask_as_other(const char *path)
{
    const unsigned char claim[CH_BOOT_SECRET_BYTES] = {0};
    const struct sockaddr_un at = at_path(path);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    char reply[128];
    ssize_t got;

    if (setresuid(NOBODY_ID, NOBODY_ID, NOBODY_ID) != 0) _exit(101);
    if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) != 0) _exit(102);
    (void)send(fd, claim, sizeof(claim), MSG_NOSIGNAL);
    got = recv(fd, reply, sizeof(reply), 0);
    _exit(got > 0 ? (int)got : 0);
}

START_TEST(secret__asked_by_another_user__is_not_given)
{
    struct pe pe = pe_of("job");
    char path[PATH_BYTES + 16];
    int status = 0;
    pid_t pid;

    if (geteuid() != 0) return; /* only root can be another user */
    open_one(&pe);
    (void)snprintf(path, sizeof(path), "%s/job.sock", folder);
    ck_assert_int_eq(chmod(run_folder, 0755) | chmod(folder, 0755) | chmod(path, 0777), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) ask_as_other(path);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d", status);
    ch_share_close(pe.share);
}
END_TEST

/* Another user listens where a PE asks: the PE does not take it for one of its job. */
START_TEST(peer__of_another_user__is_noticed)
{
    char path[PATH_BYTES];
    struct sockaddr_un at;
    int fd, door, status;
    pid_t pid;

    if (geteuid() != 0) return;
    (void)snprintf(path, sizeof(path), "%s/sock", run_folder);
    at = at_path(path);
    door = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(door, (const struct sockaddr *)&at, sizeof(at)), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        _exit(setresuid(NOBODY_ID, NOBODY_ID, NOBODY_ID) != 0 || listen(door, 1) != 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert(!ch_is_peer_own_user(fd));
    ck_assert_int_eq(listen(door, 1), 0); /* now it is this user who listens */
    (void)close(fd);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert(ch_is_peer_own_user(fd));
    (void)close(fd);
    (void)close(door);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("share");
    Suite *suite = suite_create("boot_share");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, secret__of_many_pes__is_made_once_and_no_file_remains);
    tcase_add_test(tcase, secret__of_another_job__is_another);
    tcase_add_test(tcase, secret__of_another_claim__is_not_given);
    tcase_add_test(tcase, files__of_a_killed_pe__are_replaced_and_removed);
    tcase_add_test(tcase, folder__that_others_may_use__is_not_used);
    tcase_add_test(tcase, secret__asked_by_another_user__is_not_given);
    tcase_add_test(tcase, peer__of_another_user__is_noticed);
    srunner_run_all(runner, CK_ENV);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
