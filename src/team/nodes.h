/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodes.h: the hosts of a team's PEs, and its child teams.
 *
 * A team on several hosts has two child teams on each PE: `node`, the PEs of its host, and
 * `rail`, the PEs of all hosts that have the same number on their host. There are as many
 * complete rails as the host with the fewest PEs has PEs; a PE that is on none of these is a
 * rail by itself. Rail 0 consists of the leaders of the hosts. Child teams have their own sync
 * memory, so a call on one is like any other call.
 */
#ifndef CH_NODES_H
#define CH_NODES_H

#include "team/sync.h"

#include <stdint.h>

/* Hosts are numbered by their first PE in the team, the PEs of each in the team's order. */
struct ch_nodes {
    uint32_t count;        /* of hosts */
    uint32_t least, most;  /* PEs of a host */
    const uint32_t *node;  /* [n] the host of each PE */
    const uint32_t *local; /* [n] its number there */
    const uint32_t *first; /* [count + 1] where the PEs of a host begin in ... */
    const uint32_t *pes;   /* ... [n] all PEs, host by host */
};

/* Words that the arrays of n PEs take. */
#define CH_NODES_WORDS(n) (4 * (size_t)(n) + 1)

/* Of n PEs on the hosts hosts[0..n), any numbers. `words` is kept. */
void ch_nodes_init(struct ch_nodes *nodes, const uint32_t hosts[], uint32_t n, uint32_t *words);

CH_FN uint32_t ch_node_pes(const struct ch_nodes *nodes, uint32_t node)
{
    return nodes->first[node + 1] - nodes->first[node];
}

/* The PE of a host that has this number there. */
CH_FN uint32_t ch_node_pe(const struct ch_nodes *nodes, uint32_t node, uint32_t local)
{
    return nodes->pes[nodes->first[node] + local];
}

/* A child team, as the calls on it need it. */
struct ch_child {
    uint32_t me, n;
    const struct ch_peer *peers;         /* [n] */
    const struct ch_remote *remotes;     /* [n]; null: all are mapped */
    const struct ch_sync_layout *layout; /* its chunks are as long as the team's */
    struct ch_dup *dups;                 /* as many as calls may have CTAs */
    const uint32_t *pes;                 /* [n] their numbers in the team */
};

struct ch_levels {
    struct ch_nodes nodes;
    struct ch_child node, rail;
};

#endif /* CH_NODES_H */
