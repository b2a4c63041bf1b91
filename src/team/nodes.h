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
    uint32_t count;        /* number of hosts */
    uint32_t least, most;  /* smallest and largest number of PEs of a host */
    const uint32_t *node;  /* [n] the host of each PE */
    const uint32_t *local; /* [n] its number on that host */
    const uint32_t *first; /* [count + 1] indices at which the PEs of a host begin in ... */
    const uint32_t *pes;   /* ... [n] all PEs, host by host */
};

/* Number of words that the arrays for n PEs need. */
#define CH_NODES_WORDS(n) (4 * (size_t)(n) + 1)

/* For n PEs on the hosts hosts[0..n), which may be any numbers. The struct keeps using
 * `words`. */
void ch_nodes_init(struct ch_nodes *nodes, const uint32_t hosts[], uint32_t n, uint32_t *words);

CH_FN uint32_t ch_node_pes(const struct ch_nodes *nodes, uint32_t node)
{
    return nodes->first[node + 1] - nodes->first[node];
}

/* The PE with this number on a host. */
CH_FN uint32_t ch_node_pe(const struct ch_nodes *nodes, uint32_t node, uint32_t local)
{
    return nodes->pes[nodes->first[node] + local];
}

/* The properties of a child team that calls on it need. */
struct ch_child {
    uint32_t me, n;
    const struct ch_peer *peers;         /* [n] */
    const struct ch_remote *remotes;     /* [n]; null: all are mapped */
    const struct ch_sync_layout *layout; /* its chunks have the length of the team's */
    struct ch_dup *dups;                 /* equal to the largest number of CTAs of calls */
    const uint32_t *pes;                 /* [n] their numbers in the team */
};

struct ch_levels {
    struct ch_nodes nodes;
    struct ch_child node, rail;
};

#endif /* CH_NODES_H */
