/* SPDX-License-Identifier: Apache-2.0 */
/* instance.c: weak functions, so that a program may be linked with another body of one
 * algorithm, as those of tests/mutants are. */
#include "sim/instance.h"

#include "coll/all.h"

#define X(coll, name, proto, fn, ...)                                      \
    __attribute__((weak))                                                  \
    chorus_status sim_run_##fn(const struct ch_coll *c, struct ch_lanes g) \
    {                                                                      \
        return fn(c, g);                                                   \
    }
CH_ALGO_LIST(X)
#undef X

const sim_entry sim_entries[CH_ALGO_COUNT] = {
#define X(coll, name, proto, fn, ...) sim_run_##fn,
    CH_ALGO_LIST(X)
#undef X
};
