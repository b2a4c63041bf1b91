/* SPDX-License-Identifier: Apache-2.0 */
/* workers.c: the CTAs of a host, as threads that work on one call at a time. */
#include "coll/host/host.h"

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct worker {
    struct ch_workers *workers;
    pthread_t thread;
    uint32_t cta;   /* number of the CTA that this worker runs, from 1 */
    uint64_t round; /* the last run that it has seen */
};

struct ch_workers {
    pthread_mutex_t running; /* held by the caller whose call the threads work on */
    pthread_mutex_t mutex;   /* guards all members below */
    pthread_cond_t begin, end;
    uint64_t round; /* incremented with each run */
    uint32_t ctas;  /* function and argument of the run in progress */
    uint32_t busy;  /* number of workers that have not finished it */
    bool is_closing;
    void (*work)(void *arg, uint32_t cta);
    void *arg;
    int pe;
    uint32_t n_workers; /* largest number of workers */
    uint32_t n_started; /* all of them, or 0 before they are started; guarded by running */
    struct worker each[];
};

/* A thread that runs its CTA of each run that has so many; arg is a struct worker. */
static void *worker_main(void *arg)
{
    struct worker *self = arg;
    struct ch_workers *workers = self->workers;

    ch_log_name_pe(workers->pe);
    (void)pthread_mutex_lock(&workers->mutex);
    for (;;) {
        while (workers->round == self->round && !workers->is_closing)
            (void)pthread_cond_wait(&workers->begin, &workers->mutex);
        if (workers->is_closing) break;
        self->round = workers->round;
        if (self->cta >= workers->ctas) continue;
        (void)pthread_mutex_unlock(&workers->mutex);
        workers->work(workers->arg, self->cta);
        (void)pthread_mutex_lock(&workers->mutex);
        if (--workers->busy == 0) (void)pthread_cond_signal(&workers->end);
    }
    (void)pthread_mutex_unlock(&workers->mutex);
    return NULL;
}

chorus_status ch_workers_create(uint32_t ctas, int pe, struct ch_workers **workers_out)
{
    const uint32_t n_workers = ctas - 1;
    struct ch_workers *workers =
        calloc(1, sizeof(*workers) + n_workers * sizeof(struct worker));

    if (workers == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the threads of %u CTAs", ctas);
    (void)pthread_mutex_init(&workers->running, NULL);
    (void)pthread_mutex_init(&workers->mutex, NULL);
    (void)pthread_cond_init(&workers->begin, NULL);
    (void)pthread_cond_init(&workers->end, NULL);
    workers->pe = pe;
    workers->n_workers = n_workers;
    *workers_out = workers;
    return CHORUS_OK;
}

/* End the threads. They can be started again. */
static void stop_workers(struct ch_workers *workers)
{
    (void)pthread_mutex_lock(&workers->mutex);
    workers->is_closing = true;
    (void)pthread_cond_broadcast(&workers->begin);
    (void)pthread_mutex_unlock(&workers->mutex);
    for (uint32_t i = 0; i < workers->n_started; i++)
        (void)pthread_join(workers->each[i].thread, NULL);
    workers->is_closing = false;
    workers->n_started = 0;
}

/* Start the threads that do not run yet: all or none, as a run uses every worker. False: none
 * run. */
static bool start_workers(struct ch_workers *workers)
{
    while (workers->n_started < workers->n_workers) {
        struct worker *worker = &workers->each[workers->n_started];

        worker->workers = workers;
        worker->cta = workers->n_started + 1;
        worker->round = workers->round;
        if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0) {
            CH_LOG(WARN,
                   "only %u of %u threads for CTAs could be created; the CTAs of a call run "
                   "one after another",
                   workers->n_started, workers->n_workers);
            stop_workers(workers);
            return false;
        }
        workers->n_started++;
    }
    return true;
}

void ch_workers_destroy(struct ch_workers *workers)
{
    if (workers == NULL) return;
    stop_workers(workers);
    (void)pthread_cond_destroy(&workers->begin);
    (void)pthread_cond_destroy(&workers->end);
    (void)pthread_mutex_destroy(&workers->mutex);
    (void)pthread_mutex_destroy(&workers->running);
    free(workers);
}

/* Run all CTAs one after another on this thread. */
static void run_alone(uint32_t ctas, void (*work)(void *arg, uint32_t cta), void *arg)
{
    for (uint32_t cta = 0; cta < ctas; cta++)
        work(arg, cta);
}

/* Run the CTAs in parallel. The caller holds `running`, and the workers are started. */
static void run_together(struct ch_workers *workers, uint32_t ctas,
                         void (*work)(void *arg, uint32_t cta), void *arg)
{
    (void)pthread_mutex_lock(&workers->mutex);
    workers->work = work;
    workers->arg = arg;
    workers->ctas = ctas;
    workers->busy = ctas - 1;
    workers->round++;
    (void)pthread_cond_broadcast(&workers->begin);
    (void)pthread_mutex_unlock(&workers->mutex);
    work(arg, 0);
    (void)pthread_mutex_lock(&workers->mutex);
    while (workers->busy != 0)
        (void)pthread_cond_wait(&workers->end, &workers->mutex);
    (void)pthread_mutex_unlock(&workers->mutex);
}

void ch_workers_run(struct ch_workers *workers, uint32_t ctas,
                    void (*work)(void *arg, uint32_t cta), void *arg)
{
    if (ctas == 1 || pthread_mutex_trylock(&workers->running) != 0) {
        run_alone(ctas, work, arg);
        return;
    }
    if (start_workers(workers))
        run_together(workers, ctas, work, arg);
    else
        run_alone(ctas, work, arg);
    (void)pthread_mutex_unlock(&workers->running);
}
