/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create.c: creates teams, and the child teams of a team on several hosts. Each member
 * allocates its part, the voters exchange the addresses of their parts, and each connects to
 * its peers.
 */
#include "team/routes.h"
#include "team/table.h"

#include <stdlib.h>

/* --- hosts and rails ---------------------------------------------------------------------- */
/* One allocation: the struct, the structs that it points to, and the lists. */
struct block {
    struct ch_levels levels;
    uint32_t words[];
};

bool ch_is_across(const struct ch_teams *teams, const struct ch_voters *voters,
                  const uint32_t pes[], uint32_t n)
{
    const uint32_t *nodes = ch_links_nodes(teams->links);

    for (uint32_t i = 1; nodes != NULL && i < n; i++)
        if (nodes[voters->number(voters->self, pes[i])] !=
            nodes[voters->number(voters->self, pes[0])])
            return true;
    return false;
}

/* Set the PEs of a rail: PE `me` of the team and the PEs with the same number on the other
 * hosts; only `me` if some hosts have no such PE. pes: memory for the list. */
static void set_rail(const struct ch_nodes *nodes, uint32_t me, struct ch_child *rail,
                     uint32_t *pes)
{
    const uint32_t local = nodes->local[me];
    const bool is_complete = local < nodes->least;

    rail->n = is_complete ? nodes->count : 1;
    for (uint32_t v = 0; v < rail->n; v++)
        pes[v] = is_complete ? ch_node_pe(nodes, v, local) : me;
    rail->pes = pes;
}

/* This PE's levels of a team of these PEs, which are on several hosts. Of the child teams it
 * sets only the PEs; set_child sets the rest. The caller frees it. */
static chorus_status make_levels(const struct ch_teams *teams, const struct ch_voters *voters,
                                 const uint32_t pes[], uint32_t n,
                                 struct ch_levels **levels_out)
{
    const uint32_t *nodes = ch_links_nodes(teams->links);
    struct block *block =
        malloc(sizeof(*block) + (2 * (size_t)n + CH_NODES_WORDS(n)) * sizeof(uint32_t));
    uint32_t *const hosts = block != NULL ? block->words : NULL, me = 0, node;
    struct ch_levels *levels;

    if (block == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the hosts of a team of %u PEs", n);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t world = voters->number(voters->self, pes[i]);

        hosts[i] = nodes[world];
        if (world == teams->me_world) me = i;
    }
    levels = &block->levels;
    ch_nodes_init(&levels->nodes, hosts, n, hosts + n);
    node = levels->nodes.node[me];
    levels->node.n = ch_node_pes(&levels->nodes, node);
    levels->node.pes = levels->nodes.pes + levels->nodes.first[node];
    set_rail(&levels->nodes, me, &levels->rail, hosts + n + CH_NODES_WORDS(n));
    *levels_out = levels;
    return CHORUS_OK;
}

/* Set the properties of a child team, except its PEs, which are set. */
static void set_child(struct ch_child *child, const struct ch_team *team)
{
    child->me = team->me;
    child->peers = team->peers;
    child->remotes = team->remotes;
    child->layout = &team->layout;
    child->dups = team->dups;
}

/* --- the teams of a draft ----------------------------------------------------------------- */
/* Find a free slot that is not below `from`. */
static chorus_status find_slot(const struct ch_teams *teams, uint32_t from, uint32_t *slot_out)
{
    for (uint32_t slot = from; slot < CH_TEAM_SLOTS; slot++) {
        if (teams->slots[slot].team != NULL ||
            teams->slots[slot].generation == CH_TEAM_GENERATIONS)
            continue;
        *slot_out = slot;
        return CHORUS_OK;
    }
    return CH_FAIL(
        CHORUS_ERR_NOMEM,
        "a PE can be in %d teams at the same time, and can create %u in all; destroy some",
        CH_TEAM_SLOTS, CH_TEAM_SLOTS * CH_TEAM_GENERATIONS);
}

