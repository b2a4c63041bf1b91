/* SPDX-License-Identifier: Apache-2.0 */
/* way.c: how a PE reaches each peer, and why so, in words for users. */
#include "transport/links.h"

#include "transport/network.h"

#include <stdio.h>

/* The way to a peer of a heap on hosts. */
static struct ch_link_way way_on_hosts(const struct ch_links *links, uint32_t pe)
{
    if (links->to[pe].network == NULL)
        return (struct ch_link_way){.class = "mapped", .why = "same host"};
    return (struct ch_link_way){.class = "network",
                                .why = ch_boot_is_near(links->boot, pe)
                                           ? "CHORUS_TRANSPORT selects a network"
                                           : links->boot->why_apart};
}

static struct ch_link_way way_on_gpus(const struct ch_links *links, uint32_t pe)
{
    static const char *const names[] = {
#define X(name) #name,
        CH_CLASS_LIST(X)
#undef X
    };

    return (struct ch_link_way){.class = names[ch_heap_class(links->heap, pe)],
                                .why = ch_heap_why_class(links->heap, pe)};
}

/* Is there a link to the peer? GPUs reach only near ones without a network. */
static bool has_link(const struct ch_links *links, uint32_t pe)
{
    return links->to[pe].network != NULL || ch_heap_is_near(links->heap, pe);
}

struct ch_link_way ch_links_way(const struct ch_links *links, uint32_t pe)
{
    struct ch_link_way way =
        ch_heap_device(links->heap) != NULL ? way_on_gpus(links, pe) : way_on_hosts(links, pe);

    way.kind = has_link(links, pe) ? links->to[pe].ops->name : "none";
    return way;
}

void ch_links_describe(struct ch_links *links, uint32_t pe, char what_out[CH_LINK_WHY_BYTES])
{
    const struct ch_link *link = &links->to[pe];

    if (link->network == NULL) {
        (void)snprintf(what_out, CH_LINK_WHY_BYTES, "%s",
                       !has_link(links, pe)                  ? ""
                       : ch_heap_device(links->heap) != NULL ? "memory of its GPU"
                                                             : "shared memory");
        return;
    }
    ch_network_lock(link->network);
    link->ops->describe(link->ep, pe, what_out);
    ch_network_unlock(link->network);
}
