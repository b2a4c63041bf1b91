/* SPDX-License-Identifier: Apache-2.0 */
/*
 * routes.h: what kernels need of a team whose PEs are not all near, in memory of the GPU: the
 * ways to peers that are not mapped, and the child teams. A large team has routes, too, if all
 * its PEs are near: without links, since the calls inside kernels to teams with routes are for
 * any number of PEs.
 */
#ifndef CH_TEAM_ROUTES_H
#define CH_TEAM_ROUTES_H

#include "team/table.h"

struct ch_routes {
    const struct ch_remote *remotes; /* [n], address on the GPU, as levels */
    const struct ch_levels *levels;  /* null: no child teams */
    char *there;                     /* owned: memory on the GPU */
    uint64_t *done; /* owned: completion words, in the pool; null: all PEs are near */
};

/* Write the routes of a team whose sync memory is in the pool, or of a large one, once it is
 * connected, and with its child teams: sets team->routes. */
CH_MUST_CHECK chorus_status ch_routes_open(const struct ch_teams *teams, struct ch_team *team);
/* A call on the team has failed, for this reason, and its kernels have ended: on return, the
 * network has done with the memory of what they posted, see ch_links_begin_settle. */
void ch_routes_settle(const struct ch_team *team, chorus_status why);
void ch_routes_close(const struct ch_teams *teams, struct ch_team *team);

#endif /* CH_TEAM_ROUTES_H */
