/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quiet_pes.c: while PE 1 is stopped, nothing that goes to it over the network completes. PE 0
 * nevertheless comes back from a put_signal_nbi to it, and from a pe_quiet of PE 2 alone; and
 * while one of its threads waits for room in the queue to PE 1, another reaches PE 2.
 */
#include "chorus/chorus.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BYTES = 8 << 20 };         /* more than sockets hold */
enum { PUTS = 2000, GETS = 100 }; /* more than a queue holds, and some */

static void expect(int holds, const char *what)
{
    if (holds) return;
    (void)fprintf(stderr, "PE %d: %s\n", chorus_my_pe(), what);
    chorus_global_exit(1);
}

static void send_past_the_stopped(char *data, uint64_t *sig, pid_t pid)
{
    const int other = 2;
    char *const mine = malloc(BYTES);
    chorus_ctx_t ctx = CHORUS_CTX_INVALID;

    expect(mine != NULL && chorus_ctx_create(0, &ctx) == 0, "no memory or context");
    for (int i = 0; i < BYTES; i++)
        mine[i] = (char)(i % 251);
    expect(kill(pid, SIGSTOP) == 0, "PE 1 cannot be stopped");
    chorus_putmem_signal_nbi(data, mine, BYTES, sig, 1, CHORUS_SIGNAL_SET, 1);
    chorus_ctx_char_put_nbi(ctx, data, mine, BYTES, 1);
    chorus_putmem_nbi(data, mine, 1000, other);
    chorus_pe_quiet(NULL, 0);
    chorus_pe_quiet(&other, 1);
    expect(chorus_char_g(data + 999, other) == mine[999], "pe_quiet did not complete a put");
    chorus_ctx_pe_quiet(ctx, &other, 1);
    expect(kill(pid, SIGCONT) == 0, "PE 1 cannot go on");
    chorus_quiet();
    chorus_ctx_quiet(ctx);
    for (int i = 0; i < BYTES; i++)
        mine[i] = 0; /* it is free now */
    chorus_ctx_destroy(ctx);
    free(mine);
}

static bool is_flooded; /* atomic */

static void *flood(void *data)
{
    static char mine[64 << 10];

    for (int i = 0; i < PUTS; i++)
        chorus_putmem_nbi(data, mine, sizeof(mine), 1);
    __atomic_store_n(&is_flooded, true, __ATOMIC_RELEASE);
    return NULL;
}

static void reach_another_meanwhile(char *data, pid_t pid)
{
    pthread_t thread;

    expect(kill(pid, SIGSTOP) == 0, "PE 1 cannot be stopped");
    expect(pthread_create(&thread, NULL, flood, data) == 0, "no thread");
    for (int i = 0; i < GETS; i++) {
        (void)chorus_char_g(data, 2);
        (void)usleep(500); /* so that the queue is full for most of them */
    }
    expect(!__atomic_load_n(&is_flooded, __ATOMIC_ACQUIRE), "the queue was never full");
    expect(kill(pid, SIGCONT) == 0, "PE 1 cannot go on");
    expect(pthread_join(thread, NULL) == 0, "no end of the thread");
    chorus_quiet();
}

int main(void)
{
    int provided;
    uint64_t *sig, *pid;
    char *data;

    if (chorus_init_thread(CHORUS_THREAD_MULTIPLE, &provided) != CHORUS_OK) return 2;
    data = chorus_calloc(BYTES, 1);
    sig = chorus_calloc(1, sizeof(*sig));
    pid = chorus_calloc(1, sizeof(*pid));
    expect(data != NULL && sig != NULL && pid != NULL, "no memory");
    if (chorus_my_pe() == 1) chorus_uint64_p(pid, (uint64_t)getpid(), 0);
    chorus_barrier_all();
    if (chorus_my_pe() == 0) send_past_the_stopped(data, sig, (pid_t)*pid);
    if (chorus_my_pe() == 1) {
        (void)chorus_signal_wait_until(sig, CHORUS_CMP_EQ, 1);
        for (int i = 0; i < BYTES; i++)
            expect(data[i] == (char)(i % 251), "wrong data came with the signal");
    }
    chorus_barrier_all();
    if (chorus_my_pe() == 0) reach_another_meanwhile(data, (pid_t)*pid);
    chorus_barrier_all();
    chorus_finalize();
    return 0;
}
