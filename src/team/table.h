/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h: the teams of a PE by handle, and what creates, connects and frees them; only for
 * this folder.
 */
#ifndef CH_TEAM_TABLE_H
#define CH_TEAM_TABLE_H

#include "base/record.h"
#include "team/device.h"
#include "team/team.h"

#include <pthread.h>

/* A handle is generation << CH_TEAM_SLOT_BITS | slot, a positive int32_t, so that the handle of
 * a destroyed team is recognised. A slot whose generations are used up is not used again. */
#define CH_TEAM_GENERATIONS (1u << (31 - CH_TEAM_SLOT_BITS))

struct ch_ask;

struct ch_teams {
    struct ch_team_slot slots[CH_TEAM_SLOTS]; /* the first member, see ch_team_get */
    struct ch_heap *heap;                     /* borrowed, as are links and policy */
    struct ch_links *links;
    const struct ch_wait_policy *policy;
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

/* The handle of the team in this slot, or of the next team there. */
static inline ch_team_handle ch_team_handle_of(const struct ch_teams *teams, uint32_t slot)
{
    return (ch_team_handle)(teams->slots[slot].generation << CH_TEAM_SLOT_BITS | slot);
}

/* How the PEs of a team reach each other; the same on all of them. */
struct ch_reach_of_team {
    bool is_far;        /* as in ch_sync_layout_init */
    bool is_in_pool;    /* see struct ch_team */
    uint32_t dups_most; /* of a child team: those of its team; it needs no more */
};

/* Allocate a team of n PEs with its memory; it has no peers yet. */
CH_MUST_CHECK chorus_status ch_team_alloc(struct ch_teams *teams, uint32_t n,
                                          size_t chunk_bytes, struct ch_reach_of_team reach,
                                          struct ch_team **team_out);
void ch_team_free(struct ch_teams *teams, struct ch_team *team); /* null is a no-op */
/* Free this PE's memory of all objects of the team. */
void ch_team_end_objects(struct ch_teams *teams, const struct ch_team *team);

/* Are the PEs pes[0..n) of the voters on several hosts? */
bool ch_is_across(const struct ch_teams *teams, const struct ch_voters *voters,
                  const uint32_t pes[], uint32_t n);

/* Register this PE's mailbox and sync memory of the team with the network, so that PEs of other
 * hosts can write there. keys_out receives the network's keys, if it has keys. */
CH_MUST_CHECK chorus_status ch_team_attach(const struct ch_teams *teams,
                                           const struct ch_team *team,
                                           struct ch_team_keys *keys_out);
/* Give the network the keys that peer `pe` got from ch_team_attach. A no-op if it is mapped. */
CH_MUST_CHECK chorus_status ch_team_add_peer_keys(const struct ch_teams *teams,
                                                  const struct ch_team *team, uint32_t pe,
                                                  const struct ch_team_keys *keys);
/* Once all peers were added: set the links to those that are not mapped, and allocate the local
 * copies of what this PE writes there. */
CH_MUST_CHECK chorus_status ch_team_link(const struct ch_teams *teams, struct ch_team *team);

/* Allocate the pages of the boards of plain data, on which the PEs of a host pass on what comes
 * from other hosts, so that the first messages do not wait for that; in a team of one PE, of
 * many, or with peers that are not mapped, do nothing. */
void ch_team_fill_boards(const struct ch_team *team);

/* The mailbox: two sets of packets of the team and one for its last exchange, and two for
 * groups of its PEs, see mail.c. */
enum { CH_MAIL_SETS = 5, CH_MAIL_LAST = CH_MAIL_SETS - 1 };

/* The last exchange of a team, a barrier, once is_ending is set; also possible after an earlier
 * exchange failed. */
CH_MUST_CHECK chorus_status ch_team_sync_last(struct ch_team *team);

/* Some PEs of a team that vote without the others. */
struct ch_group {
    struct ch_team *team;
    const uint32_t *pes; /* [n], their numbers in team */
    uint32_t n;
};
struct ch_voters ch_group_voters(struct ch_group *group); /* the team is borrowed */

/* The offsets of the team's sync memory and mailbox in this PE's memory, which peers need, as
 * one word. */
uint64_t ch_team_pack_offsets(const struct ch_teams *teams, const struct ch_team *team);

/* Set peer `pe` of the team: the PE whose number in the job is `world`. place: what
 * ch_team_pack_offsets returned on that PE. */
void ch_team_add_peer(const struct ch_teams *teams, struct ch_team *team, uint32_t pe,
                      uint32_t world, uint64_t place);

/* --- creation of teams, among PEs that vote ----------------------------------------------- */
/* Largest number of teams created at once: the predefined ones, and the children of the
 * first. */
enum { CH_OWN_MAX = 4, CH_CHILDREN = 2, CH_DRAFTS_MAX = CH_OWN_MAX + CH_CHILDREN };

/* A team under construction. */
struct ch_draft {
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
 * the voters, with n_own drafts that are equal on all members of each, and equal n_own and
 * is_across on all voters; after an error no voter has any of the teams. Otherwise each member
 * has its team, in a slot of `teams`.
 *
 * is_across: the first team of this PE, or of another, is on several hosts.
 */
CH_MUST_CHECK chorus_status ch_drafts_make(struct ch_teams *teams,
                                           const struct ch_voters *voters,
                                           struct ch_draft drafts[CH_DRAFTS_MAX],
                                           uint32_t n_own, bool is_across);

/* --- records of PEs of other hosts -------------------------------------------------------- */
/* Let PEs of other hosts read this PE's record, and prepare to read theirs, see look.c.
 * Collective over the voters, which are all PEs of the job. */
CH_MUST_CHECK chorus_status ch_ask_open(const struct ch_voters *voters, struct ch_links *links,
                                        const struct ch_heap *heap, struct ch_ask **ask_out);
/* Not collective; null is a no-op. After ch_links_disconnect. */
void ch_ask_close(struct ch_ask *ask);

/* --- teams as kernels see them, see device.h ---------------------------------------------- */
/* Create the table, which exists as long as the heap. */
CH_MUST_CHECK chorus_status ch_device_table_open(struct ch_teams *teams,
                                                 const struct ch_device_terms *terms);

/* Memory of a team on a GPU behind its duplicates: its record, and slots for packets. */
size_t ch_device_area_bytes(const struct ch_team *team);
/* The address, in the GPU's memory, of four lists of as many numbers as a large team has PEs:
 * those of its alltoallv that runs. */
size_t *ch_device_lists(const struct ch_team *team);
/* The address, in the GPU's memory, of the peers of the team, [n], behind its record. */
const struct ch_peer *ch_device_peers(const struct ch_team *team);

/* Write the team's record, and enter it in the table under its handle. A no-op without a
 * table. */
CH_MUST_CHECK chorus_status ch_device_table_add(struct ch_teams *teams,
                                                const struct ch_team *team,
                                                ch_team_handle handle);

/* Remove the team from the table: kernels that use the handle afterwards get an error. A no-op
 * without a table. */
CH_MUST_CHECK chorus_status ch_device_table_remove(const struct ch_teams *teams,
                                                   ch_team_handle handle);

/* ---- objects of a team ---- */

/*
 * Symmetric objects of a team alone.
 *
 * Such an object lies beside the team's sync memory, which each PE allocates by itself and all
 * peers can access. It has the same offset on all members, which they find by votes: each
 * allocates at the lowest offset that is free on it, all try again from the highest of these,
 * and so on until all have the same. The symmetric heap of the job is not changed, so PEs that
 * are not in the team need not take part.
 */

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

/* ---- messages about waits ---- */

/*
 * Composes messages about waits from the records: which PE is missing, and what it is
 * doing.
 */

enum { CH_WHERE_BYTES = 3 * CH_DOING_TEXT_BYTES };

/* Write which PE is missing: "PE 1, which has not begun this call: PE 1 has been in barrier,
 * call 16 of team 0, for 12 s". A PE that makes another call is named first. `suspect` is the
 * PE of the team to name if the records show none that is missing; this PE: none is known.
 * False: no PE is named. */
bool ch_team_missing_text(const struct ch_team *team, const struct ch_doing *call,
                          uint32_t suspect, char text[CH_WHERE_BYTES]);

/* Fail with the message of a wait for a word of PE `from` that ended with `status`; with that
 * of the refusal, if the team's call was refused. */
chorus_status ch_team_fail_wait(const struct ch_team *team, uint32_t from,
                                chorus_status status);

/* Append to the message of a failed wait for words which PE waits for which, as far as this is
 * known. */
void ch_teams_add_chain(const struct ch_teams *teams);

/* Append to the message of this PE's failed call on memory or teams which PE is missing, and
 * what it is doing. */
void ch_teams_add_missing(const struct ch_teams *teams, const struct ch_record_call *called);

/* Log what this PE waits for. `named` is the missing PE, if the records do not show it; or
 * null. */
void ch_teams_warn(const struct ch_teams *teams, const struct ch_wait_policy *policy,
                   const char *named, uint64_t waited_ns);

enum { CH_DEADLINE_BYTES = 80 };

/* Write when a wait will fail: "it will fail after 300 s, which CHORUS_TIMEOUT changes". */
void ch_deadline_text(uint64_t timeout_ns, char text[CH_DEADLINE_BYTES]);

#endif /* CH_TEAM_TABLE_H */
