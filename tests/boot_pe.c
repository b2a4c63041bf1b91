/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot_pe: a PE for the tests of chorusrun. Its argument says what it does; it says what went
 * wrong on stderr and exits with a status that the test knows.
 */
#include "base/clock.h"
#include "boot/boot.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Exits with what it found: 90 a wrong value, 91 a failed call. */
enum { WRONG = 90, FAILED = 91, BIG_BYTES = 20000, ROUNDS = 5 };

/* Far beyond any test, far below a lost process's welcome. */
enum { LONG_S = 60 };

#define REQUIRE(condition)                                                          \
    do {                                                                            \
        if (!(condition)) {                                                         \
            (void)fprintf(stderr, "line %d: not true: %s\n", __LINE__, #condition); \
            exit(WRONG);                                                            \
        }                                                                           \
    } while (0)

static struct ch_boot *boot;

static void require_ok(chorus_status st)
{
    if (st == CHORUS_OK) return;
    (void)fprintf(stderr, "%s: %s\n", ch_status_text(st), ch_error_message());
    exit(FAILED);
}

static void join(uint64_t timeout_ns)
{
    require_ok(ch_boot_open(timeout_ns, false, &boot));
}

static void meet(void)
{
    require_ok(boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL));
}

/* As a program that a failure elsewhere leaves waiting in a collective. */
static void hang(void)
{
    for (int s = 0; s < LONG_S; s++)
        (void)sleep(1);
}

static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    REQUIRE(dir != NULL);
    while (readdir(dir) != NULL)
        count++;
    (void)closedir(dir);
    return count;
}

/* Blobs that together exceed any socket buffer, different in every round. */
static void exchange_blobs(size_t bytes, unsigned round)
{
    unsigned char *mine = malloc(bytes), *all = malloc(bytes * boot->n);

    REQUIRE(mine != NULL && all != NULL);
    for (size_t i = 0; i < bytes; i++)
        mine[i] = (unsigned char)(i + 7 * boot->me + round);
    require_ok(boot->ops->exchange(boot, mine, bytes, -1, all, NULL));
    for (uint32_t pe = 0; pe < boot->n; pe++)
        for (size_t i = 0; i < bytes; i++)
            REQUIRE(all[pe * bytes + i] == (unsigned char)(i + 7 * pe + round));
    free(mine);
    free(all);
}

static void exchange_files(uint32_t round)
{
    const int fd = memfd_create("test", MFD_CLOEXEC);
    uint32_t mine = 1000 * round + boot->me, *all = calloc(boot->n, sizeof(*all));
    int *fds = calloc(boot->n, sizeof(*fds));

    REQUIRE(fd >= 0 && all != NULL && fds != NULL);
    REQUIRE(pwrite(fd, &mine, sizeof(mine), 0) == (ssize_t)sizeof(mine));
    require_ok(boot->ops->exchange(boot, &mine, sizeof(mine), fd, all, fds));
    (void)close(fd);
    for (uint32_t pe = 0; pe < boot->n; pe++) {
        uint32_t word = 0;
        REQUIRE((fds[pe] >= 0) == ch_boot_is_near(boot, pe));
        if (fds[pe] < 0) continue;
        REQUIRE(pread(fds[pe], &word, sizeof(word), 0) == (ssize_t)sizeof(word));
        REQUIRE(word == 1000 * round + pe && all[pe] == word);
        (void)close(fds[pe]);
    }
    free(all);
    free(fds);
}

/* Everything that works. Of descriptors, one more is left, by which the process may join again,
 * and the secret goes where there is one. */
static void do_exchange(void)
{
    const int before = count_fds(), n_given = getenv("CHORUS_ROOT") != NULL ? 1 : 0;
    struct ch_options options;

    join(LONG_S * CH_NS_PER_S);
    REQUIRE(strcmp(boot->ops->name, "alone") != 0);
    require_ok(ch_options_read(&options));
    require_ok(ch_boot_locate(boot, &options));
    REQUIRE(boot->n_nodes == (options.nodes == 0 ? 1 : options.nodes));
    for (unsigned round = 0; round < ROUNDS; round++) {
        exchange_blobs(4, round);
        exchange_files(round);
        exchange_blobs(boot->n > 8 ? BIG_BYTES / 8 : BIG_BYTES, round);
        meet();
    }
    boot->ops->close(boot);
    REQUIRE(count_fds() == before + 1 - n_given);
}

static void die_before_join(uint32_t me)
{
    if (me == 1) exit(3);
    join(0);
    meet();
}

static void die_after_join(uint32_t me)
{
    join(0);
    meet();
    if (me == 1) exit(3);
    hang();
}

static void crash(uint32_t me)
{
    join(0);
    meet();
    if (me == 1) (void)raise(SIGKILL);
    hang();
}

/* As a program that becomes another one and forgets that it is in a job. */
static void become_another(uint32_t me)
{
    join(0);
    meet();
    if (me == 1) (void)execlp("sleep", "sleep", "60", (char *)NULL);
    hang();
}

