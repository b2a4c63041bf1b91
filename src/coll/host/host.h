/* SPDX-License-Identifier: Apache-2.0 */
/* host.h: the instances of the algorithms for the host. */
#ifndef CH_HOST_H
#define CH_HOST_H

#include "coll/algorithm.h"
#include "coll/coll.h"

typedef chorus_status (*ch_host_entry)(const struct ch_coll *c);

extern const ch_host_entry ch_host_entries[CH_ALGO_COUNT];

#endif /* CH_HOST_H */
