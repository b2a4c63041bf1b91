/* SPDX-License-Identifier: Apache-2.0 */
#include "team/table.h"

#include <stdlib.h>

struct ch_object {
    char *start;
    size_t bytes;
    struct ch_team *team;
    struct ch_object *next;
};

/* What each member publishes about the block that it has. */
struct proposal {
    uint64_t bytes, offset;
};

/* ERR_ARG if two members request different numbers of bytes. */
static chorus_status compare_proposals(const struct ch_team *team, const struct proposal *all)
{
    for (uint32_t pe = 1; pe < team->n; pe++)
        if (all[pe].bytes != all[0].bytes)
            return CH_FAIL(CHORUS_ERR_ARG,
                           "PE 0 of the team requests %llu bytes, and PE %u of it requests "
                           "%llu; its PEs must make the same calls in the same order",
                           (unsigned long long)all[0].bytes, pe,
                           (unsigned long long)all[pe].bytes);
    return CHORUS_OK;
}

/* The highest offset; *same_out: all members have it. */
static uint64_t highest_offset(const struct ch_team *team, const struct proposal *all,
                               bool *same_out)
{
    uint64_t high = all[0].offset;

    *same_out = true;
    for (uint32_t pe = 1; pe < team->n; pe++) {
        if (all[pe].offset != high) *same_out = false;
        if (all[pe].offset > high) high = all[pe].offset;
    }
    return high;
}

/* Allocate a block at the same offset on all members. *block_io is null before; after a failure
 * it may be a block, which the caller frees. all: memory for the members' proposals. */
static chorus_status alloc_same_offset(struct ch_heap *heap, struct ch_team *team, size_t bytes,
                                       struct proposal *all, void **block_io)
{
    const struct ch_voters voters = ch_team_voters(team);
    uint64_t from = 0;
    bool same = false;

    while (!same) {
        struct proposal mine = {bytes, 0};
        struct ch_vote vote = {"memory of a team", CHORUS_OK, &mine, sizeof(mine)};

        if (*block_io == NULL) vote.mine = ch_heap_sync_alloc_from(heap, from, bytes, block_io);
        if (*block_io != NULL) mine.offset = ch_heap_sync_offset(heap, *block_io);
        CH_TRY(ch_vote(&voters, &vote, all));
        CH_TRY(compare_proposals(team, all));
        from = highest_offset(team, all, &same);
        if (mine.offset == from) continue;
        ch_heap_sync_free(heap, *block_io);
        *block_io = NULL;
    }
    return CHORUS_OK;
}

/* The address of an object of this PE on member `pe` of another host, at that PE itself. */
static const char *address_at_peer(const struct ch_teams *teams, const struct ch_team *team,
                                   uint32_t pe, const char *start)
{
    return ch_heap_data_at_owner(teams->heap, team->members[pe].world) +
           (start - ch_heap_data_base(teams->heap, teams->me_world));
}

/* Undo register_object; also after it has failed. */
static void unregister_object(const struct ch_teams *teams, const struct ch_object *object)
{
    const struct ch_team *team = object->team;

    if (team->remotes == NULL) return;
    ch_links_detach(teams->links, object->start);
    for (uint32_t pe = 0; pe < team->n; pe++)
        ch_links_drop_peer_key(teams->links, team->members[pe].world,
                               address_at_peer(teams, team, pe, object->start));
}

/* Memory of an object, of this PE or a peer, at its owner's address. */
static struct ch_memory_part object_part(const struct ch_teams *teams, const char *start,
                                         size_t bytes)
{
    return (struct ch_memory_part){
        .base = (char *)(uintptr_t)start,
        .bytes = bytes,
        .kind = ch_heap_device(teams->heap) != NULL ? CH_MEMORY_GPU : CH_MEMORY_HOST,
        .dma_buf = -1,
    };
}

