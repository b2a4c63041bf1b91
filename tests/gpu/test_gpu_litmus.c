/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Litmus tests of what kernels tell each other. usage: test_gpu_litmus [TRIALS]
 *
 * Each runs as kernels do it, where the forbidden outcome fails the test, and weakened, which
 * only tells whether this machine would show it. PEs that share a GPU as processes take turns
 * on it, so that each round lasts; the number of trials is then what fits the time.
 */
#include "gpu_pes.h"
#include "litmus.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TRIALS = 1000000, FIRST_ROUNDS = 8, PES_MAX = 64 };

static const double seconds_strict = 3.5, seconds_weak = 1.5;
static unsigned long trials_wanted = TRIALS;

static const char *const texts[LITMUS_COUNT] = {
#define X(name, text) [LITMUS_##name] = (text),
    LITMUS_LIST(X)
#undef X
};

/* Of a round of a PE. */
static unsigned long trials_of(enum litmus test)
{
    if (test == LITMUS_packet || test == LITMUS_packet_pulled)
        return LITMUS_CHANNELS * LITMUS_LANES;
    if (test == LITMUS_line || test == LITMUS_line_pulled)
        return LITMUS_CHANNELS * LITMUS_LANES / 8;
    return LITMUS_CHANNELS;
}

struct job {
    char *area;              /* symmetric */
    double *times;           /* symmetric, [PES_MAX] */
    struct litmus_run run;   /* what the next launch does */
    cudaStream_t stream;     /* of this PE alone: they wait for each other */
    struct litmus_found sum; /* as last read */
};

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The largest of all PEs' values, so that they all do the same. */
static double longest(const struct job *job, double mine)
{
    double all[PES_MAX];

    for (int pe = 0; pe < gpu_n(); pe++)
        chorus_putmem(job->times + gpu_me(), &mine, sizeof(mine), pe);
    chorus_quiet();
    gpu_meet();
    gpu_copy(all, job->times, (size_t)gpu_n() * sizeof(all[0]));
    gpu_meet();
    for (int pe = 0; pe < gpu_n(); pe++)
        if (all[pe] > mine) mine = all[pe];
    return mine;
}

/* So many rounds; gives the seconds they took, the same on all PEs. */
static double run_rounds(struct job *job, enum litmus test, unsigned long rounds)
{
    double begun;

    job->run.rounds = rounds;
    gpu_meet();
    begun = now();
    EXPECT(litmus_launch(test, &job->run, job->stream) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(job->stream) == cudaSuccess);
    job->run.first += rounds;
    return longest(job, now() - begun);
}

static void run_test(struct job *job, enum litmus test, int is_weak)
{
    const double budget = (is_weak ? seconds_weak : seconds_strict) / (gpu_is_small() ? 4 : 1);
    unsigned long left = trials_wanted / trials_of(test) + 1;
    unsigned long fit, rounds = left < FIRST_ROUNDS ? left : FIRST_ROUNDS;
    double seconds;

    gpu_fill(job->run.found, 0, sizeof(*job->run.found));
    job->run.is_weak = is_weak;
    (void)run_rounds(job, test, 1); /* loads the kernels */
    seconds = run_rounds(job, test, rounds);
    left -= rounds;
    fit = (unsigned long)((double)rounds * budget / seconds);
    if (left > fit) left = fit;
    if (left > 0) (void)run_rounds(job, test, left);
    gpu_copy(&job->sum, job->run.found, sizeof(job->sum));
}

static void report(const struct job *job, enum litmus test, int is_weak)
{
    (void)printf("PE %d  %-9s %9llu trials %9llu forbidden   %s\n", gpu_me(),
                 is_weak ? "weakened" : "as used", job->sum.trials, job->sum.forbidden,
                 texts[test]);
    (void)fflush(stdout);
}

static void litmus__a_million_rounds__forbidden_outcomes_never_show(void)
{
    struct job job = {.area = chorus_align(128, LITMUS_AREA_BYTES),
                      .times = chorus_calloc(PES_MAX, sizeof(double))};

    if (!EXPECT(gpu_n() <= PES_MAX && job.area != NULL && job.times != NULL)) return;
    EXPECT(cudaStreamCreateWithFlags(&job.stream, cudaStreamNonBlocking) == cudaSuccess);
    gpu_fill(job.area, 0, LITMUS_AREA_BYTES);
    job.run = (struct litmus_run){
        .mine = job.area,
        .before = chorus_ptr(job.area, gpu_previous()),
        .after = chorus_ptr(job.area, gpu_next()),
        .first = 1,
        .found = gpu_alloc(sizeof(struct litmus_found)),
    };
    for (int i = 0; i < 2 * LITMUS_COUNT; i++) {
        const enum litmus test = (enum litmus)(i / 2);

        run_test(&job, test, i % 2);
        report(&job, test, i % 2);
        EXPECT(job.sum.lost == 0);
        EXPECT(job.sum.trials > 0);
        if (i % 2 == 0) EXPECT(job.sum.forbidden == 0);
    }
    EXPECT(cudaStreamDestroy(job.stream) == cudaSuccess);
    gpu_free(job.run.found);
    chorus_free(job.times);
    chorus_free(job.area);
}

static const struct gpu_case cases[] = {
    GPU_CASE(litmus__a_million_rounds__forbidden_outcomes_never_show)};

int main(int argc, char **argv)
{
    if (argc == 2) trials_wanted = strtoul(argv[1], NULL, 10);
    return gpu_main(argc, argv, cases, 1);
}
