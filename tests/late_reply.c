/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_reply.c WHAT: PE 1, on another host, is stopped, and what PE 0 asks of it fails at the
 * deadline. PE 0 then uses the memory of that call for something else, PE 1 continues, and its
 * reply changes nothing, nor does PE 1 receive the new contents. WHAT is get, nbi, fetch, put
 * or broadcast.
 *
 *     CHORUS_NODES=2 CHORUS_TIMEOUT=5 chorusrun -n 2 late_reply get
 */
#include "chorus/chorusx.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LARGE = 32 << 20, /* more bytes than sockets hold */
    SMALL = 2000,
    STACK = 16384, /* more than the frames of a call */
    FILLING = 0x33,
    LATER_US = 300000,
    NAP_US = 10000,
    LOOKS = 256, /* places of the data that PE 1 watches */
};

struct job {
    char *data, *source; /* [LARGE], symmetric */
    uint64_t *word;
    pid_t pid; /* of PE 1 */
    int n_failed;
};

static struct job job;

static void count_failure(int code, const char *message)
{
    (void)code;
    if (job.n_failed++ == 0) (void)printf("PE 0: %s\n", message);
}

static void end(bool is_right, const char *what)
{
    if (!is_right) (void)fprintf(stderr, "PE 0: %s\n", what);
    chorus_global_exit(is_right ? 0 : 1);
}

static bool is_filled(const volatile char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (memory[i] != FILLING) return false;
    return true;
}

/* The signal takes effect a little later. */
static bool is_stopped(void)
{
    char path[64], line[200] = "";
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)job.pid);
    file = fopen(path, "r");
    if (file == NULL || fgets(line, sizeof(line), file) == NULL) end(false, "PE 1 is lost");
    (void)fclose(file);
    return strstr(line, ") T ") != NULL;
}

/* Any call makes progress, and may fail. */
static void wait_for_replies(void)
{
    (void)kill(job.pid, SIGCONT);
    for (int i = 0; i < LATER_US; i += NAP_US) {
        (void)usleep(NAP_US);
        (void)chorus_test(job.word, CHORUS_CMP_EQ, 1);
    }
}

/* Where the frames of the call before were. */
static __attribute__((noinline)) void use_stack(void)
{
    volatile char stack[STACK];

    for (size_t i = 0; i < STACK; i++)
        stack[i] = FILLING;
    wait_for_replies();
    if (!is_filled(stack, STACK)) end(false, "a reply changed the stack");
}

static void get_late(bool is_nbi)
{
    char *dst = malloc(LARGE);

    if (is_nbi) {
        chorus_getmem_nbi(dst, job.data, LARGE, 1);
        chorus_getmem_nbi(dst, job.data, SMALL, 1);
        chorus_quiet();
    } else {
        chorus_getmem(dst, job.data, SMALL, 1);
    }
    memset(dst, FILLING, LARGE);
    wait_for_replies();
    if (!is_filled(dst, LARGE)) end(false, "a reply changed the destination of a get");
    free(dst);
}

static void fetch_late(void)
{
    (void)chorus_uint64_atomic_fetch(job.word, 1);
    use_stack();
}

/* PE 1 watches for what PE 0 stores in the source after the call. */
static void put_late(void)
{
    char *source = calloc(1, LARGE);

    chorus_putmem(job.data, source, LARGE, 1);
    memset(source, FILLING, LARGE);
    wait_for_replies();
    free(source);
}

/* PE 1 enters the call when it continues. */
static void broadcast_late(void)
{
    const int code = chorus_broadcastmem(CHORUS_TEAM_WORLD, job.data, job.source, LARGE, 0);

    if (code != CHORUS_ERR_TIMEOUT) end(false, "a broadcast to a stopped PE did not time out");
    count_failure(code, chorusx_last_error());
    memset(job.source, FILLING, LARGE);
    wait_for_replies();
}

static volatile sig_atomic_t is_continued;

static void note_continued(int signal)
{
    (void)signal;
    is_continued = 1;
}

static void *enter_broadcast(void *unused)
{
    while (!is_continued)
        (void)usleep(NAP_US);
    (void)printf("PE 1: broadcast: %d\n",
                 chorus_broadcastmem(CHORUS_TEAM_WORLD, job.data, job.source, LARGE, 0));
    return unused;
}

static void watch(void)
{
    const volatile char *data = job.data;
    bool is_wrong = false;

    while (!is_wrong) {
        (void)usleep(NAP_US);
        for (size_t i = LARGE / LOOKS; i <= LARGE; i += LARGE / LOOKS)
            is_wrong |= data[i - 1] == FILLING;
    }
    (void)fprintf(stderr, "PE 1: the source of a call that had failed was sent\n");
    chorus_global_exit(1);
}

static void run(const char *what)
{
    if (strcmp(what, "get") == 0) get_late(false);
    if (strcmp(what, "nbi") == 0) get_late(true);
    if (strcmp(what, "fetch") == 0) fetch_late();
    if (strcmp(what, "put") == 0) put_late();
    if (strcmp(what, "broadcast") == 0) broadcast_late();
}

/* PE 1, until PE 0 ends the job. */
static void run_stopped(const char *what)
{
    pthread_t thread;

    if (strcmp(what, "broadcast") == 0 &&
        pthread_create(&thread, NULL, enter_broadcast, NULL) != 0)
        end(false, "PE 1 has no second thread");
    watch();
}

int main(int argc, char **argv)
{
    int *pid, provided;

    if (argc != 2) return 2;
    (void)signal(SIGCONT, note_continued);
    if (chorus_init_thread(CHORUS_THREAD_MULTIPLE, &provided) != 0) {
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
        return 2;
    }
    job.data = chorus_calloc(1, LARGE);
    job.source = chorus_calloc(1, LARGE);
    job.word = chorus_calloc(1, sizeof(*job.word));
    pid = chorus_calloc(1, sizeof(*pid));
    *pid = (int)getpid();
    chorus_barrier_all();
    if (chorus_my_pe() != 0) run_stopped(argv[1]);
    job.pid = chorus_int_g(pid, 1);
    (void)chorus_uint64_atomic_fetch(job.word, 1); /* the link is there */
    chorusx_set_error_handler(count_failure);
    if (kill(job.pid, SIGSTOP) != 0) end(false, "PE 1 cannot be stopped");
    while (!is_stopped())
        (void)usleep(NAP_US);
    run(argv[1]);
    end(job.n_failed > 0, "the call to a stopped PE did not fail");
}
