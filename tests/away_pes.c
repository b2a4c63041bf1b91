/* SPDX-License-Identifier: Apache-2.0 */
/*
 * away_pes.c: PE 0 puts, and then is away until PE 1 has seen it. What was put must travel
 * meanwhile, by the thread that makes progress; that its sleep ends half a second later is not
 * enough, since the time for all rounds is limited.
 */
#include "chorus/chorus.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 30 };

static void put_and_leave(uint64_t *word, const sigset_t *seen)
{
    int number;

    for (uint64_t round = 1; round <= ROUNDS; round++) {
        (void)usleep(5000); /* the thread sleeps by now */
        chorus_uint64_put_nbi(word, &round, 1, 1);
        (void)sigwait(seen, &number);
    }
}

int main(void)
{
    uint64_t *words;
    sigset_t seen;

    (void)sigemptyset(&seen);
    (void)sigaddset(&seen, SIGUSR1);
    (void)pthread_sigmask(SIG_BLOCK, &seen, NULL);
    if (chorus_init() != CHORUS_OK) return 2;
    words = chorus_calloc(2, sizeof(*words));
    if (words == NULL) return 2;
    if (chorus_my_pe() == 0) chorus_uint64_p(words + 1, (uint64_t)getpid(), 1);
    chorus_barrier_all();
    if (chorus_my_pe() == 0) put_and_leave(words, &seen);
    for (uint64_t round = 1; chorus_my_pe() == 1 && round <= ROUNDS; round++) {
        chorus_uint64_wait_until(words, CHORUS_CMP_EQ, round);
        if (kill((pid_t)words[1], SIGUSR1) != 0) chorus_global_exit(1);
    }
    chorus_barrier_all();
    chorus_finalize();
    return 0;
}
