/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h: one call of a collective on the host, from its arguments to its CTAs. */
#ifndef CH_LAUNCH_H
#define CH_LAUNCH_H

#include "coll/algorithm.h"
#include "coll/coll.h"
#include "coll/host/crew.h"
#include "team/team.h"

/* What only few calls have. */
struct ch_special {
    struct ch_pattern pattern;
    struct ch_reduce combine; /* the program's own, in place of op; null functions: none */
};

/* Checked arguments and the plan's choice. */
struct ch_call {
    struct ch_team *team;
    const struct ch_algo *algo;
    uint32_t ctas, radix, root;
    /* dst and src are not neighbours, so that compilers do not copy them from the program's
     * call by one load, which would wait until the two stores of a moment ago are in the cache.
     */
    void *dst;
    size_t count; /* elements of a block, or of the vector where there is one */
    const void *src;
    chorus_type type;
    chorus_op op;
    uint64_t index;                   /* in the record of the PE's calls */
    const struct ch_special *special; /* null: it is nothing that only few calls have */
};

/*
 * Run the call to its end, when its turn on the team (`ticket`) has come. A failure is recorded
 * with a message and makes the team unusable.
 */
CH_MUST_CHECK chorus_status ch_call_run(const struct ch_call *call, uint64_t ticket,
                                        struct ch_crew *crew);

#endif /* CH_LAUNCH_H */
