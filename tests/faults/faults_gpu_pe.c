/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faults_gpu_pe: PEs on several pretended hosts, with heaps on GPUs that are fakes, that do one
 * thing over and over until a fault befalls one of them.
 *
 *     faults_gpu_pe FAULT MOMENT PE DELAY_NS SEED RECORD N_PES N_HOSTS
 *     faults_gpu_pe all [MOMENT]
 *     faults_gpu_pe leave MOMENT
 *
 * The first form starts the PEs itself, with the variables of torchrun, so nothing but their
 * own calls ends them; RECORD is as for faults_pe. faults.py runs it. The second form is a PE
 * that chorusrun started, which does all in turn, or this one thing, and ignores SIGTERM;
 * tests/net/run runs it. The third form is a PE that inside.py started, which frees its memory
 * and calls chorus_finalize after its call has failed.
 *
 * A PE whose call fails says why, closes its part of the job as the library does for PEs that
 * are threads, and exits with STATUS_FAILED, or STATUS_LEFT_BEHIND if memory is still
 * registered, mapped or allocated then. The process that started the PEs exits with the first
 * other status of one that lives on, else with STATUS_FAILED if a PE did, else with 0.
 */
#include "fault.h"
#include "gpu_moment.h"

#include "api/context.h"
#include "chorus/chorusx.h"
#include "cuda_fake.h"
#include "cuda_far.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATUS_FAILED = 9, STATUS_LEFT_BEHIND = 10, STATUS_USAGE = 2, AGREE_EVERY = 16 };

enum { PAUSE_US = 5000, PES_MAX = 8, PORT_LO = 20000, PORTS = 20000 };

struct run {
    enum fault fault;
    enum gpu_moment moment;
    int pe; /* whose fault it is */
    uint64_t delay_ns, seed;
    volatile uint64_t *at_ns; /* in the record */
    int n, n_hosts;
    pid_t *pids; /* [n] shared by all */
};

static struct gpu_site site;

/* --- the end of a PE ---------------------------------------------------------------------- */
static int number(void)
{
    const char *pe = getenv("RANK");

    if (chorusx_init_status() == 1) return chorus_my_pe();
    return pe != NULL ? atoi(pe) : -1;
}

/* What there is in the fake once the PE is no more, but for the program's own stream. */
static int end_status(int pe, int status)
{
    const struct cuda_fake *f = &cuda_fake;

    if (f->streams == 0 && f->events == 0 && f->handles == 0 && f->mappings == 0 &&
        f->ranges == 0 && f->pinned == 0)
        return status;
    (void)fprintf(stderr,
                  "PE %d: left behind: streams: %d, events: %d, handles: %d, mappings: %d, "
                  "ranges: %d, registrations: %d\n",
                  pe, f->streams, f->events, f->handles, f->mappings, f->ranges, f->pinned);
    return STATUS_LEFT_BEHIND;
}

/* A call has failed, with this message. The network may store the data of a get into the
 * program's memory until the job ends. */
static _Noreturn void fail(const char *message)
{
    const int pe = number();
    struct ch_context *context = ch_context_find();

    (void)fprintf(stderr, "PE %d: %s\n", pe, message);
    if (context != NULL) {
        ch_context_mark_finalized();
        ch_context_close(context);
    }
    gpu_site_close(&site);
    _exit(end_status(pe, STATUS_FAILED));
}

static void on_error(int code, const char *message)
{
    (void)code;
    fail(message);
}

static void say_error(int code, const char *message)
{
    (void)code;
    (void)fprintf(stderr, "PE %d afterwards: %s\n", number(), message);
}

/* A call has failed, and the program does what it would do without that. */
static _Noreturn void leave_after_failure(void)
{
    (void)fprintf(stderr, "PE %d: %s\n", number(), chorusx_last_error());
    (void)chorusx_set_error_handler(say_error);
    gpu_site_free(&site);
    chorus_finalize();
    fail("has left");
}

static void need(int status)
{
    if (status != 0) fail(chorusx_last_error());
}

/* --- a PE --------------------------------------------------------------------------------- */
static void arm(const struct run *run)
{
    if (fault_arm(run->fault, run->delay_ns, run->at_ns) != 0) exit(STATUS_USAGE);
}

static void join(void)
{
    cuda_fake_reset();
    cuda_fake.run_post = far_run;
    need(chorus_init());
    (void)chorusx_set_error_handler(on_error);
}

static void leave(void)
{
    const int pe = number();

    chorus_finalize();
    gpu_site_close(&site);
    _exit(end_status(pe, EXIT_SUCCESS));
}

static void do_all_once(void)
{
    for (int moment = 0; moment < GPU_MOMENT_COUNT; moment++)
        need(gpu_moment_step(&site, (enum gpu_moment)moment));
}

/* Until the fault has struck, if all live on then. */
static void rounds(const struct run *run)
{
    bool is_over = false;

    while (!is_over) {
        (void)fault_between();
        need(gpu_moment_step(&site, run->moment));
        is_over = number() == run->pe && fault_is_over();
        if (site.round % AGREE_EVERY == 0)
            need(gpu_site_agree(&site, run->pe, &is_over));
        else
            is_over = false;
    }
    do_all_once();
}

static _Noreturn void run_pe(const struct run *run, int pe)
{
    const bool is_armed = run->moment == GPU_MOMENT_start, has_fault = pe == run->pe;

    if (has_fault && is_armed) arm(run);
    join();
    need(gpu_site_open(&site, run->seed));
    if (has_fault && !is_armed) arm(run);
    if (run->moment != GPU_MOMENT_finalize) rounds(run);
    leave();
    abort();
}

