/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.h: the route to a peer whose memory this PE can neither load nor store: messages of a
 * network, sent by one transport.
 *
 * A location in the peer's memory is named by the peer's own address. Posting a message
 * returns no status; ch_route_flush and the waits of the job report failures.
 */
#ifndef CH_ROUTE_H
#define CH_ROUTE_H

#include "chorus/status.h"

#include <stddef.h>
#include <stdint.h>

struct ch_route;

struct ch_route_ops {
    void (*put)(struct ch_route *route, void *there, const void *src, size_t bytes);
    void (*say)(struct ch_route *route, uint64_t *there, uint64_t value);
    chorus_status (*flush)(struct ch_route *route);
    int (*receive)(struct ch_route *route, void *slot, void *dst, size_t bytes);
    int (*received)(struct ch_route *route);
    /* The call has failed: sources of its puts are no longer read. */
    void (*abandon)(struct ch_route *route);
};

/* First member of every route; transports extend it. */
struct ch_route {
    const struct ch_route_ops *ops;
};

#endif /* CH_ROUTE_H */
