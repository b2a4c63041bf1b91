/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h: symmetric objects of a team alone.
 *
 * Such an object lies beside the team's sync memory, which each PE allocates by itself and all
 * peers can access. It has the same offset on all members, which they find by votes: each
 * allocates at the lowest offset that is free on it, all try again from the highest of these,
 * and so on until all have the same. The symmetric heap of the job is not changed, so PEs that
 * are not in the team need not take part.
 */
#ifndef CH_TEAM_MEMORY_H
#define CH_TEAM_MEMORY_H

#include "team/team.h"

/* Allocate `bytes` bytes, not 0, filled with zeros. Collective over the team; on all its PEs or
 * on none: ERR_NOMEM, or ERR_ARG if `bytes` differs between them. */
CH_MUST_CHECK chorus_status ch_team_object_alloc(struct ch_teams *teams, struct ch_team *team,
                                                 size_t bytes, void **ptr_out);

/* Free the object that begins at ptr once all members have called. Collective over the team.
 * ERR_ARG if no object of the team begins there. */
CH_MUST_CHECK chorus_status ch_team_object_free(struct ch_teams *teams, struct ch_team *team,
                                                const void *ptr);

/* The team that has an object which contains [ptr, ptr + bytes) of this PE's memory; null:
 * there is none. */
const struct ch_team *ch_teams_owner(struct ch_teams *teams, const void *ptr, size_t bytes);

#endif /* CH_TEAM_MEMORY_H */
