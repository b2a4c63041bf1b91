/* SPDX-License-Identifier: Apache-2.0 */
/* birth.h: creation of teams among PEs that vote; only for this folder. */
#ifndef CH_TEAM_BIRTH_H
#define CH_TEAM_BIRTH_H

#include "team/table.h"

/* Largest number of teams created at once: the predefined ones, and the children of the
 * first. */
enum { CH_OWN_MAX = 4, CH_CHILDREN = 2, CH_BIRTHS_MAX = CH_OWN_MAX + CH_CHILDREN };

/* A team under construction. */
struct ch_birth {
    const uint32_t *pes; /* [n], members as indices of voters; borrowed */
    uint32_t *list;      /* of a child team: pes, owned */
    uint32_t n;
    uint64_t word;  /* of the team, see struct ch_team */
    bool is_member; /* whether this PE is a member; if not, slot and team are not set */
    uint32_t slot;
    struct ch_team *team;
};

/*
 * Create teams among the voters; only the first team may be on several hosts. Collective over
 * the voters, with n_own births that are equal on all members of each, and equal n_own and
 * is_across on all voters; after an error no voter has any of the teams. Otherwise each member
 * has its team, in a slot of `teams`.
 *
 * is_across: the first team of this PE, or of another, is on several hosts.
 */
CH_MUST_CHECK chorus_status ch_births_make(struct ch_teams *teams,
                                           const struct ch_voters *voters,
                                           struct ch_birth births[CH_BIRTHS_MAX],
                                           uint32_t n_own, bool is_across);

#endif /* CH_TEAM_BIRTH_H */
