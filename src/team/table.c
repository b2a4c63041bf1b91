/* SPDX-License-Identifier: Apache-2.0 */
/* table.c: handles, the predefined teams, creation and destruction among a parent's PEs. */
#include "team/device.h"

#include "chorus/chorus.h"
#include "heap/device.h"

#include <stdlib.h>

/* What a PE that is not to be a member says in the parent's exchange, and one that failed. */
#define NOT_A_MEMBER UINT64_MAX
#define FAILED (UINT64_MAX - 1)

static ch_team_handle handle_of(const struct ch_teams *teams, uint32_t slot)
{
    return (ch_team_handle)(teams->slots[slot].generation << CH_TEAM_SLOT_BITS | slot);
}

static chorus_status find_slot(const struct ch_teams *teams, uint32_t *slot_out)
{
    for (uint32_t slot = 0; slot < CH_TEAM_SLOTS; slot++) {
        if (teams->slots[slot].team != NULL) continue;
        *slot_out = slot;
        return CHORUS_OK;
    }
    return CH_FAIL(CHORUS_ERR_NOMEM, "a PE can be in %d teams at once; destroy some",
                   CH_TEAM_SLOTS);
}

struct ch_team *ch_teams_next(const struct ch_teams *teams, uint32_t *slot)
{
    while (*slot < teams->n_slots_used && teams->slots[*slot].team == NULL)
        (*slot)++;
    return *slot < teams->n_slots_used ? teams->slots[*slot].team : NULL;
}

chorus_status ch_team_get(const struct ch_teams *teams, ch_team_handle handle,
                          struct ch_team **team_out)
{
    const uint32_t slot = (uint32_t)handle % CH_TEAM_SLOTS;
    const uint32_t generation = (uint32_t)handle >> CH_TEAM_SLOT_BITS;

    if (handle == CHORUS_TEAM_INVALID)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "team is CHORUS_TEAM_INVALID; expected a team this PE is in");
    if (handle < 0 || generation > teams->slots[slot].generation)
        return CH_FAIL(CHORUS_ERR_ARG, "team handle %d was never given out", handle);
    if (generation < teams->slots[slot].generation)
        return CH_FAIL(CHORUS_ERR_ARG, "team handle %d is of a team that was destroyed",
                       handle);
    if (teams->slots[slot].team == NULL)
        return CH_FAIL(CHORUS_ERR_ARG, "team handle %d was never given out", handle);
    *team_out = teams->slots[slot].team;
    return CHORUS_OK;
}

/* Where each PE of the job put its new team's memory; asked of `parent`, or of the boot while
 * there is no team yet. */
static chorus_status gather(struct ch_boot *boot, struct ch_team *parent, uint64_t mine,
                            uint64_t *all_out)
{
    if (parent != NULL) return ch_team_exchange(parent, mine, all_out);
    return boot->ops->exchange(boot, &mine, sizeof(mine), -1, all_out, NULL);
}

/* All members' answers are in `all`, by PE of the parent: fill in the peers, or say who failed.
 */
static chorus_status connect(struct ch_teams *teams, const struct ch_team *parent,
                             struct ch_team *team, const uint32_t pes[], uint32_t n,
                             const uint64_t *all)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t world = parent != NULL ? parent->members[pes[i]].world : pes[i];

        if (all[pes[i]] == FAILED)
            return CH_FAIL(CHORUS_ERR_NOMEM,
                           "PE %u has no room for the sync memory of a team of %u PEs", world,
                           n);
        if (team != NULL) ch_team_add_peer(teams, team, i, world, all[pes[i]]);
    }
    return CHORUS_OK;
}

/* Every PE of the parent says how it went there: all get a failure if there was one, so that
 * nobody waits for a PE that left. */
static chorus_status agree(const struct ch_teams *teams, struct ch_boot *boot,
                           struct ch_team *parent, chorus_status mine)
{
    const uint32_t n = parent != NULL ? parent->n : teams->n_world;
    uint64_t *all = calloc(n, sizeof(*all));
    chorus_status status;

