/* SPDX-License-Identifier: Apache-2.0 */
#include "team/nodes.h"

/* Number the hosts by first appearance; returns their number. leader[v] is the first PE of host
 * v. */
static uint32_t number_hosts(const uint32_t hosts[], uint32_t n, uint32_t *leader,
                             uint32_t *node)
{
    uint32_t count = 0;

    for (uint32_t pe = 0; pe < n; pe++) {
        node[pe] = 0;
        if (pe > 0 && hosts[pe - 1] == hosts[pe]) node[pe] = node[pe - 1];
        while (node[pe] < count && hosts[leader[node[pe]]] != hosts[pe])
            node[pe]++;
        if (node[pe] == count) leader[count++] = pe;
    }
    return count;
}

void ch_nodes_init(struct ch_nodes *nodes, const uint32_t hosts[], uint32_t n, uint32_t *words)
{
    uint32_t *node = words, *local = node + n, *pes = local + n, *first = pes + n;

    nodes->count = number_hosts(hosts, n, first, node);
    for (uint32_t v = 0; v <= nodes->count; v++)
        first[v] = 0;
    for (uint32_t pe = 0; pe < n; pe++)
        local[pe] = first[node[pe] + 1]++; /* until the loop has filled in the PEs of a host,
                                              its entry is shifted by one */
    nodes->least = n;
    nodes->most = 0;
    for (uint32_t v = 0; v < nodes->count; v++) {
        if (first[v + 1] < nodes->least) nodes->least = first[v + 1];
        if (first[v + 1] > nodes->most) nodes->most = first[v + 1];
        first[v + 1] += first[v];
    }
    for (uint32_t pe = 0; pe < n; pe++)
        pes[first[node[pe]] + local[pe]] = pe;
    nodes->node = node;
    nodes->local = local;
    nodes->first = first;
    nodes->pes = pes;
}
