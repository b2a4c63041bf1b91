/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team.h: groups of PEs, and the sync memory that their collectives use.
 *
 * The sync memory of a team is in each member's heap, on GPUs if the heap is there, at an
 * address that the members exchange when the team is created. It contains the words and FIFOs
 * of sync.h for each duplicate. A duplicate serves one CTA. The library itself (creation of
 * teams, the barrier of an allocation) uses a mailbox, which is always in host memory, and so
 * cannot interfere with a call of the program.
 */
#ifndef CH_TEAM_H
#define CH_TEAM_H

#include "base/door.h"
#include "base/error.h"
#include "base/option.h"
#include "boot/boot.h"
#include "heap/heap.h"
#include "team/device.h"
#include "team/sync.h"
#include "transport/links.h"

#include <stdbool.h>
#include <stdint.h>

/* A team's handle in the form of the API: slot and generation, see chorus_team_t. */
typedef int32_t ch_team_handle;

/* Number of plans of calls that a team caches. */
#define CH_TEAM_PLANS_LOG2 4
#define CH_TEAM_PLANS (1 << CH_TEAM_PLANS_LOG2)

/* The last call of a team on a GPU. The next call must wait for it if that is on another
 * stream. */
struct ch_last_run {
    uint64_t stream; /* its stream's number; 0: there was no call yet */
    uint64_t ctas;   /* of all calls so far: the value of ch_dup.ended once all have ended */
};

/* The last call of a team in a capture. There is a record for each capture, since a program may
 * fill several graphs in turns. CUDA does not tell that a capture has ended, so the record of
 * the oldest one is used again when there is a further capture than there are records. */
enum { CH_TEAM_CAPTURES = 16 };
struct ch_last_captured {
    void *event;      /* recorded after it; a cudaEvent_t, owned; null: not needed so far */
    uint64_t stream;  /* its stream's number; 0: there was no call yet */
    uint64_t capture; /* its capture's number, which no other capture has */
};

/* Further data of a team about a PE. */
struct ch_member {
    uint32_t world;       /* its number in the job */
    struct ch_link *link; /* to its segment on another host; null: the segment is mapped */
    char *mail; /* its mailbox, always in host memory; at its own address if it has a link */
    uint64_t n_group_mails; /* number of exchanges to it, and from it, in groups that contain
                               both PEs */
    const struct ch_record *record; /* of its calls; null: it is not mapped */
    struct ch_refusal *refusal;     /* its mark, see differ.h; at its own address with a link */
    struct ch_check *check;         /* its area for CHORUS_CHECK; likewise */
};

/* What each PE publishes to peers of other hosts about its part, if the network has keys. */
struct ch_team_keys {
    uint64_t mail, sync;
};

struct ch_team {
    uint32_t me, n;
    uint32_t slot;   /* slot and generation; no other team of this PE has the same slot now */
    uint64_t id;     /* never used again in this process; its lowest bits are the slot */
    uint32_t number; /* in messages; equal on all its PEs */
    uint64_t word;   /* in records: number, and above it a digest of the team's creation, since
                        teams whose parents differ may have equal numbers */
    uint32_t n_children; /* number of teams that were created from it */
    uint32_t n_groups;   /* number of teams of groups that this PE began to create from it */
    uint64_t n_calls;    /* collectives on it so far, by this PE */
    uint64_t n_meetings; /* the same for calls on memory and teams */
    struct ch_record *record;   /* of this PE's calls; borrowed */
    struct ch_check *check;     /* of this PE; null: without CHORUS_CHECK, or alone */
    size_t check_bytes;         /* of each PE's; 0: there is none */
    struct ch_refusal *refusal; /* of this PE; null: alone */
    struct ch_wait_policy refusable_own;
    const struct ch_wait_policy *refusable; /* as policy; also ends if a call is refused */
    uint32_t look_near, look_far;           /* with whom look.c compares next; atomic */
    const struct ch_teams *teams;           /* that it is one of */
    bool is_ending;            /* it is being destroyed, even if a call was refused */
    bool is_across;            /* some of its PEs are on other hosts: they have a link */
    struct ch_peer *peers;     /* [n], in the team's order */
    struct ch_remote *remotes; /* [n], in the team's order: peers that algorithms reach by their
                                  link; null: every peer is mapped, as are near GPUs */
    struct ch_levels *levels;  /* owned, as are the child teams; null, if on one host */
    struct ch_member *members; /* [n], in the team's order */
    char *mirrors; /* owned, as is remotes: the local copies of what this PE writes to those PEs
                    */
    size_t mirrors_bytes;
    struct ch_team *node, *rail;
    struct ch_routes *routes; /* owned: for kernels, see routes.h; null: none are needed */
    struct ch_sync_layout layout;
    uint32_t n_dups;     /* the largest number of CTAs of a call, with slim duplicates */
    struct ch_dup *dups; /* [n_dups] */
    void *ctas; /* owned: the CTAs' threads and state of coll/host/launch.c; null before the
                   first call */
    uint64_t mail_epoch; /* number of the last exchange through mailboxes */
    const struct ch_wait_policy *policy;
    void *sync;          /* this PE's sync memory, owned: on the heap's data side or, if PEs are
                            not near each other, in the pool */
    void *states;        /* on a GPU: the states of the duplicates, duplicate 0 first, and the
                            team's record, in the GPU's memory: behind sync, or owned */
    void *mail;          /* this PE's mailbox, owned, in host memory */
    int num_contexts;    /* the configuration with which the team was created */
    ptrdiff_t multicast; /* distance from an address of this PE to the multicast address of all
                            its PEs, in hardware; 0: none */
    bool is_on_gpu;      /* kernels run its collectives */
    bool is_in_pool; /* its sync memory is in the pool: on GPUs that are not near each other */
    bool is_beside;  /* it has remotes, and all PEs are on this host: kernels load and store the
                        sync memory of all */
    bool is_sync_alike; /* at the same offset on all its PEs */
    uint32_t n_nodes; /* hosts that its PEs are on; on GPUs, groups of near PEs; 1 if remotes is
                         null */
    int status; /* a chorus_status: not OK once a collective failed; the team is then unusable
                 */
    uint64_t plans[CH_TEAM_PLANS]; /* cache of plans, a word each; used by the api; atomic */
    /* Calls on a team run one at a time, in the order they were made: by tickets on a host, on
     * a GPU by stream order; across streams by a count of what has ended, or, in a capture, by
     * an event. */
    uint64_t ticket_next, ticket_serving;
    struct ch_last_run last_run;
    struct ch_last_captured last_captured[CH_TEAM_CAPTURES]; /* used from the first one on */
    uint32_t *n_in_use; /* number of the PE's teams with calls on its GPU; borrowed, atomic */
};

