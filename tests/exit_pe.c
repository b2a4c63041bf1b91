/* SPDX-License-Identifier: Apache-2.0 */
/* exit_pe running|finalized: PE 1 allocates and frees memory until a signal handler calls
 * chorus_global_exit(5), in a job or after chorus_finalize; PE 0 waits for it, or ends. */
#include "chorus/chorusx.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { BLOCKS = 400, FAILED = 2, ENDED = 9 };

static void end(int signo)
{
    (void)signo;
    chorus_global_exit(5);
}

static void allocate(void)
{
    void *blocks[BLOCKS];

    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(24 + 16 * (i % 6));
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    free(malloc(100000));
}

int main(int argc, char **argv)
{
    struct itimerval after = {.it_value.tv_usec = 3000 + getpid() % 5000};
    int is_finalized, me;

    if (argc != 2 || chorus_init() != 0) return FAILED;
    me = chorus_my_pe();
    is_finalized = strcmp(argv[1], "finalized") == 0;
    chorus_barrier_all();
    if (is_finalized) chorus_finalize();
    if (me == 0 && is_finalized) return 0;
    if (me == 0) return chorus_barrier(CHORUS_TEAM_WORLD) == 0 ? FAILED : ENDED;
    if (signal(SIGALRM, end) == SIG_ERR || setitimer(ITIMER_REAL, &after, NULL) != 0)
        return FAILED;
    for (;;)
        allocate();
}
