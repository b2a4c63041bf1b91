/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_pes: PEs that meet in barriers until a call fails, say why, and exit with 9. SIGTERM
 * does not end them, so that what ends their waits is the failure itself and not the launcher.
 * The first word of PE k is "PE k is process p", once all are in the job.
 */
#include <chorus/chorus.h>
#include <chorus/chorusx.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { STATUS_FAILED = 9 };

int main(void)
{
    int me;

    (void)signal(SIGTERM, SIG_IGN);
    chorus_init();
    me = chorus_my_pe();
    if (chorus_barrier(CHORUS_TEAM_WORLD) == 0) {
        (void)printf("PE %d is process %d\n", me, (int)getpid());
        (void)fflush(stdout);
    }
    while (chorus_barrier(CHORUS_TEAM_WORLD) == 0)
        continue;
    (void)printf("PE %d: %s\n", me, chorusx_last_error());
    (void)fflush(stdout);
    _exit(STATUS_FAILED);
}