/* The address, in the GPU's memory, of the number of CTAs of calls on the team's streams,
 * except those of graphs, that have ended. */
static inline uint64_t *ch_team_ended(const struct ch_team *team)
{
    return &((struct ch_dup *)team->states)->ended;
}

/* Was there a call on a GPU, or one in a capture? */
static inline bool ch_team_is_in_use(const struct ch_team *team)
{
    return team->last_run.stream != 0 || team->last_captured[0].stream != 0;
}

/* Has it more PEs than arguments and constant memory have room for? Routed kernels run its
 * collectives, with peers in the memory of the GPU. */
static inline bool ch_team_is_large(const struct ch_team *team)
{
    return team->is_on_gpu && team->n > CH_DEVICE_PES_MAX;
}

/* Do its kernels post requests to the ring? */
static inline bool ch_team_has_posts(const struct ch_team *team)
{
    return team->is_in_pool && team->remotes != NULL;
}

struct ch_teams; /* all teams of a PE, by handle */

/* Create WORLD, SHARED, NODE and SAME_MYPE_NODE. Collective over the job. `links` are
 * kept; `terms` is set for a heap on a GPU, else null. */
CH_MUST_CHECK chorus_status ch_teams_open(struct ch_boot *boot, struct ch_heap *heap,
                                          struct ch_links *links,
                                          const struct ch_options *options,
                                          const struct ch_wait_policy *policy,
                                          const struct ch_device_terms *terms,
                                          struct ch_teams **teams_out);
/* Set the function that returns the name of an algorithm, for messages. */
void ch_teams_name_algorithms(struct ch_teams *teams, const char *(*algo_text)(uint32_t id));
void ch_teams_close(struct ch_teams *teams); /* null is a no-op; not collective */

/* The state by which kernels of the program find the teams. ERR_UNSUPPORTED on a host. */
CH_MUST_CHECK chorus_status ch_teams_device_state(const struct ch_teams *teams,
                                                  struct ch_device_state *state_out);

/* The first team in this slot or a later one; *slot becomes its slot; null: there is none. */
struct ch_team *ch_teams_next(const struct ch_teams *teams, uint32_t *slot);

/* An entry of the table of handles; a struct ch_teams begins with CH_TEAM_SLOTS of them. */
struct ch_team_slot {
    struct ch_team *team; /* null: free */
    uint32_t generation;  /* of the team in this slot, or of the next one */
};

/* Fail with ERR_ARG and the reason why the handle has no team. */
CH_COLD chorus_status ch_team_fail_unknown(const struct ch_teams *teams, ch_team_handle handle);

/* The team of a handle. ERR_ARG, with the reason: never a team, CHORUS_TEAM_INVALID, or
 * destroyed. A negative handle has a larger generation than any team. */
CH_MUST_CHECK static inline chorus_status
ch_team_get(const struct ch_teams *teams, ch_team_handle handle, struct ch_team **team_out)
{
    const struct ch_team_slot *slots = (const struct ch_team_slot *)(const void *)teams;
    const struct ch_team_slot *slot = &slots[(uint32_t)handle % CH_TEAM_SLOTS];

    *team_out = slot->team;
    if ((uint32_t)handle >> CH_TEAM_SLOT_BITS == slot->generation && slot->team != NULL)
        return CHORUS_OK;
    return ch_team_fail_unknown(teams, handle);
}

