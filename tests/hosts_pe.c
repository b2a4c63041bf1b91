/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts_pe: a PE that may be on any host, for tests of a start and of what follows a loss: no
 * memory is shared, so no network is needed but the boot's own. The arguments say what the odd
 * PE does, and which it is. All others wait in an exchange, and print why and when it ended.
 * With "signal", all PEs make exchanges without pause, and a signal handler of the odd PE ends
 * the job after a random time; with "repeat", they make so many, one each 50 ms.
 */
#include "base/clock.h"
#include "boot/boot.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* Exit statuses: what ended the wait. */
enum { ENDED_WELL = 0, FAILED_TO_START = 3, ABORTED = 4, TIMED_OUT = 5 };

static int report(const struct ch_boot *boot, chorus_status status, uint64_t since_ns)
{
    (void)printf("PE %u on host %u: after %.2f s: %s\n", boot->me, ch_boot_node(boot, boot->me),
                 (double)(ch_clock_ns() - since_ns) / (double)CH_NS_PER_S,
                 status == CHORUS_OK ? "all came" : ch_error_message());
    (void)fflush(stdout);
    return status == CHORUS_OK            ? ENDED_WELL
           : status == CHORUS_ERR_ABORTED ? ABORTED
                                          : TIMED_OUT;
}

static struct ch_boot *of_handler;

static void end_in_handler(int signo)
{
    (void)signo;
    of_handler->ops->abort_job(of_handler, 7);
    _exit(7);
}

static void arm(struct ch_boot *boot)
{
    const struct itimerval after = {.it_value.tv_usec = 1 + (long)(ch_clock_ns() / 7 % 5000)};

    of_handler = boot;
    (void)signal(SIGALRM, end_in_handler);
    (void)setitimer(ITIMER_REAL, &after, NULL);
}

static void be_odd(struct ch_boot *boot, const char *how)
{
    if (strcmp(how, "signal") == 0) arm(boot);
    if (strcmp(how, "kill") == 0) (void)raise(SIGKILL);
    if (strcmp(how, "stop") == 0) (void)raise(SIGSTOP);
    if (strcmp(how, "exit") == 0) _exit(0);
    if (strcmp(how, "end") == 0) {
        boot->ops->abort_job(boot, 7);
        _exit(7);
    }
    if (strcmp(how, "wait") == 0) (void)sleep(7);
}

static bool goes_on(const char *how, long times)
{
    static long n_made;

    if (strcmp(how, "repeat") != 0) return strcmp(how, "signal") == 0;
    (void)usleep(50000);
    return ++n_made < times;
}

int main(int argc, char **argv)
{
    struct ch_options options;
    struct ch_boot *boot;
    chorus_status status;
    uint64_t since_ns;

    if (argc != 3 || ch_options_read(&options) != CHORUS_OK) return FAILED_TO_START;
    status = ch_boot_open(options.timeout_ns, false, &boot);
    if (status == CHORUS_OK) status = ch_boot_locate(boot, &options);
    if (status != CHORUS_OK) {
        (void)printf("start: %s\n", ch_error_message());
        return FAILED_TO_START;
    }
    since_ns = ch_clock_ns();
    if (strcmp(argv[1], "repeat") == 0) {
        (void)signal(SIGTERM, SIG_IGN);
        (void)printf("PE %u is process %d\n", boot->me, (int)getpid());
        (void)fflush(stdout);
    }
    if (boot->me == (uint32_t)strtoul(argv[2], NULL, 10)) be_odd(boot, argv[1]);
    do
        status = boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL);
    while (status == CHORUS_OK && goes_on(argv[1], strtol(argv[2], NULL, 10)));
    status = report(boot, status, since_ns);
    boot->ops->close(boot);
    return (int)status;
}
