/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many_threads: a hundred threads of each PE that all call the library at once, as
 * CHORUS_THREAD_MULTIPLE allows: each makes collective calls on a team of its own, puts with
 * signals to its like on the next PE, also on contexts that it makes and destroys, and adds to
 * one counter. Run it alone or under chorusrun.
 */
#include "chorus/chorusx.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 100, ROUNDS = 20, COUNT = 9, ADDS_OF_A_ROUND = 4 };

/* Symmetric; an element, or a row, for each thread. */
static long (*sources)[COUNT], (*sums)[COUNT], *arrived, *counter;
static long *by_context;
static uint64_t *signals, *context_signals;

struct worker {
    pthread_t thread;
    chorus_team_t team; /* of all PEs */
    int number;
    int n_wrong; /* what was found not to hold */
};

static void expect(struct worker *w, int holds, const char *what)
{
    if (holds) return;
    w->n_wrong++;
    (void)fprintf(stderr, "PE %d, thread %d: %s; last message: %s\n", chorus_my_pe(), w->number,
                  what, chorusx_last_error());
}

static long value(int pe, int thread, int round, int i)
{
    return pe * 1000003l + thread * 1009l + round * 31l + i;
}

/* The last PE's source to all, in `sums`. */
static void check_broadcast(struct worker *w, int round)
{
    const int t = w->number, root = chorus_n_pes() - 1;

    expect(w, chorus_long_broadcast(w->team, sums[t], sources[t], COUNT, root) == CHORUS_OK,
           "broadcast failed");
    for (int i = 0; i < COUNT; i++)
        expect(w, sums[t][i] == value(root, t, round, i), "broadcast gave a wrong value");
}

static void check_sum(struct worker *w, int round)
{
    const int t = w->number, n = chorus_n_pes();

    expect(w, chorus_long_sum_reduce(w->team, sums[t], sources[t], COUNT) == CHORUS_OK,
           "reduce failed");
    for (int i = 0; i < COUNT; i++) {
        long sum = 0;

        for (int pe = 0; pe < n; pe++)
            sum += value(pe, t, round, i);
        expect(w, sums[t][i] == sum, "reduce gave a wrong sum");
    }
}

/* What the PEs up to this one have, and then the blocks of all, of 0, 1, 2 ... elements. */
static void check_uneven(struct worker *w, int round)
{
    const int t = w->number, me = chorus_my_pe(), n = chorus_n_pes();
    const size_t count = (size_t)(me < COUNT ? me : COUNT);
    int at = 0;

    expect(w, chorus_long_sum_inscan(w->team, sums[t], sources[t], COUNT) == CHORUS_OK,
           "inscan failed");
    for (int i = 0; i < COUNT; i++) {
        long sum = 0;

        for (int pe = 0; pe <= me; pe++)
            sum += value(pe, t, round, i);
        expect(w, sums[t][i] == sum, "inscan gave a wrong sum");
    }
    if (n * (n - 1) / 2 > COUNT) return;
    expect(w, chorus_long_collect(w->team, sums[t], sources[t], count) == CHORUS_OK,
           "collect failed");
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < pe; i++)
            expect(w, sums[t][at++] == value(pe, t, round, i), "collect gave a wrong value");
}

/* From the same thread of the PE before, on a context of its own. */
static void check_context(struct worker *w, int round)
{
    const int t = w->number, n = chorus_n_pes(), me = chorus_my_pe();
    chorus_ctx_t ctx;

    expect(w, chorus_team_create_ctx(w->team, CHORUS_CTX_PRIVATE, &ctx) == CHORUS_OK,
           "no context was made");
    chorus_ctx_long_p(ctx, &by_context[t], value(me, t, round, 1), (me + 1) % n);
    chorus_ctx_long_atomic_add(ctx, counter, 1, (me + 1) % n);
    chorus_ctx_quiet(ctx);
    chorus_ctx_signal_add(ctx, &context_signals[t], 1, (me + 1) % n);
    (void)chorus_signal_wait_until(&context_signals[t], CHORUS_CMP_GE, (uint64_t)round + 1);
    expect(w, by_context[t] == value((me + n - 1) % n, t, round, 1),
           "a put on a context gave a wrong value");
    expect(w, chorus_ctx_long_g(ctx, &by_context[t], me) == by_context[t],
           "a get on a context gave a wrong value");
    chorus_ctx_destroy(ctx);
}

/* From the same thread of the PE before. */
static void check_put(struct worker *w, int round)
{
    const int t = w->number, n = chorus_n_pes(), me = chorus_my_pe();
    const long mine = value(me, t, round, 0);

    chorus_long_put_signal(&arrived[t], &mine, 1, &signals[t], (uint64_t)round + 1,
                           CHORUS_SIGNAL_SET, (me + 1) % n);
    (void)chorus_signal_wait_until(&signals[t], CHORUS_CMP_GE, (uint64_t)round + 1);
    expect(w, arrived[t] == value((me + n - 1) % n, t, round, 0), "put gave a wrong value");
}

static void *work(void *arg)
{
    struct worker *const w = arg;

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++)
            sources[w->number][i] = value(chorus_my_pe(), w->number, round, i);
        check_broadcast(w, round);
        check_sum(w, round);
        check_put(w, round);
        check_uneven(w, round);
        check_context(w, round); /* which adds too */
        for (int i = 1; i < ADDS_OF_A_ROUND; i++)
            chorus_long_atomic_add(counter, 1, i % chorus_n_pes());
        expect(w, chorus_team_sync(w->team) == CHORUS_OK, "sync failed");
    }
    return NULL;
}

static int allocate(void)
{
    sources = chorus_calloc(THREADS, sizeof(*sources));
    sums = chorus_calloc(THREADS, sizeof(*sums));
    arrived = chorus_calloc(THREADS, sizeof(*arrived));
    signals = chorus_calloc(THREADS, sizeof(*signals));
    by_context = chorus_calloc(THREADS, sizeof(*by_context));
    context_signals = chorus_calloc(THREADS, sizeof(*context_signals));
    counter = chorus_calloc(1, sizeof(*counter));
    return sources != NULL && sums != NULL && arrived != NULL && signals != NULL &&
           by_context != NULL && context_signals != NULL && counter != NULL;
}

static int run(struct worker *workers)
{
    long added = 0;
    int n_wrong = 0;

    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&workers[t].thread, NULL, work, &workers[t]) != 0) return 1;
    for (int t = 0; t < THREADS; t++) {
        (void)pthread_join(workers[t].thread, NULL);
        n_wrong += workers[t].n_wrong;
    }
    chorus_barrier_all();
    for (int pe = 0; pe < chorus_n_pes(); pe++)
        added += chorus_long_atomic_fetch(counter, pe);
    if (added == (long)chorus_n_pes() * THREADS * ROUNDS * ADDS_OF_A_ROUND) return n_wrong;
    (void)fprintf(stderr, "%ld was added by all PEs' threads\n", added);
    return 1;
}

int main(void)
{
    static struct worker workers[THREADS];
    int provided, n_wrong;

    if (chorus_init_thread(CHORUS_THREAD_MULTIPLE, &provided) != CHORUS_OK || !allocate())
        return EXIT_FAILURE;
    for (int t = 0; t < THREADS; t++) {
        workers[t].number = t;
        if (chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, chorus_n_pes(), NULL, 0,
                                      &workers[t].team) != CHORUS_OK)
            return EXIT_FAILURE;
    }
    n_wrong = run(workers);
    chorus_barrier_all();
    chorus_finalize();
    return n_wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
