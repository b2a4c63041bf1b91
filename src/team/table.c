/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c: handles, the predefined teams, creation and destruction of teams by the PEs of a
 * parent team.
 */
#include "team/device.h"

#include "chorus/chorus.h"
#include "device/device.h"
#include "transport/transport.h"

#include <stdlib.h>

/* Teams that are made at once, at most: WORLD, SHARED and NODE, and the first one's children.
 */
enum { OWN_MAX = 3, CHILDREN = 2, BIRTHS_MAX = OWN_MAX + CHILDREN };

/* A team that is being made. */
struct birth {
    const uint32_t *pes; /* [n], as the voters count; borrowed */
    uint32_t *list;      /* of a child team: pes, owned */
    uint32_t n;
    uint32_t number; /* of the team, in messages */
    bool is_member;  /* this PE; if not, slot and team are not set */
    uint32_t slot;
    struct ch_team *team;
};

static ch_team_handle handle_of(const struct ch_teams *teams, uint32_t slot)
{
    return (ch_team_handle)(teams->slots[slot].generation << CH_TEAM_SLOT_BITS | slot);
}

static chorus_status find_slot(const struct ch_teams *teams, uint32_t from, uint32_t *slot_out)
{
    for (uint32_t slot = from; slot < CH_TEAM_SLOTS; slot++) {
        if (teams->slots[slot].team != NULL ||
            teams->slots[slot].generation == CH_TEAM_GENERATIONS)
            continue;
        *slot_out = slot;
        return CHORUS_OK;
    }
    return CH_FAIL(CHORUS_ERR_NOMEM,
                   "a PE can be in %d teams at once; destroy some (and can make %u in all)",
                   CH_TEAM_SLOTS, CH_TEAM_SLOTS * CH_TEAM_GENERATIONS);
}

struct ch_team *ch_teams_next(const struct ch_teams *teams, uint32_t *slot)
{
    while (*slot < teams->n_slots_used && teams->slots[*slot].team == NULL)
        (*slot)++;
    return *slot < teams->n_slots_used ? teams->slots[*slot].team : NULL;
}

chorus_status ch_team_unknown(const struct ch_teams *teams, ch_team_handle handle)
{
    const struct ch_team_slot *slot = &teams->slots[(uint32_t)handle % CH_TEAM_SLOTS];
    const uint32_t generation = (uint32_t)handle >> CH_TEAM_SLOT_BITS;

    if (handle == CHORUS_TEAM_INVALID)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "team is CHORUS_TEAM_INVALID; expected a team this PE is in");
    if (generation < slot->generation)
        return CH_FAIL(CHORUS_ERR_ARG, "team handle %d is of a team that was destroyed",
                       handle);
    return CH_FAIL(CHORUS_ERR_ARG, "team handle %d was never given out", handle);
}

/* Chunks of a team that a network reaches are longer: each costs system calls at both ends. */
static size_t chunk_bytes_of(const struct ch_teams *teams, const struct ch_voters *voters,
                             const struct birth *birth)
{
    for (uint32_t i = 0; i < birth->n; i++)
        if (ch_network_route(teams->network, voters->number(voters->self, birth->pes[i])) !=
            NULL)
            return CH_CHUNK_FAR * teams->chunk_bytes;
    return teams->chunk_bytes;
}

/* This PE's part of the teams, and where peers find each. */
static chorus_status alloc_all(struct ch_teams *teams, const struct ch_voters *voters,
                               struct birth births[], uint32_t n_births, uint64_t places[])
{
    uint32_t from = 0;

    for (uint32_t b = 0; b < n_births; b++) {
        if (!births[b].is_member) continue;
        CH_TRY(find_slot(teams, from, &births[b].slot));
        CH_TRY(ch_team_alloc(teams, births[b].n, chunk_bytes_of(teams, voters, &births[b]),
                             &births[b].team));
        places[b] = ch_team_place(teams, births[b].team);
        from = births[b].slot + 1;
    }
    return CHORUS_OK;
}

