/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beside.h: a network to memory of the hosts of all PEs, for jobs on GPUs: it accesses the
 * segments of the PEs of this host, which are mapped, by itself, and passes operations to those
 * of other hosts on to a network between hosts, the *outer* one.
 */
#ifndef CH_BESIDE_H
#define CH_BESIDE_H

#include "transport/link.h"

struct ch_beside_terms {
    const struct ch_heap *heap; /* borrowed */
    uint32_t me, n;
    const struct ch_link_ops *outer; /* null: all PEs are on this host */
    struct ch_endpoint *outer_ep;    /* open, and has met the others */
};

/* Open the network. On success the endpoint owns the outer one, and closes it. Not collective.
 */
CH_MUST_CHECK chorus_status ch_beside_open(const struct ch_beside_terms *terms,
                                           struct ch_endpoint **ep_out);

extern const struct ch_link_ops ch_link_beside;

#endif /* CH_BESIDE_H */
