/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_pes: PEs that meet in barriers until a call fails, say why, and exit with 9; or, if the
 * argument is "fetch", that read and write words of all others, and exit with 8 if a call that
 * reported no failure fetched another value than the one that is there; or, if it is a number,
 * that add numbers for so many seconds, and end well. SIGTERM does not end
 * them, so that what ends their waits is the failure itself and not the launcher. The first
 * word of PE k is "PE k is process p", once all are in the job.
 */
#include <chorus/chorus.h>
#include <chorus/chorusx.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_WRONG = 8, STATUS_FAILED = 9, VALUE = 77 };

static void end(int status, const char *why)
{
    (void)printf("PE %d: %s\n", chorus_my_pe(), why);
    (void)fflush(stdout);
    _exit(status);
}

static void fail(int code, const char *message)
{
    (void)code;
    end(STATUS_FAILED, message);
}

/* words[0] is VALUE, words[1] what others write. */
static void fetch_for_ever(uint64_t *words)
{
    const int n = chorus_n_pes(), me = chorus_my_pe();

    for (int pe = (me + 1) % n;; pe = (pe + 1) % n) {
        uint64_t got = 0;

        if (pe == me) continue;
        chorus_uint64_get(&got, words, 1, pe);
        if (got == VALUE) got = chorus_uint64_atomic_fetch(words, pe);
        if (got != VALUE) end(STATUS_WRONG, "a wrong value was fetched");
        chorus_uint64_put_nbi(words + 1, &got, 1, pe);
        chorus_quiet();
    }
}

/* PE 0 decides when the time is over, with the first of the two words. */
static void add_for(double seconds, int *pair)
{
    const time_t end_s = time(NULL) + (time_t)seconds;
    const int n = chorus_n_pes();

    for (int round = 0; pair[0] == 0; round++) {
        pair[2] = chorus_my_pe() == 0 && time(NULL) >= end_s;
        pair[3] = round;
        if (chorus_int_sum_reduce(CHORUS_TEAM_WORLD, pair, pair + 2, 2) != 0)
            end(STATUS_FAILED, chorusx_last_error());
        if (pair[1] != n * round) end(STATUS_WRONG, "a sum is wrong");
    }
    chorus_finalize();
    exit(0);
}

int main(int argc, char **argv)
{
    uint64_t *words;

    (void)signal(SIGTERM, SIG_IGN);
    if (chorus_init() != CHORUS_OK) return 2;
    (void)chorusx_set_error_handler(fail);
    words = chorus_calloc(2, sizeof(*words));
    if (argc == 2 && strcmp(argv[1], "fetch") == 0) words[0] = VALUE;
    if (chorus_barrier(CHORUS_TEAM_WORLD) == 0) {
        (void)printf("PE %d is process %d\n", chorus_my_pe(), (int)getpid());
        (void)fflush(stdout);
    }
    if (argc == 2 && strcmp(argv[1], "fetch") == 0) fetch_for_ever(words);
    if (argc == 2) add_for(strtod(argv[1], NULL), (int *)(void *)words);
    while (chorus_barrier(CHORUS_TEAM_WORLD) == 0)
        continue;
    end(STATUS_FAILED, chorusx_last_error());
}
