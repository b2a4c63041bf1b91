/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faults_pe: a program whose PEs do one thing over and over until a fault befalls one of them.
 * faults.py runs it: under chorusrun, or by itself with PEs that are threads.
 *
 *     faults_pe FAULT MOMENT PE DELAY_NS SEED RECORD [THREADS]
 *
 * In RECORD, a file of 8 bytes, the PE writes the time at which the fault struck. A PE whose
 * call fails says why and exits with 9, as a program would. Where all go on after the fault,
 * they make every kind of call once more before they end.
 */
#include "fault.h"
#include "moment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_FAILED = 9, STATUS_LEFT_BEHIND = 10, STATUS_USAGE = 2, AGREE_EVERY = 16 };

struct run {
    enum fault fault;
    enum moment moment;
    int pe; /* whose fault it is */
    uint64_t delay_ns, seed;
    volatile uint64_t *at_ns; /* in the record */
    int n_threads;            /* 0: PEs are processes */
    int n_failed;             /* threads whose calls failed; atomic */
};

/* -1 on a thread that is not in the job. */
static int number(void)
{
    const char *pe = getenv("CHORUS_PE");

    if (chorusx_init_status() == 1) return chorus_my_pe();
    return pe != NULL ? atoi(pe) : -1;
}

static int failed(const char *what)
{
    (void)fprintf(stderr, "PE %d: %s: %s\n", number(), what, chorusx_last_error());
    return -1;
}

static void arm(const struct run *run)
{
    const int error = fault_arm(run->fault, run->delay_ns, run->at_ns);

    if (error == 0) return;
    (void)fprintf(stderr, "faults_pe: no timer: %s\n", strerror(error));
    exit(STATUS_USAGE);
}

/* Has the fault struck, and all live on? Its PE says so to the others. */
static int agree(struct site *site, int pe, bool *is_over_out)
{
    int status;

    site->source[0] = fault_is_over();
    status = chorus_uint64_broadcast(CHORUS_TEAM_WORLD, site->dest, site->source, 1, pe);
    *is_over_out = status == 0 && ((int)site->me == pe ? site->source[0] : site->dest[0]) != 0;
    return status;
}

/* Returns 1 if this PE is to leave without the others. */
static int rounds(const struct run *run, struct site *site)
{
    bool is_over = false;

    while (!is_over) {
        if (fault_between()) return 1;
        if (moment_step(site, run->moment) != 0) return failed("a call");
        if (site->round % AGREE_EVERY == 0 && agree(site, run->pe, &is_over) != 0)
            return failed("the broadcast of the end");
    }
    for (int moment = 0; moment < MOMENT_COUNT; moment++)
        if (moment_step(site, (enum moment)moment) != 0) return failed("a call afterwards");
    return 0;
}

/* A PE between its start and its end. */
static int live(const struct run *run)
{
    const bool has_fault = chorus_my_pe() == run->pe;
    struct site site;
    int status = 0;

    if (site_open(&site, run->seed) != 0) {
        status = failed("chorus_calloc");
    } else if (run->moment == MOMENT_finalize) {
        if (has_fault && run->n_threads == 0) arm(run);
    } else {
        const bool is_armed = run->moment == MOMENT_start;
        if (has_fault && !is_armed) arm(run);
        status = run->n_threads == 0 || !is_armed ? rounds(run, &site) : 0;
    }
    site_close(&site);
    return status;
}

static int run_process(const struct run *run)
{
    if (run->moment == MOMENT_start && number() == run->pe) arm(run);
    if (chorus_init() != 0) {
        (void)failed("chorus_init");
        return STATUS_FAILED;
    }
    if (live(run) < 0) return STATUS_FAILED;
    chorus_finalize();
    return EXIT_SUCCESS;
}

static void run_thread(void *arg)
{
    struct run *run = arg;

    if (live(run) < 0) (void)__atomic_add_fetch(&run->n_failed, 1, __ATOMIC_RELAXED);
}

static int count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int n = 0;

    if (folder == NULL) return -1;
    while (readdir(folder) != NULL)
        n++;
    (void)closedir(folder);
    return n;
}

/* Of files that lie in memory alone. */
static int count_mapped(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    int n = 0;

    if (maps == NULL) return -1;
    while (fgets(line, sizeof(line), maps) != NULL)
        n += strstr(line, "memfd:") != NULL;
    (void)fclose(maps);
    return n;
}

/* What a job in this process may not leave. */
struct census {
    int files, threads, mapped;
};

static struct census take_census(void)
{
    return (struct census){count_entries("/proc/self/fd"), count_entries("/proc/self/task"),
                           count_mapped()};
}

static bool is_no_more(const struct census *after, const struct census *before)
{
    return after->files <= before->files && after->threads <= before->threads &&
           after->mapped <= before->mapped;
}

/* A thread that was joined stays in the list for a moment. */
static int compare(const struct census *before)
{
    const struct timespec moment = {0, 1000000};
    struct census after = take_census();

    for (int i = 0; i < 200 && !is_no_more(&after, before); i++) {
        (void)nanosleep(&moment, NULL);
        after = take_census();
    }
    if (is_no_more(&after, before)) return 0;
    (void)fprintf(stderr,
                  "faults_pe: left behind: %d descriptors (%d before), %d threads (%d), %d "
                  "mapped memfds (%d)\n",
                  after.files, before->files, after.threads, before->threads, after.mapped,
                  before->mapped);
    return STATUS_LEFT_BEHIND;
}

/* Jobs, one after another if the fault strikes beside their calls. */
static int run_threads(struct run *run)
{
    const bool is_apart = run->moment == MOMENT_start || run->moment == MOMENT_finalize;
    const struct census before = take_census();
    int status, left;

    if (is_apart) arm(run);
    do {
        status = chorusx_run_threads(run->n_threads, run_thread, run);
    } while (is_apart && !fault_between() && !fault_is_over() && status == 0);
    if (status != 0) (void)failed("chorusx_run_threads");
    left = compare(&before);
    if (left != 0) return left;
    return status != 0 || run->n_failed > 0 ? STATUS_FAILED : EXIT_SUCCESS;
}

static int read_args(char **argv, struct run *run)
{
    const int record = open(argv[6], O_RDWR | O_CLOEXEC);
    void *memory;

    *run = (struct run){
        .fault = fault_of(argv[1]),
        .moment = moment_of(argv[2]),
        .pe = atoi(argv[3]),
        .delay_ns = strtoull(argv[4], NULL, 10),
        .seed = strtoull(argv[5], NULL, 10),
        .n_threads = argv[7] != NULL ? atoi(argv[7]) : 0,
    };
    if (record < 0 || run->fault == FAULT_none || run->moment == MOMENT_COUNT) return -1;
    memory = mmap(NULL, sizeof(*run->at_ns), PROT_READ | PROT_WRITE, MAP_SHARED, record, 0);
    (void)close(record);
    run->at_ns = memory;
    return memory == MAP_FAILED ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct run run;

    if (argc < 7 || argc > 8 || read_args(argv, &run) != 0) {
        (void)fprintf(stderr,
                      "faults_pe: expected FAULT MOMENT PE DELAY_NS SEED RECORD [THREADS]\n");
        return STATUS_USAGE;
    }
    return run.n_threads > 0 ? run_threads(&run) : run_process(&run);
}
