/* SPDX-License-Identifier: Apache-2.0 */
/* instance.h: every algorithm for the simulated machine. */
#ifndef SIM_INSTANCE_H
#define SIM_INSTANCE_H

#include "coll/algorithm.h"
#include "coll/coll.h"

typedef chorus_status (*sim_entry)(const struct ch_coll *c, struct ch_lanes g);

extern const sim_entry sim_entries[CH_ALGO_COUNT];

#endif /* SIM_INSTANCE_H */