/* How the PEs of a draft reach each other. */
static struct ch_reach_of_team reach_of(const struct ch_teams *teams,
                                        const struct ch_voters *voters,
                                        const struct ch_draft *draft)
{
    struct ch_reach_of_team reach = {false, false, UINT32_MAX};
    bool has_links = false;

    for (uint32_t i = 0; i < draft->n; i++) {
        const uint32_t world = voters->number(voters->self, draft->pes[i]);

        if (ch_links_host_link(teams->links, world) != NULL) has_links = true;
        if (!ch_heap_is_near(teams->heap, world))
            reach.is_in_pool = ch_heap_has_pool(teams->heap);
    }
    reach.is_far = has_links && (ch_heap_device(teams->heap) == NULL || reach.is_in_pool);
    return reach;
}

/* Allocate the team of a draft. Chunks of a team on several hosts are longer: each chunk costs
 * system calls at both ends. */
static chorus_status alloc_team(struct ch_teams *teams, const struct ch_voters *voters,
                                struct ch_draft *draft, bool is_first)
{
    const struct ch_reach_of_team reach = reach_of(teams, voters, draft);
    const bool is_world = teams->n_slots_used == 0 && is_first;
    const size_t wanted = (reach.is_far ? CH_CHUNK_FAR : 1) * teams->chunk_bytes,
                 most = reach.is_in_pool
                            ? CH_POOL_DUP_BYTES_MAX(draft->n, is_world, reach.is_far)
                            : CH_DUP_BYTES_MAX;

    return ch_team_alloc(teams, draft->n,
                         ch_sync_chunk_bytes(draft->n, wanted, reach.is_far, most), reach,
                         &draft->team);
}

/* Find slots for the teams that this PE is a member of, and allocate its memory of them. places
 * receives the addresses at which peers find that memory. */
static chorus_status alloc_all(struct ch_teams *teams, const struct ch_voters *voters,
                               struct ch_draft drafts[], uint32_t n_drafts, uint64_t places[])
{
    uint32_t from = 0;

    for (uint32_t b = 0; b < n_drafts; b++) {
        if (!drafts[b].is_member) continue;
        CH_TRY(find_slot(teams, from, &drafts[b].slot));
        CH_TRY(alloc_team(teams, voters, &drafts[b], b == 0));
        drafts[b].team->slot = drafts[b].slot;
        drafts[b].team->id |= drafts[b].slot;
        places[b] = ch_team_pack_offsets(teams, drafts[b].team);
        from = drafts[b].slot + 1;
    }
    return CHORUS_OK;
}

/* Allocate a child of the first team, of the PEs of that team that `child` names. */
static chorus_status alloc_child(struct ch_teams *teams, const struct ch_voters *voters,
                                 const struct ch_draft *first, const struct ch_child *child,
                                 struct ch_draft *draft, uint64_t *place)
{
    struct ch_reach_of_team reach;

