/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier_away.h: the barrier of a call inside a kernel on a team that is large, or whose PEs
 * are not all near (chorus/device_away.cuh).
 */
#ifndef CH_BARRIER_AWAY_H
#define CH_BARRIER_AWAY_H

#include "base/far.h"
#include "coll/algo/barrier.h"
#include "coll/algo/inside_kernels.h"

/* One lane. far.ring: that of the PE, which completes what it has posted before it signals;
 * null: it posts nothing. If that fails, it does not signal: peers would rely on what may not
 * be there. */
CH_FN chorus_status ch_barrier_run_away(const struct ch_coll *c, struct ch_far far,
                                        struct ch_lanes g)
{
    const chorus_status st = far.ring != 0 ? ch_far_quiet(far) : CHORUS_OK;

    if (st != CHORUS_OK) return st;
    return c->levels != 0 ? ch_barrier_hierarchical(c, g) : ch_barrier_push(c, g);
}

#endif /* CH_BARRIER_AWAY_H */
