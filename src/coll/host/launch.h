/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h: one call of a collective on the host, from its arguments to its CTAs. */
#ifndef CH_LAUNCH_H
#define CH_LAUNCH_H

#include "chorus/chorusx.h"
#include "coll/algorithm.h"
#include "coll/host/crew.h"
#include "team/team.h"

/* A checked call and the plan's choice. */
struct ch_call {
    struct ch_team *team;
    const chorusx_call *asked; /* borrowed */
    const struct ch_algo *algo;
    uint32_t ctas, radix;
    uint64_t index; /* in the record of the PE's calls */
};

/*
 * Run the call to its end, when its turn on the team (`ticket`) has come. A failure is recorded
 * with a message and makes the team unusable.
 */
CH_MUST_CHECK chorus_status ch_call_run(const struct ch_call *call, uint64_t ticket,
                                        struct ch_crew *crew);

#endif /* CH_LAUNCH_H */
