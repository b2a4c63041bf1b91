/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c: handles, the predefined teams, and the calls that create and destroy teams; create.c
 * creates them.
 */
#include "team/table.h"

#include "chorus/chorus.h"
#include "device/device.h"

#include <stdlib.h>

struct ch_team *ch_teams_next(const struct ch_teams *teams, uint32_t *slot)
{
    while (*slot < teams->n_slots_used && teams->slots[*slot].team == NULL)
        (*slot)++;
    return *slot < teams->n_slots_used ? teams->slots[*slot].team : NULL;
}

chorus_status ch_team_fail_unknown(const struct ch_teams *teams, ch_team_handle handle)
{
    const struct ch_team_slot *slot = &teams->slots[(uint32_t)handle % CH_TEAM_SLOTS];
    const uint32_t generation = (uint32_t)handle >> CH_TEAM_SLOT_BITS;

    if (handle == CHORUS_TEAM_INVALID)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "team is CHORUS_TEAM_INVALID; expected a team this PE is in");
    if (generation < slot->generation)
        return CH_FAIL(CHORUS_ERR_ARG, "team handle %d is of a team that was destroyed",
                       handle);
    return CH_FAIL(CHORUS_ERR_ARG, "team handle %d was never returned by the library", handle);
}

/* ERR_ARG if the list of a new team is wrong. Every PE of the parent passes the same list, so
 * every PE finds the same error in it. *is_member_out: this PE is in the list. */
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

#define FNV_PRIME UINT64_C(0x100000001b3)

/* Count a further team that is created from parent; return its word, see struct ch_team. */
static uint64_t new_child_word(struct ch_team *parent)
{
    const uint32_t child = parent->n_children++;
    const uint64_t digest =
        ((parent->word ^ child) * FNV_PRIME ^ parent->word >> 32) * FNV_PRIME;

    return digest >> 32 << 32 |
           (uint32_t)((parent->number << CH_TEAM_SLOT_BITS) + CH_OWN_MAX + child);
}

chorus_status ch_team_create(struct ch_teams *teams, ch_team_handle parent_handle,
                             const uint32_t pes[], uint32_t n, int num_contexts,
                             ch_team_handle *handle_out)
{
    struct ch_draft drafts[CH_DRAFTS_MAX] = {{.pes = pes, .n = n}}, *const draft = &drafts[0];
    struct ch_voters voters;
    struct ch_team *parent;

    CH_TRY(ch_team_get(teams, parent_handle, &parent));
    CH_TRY(check_list(parent, pes, n, &draft->is_member));
    voters = ch_team_voters(parent);
    draft->word = new_child_word(parent);
    CH_TRY(ch_drafts_make(teams, &voters, drafts, 1, ch_is_across(teams, &voters, pes, n)));
    *handle_out = CHORUS_TEAM_INVALID;
    if (draft->team == NULL) return CHORUS_OK;
    draft->team->num_contexts = num_contexts;
    *handle_out = ch_team_handle_of(teams, draft->slot);
    return CHORUS_OK;
}

/* A hash of the list and the tag, which must be equal on all members. */
static uint64_t digest_of(const uint32_t pes[], uint32_t n, int tag)
{
    uint64_t sum = 0xcbf29ce484222325u ^ (uint32_t)tag; /* FNV-1a, by words */

    for (uint32_t i = 0; i < n; i++)
        sum = (sum ^ pes[i]) * FNV_PRIME;
    return sum;
}

/* Compute the word of a group's team, from its parent, the digest of its list, and how many
 * groups each member has created: each creation by the same members has other values. ERR_ARG
 * if the digests of members differ. */
