/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/apps/job.h"

#include "chorus/chorusx.h"

#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job job_start(const char *program, int *argc, char ***argv)
{
    struct job job = {.program = program};
    chorusx_init_attr_t attr;
    chorusx_uniqueid_t id;

    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.me);
    MPI_Comm_size(MPI_COMM_WORLD, &job.n_pes);
    if (job.me == 0 && chorusx_get_uniqueid(&id) != CHORUS_OK)
        job_fail(&job, "%s", chorusx_last_error());
    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
    if (chorusx_set_attr_uniqueid_args(job.me, job.n_pes, &id, &attr) != CHORUS_OK ||
        chorusx_init_attr(CHORUSX_INIT_UNIQUEID, &attr) != CHORUS_OK)
        job_fail(&job, "%s", chorusx_last_error());
    return job;
}

void job_end(void)
{
    chorus_finalize();
    MPI_Finalize();
}

void job_fail(const struct job *job, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)fprintf(stderr, "%s: error on PE %d: ", job->program, job->me);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void job_refuse(const struct job *job, const char *message)
{
    if (job->me == 0) (void)fprintf(stderr, "%s: error: %s\n", job->program, message);
    job_end();
    exit(2);
}

void *job_memory(const struct job *job, size_t n, size_t bytes)
{
    void *memory = calloc(n + 1, bytes);

    if (memory == NULL) job_fail(job, "no memory for %zu times %zu bytes", n, bytes);
    return memory;
}

void *job_symmetric(const struct job *job, size_t n, size_t bytes)
{
    void *memory = chorus_calloc(n, bytes);

    if (memory == NULL)
        job_fail(job, "no symmetric memory for %zu times %zu bytes; set CHORUS_HEAP_MAX", n,
                 bytes);
    return memory;
}

void job_require(const struct job *job, int code)
{
    if (code != CHORUS_OK) job_fail(job, "%s", chorusx_last_error());
}

size_t job_number(const struct job *job, const char *what, const char *word, size_t lo,
                  size_t hi)
{
    char message[JOB_TEXT_BYTES], *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(word, &end, 10);
    if (*word >= '0' && *word <= '9' && *end == '\0' && errno == 0 && value >= lo &&
        value <= hi)
        return (size_t)value;
    (void)snprintf(message, sizeof(message), "%s is %s; give a number of %zu to %zu", what,
                   word, lo, hi);
    job_refuse(job, message);
}

static int way_of(const struct job *job, const char *const *names, int n_names,
                  const char *word)
{
    char message[JOB_TEXT_BYTES];
    int at;

    for (int way = 0; way < n_names; way++)
        if (strcmp(names[way], word) == 0) return way;
    at = snprintf(message, sizeof(message), "this program has no way %.40s; there are", word);
    for (int way = 0; way < n_names; way++)
        at += snprintf(message + at, sizeof(message) - (size_t)at, " %s", names[way]);
    job_refuse(job, message);
}

int job_ways(const struct job *job, const char *const *names, int n_names, char **words,
             int *ways_out)
{
    int n = 0;

    for (; words[n] != NULL; n++) {
        if (n == JOB_WAYS_MAX) job_refuse(job, "there are too many words that name ways");
        ways_out[n] = way_of(job, names, n_names, words[n]);
        for (int w = 0; w < n; w++)
            if (ways_out[w] == ways_out[n]) job_refuse(job, "a way is named twice");
    }
    if (n > 0) return n;
    for (; n < n_names; n++)
        ways_out[n] = n;
    return n;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void job_measure(const struct job *job, const struct job_turns *turns, void *state,
                 double (*turn_us)(void *state, int way, int turn), double *medians_out)
{
    const int rounds = turns->rounds;
    double *times = job_memory(job, (size_t)turns->n_ways * (size_t)rounds, sizeof(*times));

    for (int round = -1, turn = 0; round < rounds; round++)
        for (int w = 0; w < turns->n_ways; w++, turn++) {
            double most, us = turn_us(state, turns->ways[w], turn);

            MPI_Allreduce(&us, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
            times[w * rounds + (round < 0 ? 0 : round)] = most;
        }
    for (int w = 0; w < turns->n_ways; w++) {
        qsort(times + w * rounds, (size_t)rounds, sizeof(*times), compare);
        medians_out[w] = times[w * rounds + rounds / 2];
    }
    free(times);
}

double job_scale(int turn)
{
    return ldexp(1.0, turn % 8);
}
