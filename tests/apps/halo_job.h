/* SPDX-License-Identifier: Apache-2.0 */
/* halo_job.h: random links between PEs, and arrays of all PEs on which they are carried out one
 * after another. */
#ifndef CH_TEST_HALO_JOB_H
#define CH_TEST_HALO_JOB_H

#include "chorus/apps/halo.h"

#include "api_pes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORLD CHORUS_TEAM_WORLD

enum {
    ELEMENTS = 400, /* of an array: half its own, half received */
    OWN = ELEMENTS / 2,
    LINKS_MAX = 14,
    UNITS_MAX = 5, /* 4-byte values of an element */
    POISON = 0x5eadbeef,
};

/* A link in one direction. */
struct one_way {
    int from, to, tag;
    size_t count;
    uint32_t send[ELEMENTS], recv[ELEMENTS];
};

/* The same on all PEs, from a seed. */
struct job {
    uint32_t state; /* of random numbers */
    int n_pes, n_ways, units;
    struct one_way ways[LINKS_MAX];
    uint32_t receiver[API_PES_MAX][ELEMENTS]; /* the way that an element is received by, + 1 */
    size_t n_received[API_PES_MAX];
    uint32_t values[API_PES_MAX][ELEMENTS * UNITS_MAX];
};

static uint32_t random_below(struct job *job, uint32_t n)
{
    job->state = job->state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)job->state * n) >> 32);
}

/* Element i of a way, another than those before: the PE's own, or one that an earlier way has
 * brought. */
static uint32_t pick_sent(struct job *job, const struct one_way *way, size_t i)
{
    const size_t n_received = job->n_received[way->from];
    uint32_t element = random_below(job, OWN);
    size_t k = 0;

    if (n_received > 0 && random_below(job, 3) == 0)
        element = (uint32_t)OWN + random_below(job, (uint32_t)n_received);
    while (k < i && way->send[k] != element)
        k++;
    return k == i ? element : pick_sent(job, way, i);
}

static void add_way(struct job *job)
{
    struct one_way *way = &job->ways[job->n_ways];
    uint32_t first;
    size_t most;

    way->from = (int)random_below(job, (uint32_t)job->n_pes);
    way->to = (int)random_below(job, (uint32_t)job->n_pes);
    way->tag = job->n_ways;
    most = OWN - job->n_received[way->to];
    way->count = random_below(job, most > 40 ? 40 : (uint32_t)most + 1);
    first = random_below(job, 2) == 0 ? random_below(job, OWN - 40) : ELEMENTS;
    for (size_t i = 0; i < way->count; i++) {
        way->send[i] = first < ELEMENTS ? first + (uint32_t)i : pick_sent(job, way, i);
        way->recv[i] = (uint32_t)(OWN + job->n_received[way->to] + way->count - 1 - i);
    }
    if (random_below(job, 2) == 0)
        for (size_t i = 0; i < way->count; i++)
            way->recv[i] = (uint32_t)(OWN + job->n_received[way->to] + i);
    for (size_t i = 0; i < way->count; i++)
        job->receiver[way->to][way->recv[i]] = (uint32_t)job->n_ways + 1;
    job->n_received[way->to] += way->count;
    job->n_ways++;
}

static struct job *make_job(uint32_t seed)
{
    struct job *job = calloc(1, sizeof(*job));

    job->state = seed * 2654435761u + 12345;
    job->n_pes = api_n();
    job->units = 1 + (int)random_below(job, UNITS_MAX);
    while (job->n_ways < LINKS_MAX)
        add_way(job);
    return job;
}

/* --- the object of a job ------------------------------------------------------------------ */
struct own_links {
    chorusx_halo_link_t links[2 * LINKS_MAX];
    int after[2 * LINKS_MAX][LINKS_MAX], numbers[LINKS_MAX];
    int n;
};

/* The links by which what a way sends was received. */
static void find_after(const struct job *job, const struct one_way *way, struct own_links *own,
                       chorusx_halo_link_t *link)
{
    int *after = own->after[own->n];

    link->after = after;
    for (size_t i = 0; i < way->count; i++) {
        const uint32_t by = job->receiver[way->from][way->send[i]];
        bool is_new = by != 0;

        for (int k = 0; k < link->n_after; k++)
            is_new = is_new && after[k] != own->numbers[by - 1];
        if (is_new) after[link->n_after++] = own->numbers[by - 1];
    }
}

static void collect_links(const struct job *job, struct own_links *own)
{
    for (int w = 0; w < job->n_ways; w++) {
        const struct one_way *way = &job->ways[w];
        chorusx_halo_link_t link = {.tag = way->tag, .n_after = 0};

        if (way->from != api_me() && way->to != api_me()) continue;
        if (way->from == api_me()) {
            link.peer = way->to;
            link.send = (chorusx_halo_part_t){.indices = way->send, .count = way->count};
            find_after(job, way, own, &link);
        }
        if (way->to == api_me()) {
            link.peer = way->from;
            link.recv = (chorusx_halo_part_t){.indices = way->recv, .count = way->count};
            own->numbers[w] = own->n;
        }
        own->links[own->n++] = link;
    }
}

