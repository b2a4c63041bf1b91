/* SPDX-License-Identifier: Apache-2.0 */
/* table.h: the teams of a PE by handle; only for this folder. */
#ifndef CH_TEAM_TABLE_H
#define CH_TEAM_TABLE_H

#include "team/ask.h"
#include "team/device_table.h"
#include "team/team.h"

#include <pthread.h>

/* A handle is generation << SLOT_BITS | slot, a positive int32_t, so that the handle of a
 * destroyed team is recognised. A slot whose generations are used up is not used again. */
#define CH_TEAM_GENERATIONS (1u << (31 - CH_TEAM_SLOT_BITS))

struct ch_teams {
    struct ch_team_slot slots[CH_TEAM_SLOTS]; /* the first member, see ch_team_get */
    struct ch_heap *heap;                     /* borrowed, as are network and patience */
    struct ch_network *network;
    const struct ch_patience *patience;
    uint32_t me_world, n_world;
    uint32_t n_dups; /* of each team, without slim ones */
    size_t chunk_bytes;
    bool is_checked;    /* CHORUS_CHECK is not 0 */
    struct ch_ask *ask; /* owned; null: all PEs are mapped, or the start has not got so far */
    const char *(*algo_text)(uint32_t id); /* the name of an algorithm, for messages */
    struct ch_device_state device_state;   /* its table is null on a host */
    uint32_t n_in_use;                     /* teams with calls on the GPU */
    uint32_t n_slots_used;                 /* slots from here on were never used */
    pthread_mutex_t objects_lock;          /* guards the list of objects */
    struct ch_object *objects;             /* owned: of all teams, see memory.h; atomic */
};

static inline ch_team_handle ch_team_handle_of(const struct ch_teams *teams, uint32_t slot)
{
    return (ch_team_handle)(teams->slots[slot].generation << CH_TEAM_SLOT_BITS | slot);
}

/* Allocate a team of n PEs with its memory; it has no peers yet. */
CH_MUST_CHECK chorus_status ch_team_alloc(struct ch_teams *teams, uint32_t n,
                                          size_t chunk_bytes, bool is_far,
                                          struct ch_team **team_out);
void ch_team_free(struct ch_teams *teams, struct ch_team *team); /* null is a no-op */
void ch_team_end_objects(struct ch_teams *teams, const struct ch_team *team);

/* Are the PEs pes[0..n) of the voters on several hosts? */
bool ch_is_across(const struct ch_teams *teams, const struct ch_voters *voters,
                  const uint32_t pes[], uint32_t n);
/* This PE's levels of a team of these PEs, which are on several hosts. Of the child teams it
 * sets only the PEs; ch_child_is sets the rest. The caller frees it. */
CH_MUST_CHECK chorus_status ch_levels_make(const struct ch_teams *teams,
                                           const struct ch_voters *voters, const uint32_t pes[],
                                           uint32_t n, struct ch_levels **levels_out);
void ch_child_is(struct ch_child *child, const struct ch_team *team);

/* Register its memory for peers of other hosts. */
CH_MUST_CHECK chorus_status ch_team_attach(const struct ch_teams *teams,
                                           const struct ch_team *team,
                                           struct ch_team_keys *keys_out);
/* And learn the key of peer `pe`. */
CH_MUST_CHECK chorus_status ch_team_learn(const struct ch_teams *teams,
                                          const struct ch_team *team, uint32_t pe,
                                          const struct ch_team_keys *keys);
/* Create the routes to the peers, once all were added. */
CH_MUST_CHECK chorus_status ch_team_route(const struct ch_teams *teams, struct ch_team *team);
/* Undoes the three functions above. */
void ch_team_end_routes(const struct ch_teams *teams, struct ch_team *team);

/* Allocate the pages of the boards of plain data, on which the PEs of a host pass on what comes
 * from other hosts, so that the first messages do not wait for that; in a team of one PE, of
 * many, or with peers that are not mapped, do nothing. */
void ch_team_fill_boards(const struct ch_team *team);

/* The mailbox: two sets of packets of the team and one for its last exchange, see mail.c, and
 * two for groups of its PEs, see group.c. */
enum { CH_MAIL_SETS = 5, CH_MAIL_LAST = CH_MAIL_SETS - 1 };
size_t ch_team_shared_bytes(const struct ch_team *team); /* with the area of CHORUS_CHECK */
static inline size_t ch_team_mail_bytes(const struct ch_team *team)
{
    return CH_MAIL_SETS * (size_t)team->n * sizeof(struct ch_packet);
}

/* The packet from peer `from` for peer `to`, in each set. */
static inline struct ch_packet *ch_team_packet(const struct ch_team *team, uint32_t to,
                                               uint64_t set, uint32_t from)
{
    return (struct ch_packet *)(void *)team->members[to].mail + set * team->n + from;
}

/* Store a packet for a peer, and wait for one of a peer. */
void ch_team_post(const struct ch_team *team, uint32_t to, struct ch_packet *packet,
                  uint64_t value, uint64_t flag);
CH_MUST_CHECK chorus_status ch_team_await(const struct ch_team *team, uint32_t from,
                                          const struct ch_packet *packet, uint64_t flag,
                                          uint64_t *value_out);

/* The last exchange of a team, a barrier, once is_ending is set; also possible after an earlier
 * exchange failed. */
CH_MUST_CHECK chorus_status ch_team_meet_last(struct ch_team *team);

/* Some PEs of a team that vote without the others. */
struct ch_group {
    struct ch_team *team;
    const uint32_t *pes; /* [n], their numbers in team */
    uint32_t n;
};
struct ch_voters ch_group_voters(struct ch_group *group); /* the team is borrowed */

/* The offsets of the team's sync memory and mailbox in this PE's memory, which peers need. */
uint64_t ch_team_place(const struct ch_teams *teams, const struct ch_team *team);

void ch_team_add_peer(const struct ch_teams *teams, struct ch_team *team, uint32_t pe,
                      uint32_t world, uint64_t place);

#endif /* CH_TEAM_TABLE_H */
