/* SPDX-License-Identifier: Apache-2.0 */
/*
 * routes.c: the host lays out an image of the routes, with the addresses that its parts have on
 * the GPU, and copies it there at once.
 */
#include "team/routes.h"

#include "base/route.h"
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

/* An image under construction; null: only its length is counted. */
struct image {
    char *bytes;
    char *there; /* its address on the GPU */
    size_t used;
};

/* The parts begin at multiples of this. */
enum { PART_ALIGN = 64 };

/* Append a part of `bytes`, zeroed. *there_out: its address on the GPU. Returns it here; null:
 * it is only counted. */
static void *append(struct image *image, size_t bytes, void *there_out)
{
    const size_t at = image->used;
    char *there;

    image->used += (bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
    if (image->bytes == NULL) return NULL;
    there = image->there + at;
    memcpy(there_out, &there, sizeof(there));
    return image->bytes + at;
}

/* Append a copy of `bytes` at src. */
static void append_copy(struct image *image, const void *src, size_t bytes, void *there_out)
{
    void *part = append(image, bytes, there_out);

    if (part != NULL) memcpy(part, src, bytes);
}

/* Append the route to PE pe of the team, which is not mapped. */
static void append_route(struct image *image, const struct ch_teams *teams,
                         const struct ch_team *team, uint32_t pe, uint64_t *done,
                         struct ch_link **there_out)
{
    struct ch_route *route = append(image, sizeof(*route), there_out);

    if (route == NULL) return;
    route->ring = *ch_links_ring(teams->links);
    route->pe = team->members[pe].world;
    route->done = done;
    route->aborted = teams->device_state.terms.aborted;
    route->timeout_ns = teams->device_state.terms.timeout_ns;
}

/* Append the team's list of remotes, with their routes; without any, if all PEs are near. */
static void append_remotes(struct image *image, const struct ch_teams *teams,
                           const struct ch_team *team, uint64_t *done,
                           const struct ch_remote **there_out)
{
    struct ch_remote *remotes = append(image, team->n * sizeof(*remotes), there_out);

    for (uint32_t pe = 0; team->remotes != NULL && pe < team->n; pe++) {
        struct ch_link *link = NULL;

        if (team->remotes[pe].link != NULL) append_route(image, teams, team, pe, done, &link);
        if (remotes != NULL) remotes[pe] = (struct ch_remote){link, team->remotes[pe].sync};
    }
}

/* Append the states of a child team's CTAs. */
static void append_dups(struct image *image, const struct ch_team *child, uint32_t n_dups,
                        struct ch_dup **there_out)
{
    struct ch_dup *dups = append(image, n_dups * sizeof(*dups), there_out);

    for (uint32_t i = 0; i < n_dups; i++) {
        struct ch_positions *positions = NULL;
        struct ch_slot *slots = NULL;

        (void)append(image, (size_t)CH_CELL_COUNT * child->n * sizeof(*positions), &positions);
        (void)append(image, child->n * sizeof(*slots), &slots);
        if (dups == NULL) continue;
        dups[i].positions = positions;
        dups[i].slots = slots;
    }
}

/* Append the parts of a child team of a team with n_dups duplicates. `out` becomes the child as
 * the GPU sees it. */
static void append_child(struct image *image, const struct ch_teams *teams,
                         const struct ch_team *child, uint32_t n_dups, uint64_t *done,
                         struct ch_child *out)
{
    append_copy(image, child->peers, child->n * sizeof(*child->peers), &out->peers);
    append_copy(image, &child->layout, sizeof(child->layout), &out->layout);
    append_copy(image, out->pes, child->n * sizeof(*out->pes), &out->pes);
    append_dups(image, child, n_dups, &out->dups);
    out->remotes = NULL;
    if (child->remotes != NULL) append_remotes(image, teams, child, done, &out->remotes);
}

/* Append the hosts of a team of n, whose lists are one block (ch_nodes_init). */
static void append_nodes(struct image *image, struct ch_nodes *nodes, uint32_t n)
{
    const uint32_t *words = nodes->node, *there = NULL;

    append_copy(image, words, CH_NODES_WORDS(n) * sizeof(*words), &there);
    if (there == NULL) return;
    nodes->local = there + (nodes->local - words);
    nodes->first = there + (nodes->first - words);
    nodes->pes = there + (nodes->pes - words);
    nodes->node = there;
}

/* Append the levels of a team. */
static void append_levels(struct image *image, const struct ch_teams *teams,
                          const struct ch_team *team, uint64_t *done,
                          const struct ch_levels **there_out)
{
    struct ch_levels levels = *team->levels, *part = append(image, sizeof(levels), there_out);

    append_nodes(image, &levels.nodes, team->n);
    append_child(image, teams, team->node, team->n_dups, done, &levels.node);
    append_child(image, teams, team->rail, team->n_dups, done, &levels.rail);
    if (part != NULL) *part = levels;
}

/* Fill the image, or count its bytes. */
static void fill(struct image *image, const struct ch_teams *teams, const struct ch_team *team,
                 struct ch_routes *routes)
{
    append_remotes(image, teams, team, routes->done, &routes->remotes);
    if (team->node != NULL) append_levels(image, teams, team, routes->done, &routes->levels);
}

/* Allocate the routes' memory on the GPU and in the pool, and write the image. */
static chorus_status write_routes(const struct ch_teams *teams, const struct ch_team *team,
                                  struct ch_routes *routes)
{
    struct image image = {0};
    chorus_status st;
    void *done = NULL, *there = NULL;

    fill(&image, teams, team, routes);
    if (ch_team_has_posts(team))
        CH_TRY(ch_heap_pool_alloc(teams->heap, team->n_dups * sizeof(*routes->done), &done));
    routes->done = done;
    CH_TRY(ch_heap_sync_alloc(teams->heap, image.used, &there));
    routes->there = image.there = there;
    image.bytes = calloc(1, image.used);
    if (image.bytes == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the routes of a team of %u PEs",
                       team->n);
    image.used = 0;
    fill(&image, teams, team, routes);
    st = ch_device_copy(ch_heap_device(teams->heap), there, image.bytes, image.used);
    free(image.bytes);
    return st;
}

chorus_status ch_routes_open(const struct ch_teams *teams, struct ch_team *team)
{
    if (!ch_team_has_posts(team) && !ch_team_is_large(team)) return CHORUS_OK;
    team->routes = calloc(1, sizeof(*team->routes));
    if (team->routes == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the routes of a team of %u PEs",
                       team->n);
    return write_routes(teams, team, team->routes);
}

void ch_routes_settle(const struct ch_team *team, chorus_status why)
{
    const uint64_t until_ns = ch_links_begin_settle(team->teams->links, why);

    for (uint32_t pe = 0; pe < team->n; pe++)
        if (team->remotes[pe].link != NULL)
            ch_link_settle(team->remotes[pe].link, CH_CTX_ALGORITHMS, until_ns);
}

void ch_routes_close(const struct ch_teams *teams, struct ch_team *team)
{
    if (team->routes == NULL) return;
    if (ch_team_has_posts(team))
        ch_links_forget_words(teams->links, team->routes->done, team->n_dups);
    ch_heap_sync_free(teams->heap, team->routes->there);
    ch_heap_pool_free(teams->heap, team->routes->done);
    free(team->routes);
    team->routes = NULL;
}