static chorus_status agree_on_word(const struct ch_voters *voters, struct ch_team *parent,
                                   uint64_t digest, uint64_t *word_out)
{
    const uint64_t mine = digest << 32 | parent->n_groups++;
    const struct ch_vote vote = {"team of a group", CHORUS_OK, &mine, sizeof(mine)};
    uint64_t sum = (digest ^ parent->word) * FNV_PRIME;
    uint64_t *const all = calloc(voters->n, sizeof(*all));
    chorus_status status;

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the answers of %u PEs", voters->n);
    status = ch_vote(voters, &vote, all);
    for (uint32_t i = 0; i < voters->n && status == CHORUS_OK; i++) {
        if (all[i] >> 32 != all[0] >> 32)
            status = CH_FAIL(CHORUS_ERR_ARG,
                             "PE %u asks for a team of other PEs, or with another tag, than PE "
                             "%u; members must make these calls in the same order",
                             voters->number(voters->self, i), voters->number(voters->self, 0));
        sum = (sum ^ all[i]) * FNV_PRIME;
    }
    free(all);
    /* No other team has the highest bit of a number. */
    if (status == CHORUS_OK) *word_out = sum << 32 | sum >> 32 | 1u << 31;
    return status;
}

chorus_status ch_team_create_group(struct ch_teams *teams, ch_team_handle parent_handle,
                                   const uint32_t pes[], uint32_t n, int tag,
                                   ch_team_handle *handle_out)
{
    struct ch_group group = {.pes = pes, .n = n};
    struct ch_draft drafts[CH_DRAFTS_MAX] = {{.n = n}}, *const draft = &drafts[0];
    struct ch_voters voters;
    uint32_t *every;
    chorus_status status;

    CH_TRY(ch_team_get(teams, parent_handle, &group.team));
    CH_TRY(check_list(group.team, pes, n, &draft->is_member));
    if (!draft->is_member)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "this PE, %u of the parent, is not in the list of %u PEs; expected a "
                       "call by members only",
                       group.team->me, n);
    voters = ch_group_voters(&group);
    CH_TRY(agree_on_word(&voters, group.team, digest_of(pes, n, tag), &draft->word));
    every = malloc(n * sizeof(*every));
    if (every == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a list of %u PEs", n);
    for (uint32_t i = 0; i < n; i++)
        every[i] = i;
    draft->pes = every;
    status = ch_drafts_make(teams, &voters, drafts, 1, ch_is_across(teams, &voters, every, n));
    free(every);
    if (status == CHORUS_OK) *handle_out = ch_team_handle_of(teams, draft->slot);
    return status;
}

/* What a PE passes to a split. */
struct wish {
    int32_t color, key;
};

/* The PEs of this PE's colour by their keys; returns how many. */
static uint32_t list_color(const struct wish *wishes, uint32_t n, uint32_t me, uint32_t *pes)
{
    uint32_t count = 0;

    for (uint32_t pe = 0; pe < n; pe++) {
        uint32_t at = count;

        if (wishes[pe].color != wishes[me].color) continue;
        for (; at > 0 && wishes[pes[at - 1]].key > wishes[pe].key; at--)
            pes[at] = pes[at - 1];
        pes[at] = pe;
        count++;
    }
    return count;
}

chorus_status ch_team_split_color(struct ch_teams *teams, ch_team_handle parent_handle,
                                  int32_t color, int32_t key, ch_team_handle *handle_out)
{
    const struct wish mine = {color, key};
    struct ch_vote vote = {"split of a team", CHORUS_OK, &mine, sizeof(mine)};
    struct ch_voters voters;
    struct ch_team *parent;
    struct wish *wishes;
    uint32_t *pes;
    bool has_lists;
    chorus_status status;

    CH_TRY(ch_team_get(teams, parent_handle, &parent));
    voters = ch_team_voters(parent);
    wishes = malloc(parent->n * sizeof(*wishes));
    pes = malloc(parent->n * sizeof(*pes));
    has_lists = wishes != NULL && pes != NULL;
    if (!has_lists) /* the others learn of it */
        vote.mine = CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a list of %u PEs", parent->n);
    status = ch_vote(&voters, &vote, wishes);
    if (status == CHORUS_OK && has_lists && color >= 0)
        status = ch_team_create_group(teams, parent_handle, pes,
                                      list_color(wishes, parent->n, parent->me, pes), color,
                                      handle_out);
    free(wishes);
    free(pes);
    return status;
}

