/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/crew.h"

#include "base/log.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct worker {
    struct ch_crew *crew;
    pthread_t thread;
    uint32_t cta; /* that this worker runs, from 1 */
};

struct ch_crew {
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t begin, end;
    uint64_t round; /* grows with each run */
    uint32_t ctas;  /* of the run in progress */
    uint32_t busy;  /* workers that have not finished it */
    bool is_closing;
    void (*work)(void *arg, uint32_t cta);
    void *arg;
    int pe;
    uint32_t n_workers;
    struct worker workers[];
};

static void *worker_main(void *arg)
{
    struct worker *self = arg;
    struct ch_crew *crew = self->crew;
    uint64_t round = 0;

    ch_log_name_pe(crew->pe);
    (void)pthread_mutex_lock(&crew->mutex);
    for (;;) {
        while (crew->round == round && !crew->is_closing)
            (void)pthread_cond_wait(&crew->begin, &crew->mutex);
        if (crew->is_closing) break;
        round = crew->round;
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
    struct ch_crew *crew = calloc(1, sizeof(*crew) + (ctas - 1) * sizeof(struct worker));

    if (crew == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a crew of %u CTAs", ctas);
    (void)pthread_mutex_init(&crew->mutex, NULL);
    (void)pthread_cond_init(&crew->begin, NULL);
    (void)pthread_cond_init(&crew->end, NULL);
    crew->pe = pe;
    for (uint32_t i = 0; i < ctas - 1; i++) {
        struct worker *worker = &crew->workers[i];

        worker->crew = crew;
        worker->cta = i + 1;
        if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0) {
            ch_crew_destroy(crew);
            return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot start thread %u of a crew of %u CTAs",
                           i + 1, ctas);
        }
        crew->n_workers++;
    }
    *crew_out = crew;
    return CHORUS_OK;
}

void ch_crew_destroy(struct ch_crew *crew)
{
    if (crew == NULL) return;
    (void)pthread_mutex_lock(&crew->mutex);
    crew->is_closing = true;
    (void)pthread_cond_broadcast(&crew->begin);
    (void)pthread_mutex_unlock(&crew->mutex);
    for (uint32_t i = 0; i < crew->n_workers; i++)
        (void)pthread_join(crew->workers[i].thread, NULL);
    (void)pthread_cond_destroy(&crew->begin);
    (void)pthread_cond_destroy(&crew->end);
    (void)pthread_mutex_destroy(&crew->mutex);
    free(crew);
}

static void run_alone(uint32_t ctas, void (*work)(void *arg, uint32_t cta), void *arg)
{
    for (uint32_t cta = 0; cta < ctas; cta++)
        work(arg, cta);
}

void ch_crew_run(struct ch_crew *crew, uint32_t ctas, void (*work)(void *arg, uint32_t cta),
                 void *arg)
{
    if (crew == NULL || ctas == 1) {
        run_alone(ctas, work, arg);
        return;
    }
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