static void join_and_say(void)
{
    join();
    need(gpu_site_open(&site, 1));
    (void)printf("PE %d is process %d\n", chorus_my_pe(), (int)getpid());
    (void)fflush(stdout);
}

/* As tests/net/wait_pes. With pauses, as commands that cut a link take seconds while threads
 * poll on all cores. */
static _Noreturn void run_for_ever(enum gpu_moment moment)
{
    (void)signal(SIGTERM, SIG_IGN);
    join_and_say();
    for (;;) {
        if (moment == GPU_MOMENT_COUNT)
            do_all_once();
        else
            need(gpu_moment_step(&site, moment));
        (void)usleep(PAUSE_US);
    }
}

static _Noreturn void run_and_leave(enum gpu_moment moment)
{
    join_and_say();
    while (gpu_moment_step(&site, moment) == 0)
        continue;
    leave_after_failure();
}

/* --- all PEs ------------------------------------------------------------------------------ */
static int host_of(const struct run *run, int pe)
{
    return pe * run->n_hosts / run->n;
}

static void set_number(const char *name, int value)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%d", value);
    if (setenv(name, text, 1) != 0) exit(STATUS_USAGE);
}

static void set_environment(const struct run *run, int pe, int port)
{
    char host[32];

    (void)snprintf(host, sizeof(host), "host%d", host_of(run, pe));
    if (setenv("CHORUS_NODE", host, 1) != 0 || setenv("MASTER_ADDR", "127.0.0.1", 1) != 0)
        exit(STATUS_USAGE);
    set_number("RANK", pe);
    set_number("WORLD_SIZE", run->n);
    set_number("MASTER_PORT", port);
}

/* The processes of the host of the PE whose fault it is. */
static void find_neighbours(const struct run *run)
{
    int lo = run->pe, hi = run->pe + 1;

    while (lo > 0 && host_of(run, lo - 1) == host_of(run, run->pe))
        lo--;
    while (hi < run->n && host_of(run, hi) == host_of(run, run->pe))
        hi++;
    fault_set_neighbours(run->pids + lo, hi - lo);
}

/* None begins before the number of each process is known. */
static void start(const struct run *run)
{
    const int port = PORT_LO + (int)getpid() % PORTS;

    for (int pe = 0; pe < run->n; pe++) {
        const pid_t pid = fork();

        if (pid < 0) exit(STATUS_USAGE);
        if (pid == 0) {
            while (__atomic_load_n(&run->pids[run->n - 1], __ATOMIC_ACQUIRE) == 0)
                (void)usleep(100);
            find_neighbours(run);
            set_environment(run, pe, port);
            run_pe(run, pe);
        }
        __atomic_store_n(&run->pids[pe], pid, __ATOMIC_RELEASE);
    }
}

static int exit_status(pid_t pid)
{
    int status = 0;

    if (waitpid(pid, &status, 0) != pid) return STATUS_USAGE;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Is the PE gone because of the fault, or stopped by it? */
static bool is_lost(const struct run *run, int pe)
{
    if (run->fault == FAULT_pause) return false;
    return run->fault == FAULT_kill_host ? host_of(run, pe) == host_of(run, run->pe)
                                         : pe == run->pe;
}

static int wait_for_all(const struct run *run)
{
    int worst = EXIT_SUCCESS;

    for (int pe = 0; pe < run->n; pe++) {
        const int status = is_lost(run, pe) ? EXIT_SUCCESS : exit_status(run->pids[pe]);

        if (status != EXIT_SUCCESS && (worst == EXIT_SUCCESS || worst == STATUS_FAILED))
            worst = status;
    }
    for (int pe = 0; pe < run->n; pe++) {
        if (!is_lost(run, pe)) continue;
        if (run->fault == FAULT_stop) (void)kill(run->pids[pe], SIGKILL);
        (void)exit_status(run->pids[pe]);
    }
    return worst;
}

static void *share(int file, size_t bytes)
{
    void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static int read_args(char **argv, struct run *run)
{
    const int record = open(argv[6], O_RDWR | O_CLOEXEC);

    *run = (struct run){
        .fault = fault_of(argv[1]),
        .moment = gpu_moment_of(argv[2]),
        .pe = atoi(argv[3]),
        .delay_ns = strtoull(argv[4], NULL, 10),
        .seed = strtoull(argv[5], NULL, 10),
        .n = atoi(argv[7]),
        .n_hosts = atoi(argv[8]),
    };
    if (record < 0 || run->fault == FAULT_none || run->moment == GPU_MOMENT_COUNT ||
        run->n < 2 || run->n > PES_MAX)
        return -1;
    run->at_ns = share(record, sizeof(*run->at_ns));
    run->pids = share(-1, sizeof(*run->pids) * PES_MAX);
    (void)close(record);
    return run->at_ns == NULL || run->pids == NULL ? -1 : 0;
}

int main(int argc, char **argv)
{
    const enum gpu_moment only = argc == 3 ? gpu_moment_of(argv[2]) : GPU_MOMENT_COUNT;
    const bool is_one = only != GPU_MOMENT_COUNT;
    struct run run;

    if ((argc == 2 || is_one) && strcmp(argv[1], "all") == 0) run_for_ever(only);
    if (is_one && strcmp(argv[1], "leave") == 0) run_and_leave(only);
    if (argc != 9 || read_args(argv, &run) != 0) {
        (void)fprintf(stderr, "faults_gpu_pe: expected \"all [MOMENT]\", \"leave MOMENT\", or "
                              "FAULT MOMENT PE DELAY_NS SEED RECORD N_PES N_HOSTS\n");
        return STATUS_USAGE;
    }
    start(&run);
    return wait_for_all(&run);
}
