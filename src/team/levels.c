/* SPDX-License-Identifier: Apache-2.0 */
/* levels.c: properties of a team on several hosts that concern its child teams. */
#include "team/table.h"

#include <stdlib.h>

/* One allocation: the struct, the structs that it points to, and the lists. */
struct block {
    struct ch_levels levels;
    uint32_t words[];
};

bool ch_is_across(const struct ch_teams *teams, const struct ch_voters *voters,
                  const uint32_t pes[], uint32_t n)
{
    const uint32_t *nodes = ch_network_nodes(teams->network);

    for (uint32_t i = 1; nodes != NULL && i < n; i++)
        if (nodes[voters->number(voters->self, pes[i])] !=
            nodes[voters->number(voters->self, pes[0])])
            return true;
    return false;
}

/* PE `me` of the team and the PEs with the same number on the other hosts; only `me` if some
 * hosts have no such PE. */
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

chorus_status ch_levels_make(const struct ch_teams *teams, const struct ch_voters *voters,
                             const uint32_t pes[], uint32_t n, struct ch_levels **levels_out)
{
    const uint32_t *nodes = ch_network_nodes(teams->network);
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

void ch_child_is(struct ch_child *child, const struct ch_team *team)
{
    child->me = team->me;
    child->peers = team->peers;
    child->remotes = team->remotes;
    child->layout = &team->layout;
    child->dups = team->dups;
}