    draft->n = child->n;
    draft->pes = draft->list = malloc(child->n * sizeof(*draft->list));
    if (draft->list == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the list of %u PEs", child->n);
    for (uint32_t i = 0; i < child->n; i++)
        draft->list[i] = first->pes[child->pes[i]];
    reach = reach_of(teams, voters, draft);
    reach.dups_most = first->team->n_dups;
    CH_TRY(ch_team_alloc(teams, child->n, first->team->layout.chunk_bytes[CH_CELL_simple],
                         reach, &draft->team));
    *place = ch_team_pack_offsets(teams, draft->team);
    return CHORUS_OK;
}

/* If the first team is on several hosts, allocate its child teams. */
static chorus_status alloc_children(struct ch_teams *teams, const struct ch_voters *voters,
                                    const struct ch_draft *first,
                                    struct ch_draft children[CH_CHILDREN],
                                    uint64_t places[CH_CHILDREN])
{
    struct ch_levels *levels;

    if (!first->is_member || !ch_is_across(teams, voters, first->pes, first->n))
        return CHORUS_OK;
    CH_TRY(make_levels(teams, voters, first->pes, first->n, &levels));
    first->team->levels = levels;
    /* These would not be used if GPUs of all hosts are near, or each host has one PE: the pool
     * has room for few teams. */
    if (first->team->is_on_gpu && (!first->team->is_in_pool || levels->nodes.most == 1))
        return CHORUS_OK;
    CH_TRY(alloc_child(teams, voters, first, &levels->node, &children[0], &places[0]));
    return alloc_child(teams, voters, first, &levels->rail, &children[1], &places[1]);
}

/* Set the peers and links of each team. places: the addresses that all voters have published of
 * their memory of each team. */
static chorus_status connect_teams(const struct ch_teams *teams, const struct ch_voters *voters,
                                   const struct ch_draft drafts[], uint32_t n_drafts,
                                   const uint64_t *places)
{
    for (uint32_t b = 0; b < n_drafts; b++) {
        if (drafts[b].team == NULL) continue;
        for (uint32_t i = 0; i < drafts[b].n; i++) {
            const uint32_t pe = drafts[b].pes[i];

            ch_team_add_peer(teams, drafts[b].team, i, voters->number(voters->self, pe),
                             places[pe * n_drafts + b]);
        }
        CH_TRY(ch_team_link(teams, drafts[b].team));
        if (drafts[b].list != NULL) ch_team_fill_boards(drafts[b].team);
    }
    return CHORUS_OK;
}

/* Register the memory of each team with the network. mine receives the keys. */
static chorus_status attach_all(const struct ch_teams *teams, const struct ch_draft drafts[],
                                uint32_t n_drafts, struct ch_team_keys mine[])
{
    for (uint32_t b = 0; b < n_drafts; b++)
        if (drafts[b].team != NULL) CH_TRY(ch_team_attach(teams, drafts[b].team, &mine[b]));
    return CHORUS_OK;
}

/* Give the network the keys of all voters for their memory of each team. */
static chorus_status add_peer_keys(const struct ch_teams *teams, const struct ch_draft drafts[],
                                   uint32_t n_drafts, const struct ch_team_keys *all)
{
    for (uint32_t b = 0; b < n_drafts; b++)
        for (uint32_t i = 0; drafts[b].team != NULL && i < drafts[b].n; i++)
            CH_TRY(ch_team_add_peer_keys(teams, drafts[b].team, i,
                                         &all[drafts[b].pes[i] * n_drafts + b]));
    return CHORUS_OK;
}

/* If there is a network, register each team's memory with it, so that peers can write with the
 * key. connected: the status of this PE so far, for the vote. */
static chorus_status open_memory(const struct ch_teams *teams, const struct ch_voters *voters,
                                 const struct ch_draft drafts[], uint32_t n_drafts,
                                 chorus_status connected)
{
    struct ch_team_keys mine[CH_DRAFTS_MAX] = {{0, 0}}, *all;
    struct ch_vote vote = {.step = "teams across hosts", .values = mine};
    chorus_status status;

    if (teams->links->network == NULL) return connected;
    all = calloc((size_t)voters->n * n_drafts, sizeof(*all));
    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to create a team among %u PEs", voters->n);
    if (ch_links_need_keys(teams->links)) vote.bytes = n_drafts * sizeof(*mine);
    vote.mine = connected == CHORUS_OK ? attach_all(teams, drafts, n_drafts, mine) : connected;
    status = ch_vote(voters, &vote, all);
    if (status == CHORUS_OK) status = add_peer_keys(teams, drafts, n_drafts, all);
    free(all);
    return status;
}

/* Enter the team of a draft, if this PE is a member, in the table that kernels read, and write
 * its routes. */
static chorus_status add_record(struct ch_teams *teams, const struct ch_draft *draft)
{
    if (draft->team == NULL) return CHORUS_OK;
    CH_TRY(ch_routes_open(teams, draft->team));
    return ch_device_table_add(teams, draft->team, ch_team_handle_of(teams, draft->slot));
}

/* If kernels make calls, enter the teams in the table that kernels read: on every PE of a team
 * or on none. */
static chorus_status add_records(struct ch_teams *teams, const struct ch_voters *voters,
                                 const struct ch_draft drafts[], uint32_t n_drafts)
{
    struct ch_vote vote = {.step = "teams on GPUs"};
    uint32_t n_added = 0;
    chorus_status status;

    if (teams->device_state.teams == NULL) return CHORUS_OK;
    while (n_added < n_drafts && vote.mine == CHORUS_OK) {
        vote.mine = add_record(teams, &drafts[n_added]);
        if (vote.mine == CHORUS_OK) n_added++;
    }
    status = ch_vote(voters, &vote, NULL);
    for (uint32_t b = 0; b < n_added && status != CHORUS_OK; b++)
        if (drafts[b].team != NULL)
            CH_TRY(ch_device_table_remove(teams, ch_team_handle_of(teams, drafts[b].slot)));
    return status;
}

/* Enter a team that exists on all its PEs under its handle. */
static void enter_in_table(struct ch_teams *teams, const struct ch_draft *draft)
{
    draft->team->word = draft->word;
    draft->team->number = (uint32_t)draft->word;
    teams->slots[draft->slot].team = draft->team;
    if (draft->slot >= teams->n_slots_used) teams->n_slots_used = draft->slot + 1;
}

/* Connect a team on several hosts with its child teams. A no-op for null or a team on one
 * host. */
static void set_children(struct ch_team *team, struct ch_draft children[CH_CHILDREN])
{
    if (team == NULL || team->levels == NULL || children[0].team == NULL) return;
    team->node = children[0].team;
    team->rail = children[1].team;
    /* If the call is refused, waits of the same call in child teams end, too. */
    team->node->refusable = team->rail->refusable = team->refusable;
    set_child(&team->levels->node, team->node);
    set_child(&team->levels->rail, team->rail);
}

/* After the vote, enter the teams under their handles, or free them if `status` is an error:
 * the child teams as teams of their own. */
static void end_drafts(struct ch_teams *teams, struct ch_draft drafts[], uint32_t n_own,
                       chorus_status status)
{
    if (status != CHORUS_OK && drafts[0].team != NULL)
        drafts[0].team->node = drafts[0].team->rail = NULL;
    for (uint32_t b = 0; b < CH_DRAFTS_MAX; b++) {
        free(drafts[b].list);
        if (status != CHORUS_OK)
            ch_team_free(teams, drafts[b].team);
        else if (b < n_own && drafts[b].team != NULL)
            enter_in_table(teams, &drafts[b]);
    }
}

/* Each PE takes part in the vote even after a failure, so that all get the same result. */
chorus_status ch_drafts_make(struct ch_teams *teams, const struct ch_voters *voters,
                             struct ch_draft drafts[CH_DRAFTS_MAX], uint32_t n_own,
                             bool is_across)
{
    const uint32_t n_drafts = n_own + (is_across ? CH_CHILDREN : 0);
    uint64_t mine[CH_DRAFTS_MAX] = {0},
             *all = calloc((size_t)voters->n * n_drafts, sizeof(*all));
    struct ch_vote vote = {"team", CHORUS_OK, mine, n_drafts * sizeof(*mine)};
    chorus_status status;

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to create a team among %u PEs", voters->n);
    vote.mine = alloc_all(teams, voters, drafts, n_own, mine);
    if (is_across && vote.mine == CHORUS_OK)
        vote.mine = alloc_children(teams, voters, drafts, drafts + n_own, mine + n_own);
    status = ch_vote(voters, &vote, all);
    if (status == CHORUS_OK) {
        status = connect_teams(teams, voters, drafts, n_drafts, all);
        status = open_memory(teams, voters, drafts, n_drafts, status);
    }
    if (status == CHORUS_OK) {
        set_children(drafts[0].team, drafts + n_own);
        status = add_records(teams, voters, drafts, n_own);
    }
    free(all);
    end_drafts(teams, drafts, n_own, status);
    return status;
}
