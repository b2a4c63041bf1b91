/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h: what the solvers' programs share: one job that MPI's launcher starts, in which Chorus
 * is initialised too, and ways to solve that take turns.
 */
#ifndef BENCH_APPS_JOB_H
#define BENCH_APPS_JOB_H

#include <stdbool.h>
#include <stddef.h>

enum { JOB_ROUNDS_MAX = 99, JOB_WAYS_MAX = 8, JOB_TEXT_BYTES = 256 };

struct job {
    const char *program; /* in messages */
    int me, n_pes;
};

/* What a run consists of: ways, which have numbers, in rounds. */
struct job_turns {
    const int *ways;
    int n_ways, rounds;
};

/* MPI and Chorus, and back. */
struct job job_start(const char *program, int *argc, char ***argv);
void job_end(void);

/* End the job with a message of this PE. */
__attribute__((noreturn, format(printf, 2, 3))) void job_fail(const struct job *job,
                                                              const char *format, ...);

/* As job_fail, of PE 0, for what all PEs find: bad arguments. */
__attribute__((noreturn)) void job_refuse(const struct job *job, const char *message);

/* Elements of 0. There are always some: it does not return null. */
void *job_memory(const struct job *job, size_t n, size_t bytes);

/* The same in symmetric memory. Collective. */
void *job_symmetric(const struct job *job, size_t n, size_t bytes);

/* End the job with the message of a call of Chorus that has failed. */
void job_require(const struct job *job, int code);

/* A whole number of the command line. */
size_t job_number(const struct job *job, const char *what, const char *word, size_t lo,
                  size_t hi);

/* The numbers of the ways that the words name, of all if there is none; returns how many. */
int job_ways(const struct job *job, const char *const *names, int n_names, char **words,
             int *ways_out);

/*
 * All turns. Turn t of way w is turn_us(state, w, t): the time of one step on this PE, in
 * microseconds. What is recorded is the time of the slowest PE, except of the round that comes
 * first, which warms up; medians_out has one number for each of the ways.
 */
void job_measure(const struct job *job, const struct job_turns *turns, void *state,
                 double (*turn_us)(void *state, int way, int turn), double *medians_out);

/* A power of two that differs from the one of the turn before. Data that are multiplied by it
 * are new in each turn, and the results of all turns are multiples of one, to the last bit. */
double job_scale(int turn);

#endif /* BENCH_APPS_JOB_H */
