/* SPDX-License-Identifier: Apache-2.0 */
/* host.c: every algorithm for CPU threads, with one lane for each CTA. */
#include "coll/host/host.h"

#include "coll/all.h"

#define X(coll, name, proto, fn, ...)                      \
    static chorus_status run_##fn(const struct ch_coll *c) \
    {                                                      \
        const struct ch_lanes alone = {0, 1};              \
        return fn(c, alone);                               \
    }
CH_ALGO_LIST(X)
#undef X

const ch_host_entry ch_host_entries[CH_ALGO_COUNT] = {
#define X(coll, name, proto, fn, ...) run_##fn,
    CH_ALGO_LIST(X)
#undef X
};
