/* SPDX-License-Identifier: Apache-2.0 */
/* Halo exchange against arrays of all PEs on which the links are carried out one after another.
 */
#include "chorus/apps/halo.h"

#include "api_pes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORLD CHORUS_TEAM_WORLD

enum {
    ELEMENTS = 400, /* of an array: half its own, half received */
    OWN = ELEMENTS / 2,
    LINKS_MAX = 14,
    UNITS_MAX = 5, /* 4-byte values of an element */
    STEPS = 7,
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

/* An element that the PE has: its own, or one that an earlier way has brought. */
static uint32_t pick_sent(struct job *job, int pe)
{
    if (job->n_received[pe] > 0 && random_below(job, 3) == 0)
        return (uint32_t)OWN + random_below(job, (uint32_t)job->n_received[pe]);
    return random_below(job, OWN);
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
        way->send[i] = first < ELEMENTS ? first + (uint32_t)i : pick_sent(job, way->from);
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

static void step_forward(struct job *job, chorusx_halo_t halo, uint32_t *array, int step)
{
    fill(job, step, false);
    memcpy(array, job->values[api_me()], job_bytes(job));
    for (size_t i = (size_t)OWN * (size_t)job->units; i < job_bytes(job) / 4; i++)
        array[i] = job->receiver[api_me()][i / (size_t)job->units] != 0 ? POISON : array[i];
    carry_out(job);
    dawdle(job);
    if (step % 2 == 0) {
        EXPECT(chorusx_halo_exchange(halo, array) == CHORUS_OK);
    } else {
        EXPECT(chorusx_halo_begin(halo, array) == CHORUS_OK);
        dawdle(job);
        EXPECT(chorusx_halo_wait(halo) == CHORUS_OK);
    }
    EXPECT(memcmp(array, job->values[api_me()], job_bytes(job)) == 0);
}

static void step_back(struct job *job, chorusx_halo_t halo, uint32_t *array, int step)
{
    const bool is_float = step % 2 == 0;

    fill(job, 1000 + step, is_float);
    memcpy(array, job->values[api_me()], job_bytes(job));
    carry_back(job, is_float);
    dawdle(job);
    EXPECT(chorusx_halo_accumulate(halo, array, is_float ? CHORUS_TYPE_f32 : CHORUS_TYPE_i32) ==
           CHORUS_OK);
    EXPECT(memcmp(array, job->values[api_me()], job_bytes(job)) == 0);
}

static void exchanges__random_links__are_as_one_after_another(void)
{
    for (uint32_t seed = 1; seed <= 12; seed++) {
        struct job *job = make_job(seed);
        chorusx_halo_t halo = make_halo(job);
        uint32_t *array = malloc(job_bytes(job));

        for (int step = 0; step < STEPS; step++) {
            step_forward(job, halo, array, step);
            if (random_below(job, 2) == 0) step_back(job, halo, array, step);
        }
        free(array);
        EXPECT(chorusx_halo_destroy(halo) == CHORUS_OK);
        free(job);
    }
}

/* --- boxes -------------------------------------------------------------------------------- */
enum { SIDE = 6, FULL = SIDE + 2 }; /* of a cube, without and with its halo */

static size_t place(size_t x, size_t y, size_t z)
{
    return (z * FULL + y) * FULL + x;
}

/* A face of the cube in dimension d: layer 0 is the halo before, FULL - 1 that behind. */
static chorusx_halo_part_t face(int d, size_t layer)
{
    chorusx_halo_part_t part = {.extent = {SIDE, SIDE, SIDE}, .stride = {1, FULL, FULL * FULL}};

    part.extent[d] = 1;
    part.first = place(d == 0 ? layer : 1, d == 1 ? layer : 1, d == 2 ? layer : 1);
    return part;
}

/* PEs in a ring along each dimension. */
static void boxes__faces_of_cubes__land_in_halos(void)
{
    chorusx_halo_link_t links[6] = {0};
    double cube[FULL * FULL * FULL];
    chorusx_halo_t halo;

    for (int d = 0; d < 3; d++) {
        /* What goes up from one PE has the tag 2d, and comes from below at the next. */
        links[2 * d] =
            (chorusx_halo_link_t){.peer = api_next(), .tag = 2 * d, .send = face(d, SIDE)};
        links[2 * d + 1] =
            (chorusx_halo_link_t){.peer = api_previous(), .tag = 2 * d, .recv = face(d, 0)};
    }
    if (api_n() == 1) /* to itself: one link has both */
        for (int d = 0; d < 3; d++) {
            links[d] = links[2 * d];
            links[d].recv = face(d, 0);
        }
    EXPECT(chorusx_halo_create(WORLD, FULL * FULL * FULL, sizeof(double), api_n() == 1 ? 3 : 0,
                               links, &halo) == CHORUS_OK);
    EXPECT(chorusx_halo_destroy(halo) == CHORUS_OK);
    if (api_n() < 3) return; /* with two PEs, next and previous have the same tag */
    EXPECT(chorusx_halo_create(WORLD, FULL * FULL * FULL, sizeof(double), 6, links, &halo) ==
           CHORUS_OK);
    for (int step = 0; step < 4; step++) {
        for (size_t i = 0; i < FULL * FULL * FULL; i++)
            cube[i] = (double)i + 1000.0 * api_me() + 0.25 * step;
        EXPECT(chorusx_halo_exchange(halo, cube) == CHORUS_OK);
        for (size_t y = 1; y <= SIDE; y++)
            for (size_t x = 1; x <= SIDE; x++) {
                EXPECT(cube[place(x, y, 0)] ==
                       (double)place(x, y, SIDE) + 1000.0 * api_previous() + 0.25 * step);
                EXPECT(cube[place(0, x, y)] ==
                       (double)place(SIDE, x, y) + 1000.0 * api_previous() + 0.25 * step);
            }
    }
    EXPECT(chorusx_halo_destroy(halo) == CHORUS_OK);
}

/* --- neighbours that are late ---------------------------------------------------------------
 */
/* A chain in which nothing comes back: only what was freed may be written again. */
static void exchange__receiver_is_late__gets_each_step(void)
{
    const uint32_t all[3] = {0, 1, 2}, halo_of[3] = {3, 4, 5};
    chorusx_halo_link_t links[2];
    uint64_t array[6];
    chorusx_halo_t halo;
    int n = 0;

    if (api_me() > 0)
        links[n++] = (chorusx_halo_link_t){.peer = api_me() - 1,
                                           .recv = {.indices = halo_of, .count = 3}};
    if (api_me() + 1 < api_n())
        links[n++] =
            (chorusx_halo_link_t){.peer = api_me() + 1, .send = {.indices = all, .count = 3}};
    EXPECT(chorusx_halo_create(WORLD, 6, 8, n, links, &halo) == CHORUS_OK);
    for (uint64_t step = 0; step < 40; step++) {
        for (uint64_t i = 0; i < 6; i++)
            array[i] = step * 100 + i + 10000 * (uint64_t)api_me();
        if (api_me() + 1 == api_n() && step % 8 == 3) (void)usleep(2000);
        EXPECT(chorusx_halo_exchange(halo, array) == CHORUS_OK);
        for (uint64_t i = 3; api_me() > 0 && i < 6; i++)
            EXPECT(array[i] == step * 100 + i - 3 + 10000 * (uint64_t)(api_me() - 1));
    }
    EXPECT(chorusx_halo_destroy(halo) == CHORUS_OK);
}

/* --- what is refused
 * -------------------------------------------------------------------------- */
static void expect_refused(size_t n_elements, size_t elem_bytes, int n,
                           const chorusx_halo_link_t *links, const char *part)
{
    chorusx_halo_t halo;

    EXPECT_FAILS(chorusx_halo_create(WORLD, n_elements, elem_bytes, n, links, &halo),
                 CHORUS_ERR_ARG, part);
    EXPECT(halo == CHORUSX_HALO_INVALID);
}

/* Every PE has links to itself, which are right; the last PE alone has a wrong one. */
static void create__one_pe_is_wrong__all_say_so(void)
{
    const uint32_t some[2] = {1, 2}, others[2] = {3, 4}, outside[2] = {1, 10},
                   twice[2] = {5, 5};
    const int zero = 0, itself = 1;
    const bool is_wrong = api_me() == api_n() - 1;
    const chorusx_halo_link_t right = {.peer = api_me(),
                                       .send = {.indices = some, .count = 2},
                                       .recv = {.indices = others, .count = 2}};
    chorusx_halo_link_t links[2] = {right, right};
    char text[100];

#define LAST(FORMAT) (snprintf(text, sizeof(text), FORMAT, api_n() - 1), text)
    links[1].tag = is_wrong ? 0 : 1, links[1].recv.count = links[1].send.count = 0;
    expect_refused(10, 4, 2, links, LAST("links 0 and 1 of PE %d are to the same peer"));
    links[1].tag = 1;
    links[1].peer = is_wrong ? 77 : api_me();
    expect_refused(10, 4, 2, links,
                   LAST("link 1 of PE %d is to PE 77, which the team does not"));
    links[1].peer = api_me();
    links[1].send = (chorusx_halo_part_t){.indices = is_wrong ? outside : some, .count = 2};
    links[1].recv = (chorusx_halo_part_t){.first = 5, .extent = {2}, .stride = {1}};
    expect_refused(10, 4, 2, links, LAST("link 1 of PE %d has element 10, of an array of 10"));
    links[1].send.indices = some;
    links[1].recv = (chorusx_halo_part_t){.indices = twice, .count = is_wrong ? 2 : 0};
    links[1].send.count = is_wrong ? 2 : 0;
    expect_refused(10, 4, 2, links, LAST("element 5 of PE %d is received twice"));
    links[1].recv.count = 0;
    links[1].send = (chorusx_halo_part_t){.indices = others, .count = is_wrong ? 2 : 0};
    expect_refused(10, 4, 2, links,
                   LAST("link 1 of PE %d sends element 3, which another link"));
    links[1].after = is_wrong ? &itself : &zero, links[1].n_after = 1;
    expect_refused(10, 4, 2, links, LAST("link 1 of PE %d is after 1, which is no earlier"));
    links[1].after = &zero;
    expect_refused(10, is_wrong && api_n() > 1 ? 8 : 4, api_n() > 1 ? 1 : -1, links,
                   api_n() > 1 ? "elements have 4 bytes on PE 0 and 8" : "passes -1 links");
    expect_refused(10, 0, 1, links, "of 10 elements of 0 bytes");
#undef LAST
}

/* None of them takes as long as its elements would. */
static void create__boxes_are_endless__ends(void)
{
    const size_t huge = (size_t)1 << 40;
    chorusx_halo_link_t link = {.peer = api_me(),
                                .send = {.extent = {0, huge, huge}, .stride = {1, 1, 1}},
                                .recv = {.extent = {0, huge, huge}, .stride = {1, 1, 1}}};
    chorusx_halo_t halo;

    EXPECT(chorusx_halo_create(WORLD, 2, 4, 1, &link, &halo) == CHORUS_OK);
    EXPECT(chorusx_halo_destroy(halo) == CHORUS_OK);
    link.send = (chorusx_halo_part_t){.extent = {huge}};
    expect_refused(2, 4, 1, &link, "a part of link 0 of PE 0 has 1099511627776 elements");
    link.send = (chorusx_halo_part_t){.extent = {huge, huge}};
    expect_refused(2, 4, 1, &link, "a part of link 0 of PE 0 has 18446744073709551615");
}

static void create__links_do_not_match__both_sides_are_named(void)
{
    const uint32_t some[3] = {0, 1, 2};
    chorusx_halo_link_t link = {.peer = 0, .tag = 4, .recv = {.indices = some, .count = 2}};
    char text[100];

    if (api_n() < 2) return;
    if (api_me() == 0)
        link =
            (chorusx_halo_link_t){.peer = 1, .tag = 4, .send = {.indices = some, .count = 3}};
    expect_refused(3, 4, api_me() < 2, &link,
                   "link 0 of PE 0 sends 3 elements to PE 1 (tag 4), whose link 0 receives 2");
    link.tag += api_me();
    (void)snprintf(text, sizeof(text), "PE 1 has no link to PE 0 with this tag");
    expect_refused(3, 4, api_me() < 2, &link, text);
}

static void calls__out_of_turn__are_refused(void)
{
    const uint32_t from = 0, to = 1;
    const chorusx_halo_link_t link = {.peer = api_me(),
                                      .send = {.indices = &from, .count = 1},
                                      .recv = {.indices = &to, .count = 1}};
    int32_t array[2] = {5, 6};
    chorusx_halo_t halo;

    EXPECT(chorusx_halo_create(WORLD, 2, 4, 1, &link, &halo) == CHORUS_OK);
    EXPECT_FAILS(chorusx_halo_wait(halo), CHORUS_ERR_STATE, "no exchange is under way");
    EXPECT_FAILS(chorusx_halo_begin(halo, NULL), CHORUS_ERR_ARG, "the array is null");
    EXPECT_FAILS(chorusx_halo_accumulate(halo, array, CHORUS_TYPE_f64), CHORUS_ERR_ARG,
                 "the type is not f32");
    EXPECT(chorusx_halo_begin(halo, array) == CHORUS_OK);
    EXPECT_FAILS(chorusx_halo_exchange(halo, array), CHORUS_ERR_STATE,
                 "an exchange is under way");
    EXPECT_FAILS(chorusx_halo_destroy(halo), CHORUS_ERR_STATE, "an exchange is under way");
    EXPECT(chorusx_halo_wait(halo) == CHORUS_OK && array[1] == 5);
    EXPECT(chorusx_halo_destroy(halo) == CHORUS_OK);
    EXPECT(chorusx_halo_destroy(CHORUSX_HALO_INVALID) == CHORUS_OK);
}

#define HALO_LIST(X)                                     \
    X(exchanges__random_links__are_as_one_after_another) \
    X(boxes__faces_of_cubes__land_in_halos)              \
    X(exchange__receiver_is_late__gets_each_step)        \
    X(create__one_pe_is_wrong__all_say_so)               \
    X(create__boxes_are_endless__ends)                   \
    X(create__links_do_not_match__both_sides_are_named)  \
    X(calls__out_of_turn__are_refused)
API_MAIN(HALO_LIST)
