/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look.h: a PE that waits in a collective compares its call with those of its peers.
 *
 * PEs whose calls differ would wait for each other until the deadline, or one of them for a PE
 * that has left its call. A PE that has waited for a millisecond therefore reads the records of
 * PEs of its host, and later also those of the neighbouring hosts, over the network. A
 * difference is certain: both calls have the same number on the same team, and what all PEs
 * must pass alike, or the algorithm that each PE chose, is not the same. A PE that has not
 * begun the call is late, not wrong. Then the PE marks the team (differ.h), which ends the
 * waits of all its PEs.
 *
 * All of this happens in the slow path of a wait; a call that need not wait does nothing for
 * it.
 */
#ifndef CH_TEAM_LOOK_H
#define CH_TEAM_LOOK_H

#include "team/differ.h"

/* For ch_patience.look; `team` is a struct ch_team. */
void ch_team_look(void *team, uint64_t waited_ns);

/* A message has shown that PE `other` makes another call than `mine`, or that it has a message
 * of a PE that does: which two calls differ? It takes up to a second to ask a PE of another
 * host. False: it is not known. */
bool ch_team_find_clash(struct ch_team *team, const struct ch_called *mine, uint32_t other,
                        struct ch_two *out);

/* Calls of this number that differ, among those of PEs of this host. */
bool ch_team_find_clash_near(const struct ch_team *team, uint64_t number, struct ch_two *out);

#endif /* CH_TEAM_LOOK_H */
