/* SPDX-License-Identifier: Apache-2.0 */
/*
 * where.h: composes messages about waits from the records: which PE is missing, and what it is
 * doing.
 */
#ifndef CH_TEAM_WHERE_H
#define CH_TEAM_WHERE_H

#include "base/record.h"
#include "team/team.h"

enum { CH_WHERE_BYTES = 3 * CH_DOING_TEXT_BYTES };

/* "PE 1, which has not begun this call: PE 1 has been in barrier, call 16 of team 0, for 12 s".
 * A PE that makes another call is named first. `suspect` is the PE of the team to name if the
 * records show none that is missing; this PE: none is known. False: no PE is named. */
bool ch_team_missing(const struct ch_team *team, const struct ch_doing *call, uint32_t suspect,
                     char text[CH_WHERE_BYTES]);

/* Set the message of a failed wait for a word of `from`. */
chorus_status ch_team_describe_mail(const struct ch_team *team, uint32_t from,
                                    chorus_status status);

/* Append to the message of this PE's failed call on memory or teams which PE is missing, and
 * what it is doing. */
/* Of a wait for words that failed: add which PE waits for which, as far as it is known. */
void ch_teams_add_chain(const struct ch_teams *teams);

void ch_teams_add_missing(const struct ch_teams *teams, const struct ch_record_call *called);

/* Log what this PE waits for. `named` is the missing PE, if the records do not show it; or
 * null. */
void ch_teams_warn(const struct ch_teams *teams, const struct ch_wait_policy *policy,
                   const char *named, uint64_t waited_ns);

enum { CH_DEADLINE_BYTES = 80 };

/* "it will fail after 300 s, which CHORUS_TIMEOUT changes" */
void ch_deadline_text(uint64_t timeout_ns, char text[CH_DEADLINE_BYTES]);

#endif /* CH_TEAM_WHERE_H */