/*
 * Create a team of pes[0..n), numbers in `parent`, in that order. Collective over parent: every
 * PE of it calls with the same list; PEs that are not in the list get CHORUS_TEAM_INVALID.
 * ERR_ARG for a PE outside parent or listed twice; ERR_NOMEM on all or on none.
 */
CH_MUST_CHECK chorus_status ch_team_create(struct ch_teams *teams, ch_team_handle parent,
                                           const uint32_t pes[], uint32_t n, int num_contexts,
                                           ch_team_handle *handle_out);

/*
 * As ch_team_create, but only the PEs of the list call, in the same order of calls for any two
 * of them. ERR_ARG on all also if the list or the tag differs between them.
 */
CH_MUST_CHECK chorus_status ch_team_create_group(struct ch_teams *teams, ch_team_handle parent,
                                                 const uint32_t pes[], uint32_t n, int tag,
                                                 ch_team_handle *handle_out);

/*
 * Create a team of the PEs of this PE's colour, in the order of their keys, then of their
 * numbers in `parent`; CHORUS_TEAM_INVALID if it is negative. Collective over parent.
 */
CH_MUST_CHECK chorus_status ch_team_split_color(struct ch_teams *teams, ch_team_handle parent,
                                                int32_t color, int32_t key,
                                                ch_team_handle *handle_out);

/* Destroy the team. Collective over the team: its sync memory is freed once all members have
 * called. */
CH_MUST_CHECK chorus_status ch_team_destroy(struct ch_teams *teams, ch_team_handle handle);

/*
 * The voters are all PEs of the team, which is borrowed; they synchronise once for each 8 bytes
 * of an exchange. A vote is also a barrier: writes of each PE before it are visible to all
 * after it. It does not use duplicates. On several hosts the leaders forward the words.
 */
struct ch_voters ch_team_voters(struct ch_team *team);

/* Only the barrier of a vote: return once all PEs of the team have called. */
CH_MUST_CHECK chorus_status ch_team_sync_by_mail(struct ch_team *team);

/* Are all peers mapped? */
static inline bool ch_team_is_mapped(const struct ch_team *team)
{
    return team->remotes == NULL;
}

/* The number of the next collective on the team. is_serial: as in ch_team_draw_ticket. */
static inline uint64_t ch_team_next_call(struct ch_team *team, bool is_serial)
{
    uint64_t number;

    if (!is_serial) return __atomic_add_fetch(&team->n_calls, 1, __ATOMIC_RELAXED);
    number = __atomic_load_n(&team->n_calls, __ATOMIC_RELAXED) + 1;
    __atomic_store_n(&team->n_calls, number, __ATOMIC_RELAXED);
    return number;
}

/* PE of `team` whose number in the job is `world`; -1 if there is none. */
int ch_team_find(const struct ch_team *team, uint32_t world);

/* Fail with ERR_STATE: an earlier call on the team failed with `status`. */
CH_COLD chorus_status ch_team_fail_broken(int status);

/* ERR_STATE if a collective on the team has failed, else OK. */
CH_MUST_CHECK static inline chorus_status ch_team_check_usable(const struct ch_team *team)
{
    const int status = __atomic_load_n(&team->status, __ATOMIC_ACQUIRE);

    return status == CHORUS_OK ? CHORUS_OK : ch_team_fail_broken(status);
}

/*
 * Order of calls: a call draws a ticket when it is made, enters when it may run (after all
 * calls with earlier tickets have left), and leaves in any case once it has entered.
 *
 * is_serial: the program's threads make no calls at the same time, so a load and a store draw a
 * ticket. An atomic addition would wait until all stores of the previous call have completed.
 */
static inline uint64_t ch_team_draw_ticket(struct ch_team *team, bool is_serial)
{
    uint64_t ticket;

    if (!is_serial) return __atomic_fetch_add(&team->ticket_next, 1, __ATOMIC_RELAXED);
    ticket = __atomic_load_n(&team->ticket_next, __ATOMIC_RELAXED);
    __atomic_store_n(&team->ticket_next, ticket + 1, __ATOMIC_RELAXED);
    return ticket;
}

/* Have all calls on the team that drew a ticket ended? */
static inline bool ch_team_is_idle(struct ch_team *team)
{
    return __atomic_load_n(&team->ticket_next, __ATOMIC_RELAXED) ==
           ch_word_load(&team->ticket_serving);
}

/* Wait until all calls with earlier tickets have left; the slow path of ch_team_enter. */
CH_MUST_CHECK CH_COLD chorus_status ch_team_wait(struct ch_team *team, uint64_t ticket);

/* Return once the call with this ticket may run. */
CH_MUST_CHECK static inline chorus_status ch_team_enter(struct ch_team *team, uint64_t ticket)
{
    if (ch_word_load(&team->ticket_serving) >= ticket) return CHORUS_OK;
    return ch_team_wait(team, ticket);
}

/* End the call that has entered, and let the call with the next ticket enter. */
static inline void ch_team_leave(struct ch_team *team)
{
    ch_word_store(&team->ticket_serving, team->ticket_serving + 1, CH_CREDIT);
    ch_notify(team->policy, team->policy->door);
}

#endif /* CH_TEAM_H */
