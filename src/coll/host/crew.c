/* SPDX-License-Identifier: Apache-2.0 */
/* crew.c: the CTAs of a host, as threads that work on one call at a time. */
#include "coll/host/host.h"

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct worker {
    struct ch_crew *crew;
    pthread_t thread;
    uint32_t cta;   /* number of the CTA that this worker runs, from 1 */
    uint64_t round; /* the last run that it has seen */
};

struct ch_crew {
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
    struct worker workers[];
};

static void *worker_main(void *arg)
{
    struct worker *self = arg;
    struct ch_crew *crew = self->crew;

    ch_log_name_pe(crew->pe);
    (void)pthread_mutex_lock(&crew->mutex);
    for (;;) {
        while (crew->round == self->round && !crew->is_closing)
            (void)pthread_cond_wait(&crew->begin, &crew->mutex);
        if (crew->is_closing) break;
        self->round = crew->round;
        if (self->cta >= crew->ctas) continue;
        (void)pthread_mutex_unlock(&crew->mutex);
        crew->work(crew->arg, self->cta);
        (void)pthread_mutex_lock(&crew->mutex);
        if (--crew->busy == 0) (void)pthread_cond_signal(&crew->end);
    }
    (void)pthread_mutex_unlock(&crew->mutex);
    return NULL;
}

chorus_status ch_crew_create(uint32_t ctas, int pe, struct ch_crew **crew_out)
{
    const uint32_t n_workers = ctas - 1;
    struct ch_crew *crew = calloc(1, sizeof(*crew) + n_workers * sizeof(struct worker));

    if (crew == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the threads of %u CTAs", ctas);
    (void)pthread_mutex_init(&crew->running, NULL);
    (void)pthread_mutex_init(&crew->mutex, NULL);
    (void)pthread_cond_init(&crew->begin, NULL);
    (void)pthread_cond_init(&crew->end, NULL);
    crew->pe = pe;
    crew->n_workers = n_workers;
    *crew_out = crew;
    return CHORUS_OK;
}

static void stop_workers(struct ch_crew *crew)
{
    (void)pthread_mutex_lock(&crew->mutex);
    crew->is_closing = true;
    (void)pthread_cond_broadcast(&crew->begin);
    (void)pthread_mutex_unlock(&crew->mutex);
    for (uint32_t i = 0; i < crew->n_started; i++)
        (void)pthread_join(crew->workers[i].thread, NULL);
    crew->is_closing = false;
    crew->n_started = 0;
}

/* All or none: a run uses every worker. */
static bool start_workers(struct ch_crew *crew)
{
    while (crew->n_started < crew->n_workers) {
        struct worker *worker = &crew->workers[crew->n_started];

        worker->crew = crew;
        worker->cta = crew->n_started + 1;
        worker->round = crew->round;
        if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0) {
            CH_LOG(WARN,
                   "only %u of %u threads for CTAs could be created; the CTAs of a call run "
                   "one after another",
                   crew->n_started, crew->n_workers);
            stop_workers(crew);
            return false;
        }
        crew->n_started++;
    }
    return true;
}

void ch_crew_destroy(struct ch_crew *crew)
{
    if (crew == NULL) return;
    stop_workers(crew);
    (void)pthread_cond_destroy(&crew->begin);
    (void)pthread_cond_destroy(&crew->end);
    (void)pthread_mutex_destroy(&crew->mutex);
    (void)pthread_mutex_destroy(&crew->running);
    free(crew);
}

static void run_alone(uint32_t ctas, void (*work)(void *arg, uint32_t cta), void *arg)
{
    for (uint32_t cta = 0; cta < ctas; cta++)
        work(arg, cta);
}

/* Called with `running` held and the workers started. */
static void run_together(struct ch_crew *crew, uint32_t ctas,
                         void (*work)(void *arg, uint32_t cta), void *arg)
{
    (void)pthread_mutex_lock(&crew->mutex);
    crew->work = work;
    crew->arg = arg;
    crew->ctas = ctas;
    crew->busy = ctas - 1;
    crew->round++;
    (void)pthread_cond_broadcast(&crew->begin);
    (void)pthread_mutex_unlock(&crew->mutex);
    work(arg, 0);
    (void)pthread_mutex_lock(&crew->mutex);
    while (crew->busy != 0)
        (void)pthread_cond_wait(&crew->end, &crew->mutex);
    (void)pthread_mutex_unlock(&crew->mutex);
}

void ch_crew_run(struct ch_crew *crew, uint32_t ctas, void (*work)(void *arg, uint32_t cta),
                 void *arg)
{
    if (ctas == 1 || pthread_mutex_trylock(&crew->running) != 0) {
        run_alone(ctas, work, arg);
        return;
    }
    if (start_workers(crew))
        run_together(crew, ctas, work, arg);
    else
        run_alone(ctas, work, arg);
    (void)pthread_mutex_unlock(&crew->running);
}