chorus_status ch_team_destroy(struct ch_teams *teams, ch_team_handle handle)
{
    struct ch_team *team;
    struct ch_team_slot *slot;

    CH_TRY(ch_team_get(teams, handle, &team));
    if (handle <= CHORUS_TEAM_SAME_MYPE_NODE)
        return CH_FAIL(
            CHORUS_ERR_ARG,
            "team %d is predefined; only teams that the program created can be destroyed",
            handle);
    team->is_ending = true;
    /* Calls on streams end first. */
    if (team->last_run.stream != 0)
        CH_TRY(ch_device_word_wait(ch_heap_device(teams->heap), team->policy,
                                   ch_team_ended(team), team->last_run.ctas));
    CH_TRY(ch_team_enter(team, ch_team_draw_ticket(team, false)));
    /* So do their last posts, such as credits, which no peer has waited for. */
    if (ch_team_has_posts(team)) CH_TRY(ch_links_drain_posts(teams->links));
    /* Messages that this PE still sends to others' sync memory could arrive after the words
     * that the leaders forward. */
    if (team->levels != NULL)
        CH_TRY(ch_links_quiet(teams->links, CH_CTX_ALGORITHMS, CH_LINK_ALL));
    CH_TRY(ch_team_sync_last(team));
    CH_TRY(ch_device_table_remove(teams, handle));
    if (ch_team_is_in_use(team))
        (void)__atomic_fetch_sub(&teams->n_in_use, 1, __ATOMIC_RELAXED);
    slot = &teams->slots[(uint32_t)handle % CH_TEAM_SLOTS];
    slot->team = NULL;
    slot->generation++;
    ch_team_free(teams, team);
    return CHORUS_OK;
}

/* Are the PEs of the job on several hosts? */
static bool has_hosts(const struct ch_teams *teams)
{
    const uint32_t *hosts = ch_links_hosts(teams->links);

    for (uint32_t pe = 1; hosts != NULL && pe < teams->n_world; pe++)
        if (hosts[pe] != hosts[0]) return true;
    return false;
}

/* Create the predefined teams: WORLD, SHARED and NODE first, so that they get the handles 0, 1
 * and 2; on one host also SAME_MYPE_NODE, which is this PE alone. */