/* The same of a child of the first team: the PEs of that team that `child` names. */
static chorus_status alloc_child(struct ch_teams *teams, const struct birth *first,
                                 const struct ch_child *child, struct birth *birth,
                                 uint64_t *place)
{
    birth->n = child->n;
    birth->pes = birth->list = malloc(child->n * sizeof(*birth->list));
    if (birth->list == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the list of %u PEs", child->n);
    for (uint32_t i = 0; i < child->n; i++)
        birth->list[i] = first->pes[child->pes[i]];
    CH_TRY(ch_team_alloc(teams, child->n, first->team->layout.chunk_bytes[CH_CELL_simple],
                         &birth->team));
    *place = ch_team_place(teams, birth->team);
    return CHORUS_OK;
}

static chorus_status alloc_children(struct ch_teams *teams, const struct ch_voters *voters,
                                    const struct birth *first, struct birth children[CHILDREN],
                                    uint64_t places[CHILDREN])
{
    struct ch_levels *levels;

    if (!first->is_member) return CHORUS_OK;
    CH_TRY(ch_levels_make(teams, voters, first->pes, first->n, &levels));
    first->team->levels = levels;
    CH_TRY(alloc_child(teams, first, &levels->node, &children[0], &places[0]));
    return alloc_child(teams, first, &levels->rail, &children[1], &places[1]);
}

/* All voters have said where their part of each team is. */
static chorus_status connect(const struct ch_teams *teams, const struct ch_voters *voters,
                             const struct birth births[], uint32_t n_births,
                             const uint64_t *places)
{
    for (uint32_t b = 0; b < n_births; b++) {
        if (births[b].team == NULL) continue;
        for (uint32_t i = 0; i < births[b].n; i++) {
            const uint32_t pe = births[b].pes[i];

            ch_team_add_peer(teams, births[b].team, i, voters->number(voters->self, pe),
                             places[pe * n_births + b]);
        }
        CH_TRY(ch_team_route(teams, births[b].team));
    }
    return CHORUS_OK;
}

static chorus_status attach_all(const struct ch_teams *teams, const struct birth births[],
                                uint32_t n_births, struct ch_team_keys mine[])
{
    for (uint32_t b = 0; b < n_births; b++)
        if (births[b].team != NULL) CH_TRY(ch_team_attach(teams, births[b].team, &mine[b]));
    return CHORUS_OK;
}

static chorus_status learn_all(const struct ch_teams *teams, const struct birth births[],
                               uint32_t n_births, const struct ch_team_keys *all)
{
    for (uint32_t b = 0; b < n_births; b++)
        for (uint32_t i = 0; births[b].team != NULL && i < births[b].n; i++)
            CH_TRY(
                ch_team_learn(teams, births[b].team, i, &all[births[b].pes[i] * n_births + b]));
    return CHORUS_OK;
}

/* Where there is a network, its peers are told that each team's memory may be written to, and
 * by which key. */
static chorus_status open_memory(const struct ch_teams *teams, const struct ch_voters *voters,
                                 const struct birth births[], uint32_t n_births,
                                 chorus_status connected)
{
    struct ch_team_keys mine[BIRTHS_MAX] = {{0, 0}}, *all;
    struct ch_vote vote = {.step = "teams across hosts", .values = mine};
    chorus_status status;

    if (teams->network == NULL) return connected;
    all = calloc((size_t)voters->n * n_births, sizeof(*all));
    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to make a team among %u PEs", voters->n);
    if (ch_network_has_keys(teams->network)) vote.bytes = n_births * sizeof(*mine);
    vote.mine = connected == CHORUS_OK ? attach_all(teams, births, n_births, mine) : connected;
    status = ch_vote(voters, &vote, all);
    if (status == CHORUS_OK) status = learn_all(teams, births, n_births, all);
    free(all);
    return status;
}

static chorus_status add_record(struct ch_teams *teams, const struct birth *birth)
{
    if (birth->team == NULL) return CHORUS_OK;
    return ch_device_table_add(teams, birth->team, handle_of(teams, birth->slot));
}

/* Where kernels make calls, teams are in the tables of all their PEs or of none. */
static chorus_status add_records(struct ch_teams *teams, const struct ch_voters *voters,
                                 const struct birth births[], uint32_t n_births)
{
    struct ch_vote vote = {.step = "teams on GPUs"};
    uint32_t n_added = 0;
    chorus_status status;

    if (teams->device_state.teams == NULL) return CHORUS_OK;
    while (n_added < n_births && vote.mine == CHORUS_OK) {
        vote.mine = add_record(teams, &births[n_added]);
        if (vote.mine == CHORUS_OK) n_added++;
    }
    status = ch_vote(voters, &vote, NULL);
    for (uint32_t b = 0; b < n_added && status != CHORUS_OK; b++)
        if (births[b].team != NULL)
            CH_TRY(ch_device_table_remove(teams, handle_of(teams, births[b].slot)));
    return status;
}

/* Put a team that all its PEs have under its handle. */
static void keep(struct ch_teams *teams, const struct birth *birth)
{
    birth->team->slot = birth->slot;
    birth->team->number = birth->number;
    teams->slots[birth->slot].team = birth->team;
    if (birth->slot >= teams->n_slots_used) teams->n_slots_used = birth->slot + 1;
}

/* A team on several hosts and its children, or one on one host. */
static void adopt(struct ch_team *team, struct birth children[CHILDREN])
{
    if (team == NULL || team->levels == NULL) return;
    team->node = children[0].team;
    team->rail = children[1].team;
    /* Waits of a call in its child teams end, too, if the call is refused. */
    if (team->check != NULL) team->node->refusable = team->rail->refusable = team->refusable;
    ch_child_is(&team->levels->node, team->node);
    ch_child_is(&team->levels->rail, team->rail);
}

/* All have voted. */
static void end_births(struct ch_teams *teams, struct birth births[], uint32_t n_own,
                       chorus_status status)
{
    for (uint32_t b = 0; b < BIRTHS_MAX; b++) {
        free(births[b].list);
        if (status != CHORUS_OK)
            ch_team_free(teams, births[b].team);
        else if (b < n_own && births[b].team != NULL)
            keep(teams, &births[b]);
    }
    if (status == CHORUS_OK) adopt(births[0].team, births + n_own);
}

/*
 * Make teams among the voters, of which the first alone may be on several hosts. Each takes
 * part in the vote whatever happened to it before, so that all learn the same.
 */
static chorus_status create(struct ch_teams *teams, const struct ch_voters *voters,
                            struct birth births[BIRTHS_MAX], uint32_t n_own)
{
    const bool is_across = ch_is_across(teams, voters, births[0].pes, births[0].n);
    const uint32_t n_births = n_own + (is_across ? CHILDREN : 0);
    uint64_t mine[BIRTHS_MAX] = {0}, *all = calloc((size_t)voters->n * n_births, sizeof(*all));
    struct ch_vote vote = {"team", CHORUS_OK, mine, n_births * sizeof(*mine)};
    chorus_status status;

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to make a team among %u PEs", voters->n);
    vote.mine = alloc_all(teams, voters, births, n_own, mine);
    if (is_across && vote.mine == CHORUS_OK)
        vote.mine = alloc_children(teams, voters, births, births + n_own, mine + n_own);
    status = ch_vote(voters, &vote, all);
    if (status == CHORUS_OK) {
        status = connect(teams, voters, births, n_births, all);
        status = open_memory(teams, voters, births, n_births, status);
    }
    if (status == CHORUS_OK) status = add_records(teams, voters, births, n_own);
    free(all);
    end_births(teams, births, n_own, status);
    return status;
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
    struct birth births[BIRTHS_MAX] = {{.pes = pes, .n = n}}, *const birth = &births[0];
    struct ch_voters voters;
    struct ch_team *parent;

    CH_TRY(ch_team_get(teams, parent_handle, &parent));
    CH_TRY(check_list(parent, pes, n, &birth->is_member));
    voters = ch_team_voters(parent);
    birth->number = (parent->number << CH_TEAM_SLOT_BITS) + OWN_MAX + parent->n_children++;
    CH_TRY(create(teams, &voters, births, 1));
    *handle_out = CHORUS_TEAM_INVALID;
    if (birth->team == NULL) return CHORUS_OK;
    birth->team->num_contexts = num_contexts;
    *handle_out = handle_of(teams, birth->slot);
    return CHORUS_OK;
}

/* What all members must call with: a number that other lists hardly have. */
static uint64_t digest_of(const uint32_t pes[], uint32_t n, int tag)
{
    uint64_t sum = 0xcbf29ce484222325u ^ (uint32_t)tag; /* FNV-1a, by words */

    for (uint32_t i = 0; i < n; i++)
        sum = (sum ^ pes[i]) * 0x100000001b3u;
    return sum;
}

static chorus_status compare_digests(const struct ch_voters *voters, uint64_t mine)
{
    const struct ch_vote vote = {"team of a group", CHORUS_OK, &mine, sizeof(mine)};
    uint64_t *const all = calloc(voters->n, sizeof(*all));
    chorus_status status;

    if (all == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to ask %u PEs", voters->n);
    status = ch_vote(voters, &vote, all);
    for (uint32_t i = 1; i < voters->n && status == CHORUS_OK; i++)
        if (all[i] != all[0])
            status = CH_FAIL(CHORUS_ERR_ARG,
                             "PE %u asks for a team of other PEs, or with another tag, than PE "
                             "%u; members must make these calls in the same order",
                             voters->number(voters->self, i), voters->number(voters->self, 0));
    free(all);
    return status;
}

chorus_status ch_team_create_group(struct ch_teams *teams, ch_team_handle parent_handle,
                                   const uint32_t pes[], uint32_t n, int tag,
                                   ch_team_handle *handle_out)
{
    struct ch_group group = {.pes = pes, .n = n};
    struct birth births[BIRTHS_MAX] = {{.n = n}}, *const birth = &births[0];
    struct ch_voters voters;
    uint32_t *every;
    chorus_status status;

    CH_TRY(ch_team_get(teams, parent_handle, &group.team));
    CH_TRY(check_list(group.team, pes, n, &birth->is_member));
    if (!birth->is_member)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "this PE, %u of the parent, is not in the list of %u PEs; "
                       "only members call",
                       group.team->me, n);
    voters = ch_group_voters(&group);
    CH_TRY(compare_digests(&voters, digest_of(pes, n, tag)));
    every = malloc(n * sizeof(*every));
    if (every == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a list of %u PEs", n);
    for (uint32_t i = 0; i < n; i++)
        every[i] = i;
    birth->pes = every;
    birth->number = (uint32_t)digest_of(pes, n, tag) | 1u << 31; /* which no other team has */
    status = create(teams, &voters, births, 1);
    free(every);
    if (status == CHORUS_OK) *handle_out = handle_of(teams, birth->slot);
    return status;
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
    team->is_ending = true;
    /* Calls on streams end first. */
    CH_TRY(ch_team_enter(team, ch_team_ticket(team, false)));
    if (team->last_run.stream != 0)
        CH_TRY(ch_device_word_wait(ch_heap_device(teams->heap), ch_team_ended(team),
                                   team->last_run.ctas));
    /* What this PE still sends to others' sync memory would come after mail by the leaders. */
    if (team->levels != NULL)
        CH_TRY(ch_network_quiet(teams->network, CH_CTX_ALGORITHMS, CH_NET_ALL));
    CH_TRY(ch_team_meet_last(team));
    CH_TRY(ch_device_table_remove(teams, handle));
    if (ch_team_is_in_use(team))
        (void)__atomic_fetch_sub(&teams->n_in_use, 1, __ATOMIC_RELAXED);
    slot = &teams->slots[(uint32_t)handle % CH_TEAM_SLOTS];
    slot->team = NULL;
    slot->generation++;
    ch_team_free(teams, team);
    return CHORUS_OK;
}

/* WORLD, SHARED and NODE come first, so they get the handles 0, 1 and 2. */
static chorus_status make_predefined(struct ch_teams *teams, const struct ch_voters *voters)
{
    const uint32_t n = teams->n_world;
    uint32_t *pes = calloc(2 * (size_t)n, sizeof(*pes)), *mapped, n_mapped = 0;
    struct birth births[BIRTHS_MAX] = {{0}};
    chorus_status status;

    if (pes == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the list of %u PEs", n);
    mapped = pes + n;
    for (uint32_t pe = 0; pe < n; pe++) {
        pes[pe] = pe;
        if (ch_network_route(teams->network, pe) == NULL) mapped[n_mapped++] = pe;
    }
    /* PEs whose memory is mapped are those of the node. */
    births[0] = (struct birth){.pes = pes, .n = n, .is_member = true};
    births[1] = births[2] = (struct birth){.pes = mapped, .n = n_mapped, .is_member = true};
    for (uint32_t b = 0; b < OWN_MAX; b++)
        births[b].number = b;
    status = create(teams, voters, births, OWN_MAX);
    free(pes);
    return status;
}

chorus_status ch_teams_open(struct ch_boot *boot, struct ch_heap *heap,
                            struct ch_network *network, const struct ch_options *options,
                            const struct ch_patience *patience,
                            const struct ch_device_terms *terms, struct ch_teams **teams_out)
{
    const struct ch_voters voters = ch_boot_voters(boot);
    struct ch_teams *teams = calloc(1, sizeof(*teams));
    chorus_status status = CHORUS_OK;

    if (teams == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the table of teams");
    teams->heap = heap;
    teams->network = network;
    teams->patience = patience;
    teams->me_world = boot->me;
    teams->n_world = boot->n;
    teams->n_dups = (uint32_t)options->ctas;
    teams->chunk_bytes = options->chunk;
    teams->is_checked = options->check != 0;
    if (terms != NULL) {
        const struct ch_vote vote = {.step = "teams on GPUs",
                                     .mine = ch_device_table_open(teams, terms)};
        status = ch_vote(&voters, &vote, NULL);
    }
    if (status == CHORUS_OK) status = make_predefined(teams, &voters);
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
        ch_team_free(teams, teams->slots[slot].team);
    free(teams);
}

chorus_status ch_teams_device_state(const struct ch_teams *teams,
                                    struct ch_device_state *state_out)
{
    if (teams->device_state.teams == NULL)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "kernels were to make calls, but the job's heap is in host memory; ask "
                       "for CHORUS_HEAP=cuda");
    if (teams->device_state.world.n == 0)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "kernels were to make calls, but the job has more PEs than the %u that "
                       "calls inside kernels serve; start fewer",
                       CH_DEVICE_PES_MAX);
    *state_out = teams->device_state;
    return CHORUS_OK;
}