/* If some members are on other hosts, register the object with the network. */
static chorus_status register_object(const struct ch_teams *teams,
                                     const struct ch_object *object)
{
    struct ch_team *team = object->team;
    const struct ch_voters voters = ch_team_voters(team);
    const struct ch_memory_part part = object_part(teams, object->start, object->bytes);
    uint64_t mine = 0, *all;
    struct ch_vote vote = {.step = "memory of a team", .values = &mine, .bytes = sizeof(mine)};
    chorus_status status;

    if (team->remotes == NULL) return CHORUS_OK;
    all = calloc(team->n, sizeof(*all));
    if (all == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u keys", team->n);
    vote.mine = ch_links_attach(teams->links, &part, &mine);
    status = ch_vote(&voters, &vote, all);
    for (uint32_t pe = 0; pe < team->n && status == CHORUS_OK; pe++) {
        const struct ch_memory_part there =
            object_part(teams, address_at_peer(teams, team, pe, object->start), object->bytes);

        status = ch_links_add_peer_part(teams->links, team->members[pe].world, &there, all[pe]);
    }
    free(all);
    if (status != CHORUS_OK) unregister_object(teams, object);
    return status;
}

/* Allocate the object's memory on all members, and register it. all: memory for proposals. */
static chorus_status alloc_object_memory(struct ch_teams *teams, struct ch_object *object,
                                         struct proposal *all)
{
    void *block = NULL;
    chorus_status status =
        alloc_same_offset(teams->heap, object->team, object->bytes, all, &block);

    object->start = block;
    if (status == CHORUS_OK) status = register_object(teams, object);
    if (status != CHORUS_OK) ch_heap_sync_free(teams->heap, block);
    return status;
}

chorus_status ch_team_object_alloc(struct ch_teams *teams, struct ch_team *team, size_t bytes,
                                   void **ptr_out)
{
    struct ch_object *object = calloc(1, sizeof(*object));
    struct proposal *all = calloc(team->n, sizeof(*all));
    chorus_status status;

    if (object == NULL || all == NULL) {
        free(object);
        free(all);
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to ask %u PEs", team->n);
    }
    *object = (struct ch_object){.bytes = bytes, .team = team};
    status = alloc_object_memory(teams, object, all);
    free(all);
    if (status != CHORUS_OK) {
        free(object);
        return status;
    }
    *ptr_out = object->start;
    (void)pthread_mutex_lock(&teams->objects_lock);
    object->next = teams->objects;
    __atomic_store_n(&teams->objects, object, __ATOMIC_RELEASE);
    (void)pthread_mutex_unlock(&teams->objects_lock);
    return CHORUS_OK;
}

/* The object that contains these bytes; null: there is none. */
static struct ch_object *find_object(struct ch_teams *teams, const void *ptr, size_t bytes)
{
    struct ch_object *found;

    if (__atomic_load_n(&teams->objects, __ATOMIC_ACQUIRE) == NULL) return NULL;
    (void)pthread_mutex_lock(&teams->objects_lock);
    for (found = teams->objects; found != NULL; found = found->next) {
        const size_t offset = (uintptr_t)ptr - (uintptr_t)found->start;

        if (offset < found->bytes && bytes <= found->bytes - offset) break;
    }
    (void)pthread_mutex_unlock(&teams->objects_lock);
    return found;
}

const struct ch_team *ch_teams_owner(struct ch_teams *teams, const void *ptr, size_t bytes)
{
    const struct ch_object *object = find_object(teams, ptr, bytes);

    return object != NULL ? object->team : NULL;
}

/* Free the object to which *at points. */
static void free_object(struct ch_teams *teams, struct ch_object **at)
{
    struct ch_object *object = *at;

    (void)pthread_mutex_lock(&teams->objects_lock);
    __atomic_store_n(at, object->next, __ATOMIC_RELEASE);
    (void)pthread_mutex_unlock(&teams->objects_lock);
    unregister_object(teams, object);
    ch_heap_sync_free(teams->heap, object->start);
    free(object);
}

/* ERR_ARG unless every member frees the same object of the team, which begins at ptr. */
static chorus_status agree_to_free(const struct ch_teams *teams, struct ch_team *team,
                                   const struct ch_object *object, const void *ptr,
                                   struct proposal *all)
{
    const struct ch_voters voters = ch_team_voters(team);
    struct proposal mine = {0, 0};
    struct ch_vote vote = {"memory of a team", CHORUS_OK, &mine, sizeof(mine)};
    bool same;

    if (object == NULL || object->team != team || object->start != ptr)
        vote.mine = CH_FAIL(CHORUS_ERR_ARG,
                            "%p is not the start of an object of the team; expected what "
                            "chorusx_team_malloc returned for this team",
                            ptr);
    else
        mine = (struct proposal){object->bytes, ch_heap_sync_offset(teams->heap, ptr)};
    CH_TRY(ch_vote(&voters, &vote, all));
    (void)highest_offset(team, all, &same);
    if (same) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "the PEs of the team free different objects; they must make the same calls "
                   "in the same order");
}

chorus_status ch_team_object_free(struct ch_teams *teams, struct ch_team *team, const void *ptr)
{
    struct ch_object *object = find_object(teams, ptr, 1), **at = &teams->objects;
    struct proposal *all = calloc(team->n, sizeof(*all));
    chorus_status status;

    if (all == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to ask %u PEs", team->n);
    status = agree_to_free(teams, team, object, ptr, all);
    free(all);
    if (status != CHORUS_OK || object == NULL) return status;
    while (*at != object)
        at = &(*at)->next;
    free_object(teams, at);
    return CHORUS_OK;
}

void ch_team_end_objects(struct ch_teams *teams, const struct ch_team *team)
{
    struct ch_object **at = &teams->objects;

    while (*at != NULL) {
        if ((*at)->team == team)
            free_object(teams, at);
        else
            at = &(*at)->next;
    }
}
