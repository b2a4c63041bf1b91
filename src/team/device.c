/* SPDX-License-Identifier: Apache-2.0 */
/* device.c: writes the records of device.h, for a heap on a GPU. */
#include "team/device.h"

#include "chorus/chorus.h"
#include "device/device.h"
#include "team/routes.h"

#include <stdlib.h>
#include <string.h>

/* The address in the table of the record for a handle's team. */
static void *entry_of(const struct ch_teams *teams, ch_team_handle handle)
{
    return (char *)(uintptr_t)teams->device_state.teams +
           ((uint32_t)handle % CH_TEAM_SLOTS) * sizeof(struct ch_device_team *);
}

chorus_status ch_device_table_open(struct ch_teams *teams, const struct ch_device_terms *terms)
{
    void *table;

    CH_TRY(ch_heap_sync_alloc(teams->heap, CH_TEAM_SLOTS * sizeof(struct ch_device_team *),
                              &table));
    teams->device_state = (struct ch_device_state){
        .teams = table,
        .slot_mask = CH_TEAM_SLOTS - 1,
        .ordinal = ch_device_id_of(ch_heap_device(teams->heap))->ordinal,
        .n_sharing = ch_heap_n_sharing(teams->heap),
        .terms = *terms,
    };
    return CHORUS_OK;
}

/* The address of the peers in the record at `record`. */
static const struct ch_peer *peers_of(char *record)
{
    return (const struct ch_peer *)(void *)(record + sizeof(struct ch_device_team));
}

/*
 * The longest message that is sent as packets inside kernels. Messages of packets are longer
 * there than a chunk of packets of host calls: one block makes the call, while host calls have
 * many, and a second exchange would take it as long as the first. But the block sends and
 * receives n - 1 messages. On two H200, packets were faster than direct access up to three
 * plain chunks in all (48 KiB).
 */
static size_t chunk_bytes(const struct ch_team *team)
{
    const size_t line = sizeof(struct ch_line), least = team->layout.chunk_bytes[CH_CELL_ll];
    const size_t others = team->n > 1 ? team->n - 1 : 1;
    const size_t bytes = 3 * team->layout.chunk_bytes[CH_CELL_simple] / others / line * line;

    return bytes > least ? bytes : least;
}

/* Bytes of a slot for such a message, in whole lines. */
static size_t slot_bytes(const struct ch_team *team)
{
    const size_t line = sizeof(struct ch_line);

    return (ch_cells(CH_CELL_ll, chunk_bytes(team)) * sizeof(struct ch_packet) + line - 1) /
           line * line;
}

/* The offset of a large team's lists from its record, behind all else, in whole lines. With up
 * to a line of padding: the slots begin at a multiple of a line. */
static size_t lists_offset(const struct ch_team *team)
{
    const size_t line = sizeof(struct ch_line);
    const size_t bytes = CH_DEVICE_TEAM_BYTES(team->n) + line +
                         (size_t)2 * team->n * slot_bytes(team) +
                         (team->check_bytes != 0 ? CH_DEVICE_CHECK_BYTES(team->n) : 0);

    return (bytes + line - 1) / line * line;
}

size_t ch_device_area_bytes(const struct ch_team *team)
{
    const size_t lists = ch_team_is_large(team) ? 4 * team->n * sizeof(size_t) : 0;

    return lists_offset(team) + lists;
}

/* The team's layout with the slots of calls inside kernels, which are behind the record.
 * Depending on its number, an exchange of packets uses a slot in duplicate 0's area or in this
 * one, so the statements in exchange.h about slots hold. */
static struct ch_sync_layout layout_of(const struct ch_team *team, const char *record)
{
    const size_t line = sizeof(struct ch_line);
    const size_t end =
        (size_t)(record - (const char *)team->sync) + CH_DEVICE_TEAM_BYTES(team->n);
    struct ch_sync_layout layout = team->layout;

    if (team->is_in_pool) return layout; /* peers cannot store behind the record */
    layout.chunk_bytes[CH_CELL_ll] = chunk_bytes(team);
    layout.slot_bytes[CH_CELL_ll] = (uint32_t)slot_bytes(team);
    layout.slot_offset[CH_CELL_ll] = (end + line - 1) / line * line;
    return layout;
}

/* How calls inside kernels reach a PE of the job: at its addresses as mapped here, or by the
 * ring and the addresses that it has itself. In a team with far PEs, algorithms reach near PEs
 * of other hosts as far ones, but these calls do not. */
static struct ch_device_pe pe_of(const struct ch_teams *teams, const struct ch_team *world,
                                 uint32_t pe)
{
    return (struct ch_device_pe){.shift = ch_team_has_posts(world) ? teams->links->to[pe].shift
                                                                   : world->peers[pe].shift,
                                 .is_far = !ch_heap_is_near(teams->heap, pe)};
}

/* Set how calls inside kernels reach the PEs, in constant memory. */
static void add_few_pes(struct ch_teams *teams, const struct ch_team *world)
{
    struct ch_device_state *state = &teams->device_state;

    for (uint32_t pe = 0; pe < world->n; pe++) {
        const struct ch_device_pe is = pe_of(teams, world, pe);

        state->peers[pe] = world->peers[pe];
        state->far |= (uint64_t)is.is_far << pe;
        state->peers[pe].shift = is.shift;
    }
}

