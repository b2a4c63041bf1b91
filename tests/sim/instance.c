/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/instance.h"

#include "coll/all.h"

#define X(coll, name, proto, fn, ...)                                         \
    static chorus_status run_##fn(const struct ch_coll *c, struct ch_lanes g) \
    {                                                                         \
        return fn(c, g);                                                      \
    }
CH_ALGO_LIST(X)
#undef X

const sim_entry sim_entries[CH_ALGO_COUNT] = {
#define X(coll, name, proto, fn, ...) run_##fn,
    CH_ALGO_LIST(X)
#undef X
};
