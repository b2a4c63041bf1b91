/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.c: votes of some PEs of a team, in which the other PEs have no part.
 *
 * Groups may overlap, so the team has no common epoch. Any two PEs count the exchanges that
 * they were both in, in whatever groups. Both have the same count, since both make these calls
 * in the same order, and neither is more than one exchange ahead of the other, so two packets
 * are enough.
 */
#include "team/table.h"

#include <string.h>

/* The sets of packets after those of the team. */
static struct ch_packet *packet_of(const struct ch_team *team, uint32_t to, uint32_t from,
                                   uint64_t count)
{
    return ch_team_packet(team, to, 2 + count % 2, from);
}

static chorus_status exchange_part(const struct ch_group *group, const char *blob, size_t bytes,
                                   size_t stride, char *blobs_out)
{
    struct ch_team *const team = group->team;
    uint64_t word = 0;

    memcpy(&word, blob, bytes);
    for (uint32_t i = 0; i < group->n; i++) {
        const uint32_t to = group->pes[i];
        const uint64_t count = ++team->members[to].n_group_mails;

        ch_team_post(team, to, packet_of(team, to, team->me, count), word, count);
    }
    for (uint32_t i = 0; i < group->n; i++) {
        const uint32_t from = group->pes[i];
        const uint64_t count = team->members[from].n_group_mails;

        CH_TRY(ch_team_await(team, from, packet_of(team, team->me, from, count), count, &word));
        memcpy(blobs_out + i * stride, &word, bytes);
    }
    return CHORUS_OK;
}

static chorus_status exchange(void *self, const void *blob, size_t bytes, void *blobs_out)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        const size_t part = bytes - at < sizeof(uint64_t) ? bytes - at : sizeof(uint64_t);

        CH_TRY(
            exchange_part(self, (const char *)blob + at, part, bytes, (char *)blobs_out + at));
    }
    return CHORUS_OK;
}

static uint32_t number(const void *self, uint32_t voter)
{
    const struct ch_group *const group = self;

    return group->team->members[group->pes[voter]].world;
}

struct ch_voters ch_group_voters(struct ch_group *group)
{
    return (struct ch_voters){group->n, group, exchange, number};
}