/* Write how calls inside kernels reach the PEs of a large job to the memory of the GPU. */
static chorus_status add_many_pes(struct ch_teams *teams, const struct ch_team *world)
{
    const size_t bytes = world->n * sizeof(struct ch_device_pe);
    struct ch_device_pe *all = malloc(bytes);
    void *there = NULL;
    chorus_status st;

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a list of %u PEs", world->n);
    for (uint32_t pe = 0; pe < world->n; pe++)
        all[pe] = pe_of(teams, world, pe);
    st = ch_heap_sync_alloc(teams->heap, bytes, &there);
    if (st == CHORUS_OK) st = ch_device_copy(ch_heap_device(teams->heap), there, all, bytes);
    free(all);
    if (st != CHORUS_OK) return st;
    teams->device_state.all = there;
    teams->device_state.far = UINT64_MAX;
    return CHORUS_OK;
}

/* Set how calls inside kernels reach the PEs of the job, which are those of WORLD. */
static chorus_status add_pes(struct ch_teams *teams, const struct ch_team *world)
{
    struct ch_device_state *state = &teams->device_state;
    const struct ch_ring *ring = ch_links_ring(teams->links);

    if (ring != NULL) {
        state->has_far = 1;
        state->ring = *ring;
        state->fence_is_quiet = !ch_links_keep_order(teams->links);
    }
    if (world->n > CH_DEVICE_PES_MAX) return add_many_pes(teams, world);
    add_few_pes(teams, world);
    return CHORUS_OK;
}

/* The address of the record of a team, behind the states of its duplicates. */
static char *record_at(const struct ch_team *team)
{
    return (char *)team->states + team->n_dups * CH_DEVICE_DUP_BYTES(team->n);
}

size_t *ch_device_lists(const struct ch_team *team)
{
    return (size_t *)(void *)(record_at(team) + lists_offset(team));
}

const struct ch_peer *ch_device_peers(const struct ch_team *team)
{
    return peers_of(record_at(team));
}

/* The record of a team, for the address `at` on the GPU. */
static struct ch_device_team record_of(const struct ch_team *team, ch_team_handle handle,
                                       char *at)
{
    const struct ch_sync_layout layout = layout_of(team, at);
    const bool is_checked = team->check_bytes != 0 && !team->is_in_pool && team->routes == NULL,
               has_packets =
                   team->routes == NULL || (team->is_beside && !ch_team_is_large(team));

    return (struct ch_device_team){
        .me = team->me,
        .n = team->n,
        .handle = handle,
        .is_checked = is_checked,
        .id = team->id,
        .remotes = team->routes != NULL ? team->routes->remotes : NULL,
        .levels = team->routes != NULL ? team->routes->levels : NULL,
        .is_beside = team->is_beside,
        .is_away = team->routes != NULL || is_checked,
        .peers = peers_of(at),
        .worlds = (const uint32_t *)(const void *)(peers_of(at) + team->n),
        .dup = team->states,
        .multicast = team->multicast,
        .short_bytes = has_packets && !is_checked ? layout.chunk_bytes[CH_CELL_ll] : 0,
        .layout = layout,
    };
}

/* Write the team's record, with its peers and numbers in the job, to the address `at` on the
 * GPU. */
static chorus_status write_record(const struct ch_device *device, const struct ch_team *team,
                                  ch_team_handle handle, char *at)
{
    const size_t bytes = CH_DEVICE_TEAM_BYTES(team->n);
    struct ch_device_team *record = malloc(bytes);
    uint32_t *worlds;
    chorus_status status;

    if (record == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a team of %u PEs", team->n);
    *record = record_of(team, handle, at);
    memcpy(record + 1, team->peers, team->n * sizeof(struct ch_peer));
    worlds = (uint32_t *)(void *)((char *)(record + 1) + team->n * sizeof(struct ch_peer));
    for (uint32_t pe = 0; pe < team->n; pe++)
        worlds[pe] = team->members[pe].world;
    status = ch_device_copy(device, at, record, bytes);
    free(record);
    return status;
}

chorus_status ch_device_table_add(struct ch_teams *teams, const struct ch_team *team,
                                  ch_team_handle handle)
{
    const struct ch_device *device = ch_heap_device(teams->heap);
    char *record;

    if (teams->device_state.teams == NULL) return CHORUS_OK;
    record = record_at(team);
    CH_TRY(write_record(device, team, handle, record));
    if (handle == CHORUS_TEAM_WORLD) {
        teams->device_state.world = record_of(team, handle, record);
        CH_TRY(add_pes(teams, team));
    }
    return ch_device_store(device, entry_of(teams, handle), (uintptr_t)record, sizeof(record));
}

chorus_status ch_device_table_remove(const struct ch_teams *teams, ch_team_handle handle)
{
    if (teams->device_state.teams == NULL) return CHORUS_OK;
    return ch_device_store(ch_heap_device(teams->heap), entry_of(teams, handle), 0,
                           sizeof(struct ch_device_team *));
}
