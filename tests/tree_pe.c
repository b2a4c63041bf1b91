/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_pe: a PE for tests of jobs that no chorusrun watches over. The second argument is the
 * PE that is the odd one, the first says what it does while all others wait in a barrier. They
 * say how long that took and why it ended.
 */
#include "base/clock.h"
#include "chorus/chorusx.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t since_ns;

static void on_error(int code, const char *message)
{
    (void)printf("PE %d: after %.2f s: code %d: %s\n", chorus_my_pe(),
                 (double)(ch_clock_ns() - since_ns) / 1e9, code, message);
    (void)fflush(stdout);
    _exit(code == CHORUS_ERR_ABORTED ? 0 : 2);
}

static void be_odd(const char *how)
{
    if (strcmp(how, "kill") == 0) (void)raise(SIGKILL);
    if (strcmp(how, "exit") == 0) _exit(0);
    if (strcmp(how, "leave_child") == 0) {
        if (fork() == 0) {
            (void)sleep(5);
            _exit(0);
        }
        _exit(0);
    }
    if (strcmp(how, "stop") == 0) (void)raise(SIGSTOP);
    if (strcmp(how, "end") == 0) chorus_global_exit(7);
    if (strcmp(how, "compute") == 0) (void)sleep(2);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 3;
    if (chorus_init() != CHORUS_OK) {
        (void)printf("start: %s\n", chorusx_last_error());
        return 4;
    }
    (void)chorusx_set_error_handler(on_error);
    since_ns = ch_clock_ns(); /* another PE may end before this one has left the barrier */
    chorus_barrier_all();
    since_ns = ch_clock_ns();
    if (chorus_my_pe() == (int)strtol(argv[2], NULL, 10)) be_odd(argv[1]);
    chorus_barrier_all();
    (void)printf("PE %d: came after %.3f s\n", chorus_my_pe(),
                 (double)(ch_clock_ns() - since_ns) / 1e9);
    chorus_finalize();
    return 0;
}