/* As a program that gets rights of its own when it starts. */
static void lose_death_signal(uint32_t me)
{
    REQUIRE(prctl(PR_SET_PDEATHSIG, 0) == 0);
    join(0);
    meet();
    if (me == 0) (void)puts("ready");
    (void)fflush(stdout);
    hang();
}

static void exit_inside(uint32_t me)
{
    join(0);
    meet();
    if (me == 1) exit(0);
    hang();
}

static void exit_both(uint32_t me)
{
    (void)me;
    join(0);
    meet();
    exit(0);
}

/* The others are told why their exchange cannot happen, and end well. */
static void expect_abort(const char *why)
{
    const chorus_status st = boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL);

    REQUIRE(st == CHORUS_ERR_ABORTED);
    if (strstr(ch_error_message(), why) == NULL) {
        (void)fprintf(stderr, "expected \"%s\" in: %s\n", why, ch_error_message());
        exit(WRONG);
    }
}

static void never_join(uint32_t me)
{
    if (me == 1) return;
    join(0);
    expect_abort("PE 1 exited with status 0 before it joined the job");
    boot->ops->close(boot);
}

/* As a program that gives up when it is told so, and one that waits in its own way. */
static void be_missed(uint32_t me)
{
    if (me == 1) return;
    join(0);
    expect_abort("PE 1 exited with status 0 before it joined the job");
    if (me == 0) exit(5);
    hang();
}

static void be_missed_by_all(uint32_t me)
{
    if (me == 1) return;
    join(0);
    hang();
}

static void leave_early(uint32_t me)
{
    join(0);
    meet();
    if (me != 1) expect_abort("PE 1 left the job");
    boot->ops->close(boot);
}

static void come_late(uint32_t me)
{
    chorus_status st;

    join(200 * CH_NS_PER_MS);
    if (me == 1) hang();
    st = boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL);
    if (st == CHORUS_ERR_ABORTED) hang(); /* another PE was first to give up */
    REQUIRE(st == CHORUS_ERR_TIMEOUT);
    (void)fprintf(stderr, "%s\n", ch_error_message());
    REQUIRE(boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL) == CHORUS_ERR_ABORTED);
    boot->ops->close(boot);
    exit(6);
}

static void differ(uint32_t me)
{
    char blob[16] = "", all[64];

    join(0);
    REQUIRE(boot->ops->exchange(boot, blob, me == 1 ? 16 : 8, -1, all, NULL) == CHORUS_ERR_ARG);
    REQUIRE(strstr(ch_error_message(), "PE 1 gave 16 bytes, PE 0 8 bytes") != NULL);
    meet();
    REQUIRE(boot->ops->exchange(boot, blob, SIZE_MAX, -1, all, NULL) == CHORUS_ERR_ARG);
    meet();
    boot->ops->close(boot);
}

static void abort_all(uint32_t me, int status)
{
    join(0);
    meet();
    if (me != 1) hang();
    boot->ops->abort_job(boot, status);
    /* The launcher is to leave this PE the time to end well. */
    (void)usleep(50000);
    (void)puts("last words");
    exit(status);
}

static volatile sig_atomic_t caught;

static void on_signal(int signo)
{
    caught = signo;
}

/* Says "ready" when all PEs would catch a signal, then which came. */
static void await_signal(uint32_t me)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t mask, old;

    (void)sigemptyset(&mask);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        (void)sigaction(signals[i], &action, NULL);
        (void)sigaddset(&mask, signals[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &mask, &old);
    join(0);
    meet();
    if (me == 0) (void)puts("ready");
    (void)fflush(stdout);
    while (caught == 0)
        (void)sigsuspend(&old);
    boot->ops->close(boot);
    (void)printf("got %d\n", (int)caught);
}

static void be_stubborn(uint32_t me)
{
    (void)signal(SIGTERM, SIG_IGN);
    die_after_join(me);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(uint32_t me);
    } acts[] = {
        {"die_before_join", die_before_join},
        {"die_after_join", die_after_join},
        {"crash", crash},
        {"become_another", become_another},
        {"lose_death_signal", lose_death_signal},
        {"exit_inside", exit_inside},
        {"exit_both", exit_both},
        {"never_join", never_join},
        {"be_missed", be_missed},
        {"be_missed_by_all", be_missed_by_all},
        {"leave_early", leave_early},
        {"come_late", come_late},
        {"differ", differ},
        {"await_signal", await_signal},
        {"be_stubborn", be_stubborn},
    };
    const char *pe = getenv("CHORUS_PE");
    const uint32_t me = pe != NULL ? (uint32_t)strtoul(pe, NULL, 10) : 0;

    REQUIRE(argc >= 2);
    if (strcmp(argv[1], "exchange") == 0) {
        do_exchange();
        return 0;
    }
    if (strcmp(argv[1], "abort") == 0) {
        REQUIRE(argc == 3);
        abort_all(me, (int)strtol(argv[2], NULL, 10));
    }
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
        if (strcmp(argv[1], acts[i].name) != 0) continue;
        acts[i].run(me);
        return 0;
    }
    (void)fprintf(stderr, "boot_pe: no act named %s\n", argv[1]);
    return WRONG;
}
