/* SPDX-License-Identifier: Apache-2.0 */
#include "boot_run.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>

struct run r;

void start(const char *const *args)
{
    const char *argv[ARGS_MAX] = {getenv("CHORUSRUN")};
    int out[2], err[2], in[2], n = 1;

    ck_assert_ptr_nonnull(argv[0]);
    for (; *args != NULL && n < ARGS_MAX - 1; args++) {
        const bool is_name = strstr(*args, "_PE") != NULL || strcmp(*args, "LAUNCH_HERE") == 0;
        const char *program = is_name ? getenv(*args) : NULL;
        argv[n++] = program != NULL ? program : *args;
    }
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

size_t read_text(int i)
{
    const size_t used = r.used[i], most = TEXT_BYTES - 1;
    const ssize_t n = read(r.fds[i], &r.text[i][used], used < most ? most - used : 0);

    ck_assert_int_ge(n, 0);
    r.used[i] += (size_t)n;
    return (size_t)n;
}

bool read_some(void)
{
    struct pollfd p[2] = {{r.fds[0], POLLIN, 0}, {r.fds[1], POLLIN, 0}};

    if (r.fds[0] < 0 && r.fds[1] < 0) return false;
    ck_assert_int_gt(poll(p, 2, -1), 0);
    for (int i = 0; i < 2; i++) {
        if (p[i].revents == 0 || read_text(i) > 0) continue;
        (void)close(r.fds[i]);
        r.fds[i] = -1;
    }
    return true;
}

void finish(void)
{
    int status;

    while (read_some())
        continue;
    ck_assert_int_eq(waitpid(r.pid, &status, 0), r.pid);
    r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int count(const char *text, const char *what)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

int run_suite(const char *name, void (*add)(TCase *tc))
{
    Suite *suite = suite_create(name);
    TCase *tc = tcase_create("all");
    SRunner *runner;
    int n_failed;

    tcase_set_timeout(tc, 60);
    add(tc);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
