/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h: one call of a collective on the host, from its arguments to its CTAs. */
#ifndef CH_LAUNCH_H
#define CH_LAUNCH_H

#include "chorus/chorusx.h"
#include "coll/algorithm.h"
#include "coll/host/crew.h"
#include "team/team.h"

/* A checked call and its plan. */
struct ch_call {
    struct ch_team *team;
    const chorusx_call *asked; /* borrowed */
    const struct ch_algo *algo;
    uint32_t ctas, radix;
    uint64_t plan;  /* the three as the team caches them, see api/coll.c; 0: there is none */
    uint64_t index; /* its index in the record of the PE's calls */
    /* For ch_call_run_watched and ch_stream_push: the number of bytes that must not change
     * while the call runs, and their hash, if it was computed already. */
    size_t source_bytes;
    uint64_t source_sum;
    bool is_summed;
};

/*
 * Run the call when its turn on the team (`ticket`) has come, and return at its end. A failure
 * sets a message and makes the team unusable.
 */
CH_MUST_CHECK chorus_status ch_call_run(const struct ch_call *call, uint64_t ticket,
                                        struct ch_crew *crew);

/* The same; ERR_ARG if the first source_bytes bytes of its source were written meanwhile. */
CH_MUST_CHECK chorus_status ch_call_run_watched(struct ch_call *call, uint64_t ticket,
                                                struct ch_crew *crew);

/* Compute the hash of the source now. Earlier work of the program that writes it must be
 * complete. */
void ch_call_watch(struct ch_call *call);

#endif /* CH_LAUNCH_H */
