/* SPDX-License-Identifier: Apache-2.0 */
/* Halo exchange against arrays of all PEs on which the links are carried out one after another.
 */
#include "apps/halo_job.h"

#include <stdio.h>

enum { STEPS = 7 };

static void step_forward(struct job *job, chorusx_halo_t halo, uint32_t *array, int step)
{
    set_array(job, array, step);
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

static void exchanges__random_links__are_as_one_after_another(void)
{
    exchange_random_links(
        &(struct job_calls){12, STEPS, step_forward, chorusx_halo_accumulate});
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
