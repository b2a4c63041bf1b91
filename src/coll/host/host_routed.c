/* SPDX-License-Identifier: Apache-2.0 */
/* host_routed.c: the same for teams in which a network connects some PEs. */
#include "coll/host/host.h"

#include "coll/host/instances.h"

const ch_host_entry ch_host_routed[CH_ALGO_COUNT] = {
#define X(coll, name, proto, fn, needs, ...) ((needs)&CH_NEED_map) != 0 ? NULL : run_##fn,
    CH_ALGO_LIST(X)
#undef X
};