    if (all == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to hear %u PEs", n);
    status = gather(boot, parent, (uint64_t)(int64_t)mine, all);
    if (mine != CHORUS_OK) status = mine;
    for (uint32_t pe = 0; pe < n && status == CHORUS_OK; pe++)
        if (all[pe] != CHORUS_OK)
            status = CH_FAIL((chorus_status)(int64_t)all[pe],
                             "PE %u could not keep its teams on its GPU (%s); its own message "
                             "says why",
                             parent != NULL ? parent->members[pe].world : pe,
                             ch_status_text((int)(int64_t)all[pe]));
    free(all);
    return status;
}

/* Where kernels make calls, a team is in the tables of all its PEs or of none. */
static chorus_status add_record(struct ch_teams *teams, struct ch_boot *boot,
                                struct ch_team *parent, const struct ch_team *team,
                                ch_team_handle handle)
{
    chorus_status status = CHORUS_OK;

    if (teams->device_state.teams == NULL) return CHORUS_OK;
    if (team != NULL) status = ch_device_table_add(teams, team, handle);
    status = agree(teams, boot, parent, status);
    if (status != CHORUS_OK && team != NULL) CH_TRY(ch_device_table_remove(teams, handle));
    return status;
}

/*
 * Make a team of pes[0..n), numbers in parent (in the job where parent is null). Every PE of
 * the parent takes part in the exchange whatever happened to it before, so that all learn the
 * same.
 */
static chorus_status create(struct ch_teams *teams, struct ch_boot *boot,
                            struct ch_team *parent, const uint32_t pes[], uint32_t n,
                            bool is_member, int num_contexts, ch_team_handle *handle_out)
{
    const uint32_t n_parent = parent != NULL ? parent->n : teams->n_world;
    uint64_t *all = calloc(n_parent, sizeof(*all));
    uint64_t mine = NOT_A_MEMBER;
    struct ch_team *team = NULL;
    uint32_t slot = 0;
    chorus_status status = CHORUS_OK;

    if (all == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to make a team of %u PEs", n);
    if (is_member) {
        status = find_slot(teams, &slot);
        if (status == CHORUS_OK) status = ch_team_alloc(teams, n, &team);
        mine = status == CHORUS_OK ? ch_team_place(teams, team) : FAILED;
    }
    {
        const chorus_status met = gather(boot, parent, mine, all);
        if (status == CHORUS_OK) status = met;
    }
    if (status == CHORUS_OK) status = connect(teams, parent, team, pes, n, all);
    if (status == CHORUS_OK)
        status = add_record(teams, boot, parent, team, handle_of(teams, slot));
    free(all);
    if (status != CHORUS_OK) {
        ch_team_free(teams->heap, team);
        return status;
    }
    *handle_out = CHORUS_TEAM_INVALID;
    if (team == NULL) return CHORUS_OK;
    team->num_contexts = num_contexts;
    team->slot = slot;
    teams->slots[slot].team = team;
    if (slot >= teams->n_slots_used) teams->n_slots_used = slot + 1;
    *handle_out = handle_of(teams, slot);
    return CHORUS_OK;
}

/* Every PE of the parent passes the same list, so every PE finds the same fault in it. */
static chorus_status check_list(const struct ch_team *parent, const uint32_t pes[], uint32_t n,
                                bool *is_member_out)
{
    bool is_member = false;

    if (n == 0 || n > parent->n)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "a team of %u PEs was asked for; expected 1 to %u, the parent's", n,
                       parent->n);
    for (uint32_t i = 0; i < n; i++) {
        if (pes[i] >= parent->n)
            return CH_FAIL(CHORUS_ERR_ARG,
                           "PE %d of the list is not in the parent team; expected 0 to %u",
                           (int)pes[i], parent->n - 1);
        for (uint32_t j = 0; j < i; j++)
            if (pes[j] == pes[i])
                return CH_FAIL(CHORUS_ERR_ARG, "PE %u is in the list twice, at %u and %u",
                               pes[i], j, i);
        is_member = is_member || pes[i] == parent->me;
    }
    *is_member_out = is_member;
    return CHORUS_OK;
}

chorus_status ch_team_create(struct ch_teams *teams, ch_team_handle parent_handle,
                             const uint32_t pes[], uint32_t n, int num_contexts,
                             ch_team_handle *handle_out)
{
    struct ch_team *parent;
    bool is_member;

    CH_TRY(ch_team_get(teams, parent_handle, &parent));
    CH_TRY(check_list(parent, pes, n, &is_member));
    return create(teams, NULL, parent, pes, n, is_member, num_contexts, handle_out);
}

chorus_status ch_team_destroy(struct ch_teams *teams, ch_team_handle handle)
{
    struct ch_team *team;
    struct ch_team_slot *slot;

    CH_TRY(ch_team_get(teams, handle, &team));
    if (handle <= CHORUS_TEAM_NODE)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "team %d is predefined; only teams that were made can be destroyed",
                       handle);
    /* Calls on streams end first. */
    CH_TRY(ch_team_enter(team, ch_team_ticket(team)));
    if (team->last_run.stream != 0)
        CH_TRY(ch_device_event_wait(ch_heap_device(teams->heap), team->last_run.event));
    CH_TRY(ch_team_meet(team));
    CH_TRY(ch_device_table_remove(teams, handle));
    slot = &teams->slots[(uint32_t)handle % CH_TEAM_SLOTS];
    slot->team = NULL;
    slot->generation = (slot->generation + 1) % CH_TEAM_GENERATIONS;
    ch_team_free(teams->heap, team);
    return CHORUS_OK;
}

