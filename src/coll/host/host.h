/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h: the instances of the algorithms for hosts. A test for each message whether its peer
 * is mapped takes up to a tenth of a small call's time, so teams on one host have instances
 * without this test.
 */
#ifndef CH_HOST_H
#define CH_HOST_H

#include "coll/algorithm.h"
#include "coll/coll.h"

typedef chorus_status (*ch_host_entry)(const struct ch_coll *c);

extern const ch_host_entry ch_host_mapped[CH_ALGO_COUNT];
extern const ch_host_entry ch_host_routed[CH_ALGO_COUNT]; /* null if it needs `map` */

#endif /* CH_HOST_H */