static chorus_status make_predefined(struct ch_teams *teams, const struct ch_voters *voters)
{
    const uint32_t n = teams->n_world;
    uint32_t *pes = calloc(3 * (size_t)n, sizeof(*pes)), *mapped, *on_host;
    uint32_t n_mapped = 0, n_on_host = 0;
    struct ch_draft drafts[CH_DRAFTS_MAX] = {{0}};
    chorus_status status;

    if (pes == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the list of %u PEs", n);
    mapped = pes + n;
    on_host = mapped + n;
    for (uint32_t pe = 0; pe < n; pe++) {
        pes[pe] = pe;
        if (ch_links_network_link(teams->links, pe) == NULL) mapped[n_mapped++] = pe;
        if (ch_links_host_link(teams->links, pe) == NULL) on_host[n_on_host++] = pe;
    }
    drafts[0] = (struct ch_draft){.pes = pes, .n = n, .is_member = true};
    drafts[1] = (struct ch_draft){.pes = mapped, .n = n_mapped, .is_member = true};
    drafts[2] = (struct ch_draft){.pes = on_host, .n = n_on_host, .is_member = true};
    drafts[3] = (struct ch_draft){.pes = &teams->me_world, .n = 1, .is_member = true};
    for (uint32_t b = 0; b < CH_OWN_MAX; b++)
        drafts[b].word = b;
    status =
        ch_drafts_make(teams, voters, drafts, has_hosts(teams) ? CH_OWN_MAX - 1 : CH_OWN_MAX,
                       ch_is_across(teams, voters, pes, n));
    free(pes);
    return status;
}

/* The number of PE pe among the PEs of its host. */
static uint32_t number_on_host(const uint32_t hosts[], uint32_t pe)
{
    uint32_t number = 0;

    for (uint32_t before = 0; before < pe; before++)
        number += hosts[before] == hosts[pe];
    return number;
}

/* If there are several hosts, create SAME_MYPE_NODE: the PEs of all hosts that have this PE's
 * number on their host. */
static chorus_status make_same_number(struct ch_teams *teams, const struct ch_voters *voters)
{
    const uint32_t *hosts = ch_links_hosts(teams->links), n = teams->n_world;
    struct ch_draft drafts[CH_DRAFTS_MAX] = {
        {.is_member = true, .word = CHORUS_TEAM_SAME_MYPE_NODE}};
    uint32_t *pes, mine;
    chorus_status status;

    if (!has_hosts(teams)) return CHORUS_OK;
    drafts[0].pes = pes = calloc(n, sizeof(*pes));
    if (pes == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the list of %u PEs", n);
    mine = number_on_host(hosts, teams->me_world);
    for (uint32_t pe = 0; pe < n; pe++)
        if (number_on_host(hosts, pe) == mine) pes[drafts[0].n++] = pe;
    status = ch_drafts_make(teams, voters, drafts, 1, true);
    free(pes);
    return status;
}

/* The algo_text of teams without a launcher of collectives, which have no algorithms. */
static const char *no_algo_text(uint32_t id)
{
    (void)id;
    return "an algorithm";
}

chorus_status ch_teams_open(struct ch_boot *boot, struct ch_heap *heap, struct ch_links *links,
                            const struct ch_options *options,
                            const struct ch_wait_policy *policy,
                            const struct ch_device_terms *terms, struct ch_teams **teams_out)
{
    const struct ch_voters voters = ch_boot_voters(boot);
    struct ch_teams *teams = calloc(1, sizeof(*teams));
    chorus_status status = CHORUS_OK;

    if (teams == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the table of teams");
    teams->heap = heap;
    teams->links = links;
    teams->policy = policy;
    teams->algo_text = no_algo_text;
    teams->me_world = boot->me;
    teams->n_world = boot->n;
    teams->n_dups = (uint32_t)options->ctas;
    teams->chunk_bytes = options->chunk;
    teams->is_checked = options->check != 0;
    (void)pthread_mutex_init(&teams->objects_lock, NULL);
    if (terms != NULL) {
        const struct ch_vote vote = {.step = "teams on GPUs",
                                     .mine = ch_device_table_open(teams, terms)};
        status = ch_vote(&voters, &vote, NULL);
    }
    if (status == CHORUS_OK) status = make_predefined(teams, &voters);
    if (status == CHORUS_OK && links->network != NULL)
        status = ch_ask_open(&voters, links, heap, &teams->ask);
    if (status == CHORUS_OK) status = make_same_number(teams, &voters);
    if (status != CHORUS_OK) {
        ch_teams_close(teams);
        return status;
    }
    *teams_out = teams;
    return CHORUS_OK;
}

void ch_teams_name_algorithms(struct ch_teams *teams, const char *(*algo_text)(uint32_t id))
{
    teams->algo_text = algo_text;
}

void ch_teams_close(struct ch_teams *teams)
{
    if (teams == NULL) return;
    for (uint32_t slot = 0; slot < CH_TEAM_SLOTS; slot++)
        ch_team_free(teams, teams->slots[slot].team);
    ch_ask_close(teams->ask);
    (void)pthread_mutex_destroy(&teams->objects_lock);
    free(teams);
}

chorus_status ch_teams_device_state(const struct ch_teams *teams,
                                    struct ch_device_state *state_out)
{
    if (teams->device_state.teams == NULL)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "calls inside kernels need a heap on GPUs, and the job's heap is in "
                       "host memory; set CHORUS_HEAP=cuda");
    *state_out = teams->device_state;
    if (state_out->has_far != 0) ch_links_expect_posts(teams->links);
    return CHORUS_OK;
}
