/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h: do all PEs of a team make the same calls? (CHORUS_CHECK)
 *
 * Each PE of a team has an area in host memory where it publishes its last calls. A PE that
 * begins a call publishes it, then reads what the peers have published of the call with the
 * same number. A fence lies between the two, so of two PEs at least the later one sees both
 * calls. Nobody waits. A PE that finds a difference marks the areas of all PEs of the team and
 * wakes them: the waits of those that are in the call already end, and each PE compares for
 * itself to say what differs.
 */
#ifndef CH_TEAM_CHECK_H
#define CH_TEAM_CHECK_H

#include "base/record.h"
#include "team/team.h"

enum { CH_CHECK_CALLS = 64 };

/* A published call: one cache line. */
struct ch_checked {
    uint64_t key; /* of the number and the kind of call; 0: none, or being written */
    uint64_t what, count;
    uint64_t rest[5];
};

struct ch_check {
    uint64_t refused; /* the key of a call in which PEs differ; 0: none. Any PE writes it. */
    uint64_t rest[7];
    struct ch_checked calls[CH_CHECK_CALLS]; /* by key; the owner writes them */
};

/* Publish this PE's call and compare it; ERR_ARG names both calls, and the team is unusable. */
CH_MUST_CHECK chorus_status ch_team_check(struct ch_team *team, const char *function,
                                          const struct ch_doing *doing);

/* Was a call on the team refused? Never without CHORUS_CHECK. */
static inline bool ch_team_is_refused(const struct ch_team *team)
{
    return team->check != NULL && __atomic_load_n(&team->check->refused, __ATOMIC_ACQUIRE) != 0;
}

/* ERR_ARG, for a PE whose wait in a call was ended by a refusal. */
chorus_status ch_team_refusal(const struct ch_team *team, const char *function);

#endif /* CH_TEAM_CHECK_H */