/* WORLD, SHARED and NODE come first, so they get the handles 0, 1 and 2. */
static chorus_status make_predefined(struct ch_teams *teams, struct ch_boot *boot)
{
    const uint32_t n = teams->n_world;
    uint32_t *pes = calloc(n, sizeof(*pes));
    struct ch_team *world = NULL;
    ch_team_handle handle;
    uint32_t n_mapped = 0;
    chorus_status status;

    if (pes == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the list of %u PEs", n);
    for (uint32_t pe = 0; pe < n; pe++)
        pes[pe] = pe;
    CH_TRY_GOTO(status, create(teams, boot, NULL, pes, n, true, 0, &handle), out_free);
    CH_TRY_GOTO(status, ch_team_get(teams, handle, &world), out_free);
    for (uint32_t pe = 0; pe < n; pe++)
        if (ch_heap_is_mapped(teams->heap, pe)) pes[n_mapped++] = pe;
    /* One host as yet: PEs whose memory is mapped are those of the node. */
    CH_TRY_GOTO(status, create(teams, NULL, world, pes, n_mapped, true, 0, &handle), out_free);
    CH_TRY_GOTO(status, create(teams, NULL, world, pes, n_mapped, true, 0, &handle), out_free);
out_free:
    free(pes);
    return status;
}

chorus_status ch_teams_open(struct ch_boot *boot, struct ch_heap *heap,
                            const struct ch_options *options,
                            const struct ch_patience *patience,
                            const struct ch_device_terms *terms, struct ch_teams **teams_out)
{
    struct ch_teams *teams = calloc(1, sizeof(*teams));
    chorus_status status = CHORUS_OK;

    if (teams == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the table of teams");
    teams->heap = heap;
    teams->patience = patience;
    teams->me_world = boot->me;
    teams->n_world = boot->n;
    teams->n_dups = (uint32_t)options->ctas;
    teams->chunk_bytes = options->chunk;
    if (terms != NULL) status = agree(teams, boot, NULL, ch_device_table_open(teams, terms));
    if (status == CHORUS_OK) status = make_predefined(teams, boot);
    if (status != CHORUS_OK) {
        ch_teams_close(teams);
        return status;
    }
    *teams_out = teams;
    return CHORUS_OK;
}

void ch_teams_close(struct ch_teams *teams)
{
    if (teams == NULL) return;
    for (uint32_t slot = 0; slot < CH_TEAM_SLOTS; slot++)
        ch_team_free(teams->heap, teams->slots[slot].team);
    free(teams);
}

chorus_status ch_teams_device_state(const struct ch_teams *teams,
                                    struct ch_device_state *state_out)
{
    if (teams->device_state.teams == NULL)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "kernels were to make calls, but the job's heap is in host memory; ask "
                       "for CHORUS_HEAP=cuda");
    *state_out = teams->device_state;
    return CHORUS_OK;
}