static chorusx_halo_t make_halo(const struct job *job)
{
    struct own_links *own = calloc(1, sizeof(*own));
    chorusx_halo_t halo;

    collect_links(job, own);
    EXPECT(chorusx_halo_create(WORLD, ELEMENTS, (size_t)job->units * 4, own->n, own->links,
                               &halo) == CHORUS_OK);
    free(own);
    return halo;
}

/* --- values ------------------------------------------------------------------------------- */
static uint32_t value_of(const struct job *job, int pe, size_t at, int step)
{
    return (uint32_t)(at * 2654435761u + (uint32_t)step * 40503u + (uint32_t)pe * 977u +
                      job->state);
}

/* Exact in no type that rounds: the order of sums is seen. */
static float float_of(const struct job *job, int pe, size_t at, int step)
{
    return (float)(value_of(job, pe, at, step) % 100000) / 7.0f;
}

static void fill(struct job *job, int step, bool is_float)
{
    for (int pe = 0; pe < job->n_pes; pe++)
        for (size_t i = 0; i < (size_t)ELEMENTS * (size_t)job->units; i++) {
            const float f = float_of(job, pe, i, step);

            job->values[pe][i] = value_of(job, pe, i, step);
            if (is_float) memcpy(&job->values[pe][i], &f, sizeof(f));
        }
}

static uint32_t *value_at(struct job *job, int pe, uint32_t element, int unit)
{
    return &job->values[pe][element * (uint32_t)job->units + (uint32_t)unit];
}

static void carry_out(struct job *job)
{
    for (int w = 0; w < job->n_ways; w++) {
        const struct one_way *way = &job->ways[w];

        for (size_t i = 0; i < way->count; i++)
            for (int u = 0; u < job->units; u++)
                *value_at(job, way->to, way->recv[i], u) =
                    *value_at(job, way->from, way->send[i], u);
    }
}

static void add_one(uint32_t *sum, uint32_t value, bool is_float)
{
    float a, b;

    if (!is_float) {
        *sum += value;
        return;
    }
    memcpy(&a, sum, sizeof(a));
    memcpy(&b, &value, sizeof(b));
    a += b;
    memcpy(sum, &a, sizeof(a));
}

static void carry_back(struct job *job, bool is_float)
{
    for (int w = job->n_ways - 1; w >= 0; w--) {
        const struct one_way *way = &job->ways[w];

        for (size_t i = 0; i < way->count; i++)
            for (int u = 0; u < job->units; u++)
                add_one(value_at(job, way->from, way->send[i], u),
                        *value_at(job, way->to, way->recv[i], u), is_float);
    }
}

static void dawdle(struct job *job)
{
    const uint32_t late = random_below(job, 4 * (uint32_t)job->n_pes);

    if (late == (uint32_t)api_me()) (void)usleep(300);
}

static size_t job_bytes(const struct job *job)
{
    return (size_t)ELEMENTS * (size_t)job->units * 4;
}

/* The array of this PE before a step: elements that are received are poisoned. */
static void set_array(struct job *job, uint32_t *array, int step)
{
    fill(job, step, false);
    memcpy(array, job->values[api_me()], job_bytes(job));
    for (size_t i = (size_t)OWN * (size_t)job->units; i < job_bytes(job) / 4; i++)
        array[i] = job->receiver[api_me()][i / (size_t)job->units] != 0 ? POISON : array[i];
}

/* How a test makes the steps of a job: on hosts, or by kernels. */
struct job_calls {
    uint32_t seeds;
    int steps; /* of each */
    void (*step_forward)(struct job *job, chorusx_halo_t halo, uint32_t *array, int step);
    int (*accumulate)(chorusx_halo_t halo, void *array, chorus_type type);
};

static inline void step_back(struct job *job, chorusx_halo_t halo, uint32_t *array, int step,
                             const struct job_calls *calls)
{
    const bool is_float = step % 2 == 0;

    fill(job, 1000 + step, is_float);
    memcpy(array, job->values[api_me()], job_bytes(job));
    carry_back(job, is_float);
    dawdle(job);
    EXPECT(calls->accumulate(halo, array, is_float ? CHORUS_TYPE_f32 : CHORUS_TYPE_i32) ==
           CHORUS_OK);
    EXPECT(memcmp(array, job->values[api_me()], job_bytes(job)) == 0);
}

/* Random links give what they give one after another. */
static inline void exchange_random_links(const struct job_calls *calls)
{
    for (uint32_t seed = 1; seed <= calls->seeds; seed++) {
        struct job *job = make_job(seed);
        chorusx_halo_t halo = make_halo(job);
        uint32_t *array = malloc(job_bytes(job));

        for (int step = 0; step < calls->steps; step++) {
            calls->step_forward(job, halo, array, step);
            if (random_below(job, 2) == 0) step_back(job, halo, array, step, calls);
        }
        free(array);
        EXPECT(chorusx_halo_destroy(halo) == CHORUS_OK);
        free(job);
    }
}

#endif /* CH_TEST_HALO_JOB_H */
