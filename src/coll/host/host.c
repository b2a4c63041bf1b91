/* SPDX-License-Identifier: Apache-2.0 */
/* host.c: every algorithm for CPU threads, with one lane for each CTA, for teams whose PEs are
 * all mapped. */
#define CH_ALL_MAPPED 1
#include "coll/host/host.h"

#include "coll/host/instances.h"

const ch_host_entry ch_host_mapped[CH_ALGO_COUNT] = {
#define X(coll, name, proto, fn, ...) run_##fn,
    CH_ALGO_LIST(X)
#undef X
};
